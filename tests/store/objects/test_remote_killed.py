"""A writer may die before and after each thing that it does to an object store: nothing is lost, the next goes on."""

import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count
from pathlib import Path

import pytest

from docmill.storage import failpoints
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects import lease
from docmill.storage.schema import ChunkRow
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from tests.kit.remote_bench import RemoteBench, make_bucket
from tests.kit.victim import Countdown, Places, at_boundaries, compact_at_once, every, ingest, one_of_each_kind, start
from tests.kit.workbench import Workbench

QUICK = 2  # kills of the quick test


@pytest.fixture(autouse=True)
def unwatched() -> Iterator[None]:
    yield
    failpoints.watch = None


@pytest.fixture
def fresh(far: RemoteBench, tmp_path: Path) -> Callable[[], RemoteBench]:
    """Return a maker of benches, each in a bucket of its own, that are about to commit their second snapshot."""

    def make() -> RemoteBench:
        bucket = f"bucket-{secrets.token_hex(4)}"
        make_bucket(bucket)
        bench = RemoteBench(tmp_path / bucket, address=f"s3://{bucket}/store", environment=far.environment)
        bench.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n"})
        bench.write({"gone.txt": "This leaves.\n"})
        bench.ingest()
        bench.write({"guide.md": "# Guide\n\nTurn the blue knob.\n", "new.txt": "This comes.\n"})
        (bench.docs / "gone.txt").unlink()
        return bench

    return make


def clean_chunks(bench: RemoteBench) -> list[ChunkRow]:
    made = Workbench(bench.folder / "clean")
    shutil.copytree(bench.docs, made.docs, dirs_exist_ok=True)
    made.ingest()
    return made.chunks()


def effects(bench: RemoteBench, work: Callable[[Workbench], object]) -> list[str]:
    """Return the names of what a run does to the object store, before and after."""
    counted = Countdown(0, lambda: None, "remote")
    failpoints.watch = counted
    work(bench)
    failpoints.watch = None
    return counted.seen


def committed(bench: RemoteBench) -> bool:
    return "snapshots/000002.json" in bench.keys("snapshots")


def check_ingest(bench: RemoteBench, before: list[ChunkRow], elsewhere: bool) -> None:
    """Hold the store against what it has to be, and again after the next run, on this machine or another."""
    done = committed(bench)
    wanted = clean_chunks(bench)
    assert bench.on("reader").chunks() == (wanted if done else before)
    assert bench.on("reader").store.search("knob", k=1)[0].text.endswith("blue knob." if done else "red knob.")
    if elsewhere:
        bench.objects.delete([lease.KEY])  # as if it had run out
        bench = bench.on("two")
    staged = any((bench.root / "staging").glob("*/batch-*"))
    report = bench.ingest(allow_delete=True)
    if done or staged:
        assert (report.parsed, report.embedded) == (0, 0), "what was finished is taken over"
    assert snapshots.read(bench.root).number == 2
    assert bench.chunks() == wanted
    assert verify(bench.root, deep=True) == []
    assert bench.ingest().snapshot is None
    assert bench.on("third").store.search("knob", k=1)[0].text.endswith("blue knob.")


def few(names: Sequence[str]) -> range:
    return range(5, len(names) - 4, len(names) // QUICK)


@pytest.mark.parametrize(
    "places",
    [
        few,
        pytest.param(one_of_each_kind, marks=pytest.mark.slow),
        pytest.param(every, marks=pytest.mark.soak),
    ],
)
def test_a_writer_killed_at_any_effect_on_the_object_store_loses_nothing(
    fresh: Callable[[], RemoteBench], token_counts_folder: Path, places: Places
) -> None:
    before = fresh().chunks()
    killed, chosen = 0, places(effects(fresh(), ingest))
    for turn, at in enumerate(chosen, start=1):
        bench = fresh()
        process = start(ingest, bench, token_counts_folder, at, "remote")
        process.join(120)
        assert process.exitcode in (-9, 0), f"effect {at}"  # one effect more or less is met from run to run
        killed += process.exitcode == -9
        check_ingest(bench, before, elsewhere=turn % 2 == 1)
    assert killed > 0.6 * len(chosen)


def test_every_kind_of_effect_on_an_object_store_has_its_boundary(fresh: Callable[[], RemoteBench]) -> None:
    bench = fresh()
    seen = {*effects(bench, ingest), *effects(bench, compact_at_once)}
    kinds = {" ".join(name.split()[2:]) for name in seen}
    assert {"put snapshots", "upload tables", "upload artifacts", "upload vectors", "upload keywords"} <= kinds
    assert {"replace lease.json", "write dropped", "delete"} <= kinds
    assert {f"{when} remote put snapshots" for when in ("before", "after")} <= seen


@pytest.mark.slow
@at_boundaries
def test_a_compaction_killed_at_any_effect_on_the_object_store_loses_nothing(
    fresh: Callable[[], RemoteBench], token_counts_folder: Path, places: Places
) -> None:
    def made() -> RemoteBench:
        bench = fresh()
        ingest(bench)
        return bench

    bench = made()
    wanted, names = clean_chunks(bench), effects(bench, compact_at_once)
    for turn, at in enumerate(chain(places(names), count(len(names) + 1)), start=1):
        bench = made()
        process = start(compact_at_once, bench, token_counts_folder, at, "remote")
        process.join(120)
        if process.exitcode == 0:
            break
        assert process.exitcode == -9, f"effect {at}"
        assert bench.on("reader").chunks() == wanted
        if turn % 2:
            bench.objects.delete([lease.KEY])
            bench = bench.on("two")
            open_folder(bench.root).refresh()
        assert bench.ingest().embedded == 0
        compact_at_once(bench)
        assert verify(bench.root, deep=True) == []
        assert bench.on("third").chunks() == wanted
    assert at > 0.8 * len(names)
