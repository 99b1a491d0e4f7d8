"""What is kept and what goes: deleted documents, old snapshots, small files, and readers in the midst of it."""

import errno
import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage import failpoints
from docmill.storage.errors import QueryError, StoreError, Transient
from docmill.storage.files import disk_use
from docmill.storage.snapshots.change.restoring import undelete
from docmill.storage.snapshots.change.tagging import set_tag
from docmill.storage.snapshots.clean import compact as compacting
from docmill.storage.snapshots.clean.compact import compact, vacuum
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention, expired
from docmill.storage.snapshots.read.store import open_store
from tests.kit.workbench import Workbench, summary

pytestmark = pytest.mark.usefixtures("fake_model")

TWO = Retention(keep_snapshots=2)
ALL = Retention(keep_snapshots=1000)


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    made = Workbench(tmp_path_factory.mktemp("laid"))
    made.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n"})
    made.ingest()
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path)


def edit(bench: Workbench, count: int) -> None:
    """Commit `count` snapshots, each with another word about the knob."""
    for _ in range(count):
        number = snapshots.read(bench.root).number
        bench.write({"guide.md": f"# Guide\n\nTurn the knob of number{number}.\n"})
        bench.ingest()


def delete(bench: Workbench, name: str) -> None:
    (bench.docs / name).unlink()
    bench.ingest(allow_delete=True)


def answers(bench: Workbench, at: int | str | None = None) -> list[tuple[str, float]]:
    return [(hit.text, hit.score) for hit in open_store(bench.root, at).search("knob of snow", k=5)]


def files(bench: Workbench) -> int:
    return sum(path.is_file() for path in bench.root.rglob("*"))


def test_a_deleted_document_comes_back_for_nothing(bench: Workbench) -> None:
    before, chunks = answers(bench), bench.chunks()
    delete(bench, "notes.txt")
    assert bench.store.sql("SELECT uri FROM deleted").to_pylist() == [{"uri": "notes.txt"}]
    undelete(bench.root, ["notes.txt"], ALL)
    assert answers(bench) == before
    assert bench.chunks() == chunks
    assert bench.store.sql("SELECT uri FROM deleted").to_pylist() == []
    assert bench.store.document("notes.txt").text == "Notes about snow.\n"
    assert verify(bench.root, deep=True) == []


def test_what_was_brought_back_stays_until_its_file_is_back(bench: Workbench) -> None:
    delete(bench, "notes.txt")
    undelete(bench.root, ["notes.txt"], ALL)
    assert summary(bench.ingest()) == {"unchanged": 1}
    bench.write({"notes.txt": "Notes about snow.\n"})
    report = bench.ingest()
    assert (report.parsed, report.embedded, report.documents.changed) == (0, 0, 1)
    assert bench.store.document("notes.txt").row.status == "ok"
    delete(bench, "notes.txt")
    with pytest.raises(QueryError, match="no document"):
        bench.store.document("notes.txt")


def test_a_document_that_was_not_deleted_cannot_come_back(bench: Workbench) -> None:
    with pytest.raises(QueryError, match=r"no document 'guide\.md' was deleted within 30 days"):
        undelete(bench.root, ["guide.md"], ALL)
    delete(bench, "notes.txt")
    with pytest.raises(QueryError, match=r"there are notes\.txt"):
        undelete(bench.root, ["note.txt"], ALL)


def test_the_grace_of_a_deleted_document_ends(bench: Workbench) -> None:
    bench.settings = {"retention": {"undelete_days": 0.5 / 24 / 3600}}
    delete(bench, "notes.txt")
    assert bench.store.sql("SELECT uri FROM deleted").num_rows == 1
    time.sleep(2.1)
    edit(bench, 1)
    assert bench.store.sql("SELECT uri FROM deleted").num_rows == 0
    assert bench.store.sql("SELECT uri FROM deleted_chunks").num_rows == 0


def test_no_document_is_set_aside_where_the_settings_say_so(bench: Workbench) -> None:
    bench.settings = {"retention": {"undelete_days": 0}}
    delete(bench, "notes.txt")
    assert bench.store.sql("SELECT uri FROM deleted").num_rows == 0


def test_a_deleted_document_outlives_compaction(bench: Workbench) -> None:
    delete(bench, "notes.txt")
    edit(bench, 3)
    compact(bench.root, Retention(keep_snapshots=1))
    undelete(bench.root, ["notes.txt"], ALL)
    assert verify(bench.root, deep=True) == []
    assert bench.store.search("snow", mode="keyword")[0].uri == "notes.txt"


def test_vacuum_keeps_the_newest_snapshots_and_the_tagged_ones(bench: Workbench) -> None:
    set_tag(bench.root, "first", 1)
    before = answers(bench, 1)
    edit(bench, 5)
    planned = vacuum(bench.root, TWO, dry_run=True)
    assert planned.removed == (2, 3, 4)
    assert planned.bytes > 0
    assert snapshots.numbers(bench.root) == [1, 2, 3, 4, 5, 6]
    done = vacuum(bench.root, TWO)
    assert done.removed == planned.removed
    assert done.bytes >= planned.bytes
    assert {1, 5, 6} <= set(snapshots.numbers(bench.root)) <= {1, 5, 6, 7}
    assert answers(bench, "first") == before
    assert verify(bench.root, deep=True) == []
    assert vacuum(bench.root, Retention(keep_snapshots=3)).removed == ()


def test_vacuum_goes_by_age_too(bench: Workbench) -> None:
    edit(bench, 2)
    later = datetime.now(UTC) + timedelta(days=2)
    assert expired(bench.root, Retention(keep_days=1)) == []
    assert expired(bench.root, Retention(keep_days=1), later) == [1, 2]
    assert expired(bench.root, Retention(keep_days=3), later) == []
    assert expired(bench.root, Retention(keep_snapshots=1)) == [1, 2]


def test_a_tagged_snapshot_is_searched_though_its_version_of_the_index_is_gone(bench: Workbench) -> None:
    set_tag(bench.root, "first", 1)
    before = answers(bench, 1)
    edit(bench, 4)
    compact(bench.root, TWO)
    compact(bench.root, TWO)
    versions = list((bench.root / "vectors").glob("*.lance/_versions/*.manifest"))
    assert len(versions) <= 10, "an old tag must not keep every version since"
    assert answers(bench, "first") == before


def test_a_reader_keeps_its_snapshot_through_commits_compaction_and_vacuum(bench: Workbench) -> None:
    reader, fresh = open_store(bench.root), open_store(bench.root)
    before = [(hit.text, hit.score) for hit in reader.search("knob of snow", k=5)]
    edit(bench, 10)
    compact(bench.root, Retention(keep_snapshots=1))
    vacuum(bench.root, Retention(keep_snapshots=1))
    assert 1 in snapshots.numbers(bench.root)
    for store in (reader, fresh):
        assert [(hit.text, hit.score) for hit in store.search("knob of snow", k=5)] == before
        assert store.sql("SELECT count(*) AS n FROM chunks").to_pylist() == [{"n": 2}]
        assert store.document("guide.md").text.endswith("red knob.\n")
    del reader, fresh, store
    vacuum(bench.root, Retention(keep_snapshots=1))
    assert 1 not in snapshots.numbers(bench.root)
    with pytest.raises(StoreError, match="no snapshot 1"):
        open_store(bench.root, 1)


def test_compaction_changes_files_and_nothing_else(bench: Workbench) -> None:
    edit(bench, 12)
    before, chunks, count = answers(bench), bench.chunks(), files(bench)
    done = compact(bench.root, Retention(keep_snapshots=1))
    assert done.snapshot == 14
    assert files(bench) < count / 2, [p for p in sorted(bench.root.rglob("*")) if p.is_file()]
    assert answers(bench) == before
    assert bench.chunks() == chunks
    newest = snapshots.read(bench.root)
    packs = {name: len(pieces) for name, pieces in newest.artifacts.items()}
    assert packs == {"texts": 1, "embeddings": 1, "figures": 0}
    assert len(newest.keywords.segments) == 1
    assert sum(piece.rows for piece in newest.artifacts["embeddings"]) == 2
    assert verify(bench.root, deep=True) == []
    assert summary(bench.ingest()) == {"unchanged": 2}


@pytest.mark.slow
def test_many_small_commits_are_tidied_up_unasked(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "MOST_PACKS", 4)
    bench.settings = {"retention": {"keep_snapshots": 3}}
    most = 0
    for _ in range(12):
        edit(bench, 1)
        most = max(most, len(snapshots.read(bench.root).artifacts["texts"]))
    assert most <= 5
    assert len(snapshots.numbers(bench.root)) <= 8
    assert verify(bench.root, deep=True) == []


def test_a_damaged_older_snapshot_is_in_nobodys_way(bench: Workbench) -> None:
    edit(bench, 2)
    path = snapshots.path_of(bench.root, 2)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    edit(bench, 1)
    assert [row["snapshot"] for row in bench.store.history()] == [1, 3, 4]
    assert bench.store.sql("SELECT count(*) AS n FROM snapshots").to_pylist() == [{"n": 3}]
    (finding,) = verify(bench.root)
    assert finding.kind == "past"
    assert "000002.json is damaged" in finding.message
    assert compact(bench.root, Retention()).damaged == (2,)
    result = CliRunner().invoke(app, ["vacuum", "--store", str(bench.root)])
    assert "snapshot 2 is damaged" in result.output
    path.write_bytes(whole)
    assert verify(bench.root, deep=True) == []
    assert open_store(bench.root, 2).search("Text", k=1), "none of its files has gone"
    path.write_bytes(whole[:-40])
    assert 2 in compact(bench.root, Retention(keep_snapshots=1)).removed
    assert verify(bench.root, deep=True) == []


def test_the_commands_say_what_they_did(bench: Workbench) -> None:
    def call(*arguments: str) -> str:
        result = CliRunner().invoke(app, [*arguments, "--store", str(bench.root)])
        assert result.exit_code == 0, result.output
        return result.stdout

    edit(bench, 3)
    assert call("vacuum", "--dry-run", "--set", "retention.keep_snapshots=1").startswith(
        "would remove 3 snapshots (1, 2, 3)"
    )
    assert json.loads(call("vacuum", "--json"))["removed"] == []
    delete(bench, "notes.txt")
    assert call("undelete", "notes.txt") == "snapshot 6 holds notes.txt\n"
    assert "committed snapshot" in call("compact", "--set", "retention.keep_snapshots=1")


@pytest.mark.soak
@pytest.mark.parametrize("commits", [60, 500])
def test_hundreds_of_small_commits_leave_few_files(bench: Workbench, commits: int) -> None:
    bench.settings = {"retention": {"keep_snapshots": 10}}
    counts, half = [], commits // 2
    for _ in range(commits):
        edit(bench, 1)
        counts.append(files(bench))
    assert max(counts[half:]) <= 1.3 * max(counts[:half])
    assert max(counts) < 1500
    assert len(snapshots.numbers(bench.root)) <= 10 + 16 + 32
    assert len(list((bench.root / "vectors").glob("*.lance/_versions/*.manifest"))) < 400
    assert verify(bench.root, deep=True) == []


def no_room(name: str) -> None:
    if name.startswith("before") and any(word in name for word in ("write", "rename", "lance", "put")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_vacuum_makes_room_where_there_is_none(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(bench, 5)
    before = disk_use(bench.root)
    monkeypatch.setattr(failpoints, "watch", no_room)
    with pytest.raises(Transient, match=r"No space left on device; .*: free some space and run again"):
        vacuum(bench.root, Retention(keep_snapshots=1))
    assert snapshots.numbers(bench.root) == [6]
    assert disk_use(bench.root) < before - 20_000
    monkeypatch.undo()
    vacuum(bench.root, Retention(keep_snapshots=1))
    assert verify(bench.root, deep=True) == []


@pytest.mark.parametrize("work", [compact, lambda root, kept: undelete(root, ["notes.txt"], kept)])
def test_who_finds_the_disk_full_is_told_what_to_do(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, work: Callable[[Path, Retention], object]
) -> None:
    delete(bench, "notes.txt")
    monkeypatch.setattr(failpoints, "watch", no_room)
    with pytest.raises(Transient, match=rf"{bench.root}: No space left on device; .*: free some space and run again"):
        work(bench.root, ALL)
    monkeypatch.undo()
    assert verify(bench.root, deep=True) == []
