"""Going back: a new snapshot has the contents of an earlier one, in all three stores, and nothing is made again."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage import failpoints
from docmill.storage.errors import QueryError, StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.encode import encoder, space
from docmill.storage.search.encode.space import EmbeddingSpace, describe_model
from docmill.storage.snapshots.change import candidate_snapshots
from docmill.storage.snapshots.change.diff import diff
from docmill.storage.snapshots.change.restoring import Restored, restore, undelete
from docmill.storage.snapshots.change.tagging import set_tag
from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.snapshots.tables import tables
from docmill.storage.snapshots.tables.tables import read_table
from docmill.tasks.publishing.reembed import CommitTerms, reembed
from tests.kit.counting_encoder import LONG_RUN, PAGES, interrupt, slow_model
from tests.kit.fake_encoder import NAME, TokenCounts, write_model
from tests.kit.remote_bench import RemoteBench
from tests.kit.victim import Countdown, Places, at_boundaries, restore_first, start
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.usefixtures("fake_model")
ALL = Retention(keep_snapshots=1000)
WIDE = "wide-token-counts"
Answers = list[tuple[str, str, float]]


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Return a bench of two snapshots: in the second a document is changed, one is new, one gone, and one rejected."""
    made = Workbench(tmp_path_factory.mktemp("laid"))
    made.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n", "same.txt": "Rain."})
    made.ingest()
    made.write({"guide.md": "# Guide\n\nTurn the blue knob.\n", "notes.txt": None, "new.txt": "It thaws.\n"})
    made.write({"bad.html": ""})
    made.ingest(allow_delete=True)
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path / "bench")


def answers(bench: Workbench, at: int | str | None = None) -> Answers:
    store = open_store(bench.root, at)
    hits = [(mode, store.search("red blue knob snow thaws", k=9, mode=mode)) for mode in ("vector", "keyword")]
    return [(mode, hit.text, round(hit.score, 9)) for mode, found in hits for hit in found]


def differences(bench: Workbench, one: int, other: int) -> list[str]:
    found = diff(open_store(bench.root, one).stored, open_store(bench.root, other).stored)
    return [change.kind for change in (*found.documents, *found.chunks)]


def test_an_earlier_snapshot_comes_back_in_all_three_stores(bench: Workbench) -> None:
    before = answers(bench, 1)
    assert answers(bench) != before
    done = restore(bench.root, 1, ALL)
    assert done == Restored(1, added=1, changed=1, removed=1, rejects=True, snapshot=3)
    assert answers(bench) == before
    assert differences(bench, 1, 3) == []
    for table in ("documents", "chunks", "rejects"):
        assert read_table(bench.store.stored, table).equals(read_table(open_store(bench.root, 1).stored, table))
    assert verify(bench.root, deep=True) == []
    assert restore(bench.root, 1, ALL).same
    assert snapshots.numbers(bench.root) == [1, 2, 3]


def test_it_can_be_taken_back_as_well(bench: Workbench) -> None:
    before = answers(bench)
    restore(bench.root, 1, ALL)
    assert restore(bench.root, 2, ALL).snapshot == 4
    assert answers(bench) == before
    assert differences(bench, 2, 4) == []
    assert verify(bench.root, deep=True) == []


def test_a_reader_keeps_what_it_has_open(bench: Workbench) -> None:
    reader = open_store(bench.root)
    before = [hit.text for hit in reader.search("blue knob", k=3)]
    restore(bench.root, 1, ALL)
    assert [hit.text for hit in reader.search("blue knob", k=3)] == before
    assert reader.snapshot.number == 2


def test_runs_and_costs_stay_and_the_history_shows_it(bench: Workbench) -> None:
    restore(bench.root, 1, ALL)
    asked = "SELECT snapshot, engine, added, changed, deleted, unchanged, parsed, embedded FROM runs ORDER BY 1"
    rows = bench.store.sql(asked).to_pylist()
    assert [row["engine"] for row in rows] == ["local", "local", "restore"]
    assert [*rows[-1].values()][2:] == [1, 1, 1, 1, 0, 0]


def test_the_next_ingest_compares_the_files_with_it(bench: Workbench) -> None:
    restore(bench.root, 1, ALL)
    assert summary(bench.ingest(allow_delete=True)) == {
        "added": 1, "changed": 1, "deleted": 1, "unchanged": 1, "rejected": 1, "parsed": 3,
    }  # fmt: skip
    assert differences(bench, 2, 4) == []
    assert verify(bench.root, deep=True) == []


def test_what_it_removes_can_be_undeleted_and_what_it_adds_cannot(bench: Workbench) -> None:
    assert bench.store.sql("SELECT uri FROM deleted").column(0).to_pylist() == ["notes.txt"]
    restore(bench.root, 1, ALL)
    assert bench.store.sql("SELECT uri FROM deleted").column(0).to_pylist() == ["new.txt"]
    undelete(bench.root, ["new.txt"], ALL)
    assert bench.store.search("thaws", k=1)[0].uri == "new.txt"
    assert verify(bench.root, deep=True) == []


def test_a_dry_run_compares_and_writes_nothing(bench: Workbench) -> None:
    before = sorted(path for path in bench.root.rglob("*") if path.name != "lock")
    assert restore(bench.root, 1, ALL, dry_run=True) == Restored(1, 1, 1, 1, rejects=True)
    assert sorted(path for path in bench.root.rglob("*") if path.name != "lock") == before


def test_a_snapshot_that_only_a_tag_keeps_comes_back_after_a_compaction(bench: Workbench) -> None:
    set_tag(bench.root, "good", 1)
    before = answers(bench, "good")
    bench.write({"guide.md": "# Guide\n\nTurn no knob.\n"})
    bench.ingest()
    compact(bench.root, Retention(keep_snapshots=1))
    restore(bench.root, "good", ALL)
    assert [hit[1] for hit in answers(bench)] == [hit[1] for hit in before]
    assert differences(bench, 1, snapshots.read(bench.root).number) == []
    assert verify(bench.root, deep=True) == []


def test_tables_in_other_numbers_of_files_are_compared_document_by_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Workbench(tmp_path)
    bench.write({f"{i}.txt": f"Page number{i}.\n" for i in range(40)})
    bench.ingest()
    monkeypatch.setattr(tables, "ROWS_PER_BUCKET", 2)
    bench.write({f"{i}.txt": f"Sheet number{i}.\n" for i in range(5, 60)})
    bench.ingest()
    assert bench.store.snapshot.buckets != open_store(bench.root, 1).snapshot.buckets
    done = restore(bench.root, 1, ALL)
    assert (done.added, done.changed, done.removed) == (0, 35, 20)
    assert differences(bench, 1, 3) == []
    assert verify(bench.root, deep=True) == []


def test_pending_vectors_stay_pending_until_the_next_ingest(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, dict(LONG_RUN))
    bench.write(dict(PAGES))
    with slow_model():
        interrupt(bench)
        halfway = snapshots.read(bench.root)
        set_tag(bench.root, "halfway")
        assert halfway.pending
        bench.ingest()
        bench.write({"new.txt": "Something new.\n"})
        bench.ingest()
        restore(bench.root, "halfway", ALL)
        now = snapshots.read(bench.root)
        assert now.pending is None, "the vectors that were made since are in the store"
        assert verify(bench.root, deep=True) == []
        assert now.rows("chunks") == halfway.rows("chunks")
        assert bench.ingest().embedded == 0


def test_a_restore_leaves_what_waits_for_its_vectors(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, dict(LONG_RUN))
    bench.write({"owl.txt": PAGES["owl.txt"]})
    with slow_model():
        bench.ingest()
        bench.write(dict(PAGES))
        interrupt(bench)
        assert snapshots.read(bench.root).pending
        restore(bench.root, 1, ALL)
        assert snapshots.read(bench.root).pending is None
        assert verify(bench.root, deep=True) == []
        bench.ingest()
        assert verify(bench.root, deep=True) == []


@pytest.fixture
def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddingSpace:
    """Return the space of another model."""
    folder = write_model(tmp_path / WIDE, dimension=24)
    monkeypatch.setitem(space.FOLDERS, WIDE, lambda: folder)
    monkeypatch.setitem(encoder.LOADERS, WIDE, TokenCounts)
    return describe_model(WIDE)


def test_a_snapshot_of_another_model_is_refused_until_its_model_is_back(bench: Workbench, wide: EmbeddingSpace) -> None:
    reembed(bench.root, wide, CommitTerms(ALL))
    with pytest.raises(StoreError, match=f"docmill reembed --model {NAME}"):
        restore(bench.root, 1, ALL)
    assert snapshots.numbers(bench.root) == [1, 2, 3]
    assert reembed(bench.root, describe_model(NAME), CommitTerms(ALL)).embedded == 0
    restore(bench.root, 1, ALL)
    assert differences(bench, 1, 5) == []
    assert verify(bench.root, deep=True) == []


def test_what_cannot_be_restored_is_said_before_anything_changes(bench: Workbench) -> None:
    for at, said in ((9, "no snapshot 9; it has 1 to 2"), ("good", "no snapshot or tag 'good'")):
        with pytest.raises(StoreError, match=said):
            restore(bench.root, at, ALL)
    gone = next(iter(open_store(bench.root, 1).stored.paths("chunks")))
    gone.unlink()
    with pytest.raises(StoreError, match=r"snapshot 1 cannot be restored: tables/chunks/.* is missing"):
        restore(bench.root, 1, ALL)
    assert snapshots.numbers(bench.root) == [1, 2]


def test_a_candidate_is_published_and_not_restored(bench: Workbench) -> None:
    candidate_snapshots.keep(open_store(bench.root).stored.changed(number=3))
    with pytest.raises(QueryError, match="docmill publish candidate-3"):
        restore(bench.root, "candidate-3", ALL)
    restore(bench.root, 1, ALL)
    with pytest.raises(QueryError, match="snapshot 3 was committed after candidate-3"):
        candidate_snapshots.publish(bench.root, "candidate-3")


@at_boundaries
def test_a_kill_at_any_boundary_leaves_one_of_the_two_and_the_next_try_ends_it(
    bench: Workbench, tmp_path: Path, token_counts_folder: Path, places: Places
) -> None:
    counted = Countdown(0, lambda: None)
    clean = bench.copy(tmp_path / "clean")
    failpoints.watch = counted
    try:
        restore_first(clean)
    finally:
        failpoints.watch = None
    for at in places(counted.seen):
        victim = bench.copy(tmp_path / f"victim-{at}")
        process = start(restore_first, victim, token_counts_folder, at)
        process.join()
        assert process.exitcode == -9
        process.close()
        now = victim.chunks()
        assert now == (clean.chunks() if snapshots.read(victim.root).number == 3 else bench.chunks())
        assert [hit[1] for hit in answers(victim)]
        restore_first(victim)
        assert snapshots.read(victim.root).number == 3
        assert victim.files("chunks") == clean.files("chunks")
        assert verify(victim.root, deep=True) == []
        victim.ingest(allow_delete=True)
        assert not [*(victim.root / "staging").glob("*restore*")]
        assert verify(victim.root, deep=True) == []


@pytest.mark.parametrize("opened", [False, True])
def test_a_machine_that_has_no_snapshot_or_only_the_newest_goes_back(far: RemoteBench, opened: bool) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n"})
    far.ingest()
    far.write({"guide.md": "# Guide\n\nTurn the blue knob.\n", "notes.txt": None})
    far.ingest(allow_delete=True)
    two = far.on("two")
    open_folder(two.root).refresh()
    if opened:
        assert open_store(two.root).search("blue", k=1)
    assert restore(two.root, 1, ALL, dry_run=True).changed == 1
    assert restore(two.root, 1, ALL).snapshot == 3
    assert far.store.search("snow", k=1)[0].uri == "notes.txt"
    assert verify(two.root, deep=True) == []
    assert far.on("three").store.search("red knob", k=1)[0].text.endswith("red knob.")
    far.ingest(allow_delete=True)
    assert verify(far.root, deep=True) == []


def test_the_command_says_what_came_back(bench: Workbench) -> None:
    def call(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments, "--store", str(bench.root)])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert call("restore", "1", "--dry-run") == (
        "This would commit a snapshot with the contents of snapshot 1\n  documents  1 added, 1 changed, 1 removed\n"
    )
    assert call("restore", "1") == (
        "Snapshot 3 committed, with the contents of snapshot 1\n  documents  1 added, 1 changed, 1 removed\n"
    )
    assert call("restore", "1") == "Nothing to do: the newest snapshot has the contents of snapshot 1.\n"
    assert json.loads(call("restore", "2", "--json")) == {
        "earlier": 2, "added": 1, "changed": 1, "removed": 1, "rejects": True, "snapshot": 4,
    }  # fmt: skip


def test_the_history_says_what_each_snapshot_changed_and_who_made_it(bench: Workbench) -> None:
    def rows() -> list[list[str]]:
        done = CliRunner().invoke(app, ["history", "--store", str(bench.root)])
        head, _, *lines = done.stdout.splitlines()
        names = ("snapshot", "created (UTC)", "made by", "change", "documents")
        starts = [head.index(name) for name in names] + [head.index("documents") + 9]
        return [[line[first:last].strip() for first, last in pairwise(starts)] for line in lines]

    restore(bench.root, 1, ALL)
    compact(bench.root, ALL)
    assert [row[:1] + row[2:] for row in rows()] == [
        ["1", "ingest", "3 added", "3"],
        ["2", "ingest", "1 added, 1 changed, 1 deleted", "3"],
        ["3", "restore", "1 added, 1 changed, 1 deleted", "3"],
        ["4", "compact or repair", "", "3"],
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", row[1]) for row in rows())
    set_tag(bench.root, "good", 1)
    done = CliRunner().invoke(app, ["history", "--store", str(bench.root)])
    head, _, first, second, *_ = done.stdout.splitlines()
    assert (head.split()[-1], first.split()[-1], second.split()[-1]) == ("tag", "good", "1")
