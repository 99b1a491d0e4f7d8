"""Removing a source: its documents leave with one snapshot, and its name is free again."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from docmill.flows.cli.app import app
from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.remove_and_erase import remove, still_named
from docmill.storage import failpoints
from docmill.storage.errors import QueryError, SourceError
from docmill.storage.snapshots.change.removal import Removed
from docmill.storage.snapshots.change.restoring import restore, undelete
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import open_store
from tests.kit.counting_encoder import LONG_RUN, PAGES, interrupt, slow_model
from tests.kit.remote_bench import RemoteBench
from tests.kit.victim import Countdown, Places, at_boundaries, remove_notes, start
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")


def write_two(bench: Workbench) -> None:
    """Ingest the source "docs" with two documents, and "notes" with one and a rejected file."""
    bench.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "rain.txt": "It rains.\n"})
    notes = bench.folder / "notes"
    notes.mkdir()
    (notes / "snow.txt").write_text("Notes about snow.\n")
    (notes / "bad.html").write_text("")
    bench.ingest(str(bench.docs), str(notes))


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    made = Workbench(tmp_path_factory.mktemp("laid"))
    write_two(made)
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    made = laid.copy(tmp_path / "bench")
    made.ingest(str(made.docs), str(made.folder / "notes"))  # so that the copy knows where its sources are
    return made


def take_out(bench: Workbench, *names: str, dry_run: bool = False) -> Removed:
    return remove(Settings(store=bench.root), names, dry_run)


def uris(bench: Workbench) -> set[str]:
    return {chunk.uri for chunk in bench.chunks()}


def test_the_documents_and_rejects_of_a_source_leave_with_one_snapshot(bench: Workbench) -> None:
    assert take_out(bench, "notes", dry_run=True) == Removed(("notes",), documents=1, chunks=1, rejects=1)
    assert snapshots.numbers(bench.root) == [1]
    assert take_out(bench, "notes") == Removed(("notes",), documents=1, chunks=1, rejects=1, snapshot=2)
    assert uris(bench) == {"guide.md", "rain.txt"}
    assert bench.store.sql("SELECT * FROM rejects").num_rows == 0
    assert bench.store.search("snow", mode="keyword") == []
    assert (bench.folder / "notes" / "snow.txt").exists()
    row = bench.store.sql("SELECT engine, deleted, unchanged, chunks_removed FROM runs WHERE snapshot = 2").to_pylist()
    assert [*row[0].values()] == ["remove", 1, 2, 1]
    assert verify(bench.root, deep=True) == []
    assert bench.ingest().documents.unchanged == 2
    assert open_store(bench.root, 1).search("snow", k=1)[0].uri == "snow.txt"


def test_a_removed_document_comes_back_by_undelete_and_all_by_restore(bench: Workbench) -> None:
    take_out(bench, "notes", "docs")
    assert uris(bench) == set()
    undelete(bench.root, ["snow.txt"], Retention())
    assert uris(bench) == {"snow.txt"}
    restore(bench.root, 1, Retention())
    assert uris(bench) == {"guide.md", "rain.txt", "snow.txt"}
    assert verify(bench.root, deep=True) == []


def test_an_unknown_name_lists_the_sources_and_changes_nothing(bench: Workbench) -> None:
    for names in (["note"], ["docs", "note"]):
        with pytest.raises(QueryError, match=r"no source 'note'; its sources, with .*, are docs \(2\), notes \(1\)"):
            take_out(bench, *names)
    assert snapshots.numbers(bench.root) == [1]


def test_another_folder_may_take_the_name_of_a_removed_source(bench: Workbench) -> None:
    other = bench.folder / "other" / "notes"
    other.mkdir(parents=True)
    (other / "ice.txt").write_text("Notes about ice.\n")
    with pytest.raises(SourceError, match="both source 'notes'"):
        bench.ingest(str(other))
    take_out(bench, "notes")
    assert bench.ingest(str(other)).documents.added == 1
    assert uris(bench) == {"guide.md", "rain.txt", "ice.txt"}


def test_a_source_whose_folder_is_gone_can_be_removed(bench: Workbench) -> None:
    bench.docs.rename(bench.folder / "elsewhere")
    assert take_out(bench, "docs").documents == 2
    assert uris(bench) == {"snow.txt"}


def test_the_next_ingest_brings_back_what_its_sources_still_have(bench: Workbench) -> None:
    take_out(bench, "docs")
    report = bench.ingest()
    assert (report.documents.added, report.parsed, report.embedded) == (2, 2, 0)
    assert bench.store.sql("SELECT uri FROM deleted").num_rows == 0
    assert verify(bench.root, deep=True) == []


def test_a_setting_that_still_names_the_source_is_found_by_path_and_by_name(bench: Workbench) -> None:
    entries = ("docs", f"{bench.folder}/notes/", "notes=elsewhere", "*.md", "s3://bucket/notes")
    assert [*still_named(Settings(sources=entries), ["notes"])] == [entries[1], entries[2], entries[4]]


def test_other_vectors_that_are_pending_go_on_waiting(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, dict(LONG_RUN))
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "snow.txt").write_text("Notes about snow.\n")
    bench.ingest(str(notes))
    bench.write(dict(PAGES))
    with slow_model():
        interrupt(bench)
        left = snapshots.read(bench.root).pending
        assert left
        take_out(bench, "notes")
        assert snapshots.read(bench.root).pending == left
        assert verify(bench.root, deep=True) == []
        assert bench.ingest().pending == 0
        take_out(bench, "docs")
        assert snapshots.read(bench.root).rows("chunks") == 0
        assert verify(bench.root, deep=True) == []


@at_boundaries
def test_a_kill_at_any_boundary_leaves_all_or_nothing_of_the_source(
    bench: Workbench, tmp_path: Path, token_counts_folder: Path, places: Places
) -> None:
    counted = Countdown(0, lambda: None)
    failpoints.watch = counted
    try:
        remove_notes(bench.copy(tmp_path / "clean"))
    finally:
        failpoints.watch = None
    for at in places(counted.seen):
        victim = bench.copy(tmp_path / f"victim-{at}")
        process = start(remove_notes, victim, token_counts_folder, at)
        process.join()
        assert process.exitcode == -9
        process.close()
        committed = snapshots.read(victim.root).number == 2
        assert uris(victim) == {"guide.md", "rain.txt"} | (set() if committed else {"snow.txt"})
        if not committed:
            remove_notes(victim)
        assert uris(victim) == {"guide.md", "rain.txt"}
        assert victim.ingest().documents.unchanged == 2
        assert verify(victim.root, deep=True) == []


def test_a_source_of_a_store_in_a_bucket_is_removed_on_another_machine(far: RemoteBench) -> None:
    write_two(far)
    two = far.on("two")
    assert remove(Settings(store=two.root), ["notes"]).snapshot == 2
    assert {hit.uri for hit in far.store.search("knob rain snow", k=9)} == {"guide.md", "rain.txt"}
    assert verify(two.root, deep=True) == []


def call(bench: Workbench, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["remove", *arguments, "--store", str(bench.root)])


def test_the_command_says_what_goes_and_how_it_comes_back(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench.folder)
    Path("docmill.toml").write_text('sources = ["docs", "notes"]\n')
    done = call(bench, "notes", "--dry-run")
    assert done.stdout == "This would remove notes: 1 document, 1 chunk, 1 rejected file\n"
    assert (
        f"the setting `sources` still has {bench.folder / 'notes'}: the next ingest adds its documents again"
        in done.stderr
    )
    done = call(bench, "notes")
    assert done.stdout == "Snapshot 2 committed, without notes: 1 document, 1 chunk, 1 rejected file removed\n"
    assert "docmill undelete URI brings one document back for 30 days; docmill restore 1 goes back" in done.stderr
    assert call(bench, "notes").exit_code == 1
    assert json.loads(call(bench, "docs", "--json").stdout) == {
        "sources": ["docs"], "documents": 2, "chunks": 2, "rejects": 0, "snapshot": 3,
    }  # fmt: skip
