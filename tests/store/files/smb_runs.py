"""Tests that `test_file_systems.py` runs in a process whose file system is like an SMB share."""

import os
import zipfile
from contextlib import suppress
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from docmill.storage.snapshots.change.tagging import set_tag
from docmill.storage.snapshots.clean.compact import vacuum
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.snapshots.write import current_folder
from tests.kit.victim import ingest, start
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

STEPS = ("before move current", "before swap current", "after swap current")


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path_factory.mktemp("laid"), {"wait_s": 60.0})
    made.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n"})
    with zipfile.ZipFile(made.docs / "pack.zip", "w") as pack:
        pack.writestr("packed.md", "# Packed\n\nSnow in a pack.\n")
    made.ingest()
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path)


def edit(bench: Workbench) -> None:
    number = snapshots.read(bench.root).number
    bench.write(
        {"guide.md": f"# Guide\n\nTurn the knob of number{number}.\n", f"more-{number}.md": "# More\n\nMore snow.\n"}
    )


def shown(bench: Workbench) -> list[str]:
    """Return the chunks that any reader of Parquet sees, by id."""
    return sorted(ds.dataset(bench.root / "current" / "chunks").to_table().column("chunk_id").to_pylist())


def stored(bench: Workbench) -> list[str]:
    return sorted(chunk.chunk_id for chunk in bench.chunks())


def test_the_process_has_a_file_system_without_symbolic_links(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="not supported"):
        (tmp_path / "link").symlink_to(tmp_path)
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(OSError, match="Invalid argument"):
        os.fsync(folder)
    os.close(folder)


def test_current_is_a_folder_that_follows_each_commit(bench: Workbench) -> None:
    for number in (1, 2):
        assert not (bench.root / "current").is_symlink()
        assert current_folder.published(bench.root) == number
        assert shown(bench) == stored(bench)
        edit(bench)
        bench.ingest()
    assert [path.name for path in (bench.root / ".current").iterdir()] == ["000002"]
    assert verify(bench.root, deep=True) == []


@pytest.mark.parametrize("step", STEPS)
def test_a_writer_that_is_killed_while_current_changes_loses_nothing(
    bench: Workbench, token_counts_folder: Path, step: str
) -> None:
    edit(bench)
    process = start(ingest, bench, token_counts_folder, kill_at=step, among="current")
    process.join()
    assert process.exitcode == -9
    assert snapshots.read(bench.root).number == 2
    assert bench.store.search("number1", mode="keyword")
    bench.ingest()
    assert shown(bench) == stored(bench)
    assert verify(bench.root, deep=True) == []


def test_two_writers_at_once_wait_for_each_other(bench: Workbench, token_counts_folder: Path) -> None:
    edit(bench)
    writers = [start(ingest, bench, token_counts_folder) for _ in range(2)]
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert snapshots.numbers(bench.root) == [1, 2]  # the second one found nothing to do
    assert verify(bench.root, deep=True) == []


def test_a_reader_beside_a_writer_sees_whole_snapshots(bench: Workbench, token_counts_folder: Path) -> None:
    seen, rows = set[int](), {1: 3, 2: 4}
    edit(bench)
    writer = start(ingest, bench, token_counts_folder)
    while writer.is_alive():
        with open_store(bench.root) as store:
            assert len(store.sql("SELECT uri FROM documents")) == rows[store.snapshot.number]
            seen.add(store.snapshot.number)
        with suppress(FileNotFoundError):  # current/ is missing for a moment
            # If it is missing between the listing and the look at each listed file, pyarrow drops the file.
            assert ds.dataset(bench.root / "current" / "documents").count_rows() in (0, *rows.values())
    assert writer.exitcode == 0
    assert 1 in seen


def test_repair_shows_the_newest_snapshot_again(bench: Workbench) -> None:
    (bench.root / "current" / ".snapshot").write_text("")
    assert [finding.kind for finding in verify(bench.root)] == ["current"]
    assert repair(bench.root, lambda _: None).done == ["current/ shows snapshot 1"]  # type: ignore[arg-type,return-value]
    assert shown(bench) == stored(bench)


def test_a_vacuum_removes_what_no_reader_holds(bench: Workbench) -> None:
    with open_store(bench.root):
        for _ in range(2):
            edit(bench)
            bench.ingest()
        set_tag(bench.root, "kept", 3)
        vacuum(bench.root, Retention(keep_snapshots=1))
        assert snapshots.numbers(bench.root)[:2] == [1, 3]
    vacuum(bench.root, Retention(keep_snapshots=1))
    assert snapshots.numbers(bench.root)[0] == 3
    assert verify(bench.root, deep=True) == []
