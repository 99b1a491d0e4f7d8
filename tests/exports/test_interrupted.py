"""An export that is killed leaves what was there or what was to be, and the next one finishes it."""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from docmill.storage import failpoints
from docmill.storage.snapshots.read.store import open_store
from tests.exports.exported_rows import FILES, Rows, read_postgres, read_qdrant, same, wanted
from tests.exports.postgres_server import postgres_server
from tests.kit.victim import Countdown, start
from tests.kit.workbench import MakeBench, Workbench

AMONG = "export"
Choice = Callable[[int], Sequence[int]]


def few(count: int) -> Sequence[int]:
    """Return the numbers of some effects."""
    return range(2, count + 1, 3)


def one(count: int) -> Sequence[int]:
    """Return the number of an effect in the middle."""
    return [count // 2]


def every(count: int) -> Sequence[int]:
    """Return the numbers of all effects."""
    return range(1, count + 1)


EVERY = pytest.param(every, marks=pytest.mark.soak)


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    first = {"guide.md": "# Guide\n\nTurn the red knob.\n", "gone.txt": "This leaves.\n", "stays.txt": "Snow.\n"}
    guide = "Rain.\n\n# Guide\n\nTurn the red knob.\n"
    return make_bench(first, {"guide.md": guide, "new.txt": "This comes.\n", "gone.txt": None})


def export_newest(to: str, bench: Workbench) -> object:
    """Export the newest snapshot of a bench."""
    with bench.store as store:
        return store.export(to)


def boundaries(bench: Workbench, to: str) -> int:
    """Return how many effects an export has, before and after each."""
    counted = Countdown(0, lambda: None, AMONG)
    failpoints.watch = counted
    try:
        export_newest(to, bench)
    finally:
        failpoints.watch = None
    return len(counted.seen)


class Scene(NamedTuple):
    """What an export goes to: its address, what lays the state before, and what reads the one after.

    With `whole`, readers see the one snapshot or the other.
    """

    to: str
    lay: Callable[[], object]
    read: Callable[[], Rows]
    whole: bool = True


def kill(bench: Workbench, model: Path, scene: Scene, choose: Choice) -> None:
    """Kill an export at some of its effects, and finish it with another."""
    to, lay, read, whole = scene
    with open_store(bench.root, 1) as store:
        before = wanted(store)
    with bench.store as store:
        after = wanted(store)
    lay()
    for at in choose(boundaries(bench, to)):
        lay()
        process = start(partial(export_newest, to), bench, model, at, AMONG)
        process.join()
        assert process.exitcode == -9, at
        if whole:
            there = read()
            assert there.keys() in (before.keys(), after.keys()), at
            assert same(there, after if there.keys() == after.keys() else before)
        export_newest(to, bench)
        assert same(read(), after), at


@pytest.mark.parametrize("choose", [few, EVERY])
@pytest.mark.parametrize("kind", ["jsonl", "parquet folder", "lance"])
def test_a_killed_export_to_files_is_finished_by_the_next(
    kind: str, choose: Choice, bench: Workbench, token_counts_folder: Path, tmp_path: Path
) -> None:
    name, read = FILES[kind]
    at = tmp_path / "at"
    to = f"{name.partition(':')[0]}:{at / name.partition(':')[2]}" if ":" in name else str(at / name)

    def lay() -> None:
        shutil.rmtree(at, ignore_errors=True)
        with open_store(bench.root, 1) as store:
            store.export(to)

    kill(bench, token_counts_folder, Scene(to, lay, partial(read, at)), choose)


@pytest.mark.parametrize("choose", [one, EVERY])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_killed_export_to_qdrant_is_finished_by_the_next(
    is_new: bool, choose: Choice, bench: Workbench, token_counts_folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("qdrant_client", reason="needs the extra `qdrant`")
    at = tmp_path / "points"

    def lay() -> None:
        shutil.rmtree(at, ignore_errors=True)
        if not is_new:
            with open_store(bench.root, 1) as store:
                store.export(f"qdrant:{at}")

    kill(bench, token_counts_folder, Scene(f"qdrant:{at}", lay, partial(read_qdrant, at), whole=False), choose)


@pytest.mark.parametrize("choose", [one, EVERY])
def test_a_killed_export_to_postgres_is_finished_by_the_next(
    choose: Choice, bench: Workbench, token_counts_folder: Path
) -> None:
    with postgres_server() as address:

        def lay() -> None:
            with open_store(bench.root, 1) as store:
                store.export(address, replace=True)

        kill(bench, token_counts_folder, Scene(address, lay, partial(read_postgres, address)), choose)
