"""`current/` shows the newest snapshot, and a commit touches only the names of files that it has changed."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.remove_and_erase import remove
from docmill.storage import failpoints
from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.errors import QueryError
from docmill.storage.snapshots.change.restoring import restore, undelete
from docmill.storage.snapshots.change.tagging import set_tag
from docmill.storage.snapshots.clean.compact import compact, vacuum
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.history.snapshots import newest
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.snapshots.tables import tables
from docmill.storage.snapshots.write import current_folder
from tests.kit.workbench import MakeBench, Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

COUNT = 24


@pytest.fixture(scope="module")
def made_once(make_bench: MakeBench) -> Workbench:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "ROWS_PER_BUCKET", 2)
        made = make_bench({f"{n}.txt": f"Text number {n} of the mill.\n" for n in range(COUNT)})
        for turn in range(2):
            change(made, f"Turn {turn} of the wheel.\n")
        return made


@pytest.fixture
def bench(made_once: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """Return a bench whose store has three snapshots and a bucket for every two chunks."""
    monkeypatch.setattr(tables, "ROWS_PER_BUCKET", 2)
    return made_once.copy(tmp_path)


def change(bench: Workbench, text: str) -> None:
    bench.write({"3.txt": text})
    bench.ingest()


def named(bench: Workbench) -> dict[str, Path]:
    """Return the files of the newest snapshot by the names that they should have below `current/`."""
    snapshot = newest(bench.root)
    assert snapshot is not None
    pieces = [(name, piece) for name, some in snapshot.tables.items() for piece in some]
    return {f"{name}/part-{piece.bucket:05d}.parquet": bench.root / piece.file.path for name, piece in pieces}


def assert_shown(bench: Workbench) -> None:
    """Check that `current/` has the files of the newest snapshot and an empty one for each table without rows."""
    wanted, current = named(bench), bench.root / "current"
    shown = {path.relative_to(current).as_posix(): path for path in current.rglob("*.parquet")}
    empty = {f"{name}/part-00000.parquet" for name in SCHEMAS} - {
        f"{key.split('/')[0]}/part-00000.parquet" for key in wanted
    }
    assert shown.keys() == wanted.keys() | empty
    assert all(path.samefile(shown[name]) for name, path in wanted.items())
    assert all(pq.read_metadata(shown[name]).num_rows == 0 for name in empty)
    assert verify(bench.root, deep=True) == []


def test_a_commit_gives_new_names_to_changed_files_alone(bench: Workbench) -> None:
    before = {path: path.stat().st_ctime_ns for path in named(bench).values()}
    change(bench, "Another text.\n")
    after = {path: path.stat().st_ctime_ns for path in named(bench).values()}
    stayed = before.keys() & after.keys()
    assert len(stayed) > COUNT / 2
    assert {path for path in stayed if before[path] != after[path]} == set(), "a link changes the time of its file"
    assert_shown(bench)


def test_names_go_with_buckets_and_tables_that_lose_their_rows(bench: Workbench) -> None:
    bench.write({"bad.html": ""})
    bench.ingest()
    assert "rejects/part-00000.parquet" in named(bench)
    for n in range(6, COUNT):
        (bench.docs / f"{n}.txt").unlink(missing_ok=True)
    (bench.docs / "bad.html").unlink()
    for text in ("Fewer files.\n", "Fewer still.\n", "The last.\n"):
        bench.write({"3.txt": text})
        bench.ingest(allow_delete=True)
        assert_shown(bench)
    assert "rejects/part-00000.parquet" not in named(bench)
    bench.write({"bad.html": ""})
    bench.ingest()
    assert_shown(bench)


def test_a_folder_that_a_dead_writer_left_is_made_anew(bench: Workbench) -> None:
    number = max(int(path.name) for path in (bench.root / ".current").iterdir()) + 1
    left = bench.root / ".current" / f"{number:06d}" / "chunks"
    left.mkdir(parents=True)
    (left / "part-00099.parquet").write_bytes(b"half of a file")
    change(bench, "Another text.\n")
    assert_shown(bench)


class _Blank:
    """An entry of a listing that does not tell the number of its file, as FUSE lists them."""

    def __init__(self, entry: "os.DirEntry[str]") -> None:
        self.name, self.stat = entry.name, entry.stat

    def inode(self) -> int:
        return 0xFFFFFFFF


def test_names_are_right_where_listings_have_no_numbers(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir

    @contextmanager
    def listed(path: Path) -> Iterator[Iterator[_Blank]]:
        with real(path) as entries:
            yield map(_Blank, entries)

    monkeypatch.setattr(current_folder, "os", SimpleNamespace(scandir=listed))
    for text in ("Another text.\n", "A third.\n"):
        change(bench, text)
        assert_shown(bench)


@pytest.fixture
def behind(bench: Workbench) -> Workbench:
    """Return a bench whose last writer was killed between its commit and the moment when `current/` shows it."""

    class Killed(BaseException):
        pass

    def die(name: str) -> None:
        if name == "before swap current":
            raise Killed

    failpoints.watch = die
    try:
        with pytest.raises(Killed):
            remove(Settings(store=bench.root), ["docs"])
    finally:
        failpoints.watch = None
    made = newest(bench.root)
    assert made is not None
    assert made.number == 4
    assert current_folder.published(bench.root) == 3
    return bench


def again(root: Path) -> None:
    with pytest.raises(QueryError):
        remove(Settings(store=root), ["docs"])


VERBS: dict[str, Callable[[Path], object]] = {
    "open": open_store,
    "vacuum": lambda root: vacuum(root, Retention()),
    "compact": lambda root: compact(root, Retention()),
    "tag": lambda root: set_tag(root, "kept", 1),
    "remove": again,
    "restore": lambda root: restore(root, 1, Retention()),
    "undelete": lambda root: undelete(root, ["3.txt"], Retention()),
}


@pytest.mark.parametrize("verb", VERBS)
def test_whoever_comes_after_a_killed_writer_shows_what_it_committed(behind: Workbench, verb: str) -> None:
    VERBS[verb](behind.root)
    assert_shown(behind)


def test_all_but_the_swap_is_done_before_the_commit(bench: Workbench) -> None:
    """A kill between the two leaves `current/` behind, so that the time between them is kept short."""
    seen: list[str] = []
    failpoints.watch = seen.append
    try:
        change(bench, "Another text.\n")
    finally:
        failpoints.watch = None
    committed = seen.index("after put snapshots")
    assert not {"before reuse current", "before link chunks"} & set(seen[committed:])
    assert {"before reuse current", "before link chunks"} <= set(seen[:committed])


def test_an_open_store_leaves_current_to_its_owner(behind: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    open_store(behind.root)
    assert current_folder.published(behind.root) == 3
