"""A run on an object store may end at any effect: no machine ever sees a mix, and the next run mends all."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from storage import boundary, snapshots
from storage.errors import Locked
from storage.remote.pull import refresh
from storage.verify import verify
from tests.far_bench import FarBench
from tests.victim import Countdown, compact_all, ingest, start
from tests.workbench import Workbench

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def unwatched() -> Iterator[None]:
    yield
    boundary.watch = None


def lay(bench: FarBench) -> FarBench:
    """Commit two snapshots and change the source for a third."""
    bench.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "gone.txt": "This leaves.\n"})
    bench.ingest()
    bench.write({"more.txt": "More words about rain.\n"})
    bench.ingest()
    bench.write({"guide.md": "# Guide\n\nTurn the blue knob.\n", "new.txt": "This comes.\n"})
    (bench.docs / "gone.txt").unlink()
    return bench


@pytest.fixture
def fresh(far: FarBench) -> Callable[[], FarBench]:
    """Return a maker of benches that are about to commit their third snapshot, each at an address of its own."""
    made = []

    def make() -> FarBench:
        made.append(None)
        folder = far.folder / str(len(made))
        return lay(FarBench(folder, address=f"{far.address}-{len(made)}", environment=far.environment))

    return make


def boundaries(bench: FarBench, work: Callable[[Workbench], object]) -> list[str]:
    """Return the names of all boundaries of a run."""
    counted = Countdown(0, lambda: None)
    boundary.watch = counted
    work(bench)
    boundary.watch = None
    return counted.seen


def far_effects(seen: list[str]) -> list[int]:
    """Return the places of the effects on the object store, and of a mirror's on its own disk every seventh."""
    return [at for at, name in enumerate(seen, start=1) if " remote " in name or at % 7 == 0]


def check(bench: FarBench, wanted: list[str]) -> None:
    """Hold the store after an accident, and after the next runs on both machines, against what they have to be."""
    other = bench.on("two")
    text = other.store.search("knob", k=1)[0].text
    refresh(bench.root)
    assert text.endswith("blue knob." if max(snapshots.numbers(bench.root)) > 2 else "red knob.")
    bench.ingest(allow_delete=True)
    assert verify(bench.root, deep=True) == []
    assert [chunk.text for chunk in other.chunks()] == wanted
    assert verify(other.root, deep=True) == []


@pytest.mark.parametrize("work", [ingest, compact_all])
def test_a_run_that_is_killed_at_any_effect_on_the_object_store_loses_nothing(
    fresh: Callable[[], FarBench], token_counts_folder: Path, work: Callable[[Workbench], object]
) -> None:
    whole = fresh()
    places = far_effects(boundaries(whole, work))
    whole.ingest(allow_delete=True)
    wanted = [chunk.text for chunk in whole.chunks()]
    for at in places:
        bench = fresh()
        process = start(work, bench, token_counts_folder, at)
        process.join(120)
        assert process.exitcode in (-9, 0), f"boundary {at}"
        check(bench, wanted)
        shutil.rmtree(bench.folder)


def test_of_many_machines_that_write_at_once_all_commit_in_turn(far: FarBench) -> None:
    def write(number: int) -> list[int]:
        machine = far.on(f"machine {number}")
        path = machine.folder / f"docs {number}"
        path.mkdir()
        committed = []
        for turn in range(3):
            (path / f"{number}.txt").write_text(f"Machine {number} wrote {turn}.\n")
            while True:
                try:
                    report = machine.ingest(str(path))
                except Locked:
                    continue
                committed.append(report.snapshot or 0)
                break
        return committed

    with ThreadPoolExecutor(3) as pool:
        numbers = [number for committed in pool.map(write, range(3)) for number in committed]
    assert sorted(numbers) == list(range(1, 10)), "no commit took the place of another"
    assert sorted(chunk.text for chunk in far.chunks()) == [f"Machine {number} wrote 2." for number in range(3)]
    assert verify(far.root, deep=True) == []
