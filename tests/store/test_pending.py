"""A long run commits tables and keywords first: its vectors are pending, and follow in further commits."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from typer.testing import CliRunner, Result

from docmill.flows.cli.app import app
from docmill.storage.search.encode import encoder, space
from docmill.storage.search.encode.space import describe_model
from docmill.storage.search.vectors.vectors import VectorIndex
from docmill.storage.snapshots.change.diff import diff
from docmill.storage.snapshots.change.restoring import undelete
from docmill.storage.snapshots.change.tagging import set_tag
from docmill.storage.snapshots.clean.compact import compact, vacuum
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.pending_vectors import waiting_in
from docmill.tasks.publishing.reembed import CommitTerms, reembed
from tests.kit.counting_encoder import LONG_RUN, PAGES, SMALL, Slow, ingest_slowly, interrupt, slow_model
from tests.kit.fake_encoder import NAME, TokenCounts, write_model
from tests.kit.victim import start
from tests.kit.workbench import MakeBench, Workbench

pytestmark = pytest.mark.usefixtures("fake_model")
READERS = 4


@pytest.fixture(autouse=True)
def slow() -> Iterator[None]:
    with slow_model():
        yield


@pytest.fixture(scope="module")
def written(make_bench: MakeBench) -> Workbench:
    made = make_bench(**LONG_RUN)
    made.write(dict(PAGES))
    return made


@pytest.fixture
def bench(written: Workbench, tmp_path: Path) -> Workbench:
    return written.copy(tmp_path / "bench")


@pytest.fixture
def whole(bench: Workbench, tmp_path: Path) -> Workbench:
    """Return a store of the same files that was made in one commit."""
    made = bench.copy(tmp_path / "whole")
    made.settings["run"] = {"commit_every": 0}
    made.ingest()
    assert snapshots.numbers(made.root) == [1]
    return made


def states(bench: Workbench) -> Iterator[snapshots.Snapshot]:
    return snapshots.each(bench.root)


def assert_equal(one: Workbench, other: Workbench) -> None:
    """Compare two stores row for row: tables, vectors and postings."""
    for table in ("documents", "chunks", "rejects"):
        assert one.files(table) == other.files(table)
    first, second = (bench.store for bench in (one, other))
    left, right = (VectorIndex(store.root, store.snapshot.vectors, store.snapshot.space) for store in (first, second))
    assert sorted(left.rows().to_pylist(), key=str) == sorted(right.rows().to_pylist(), key=str)
    for query in ("owl number 7", "the rook sings on tree 9", "wood"):
        for mode in ("hybrid", "vector", "keyword"):
            assert [(hit.chunk_id, hit.score) for hit in first.search(query, k=20, mode=mode)] == [
                (hit.chunk_id, hit.score) for hit in second.search(query, k=20, mode=mode)
            ]
    assert left.rows().num_rows == len(one.chunks())


def test_a_long_run_ends_as_if_it_had_committed_once(bench: Workbench, whole: Workbench) -> None:
    seen = []
    Slow.after = staticmethod(lambda _: seen.append(snapshots.numbers(bench.root)))
    report = bench.ingest()
    assert len({*map(tuple, seen)}) > 3, "it has committed several times"
    assert snapshots.numbers(bench.root) == [report.snapshot], "and has left one snapshot"
    assert verify(bench.root, deep=True) == []
    assert_equal(bench, whole)
    runs, once = (read_table(one.store.stored, "runs").to_pylist() for one in (bench, whole))
    for row in (*runs, *once):
        for name in ("run_id", "snapshot", "seconds", "started"):
            del row[name]
    assert runs == once
    assert bench.ingest().snapshot is None


@pytest.fixture(scope="module")
def interrupted(written: Workbench, tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    made = written.copy(tmp_path_factory.mktemp("interrupted"))
    interrupt(made)
    return made


@pytest.fixture
def halfway(interrupted: Workbench, tmp_path: Path) -> Workbench:
    """Return a store whose first ingest was interrupted when it had committed some of the vectors."""
    return interrupted.copy(tmp_path / "halfway")


def newest(bench: Workbench) -> snapshots.Snapshot:
    return snapshots.read(bench.root)


def test_an_interrupted_run_leaves_a_whole_store_and_the_next_one_goes_on(whole: Workbench, halfway: Workbench) -> None:
    left = newest(halfway)
    assert left.pending
    assert 0.5 <= left.covered < 1
    assert verify(halfway.root, deep=True) == []
    assert halfway.ingest(dry_run=True).pending == left.pending.chunks
    assert halfway.ingest(dry_run=True).embedded <= left.pending.chunks
    report = halfway.ingest()
    assert (report.pending, report.documents.unchanged, report.parsed) == (0, len(PAGES), 0)
    assert report.embedded <= left.pending.chunks
    assert newest(halfway).pending is None
    assert snapshots.numbers(halfway.root) == [report.snapshot]
    assert verify(halfway.root, deep=True) == []
    assert_equal(halfway, whole)


def test_an_interrupted_run_goes_on_with_an_index_of_other_numbers(halfway: Workbench) -> None:
    halfway.settings["embedding"] = {"model": NAME, "indexed": "float16"}
    assert halfway.ingest().pending == 0
    left = newest(halfway)
    assert (left.pending, left.space.indexed) == (None, "float16")
    assert verify(halfway.root, deep=True) == []


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_a_kill_at_any_moment_leaves_what_the_next_run_completes(
    bench: Workbench, whole: Workbench, tmp_path: Path, token_counts_folder: Path, kills: int
) -> None:
    rng = random.Random(14)
    texts = whole.store.snapshot.rows("chunks")
    for number in range(kills):
        victim = bench.copy(tmp_path / str(number))
        (victim.folder / "last").write_text(str(rng.randrange(1, texts)))
        process = start(ingest_slowly, victim, token_counts_folder)
        process.join()
        assert process.exitcode == -9
        process.close()
        if snapshots.numbers(victim.root):
            assert verify(victim.root, deep=True) == []
            assert victim.store.search("rook", mode="keyword")
        victim.ingest()
        assert verify(victim.root, deep=True) == []
        assert len(snapshots.numbers(victim.root)) == 1
        assert_equal(victim, whole)


def test_documents_come_and_go_while_vectors_are_pending(halfway: Workbench, tmp_path: Path) -> None:
    for name in ("owl.txt", "rook.txt", "gull.txt"):
        (halfway.docs / name).unlink()
    (halfway.docs / "tit.txt").rename(halfway.docs / "tomtit.txt")
    halfway.write({"new.txt": "The stork came in spring.", "jay.txt": f"{PAGES['jay.txt']!s}\n\nAnd the jay is blue."})
    clean = halfway.copy(tmp_path / "clean")
    shutil.rmtree(clean.root)
    clean.ingest()
    halfway.ingest(allow_delete=True)
    assert newest(halfway).pending is None
    assert verify(halfway.root, deep=True) == []
    assert_equal(halfway, clean)


def test_what_is_deleted_while_its_vectors_are_pending_comes_back(halfway: Workbench) -> None:
    waiting = set(waiting_in(halfway.store.stored).column("document_id").to_pylist())
    uri = next(row.uri for row in halfway.chunks() if row.document_id in waiting)
    (halfway.docs / uri).unlink()
    halfway.ingest()
    assert newest(halfway).pending is None
    undelete(halfway.root, [uri], Retention())
    assert newest(halfway).pending
    assert verify(halfway.root, deep=True) == []
    assert {hit.uri for hit in halfway.store.search(uri.removesuffix(".txt"), mode="keyword")} == {uri}
    halfway.ingest()
    assert newest(halfway).pending is None
    assert verify(halfway.root, deep=True) == []


def test_hybrid_search_ranks_what_has_no_vector_by_its_keywords(halfway: Workbench) -> None:
    store = halfway.store
    waiting = set(waiting_in(store.stored).column("chunk_id").to_pylist())
    hits = store.search("number 7 sings on tree 49", k=50, distinct=False, spread=0, lift=0)
    words = store.search("number 7 sings on tree 49", k=50, mode="keyword", distinct=False)
    ours = [hit.chunk_id for hit in hits if hit.chunk_id in waiting]
    assert ours == [hit.chunk_id for hit in words if hit.chunk_id in waiting][: len(ours)]
    assert {hit.chunk_id in waiting for hit in hits[:8]} == {True, False}, "neither kind is punished out of the first"
    best = next(hit for hit in words if hit.chunk_id in waiting)
    assert any("instead of pending vectors" in note.said for hit in hits for note in hit.steps)
    assert best.chunk_id in ours[:1]
    for mode in ("vector", "hybrid"):
        found = store.search("number 7", k=50, mode=mode, diversity=0.5, expand="feedback", distinct=False)
        assert found
        if mode == "vector":
            assert waiting.isdisjoint(hit.chunk_id for hit in found)


def test_before_the_first_vector_hybrid_search_is_keyword_search(bench: Workbench) -> None:
    interrupt(bench, at=0.0)
    store = bench.store
    assert store.status()["vectors"]["share"] < 0.3
    found = store.search("owl number 7 tree", k=5, where="uri = 'owl.txt'", spread=0, lift=0)  # as keywords alone rank
    hybrid = [hit.chunk_id for hit in found]
    words = [hit.chunk_id for hit in store.search("owl number 7 tree", k=5, mode="keyword", where="uri = 'owl.txt'")]
    assert hybrid == words


def test_a_reader_never_sees_a_mix(bench: Workbench) -> None:
    held: list[tuple[Store, int, int]] = []

    def look(_count: int) -> None:
        Slow.after = staticmethod(lambda _: None)  # a search embeds its query
        seen = {store.snapshot.number for store, *_ in held}
        if len(held) < READERS and {*snapshots.numbers(bench.root)[-1:]} - seen:
            store = open_store(bench.root)
            vectors = len(store.search("wood", k=500, mode="vector", distinct=False))
            held.append((store, vectors, len(store.search("wood", k=500, mode="keyword", distinct=False))))
        Slow.after = staticmethod(look)

    Slow.after = staticmethod(look)
    done = bench.ingest()
    assert len({store.snapshot.number for store, *_ in held}) > 2
    for store, vectors, words in held:
        pending = store.snapshot.pending
        assert words == store.snapshot.rows("chunks")
        assert vectors == words - (pending.chunks if pending else 0)
        assert len(store.search("wood", k=500, mode="vector", distinct=False)) == vectors, "and none moves under it"
    assert done.snapshot
    for store, *_ in held:
        store.close()
    vacuum(bench.root, Retention())
    assert done.snapshot in snapshots.numbers(bench.root)
    assert not any(state.pending for state in snapshots.each(bench.root)), "what its readers have left is gone"
    assert verify(bench.root, deep=True) == []


def test_a_gate_publishes_no_snapshot_without_all_its_vectors(bench: Workbench) -> None:
    seen = set()
    Slow.after = staticmethod(lambda _: seen.update(snapshots.numbers(bench.root)))
    (bench.folder / "q.csv").write_text("question,uri\nwhere is the owl,owl.txt\n")
    bench.settings["gate"] = {"questions": str(bench.folder / "q.csv"), "metric": "RR"}
    assert bench.ingest().snapshot == 1
    assert not seen


def test_a_tag_keeps_a_step_of_a_run(halfway: Workbench) -> None:
    step = newest(halfway)
    set_tag(halfway.root, "half", None)
    found = [hit.chunk_id for hit in open_store(halfway.root, "half").search("owl number 7", k=9)]
    report = halfway.ingest()
    assert snapshots.numbers(halfway.root) == [step.number, report.snapshot]
    compact(halfway.root, Retention(keep_snapshots=1))
    assert verify(halfway.root, deep=True) == []
    tagged = open_store(halfway.root, "half")
    assert tagged.snapshot.pending == step.pending
    assert [hit.chunk_id for hit in tagged.search("owl number 7", k=9)] == found
    shares = diff(tagged.stored, halfway.store.stored)
    assert (shares.documents, shares.chunks, shares.vectors) == ((), (), (step.covered, 1.0))
    assert [row["pending"] for row in halfway.store.history()][-1] == 0


def test_the_steps_of_a_run_stay_if_that_is_asked_for(halfway: Workbench) -> None:
    step = newest(halfway)
    halfway.settings["retention"] = {"keep_steps": True}
    report = halfway.ingest()
    assert {step.number, report.snapshot} <= {*snapshots.numbers(halfway.root)}
    assert open_store(halfway.root, step.number).snapshot.pending == step.pending
    vacuum(halfway.root, Retention(keep_steps=True))
    assert step.number in snapshots.numbers(halfway.root)
    assert verify(halfway.root, deep=True) == []
    vacuum(halfway.root, Retention())
    assert not any(state.pending for state in snapshots.each(halfway.root))


def test_compaction_keeps_what_is_pending(halfway: Workbench) -> None:
    before = newest(halfway)
    compact(halfway.root, Retention(keep_snapshots=1))
    assert newest(halfway).pending == before.pending
    assert verify(halfway.root, deep=True) == []
    halfway.ingest()
    assert newest(halfway).pending is None
    assert verify(halfway.root, deep=True) == []


def test_a_repair_does_not_embed_for_hours(halfway: Workbench) -> None:
    before = newest(halfway)
    (halfway.root / before.artifacts["embeddings"][0].file.path).unlink()
    assert {finding.kind for finding in verify(halfway.root)} >= {"embeddings"}

    def refuse(_: object) -> npt.NDArray[np.float32]:
        raise AssertionError("a repair embeds nothing here")

    assert repair(halfway.root, refuse).lost == []
    after = newest(halfway)
    assert before.pending
    assert after.pending
    assert after.pending.chunks == before.pending.chunks + before.artifacts["embeddings"][0].rows
    assert {finding.kind for finding in verify(halfway.root, deep=True)} <= {"past"}
    halfway.ingest()
    assert newest(halfway).pending is None
    assert {finding.kind for finding in verify(halfway.root, deep=True)} <= {"past"}


def test_a_lost_vector_index_is_rebuilt_as_far_as_it_went(halfway: Workbench) -> None:
    before = newest(halfway)
    shutil.rmtree(halfway.root / "vectors")

    def refuse(_: object) -> npt.NDArray[np.float32]:
        raise AssertionError("no vector is lost")

    repair(halfway.root, refuse)
    assert newest(halfway).pending == before.pending
    assert verify(halfway.root, deep=True) == []


def test_another_model_gives_every_chunk_a_vector(halfway: Workbench, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        folder = write_model(tmp_path / "wide", dimension=24)
        patch.setitem(space.FOLDERS, "wide", lambda: folder)
        patch.setitem(encoder.LOADERS, "wide", TokenCounts)
        reembed(halfway.root, describe_model("wide"), CommitTerms(Retention()))
        assert newest(halfway).pending is None
        assert {finding.kind for finding in verify(halfway.root, deep=True)} <= {"past"}


def test_the_commands_tell_what_is_pending(halfway: Workbench) -> None:
    def call(*arguments: str) -> Result:
        done = CliRunner().invoke(app, [*arguments, "--store", str(halfway.root)])
        assert done.exit_code == 0, done.output
        return done

    share = int(100 * newest(halfway).covered)
    assert f"{share} %, about 1 minute left" in call("status").stdout
    assert json.loads(call("status", "--json").stdout)["vectors"]["pending"] > 0
    assert f"vectors {share} %" in call("search", "owl", "--json").stderr
    assert "vectors" not in call("search", "owl", "--mode", "keyword").stderr
    sources = (str(halfway.docs), "--embedding-model", NAME, "--set", f"routes={json.dumps(SMALL['routes'])}")
    assert "chunks of the store have no vectors yet" in call("plan", *sources).stdout


def test_a_gate_compares_with_a_snapshot_that_has_all_its_vectors(halfway: Workbench) -> None:
    (halfway.folder / "q.csv").write_text("question,uri\nwhere is the owl,owl.txt\n")
    halfway.settings["gate"] = {"questions": str(halfway.folder / "q.csv"), "metric": "RR"}
    halfway.write({"new.txt": "The stork came in spring."})
    before = newest(halfway).number
    assert halfway.ingest().snapshot == before + 2, "one that completes the vectors, and one of the new document"
    assert newest(halfway).pending is None
    assert verify(halfway.root, deep=True) == []
