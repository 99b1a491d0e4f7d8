"""A run may end or fail at any effect on the disk: nothing that was committed is lost, and the next run mends all."""

import errno
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count
from pathlib import Path

import pytest

from docmill.storage import failpoints
from docmill.storage.errors import DocmillError, StoreError
from docmill.storage.schema import ChunkRow
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.store import open_store
from tests.kit.victim import Countdown, Places, at_boundaries, compact_all, every, ingest, one_of_each_kind, start
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

STRIDE = 31  # of the quick test: four of some hundred boundaries


def lay(bench: Workbench) -> None:
    """Commit two snapshots and change the source for a third."""
    bench.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n"})
    bench.write({"gone.txt": "This leaves.\n", "bad.html": ""})
    bench.ingest()
    bench.write({"more.txt": "More words about rain.\n"})
    bench.ingest()
    bench.write({"guide.md": "# Guide\n\nTurn the blue knob.\n", "new.txt": "This comes.\n"})
    (bench.docs / "gone.txt").unlink()


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("laid")


@pytest.fixture
def clean(laid: Path, tmp_path: Path) -> Workbench:
    """Return what a clean build of the last state of the source is."""
    if not (laid / "store").exists():
        lay(Workbench(laid))
    made = Workbench(tmp_path / "clean")
    shutil.copytree(laid / "docs", made.docs)
    made.ingest()
    return made


@pytest.fixture
def fresh(laid: Path, clean: Workbench, tmp_path: Path) -> Callable[[], Workbench]:
    """Return a maker of benches that are about to commit their third snapshot."""
    assert clean.root.exists(), "so that `laid` is there, too"

    def make() -> Workbench:
        shutil.rmtree(tmp_path / "bench", ignore_errors=True)
        shutil.copytree(laid, tmp_path / "bench", symlinks=True)
        return Workbench(tmp_path / "bench")

    return make


@pytest.fixture(autouse=True)
def unwatched() -> Iterator[None]:
    yield
    failpoints.watch = None


def boundaries(bench: Workbench, work: Callable[[Workbench], object] = ingest) -> list[str]:
    """Return the names of all boundaries of a run."""
    counted = Countdown(0, lambda: None)
    failpoints.watch = counted
    work(bench)
    failpoints.watch = None
    return counted.seen


def check(bench: Workbench, clean: Workbench, before: list[ChunkRow]) -> None:
    """Hold the store after an accident, and after the next run, against what they have to be."""
    now = bench.chunks()
    committed = snapshots.read(bench.root).number > 2
    assert now == (clean.chunks() if committed else before)
    assert open_store(bench.root).search("knob", k=1)[0].uri == "guide.md"
    parsed = committed or any((bench.root / "staging").glob("*/batch-*"))
    embedded = committed or any((bench.root / "staging").glob("*/embeddings-*.parquet"))
    report = bench.ingest(allow_delete=True)
    assert report.parsed == 0 or not parsed, "finished batches are taken over"
    assert report.embedded == 0 or not embedded, "finished vectors are taken over"
    assert verify(bench.root, deep=True) == []
    assert bench.chunks() == clean.chunks()
    assert bench.files("chunks") == clean.files("chunks")
    assert bench.files("documents") == clean.files("documents")
    assert open_store(bench.root, 1).search("red knob", k=1)[0].text.endswith("red knob.")
    assert bench.ingest().snapshot is None


def merging(names: Sequence[str]) -> range:
    """Return the numbers of the boundaries of the merge after the commit, whose failure is not one of the run."""
    committed = names.index("after put snapshots")
    merged = [at for at, name in enumerate(names, start=1) if "keywords" in name and at > committed]
    return range(merged[0], merged[-1] + 1) if merged else range(0)


def failure_of(bench: Workbench) -> Exception | None:
    """Return what a run fails with; notes on sources, and a merge after the commit, fail without it."""
    try:
        ingest(bench)
    except (DocmillError, OSError) as error:
        return error
    return None


def fail(number: int) -> Callable[[], None]:
    def act() -> None:
        raise OSError(number, os.strerror(number))

    return act


def few(names: Sequence[str]) -> range:
    return range(3, len(names) + 1, STRIDE)


@pytest.mark.parametrize(
    ("number", "places"),
    [
        (errno.ENOSPC, few),
        pytest.param(errno.ENOSPC, one_of_each_kind, marks=pytest.mark.soak),
        (errno.EIO, few),
        pytest.param(errno.EIO, one_of_each_kind, marks=pytest.mark.soak),
        pytest.param(errno.ENOSPC, every, marks=pytest.mark.soak),
        pytest.param(errno.EIO, every, marks=pytest.mark.soak),
    ],
)
def test_an_error_of_the_disk_at_any_boundary_harms_nothing(
    fresh: Callable[[], Workbench], clean: Workbench, number: int, places: Places
) -> None:
    before, names = fresh().chunks(), boundaries(fresh())
    unseen = merging(names)
    for at in places(names):
        bench = fresh()
        failpoints.watch = Countdown(at, fail(number))
        failed = failure_of(bench)
        # Threads do not always come by in one order, so what was hit tells more than its number.
        hit = next(iter(failpoints.watch.seen[at - 1 : at]), "")
        failpoints.watch = None
        assert failed or at in unseen or not hit or "keywords" in hit or hit.endswith("sources.json"), hit
        if number == errno.ENOSPC and failed:
            assert "free some space and run again" in str(failed)
        check(bench, clean, before)


def test_every_kind_of_effect_has_its_boundary(fresh: Callable[[], Workbench]) -> None:
    seen = [*boundaries(fresh()), *boundaries(fresh(), compact_all)]
    kinds = {name.split()[1] for name in seen}
    assert {"lock", "write", "rename", "stage", "link", "put", "swap", "lance", "remove", "replace", "drop"} <= kinds
    assert {"before lance add", "after lance add", "before put snapshots", "after put snapshots"} <= set(seen)


@pytest.mark.slow
@at_boundaries
def test_a_run_that_is_killed_at_any_boundary_loses_nothing(
    fresh: Callable[[], Workbench], clean: Workbench, token_counts_folder: Path, places: Places
) -> None:
    before = fresh().chunks()
    for at in places(boundaries(fresh())):
        bench = fresh()
        process = start(ingest, bench, token_counts_folder, at)
        process.join(120)
        assert process.exitcode == -9, f"boundary {at}"
        check(bench, clean, before)


@pytest.mark.slow
@at_boundaries
def test_a_compaction_that_is_killed_at_any_boundary_loses_nothing(
    fresh: Callable[[], Workbench], token_counts_folder: Path, places: Places
) -> None:
    def made() -> Workbench:
        bench = fresh()
        ingest(bench)
        return bench

    wanted, names = made().chunks(), boundaries(made(), compact_all)
    for at in chain(places(names), count(len(names) + 1)):  # one boundary more or less is met from run to run
        bench = made()
        process = start(compact_all, bench, token_counts_folder, at)
        process.join(120)
        if process.exitcode == 0:
            break
        assert process.exitcode == -9, f"boundary {at}"
        assert bench.chunks() == wanted
        assert open_store(bench.root).search("knob", k=1)[0].uri == "guide.md"
        assert bench.ingest().embedded == 0
        compact_all(bench)
        assert verify(bench.root, deep=True) == []
        assert bench.chunks() == wanted
    assert at > 0.9 * len(names)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [4, pytest.param(200, marks=pytest.mark.soak)])
def test_kills_at_random_moments_lose_nothing(
    fresh: Callable[[], Workbench], clean: Workbench, token_counts_folder: Path, kills: int
) -> None:
    rng = random.Random(7)
    start(ingest, fresh(), token_counts_folder).join(120)
    began = time.monotonic()
    start(ingest, fresh(), token_counts_folder).join(120)
    whole_run = time.monotonic() - began
    latest, before = whole_run, fresh().chunks()
    tried, killed = 0, 0
    bench = fresh()
    while tried < kills or killed < kills / 4:
        tried += 1
        process = start(ingest, bench, token_counts_folder)
        moment = rng.uniform(0.1, 1.0) * latest
        process.join(moment)
        process.kill()
        process.join(60)
        killed += process.exitcode == -9
        latest = moment if process.exitcode == 0 else latest  # the machine has less other work than before
        if process.exitcode == 0 or rng.random() < 0.1:
            check(bench, clean, before)
            bench = fresh()
        else:  # many accidents in a row on one store, as on a bad night
            committed = snapshots.read(bench.root).number > 2
            assert bench.chunks() == (clean.chunks() if committed else before)
    check(bench, clean, before)


def test_a_store_that_cannot_be_written_is_searched_and_says_so_to_a_writer(fresh: Callable[[], Workbench]) -> None:
    bench = fresh()
    files = {path: path.lstat().st_mtime_ns for path in bench.root.rglob("*")}
    failpoints.watch = Countdown(1, fail(errno.EROFS))
    assert bench.store.search("knob", k=1)[0].uri == "guide.md"
    assert bench.store.sql("SELECT count(*) AS n FROM documents").to_pylist() == [{"n": 4}]
    assert verify(bench.root) == []
    with pytest.raises(StoreError, match="cannot be written: Read-only file system; it can be read"):
        ingest(bench)
    assert {path: path.lstat().st_mtime_ns for path in bench.root.rglob("*")} == files
