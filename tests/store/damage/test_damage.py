"""Damage beside the newest snapshot's own files is named, mended where anything can, and in nobody's way."""

import fcntl
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from docmill.storage import failpoints
from docmill.storage.errors import StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.change import candidate_snapshots
from docmill.storage.snapshots.change.tagging import delete_tag, set_tag
from docmill.storage.snapshots.clean import verify as verification
from docmill.storage.snapshots.clean.compact import compact, due, vacuum
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.retention import Retention, hold
from docmill.storage.snapshots.history.snapshots import candidate_path, path_of
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.snapshots.write import current_folder
from tests.kit.workbench import Workbench
from tests.store.damage.test_repair import cut, never, newest

pytestmark = pytest.mark.usefixtures("fake_model")


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    made = Workbench(tmp_path_factory.mktemp("laid"))
    made.write({f"page-{i}.md": f"# Page {i}\n\nThe knob of page {i} is number{i}.\n" for i in range(6)})
    made.ingest()
    made.write({"page-0.md": "# Page 0\n\nAnother knob.\n"})
    made.ingest()
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path)


def flip(path: Path) -> None:
    """Turn one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_what_only_older_snapshots_need_is_named_too(bench: Workbench) -> None:
    own = {piece.file for pieces in newest(bench).tables.values() for piece in pieces}
    first = snapshots.read(bench.root, 1)
    chunks = next(piece.file for piece in first.tables["chunks"] if piece.file not in own)
    cut(bench.root / chunks.path)
    (finding,) = verify(bench.root)
    assert finding.kind == "past"
    assert f"{chunks.path} has" in finding.message
    assert "named by 000001" in finding.message
    assert bench.ingest().snapshot is None, "the newest snapshot does without"
    assert repair(bench.root, never).done == []
    vacuum(bench.root, Retention(keep_snapshots=1))
    assert verify(bench.root, deep=True) == []


@pytest.mark.parametrize("harm", [flip, Path.unlink])
def test_an_older_snapshot_does_without_its_postings(bench: Workbench, harm: Callable[[Path], None]) -> None:
    before = [asdict(hit) for hit in open_store(bench.root, 1).search("knob of page 3", mode="keyword")]
    own = {file.path for file in newest(bench).keywords.files()}
    lost = next(file.path for file in snapshots.read(bench.root, 1).keywords.files() if file.path not in own)
    harm(bench.root / lost)
    if harm is flip:
        (finding,) = verify(bench.root, deep=True)
        assert lost in finding.message
        assert "docmill repair" in finding.mend
        assert any(lost in line for line in repair(bench.root, never).done)
    assert verify(bench.root, deep=True) == []
    assert [asdict(hit) for hit in open_store(bench.root, 1).search("knob of page 3", mode="keyword")] == before


def test_any_flipped_bit_of_a_snapshot_is_found(bench: Workbench) -> None:
    path = path_of(bench.root, 1)
    whole = path.read_bytes()
    told = snapshots.decode(path)
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        try:
            assert snapshots.decode(path) == told, at  # the key of the checksum itself is of no account
        except StoreError:
            assert snapshots.damaged(bench.root) == [1]


def test_a_damaged_tag_is_named_and_given_up(bench: Workbench) -> None:
    set_tag(bench.root, "first", 1)
    path = bench.root / "tags" / "first.json"
    path.write_bytes(b"")
    (finding,) = verify(bench.root)
    assert "docmill tag first --delete" in finding.message
    assert bench.store.sql("SELECT count(*) AS n FROM chunks").to_pylist() == [{"n": 6}]
    for refused in (
        lambda: vacuum(bench.root, Retention(keep_snapshots=1)),
        lambda: set_tag(bench.root, "first", 1),
        lambda: open_store(bench.root, "first"),
    ):
        with pytest.raises(StoreError, match=r"first\.json is not a tag"):
            refused()
    assert snapshots.numbers(bench.root) == [1, 2], "what the tag names is not known"
    assert not due(open_folder(bench.root).read(), Retention(keep_snapshots=1)), "so that no run stumbles over it"
    delete_tag(bench.root, "first")
    assert vacuum(bench.root, Retention(keep_snapshots=1)).removed == (1,)


def test_damaged_evaluations_are_named_and_in_nobodys_way(bench: Workbench) -> None:
    folder = bench.root / "evaluations"
    for name in ("none.parquet", "lost.parquet"):
        (folder / name).write_bytes(b"PAR1")
    found = verify(bench.root)
    assert [(finding.kind, "docmill repair" in finding.mend) for finding in found] == [("evaluations", True)] * 2
    assert bench.store.sql("SELECT count(*) AS n FROM chunks, evaluations").to_pylist() == [{"n": 0}]
    assert len(repair(bench.root, never).done) == 3
    assert [path.name for path in folder.iterdir()] == ["none.parquet"]
    assert verify(bench.root, deep=True) == []


def test_postings_without_an_array_are_called_damaged(bench: Workbench) -> None:
    for file in newest(bench).keywords.files():
        path = bench.root / file.path
        path.write_bytes(path.read_bytes().replace(b"shortest", b"shortesu"))
    with pytest.raises(StoreError, match=r"postings\.arrow is damaged"):
        bench.store.search("knob", mode="keyword")


@pytest.mark.usefixtures("no_writer")
def test_a_store_that_went_back_shows_its_newest_snapshot(bench: Workbench) -> None:
    bench.write({"page-1.md": "# Page 1\n\nYet another knob.\n"})
    bench.ingest()
    for number in (2, 3):
        path_of(bench.root, number).unlink()
    assert repair(bench.root, never).done == ["current/ shows snapshot 1"]
    assert current_folder.published(bench.root) == 1
    assert verify(bench.root, deep=True) == []


@pytest.mark.usefixtures("no_writer")
def test_a_copy_without_links_and_a_store_that_moved_show_what_they_hold(bench: Workbench, tmp_path: Path) -> None:
    moved = replace(bench, folder=tmp_path / "moved")
    shutil.copytree(bench.folder, moved.folder)
    assert not (moved.root / "current").is_symlink()
    assert [finding.kind for finding in verify(moved.root)] == ["current"]
    moved.ingest()
    assert current_folder.published(moved.root) == 2
    assert str(moved.root) in (moved.root / "views.sql").read_text()
    assert verify(moved.root, deep=True) == []


def test_a_damaged_candidate_is_named_and_given_up(bench: Workbench) -> None:
    candidate_snapshots.keep(open_folder(bench.root).read().changed(number=3))
    path = candidate_path(bench.root, "candidate-3")
    cut(path)
    (finding,) = verify(bench.root)
    assert f"{path} is damaged" in finding.message
    bench.write({"page-0.md": "# Page 0\n\nYet another knob.\n"})
    assert bench.ingest().snapshot == 3
    compact(bench.root, Retention(keep_snapshots=1))
    candidate_snapshots.discard(bench.root, "candidate-3")
    compact(bench.root, Retention(keep_snapshots=1))
    assert verify(bench.root, deep=True) == []


def test_a_commit_that_is_about_to_be_shown_is_no_finding(bench: Workbench) -> None:
    put, looked = threading.Event(), threading.Event()

    def wait(name: str) -> None:
        if name == "after put snapshots":
            put.set()
            looked.wait(1.0)

    bench.write({"page-0.md": "# Page 0\n\nYet another knob.\n"})
    failpoints.watch = wait
    try:
        writer = threading.Thread(target=bench.ingest)
        writer.start()
        assert put.wait(60)
        assert verify(bench.root) == []
        looked.set()
        writer.join()
    finally:
        failpoints.watch = None
    assert newest(bench).number == 3


def test_a_snapshot_that_is_being_verified_is_not_removed(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    def commit_and_vacuum(stored: StoredSnapshot) -> list[str]:
        bench.write({"page-0.md": "# Page 0\n\nYet another knob.\n"})
        bench.ingest()
        compact(stored.root, Retention(keep_snapshots=1))
        return []

    monkeypatch.setitem(verification._CHECKS, "tables", commit_and_vacuum)
    assert verify(bench.root, deep=True) == []
    assert 2 in snapshots.numbers(bench.root)


def test_a_reader_of_an_older_snapshot_waits_while_others_look_who_holds_it(bench: Workbench) -> None:
    looking = os.open(path_of(bench.root, 1), os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_EX)
    threading.Timer(0.1, os.close, [looking]).start()
    snapshot, handle = hold(bench.root, 1)
    os.close(handle)
    assert snapshot.number == 1
    with pytest.raises(StoreError, match="no snapshot 9; it has 1 to 2"):
        hold(bench.root, 9)
