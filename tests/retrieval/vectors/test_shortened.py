"""Shorter vectors: the first numbers of a model's; a store gets them without its model."""

from pathlib import Path

import numpy as np
import pytest

from docmill.flows.config.from_settings import space_of
from docmill.flows.config.settings import EmbeddingSettings, Settings
from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.matryoshka import shorten, split
from docmill.storage.search.encode.model_spaces import describe_model, tokenizer_dir
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.tasks.publishing.reembed import CommitTerms, reembed
from tests.kit.fake_encoder import DIMENSION
from tests.kit.workbench import Workbench, summary

PAGES: dict[str, str | bytes | None] = {
    f"{name}.md": f"# {name}\n\nThe {name} bird has {count} eggs in its nest.\n"
    for count, name in enumerate(("owl", "tit", "finch", "crane", "heron", "swift", "dove", "wren"))
}
TEXTS = ["an owl", "", "a tit and a wren"]
TERMS = CommitTerms(Retention())


def test_the_first_numbers_are_a_vector_of_unit_length(fake_model: str) -> None:
    whole, some = load_encoder(fake_model), load_encoder(shorten(fake_model, 8))
    assert some.space.dimension == 8
    assert some.space.id != whole.space.id
    for made, full in (
        (some.encode(TEXTS), whole.encode(TEXTS)),
        (some.encode_queries(TEXTS), whole.encode_queries(TEXTS)),
        (some.encode_query("an owl")[None], whole.encode_query("an owl")[None]),
    ):
        assert made.shape == (len(made), 8)
        expected = full[:, :8] / np.maximum(np.linalg.norm(full[:, :8], axis=1, keepdims=True), 1e-12)
        assert np.allclose(made, expected, atol=1e-6)
    assert tokenizer_dir(shorten(fake_model, 8)) == tokenizer_dir(fake_model)
    assert describe_model(some.space.model, some.space.revision) == some.space


def test_names_say_how_many_numbers_there_are() -> None:
    assert split(shorten("a/b", 256)) == ("a/b", 256)
    assert split(shorten("./a?b", 0)) == ("./a?b", 0)
    assert split("openai:a?dimensions=3") == ("openai:a?dimensions=3", 0)
    assert EmbeddingSettings(model="folder", dimensions=3).where() == ("folder?dimensions=3", "")
    with pytest.raises(ConfigError, match="must be a number of at least 1, got 'x'"):
        split("folder?dimensions=x")


def test_more_dimensions_than_the_model_has_are_refused(fake_model: str) -> None:
    with pytest.raises(ConfigError, match=rf"dimensions is 17, but {fake_model} has {DIMENSION}$"):
        describe_model(shorten(fake_model, DIMENSION + 1))


def test_a_store_gets_shorter_vectors_without_its_model(
    tmp_path: Path, fake_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    bench.write(PAGES)
    bench.ingest()
    whole = snapshots.read(bench.root).space
    bench.settings["embedding"]["dimensions"] = 8
    with pytest.raises(StoreError, match="docmill reembed"):
        bench.ingest()
    short = space_of(Settings.model_validate(bench.settings))
    with monkeypatch.context() as patch:
        patch.setattr(
            "docmill.tasks.publishing.reembed.load_encoder", lambda *_, **__: pytest.fail("a model is loaded")
        )
        assert reembed(bench.root, short, TERMS).embedded == 0
    assert len(bench.store.search("owl bird", k=8, mode="vector")) == 8
    assert summary(bench.ingest()) == {"unchanged": 8}
    bench.write({"owl.md": "# owl\n\nThe owl has gone.\n"})
    assert summary(bench.ingest()) == {"changed": 1, "unchanged": 7, "parsed": 1, "embedded": 1}
    assert verify(bench.root, deep=True) == []
    again = Workbench(tmp_path / "again", bench.settings)
    again.write(PAGES | {"owl.md": "# owl\n\nThe owl has gone.\n"})
    again.ingest()
    vectors = {row.chunk_id: row.embedding_key for row in again.chunks()}
    assert {row.chunk_id: row.embedding_key for row in bench.chunks()} == vectors
    assert reembed(bench.root, whole, TERMS).embedded == 1, "the others are kept"
