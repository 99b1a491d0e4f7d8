"""An ingest in a process of its own that ends, or fails, at a chosen boundary.

Processes fork from one that has imported everything and done nothing: a start takes milliseconds.
"""

import multiprocessing
import os
import signal
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.maintenance.remove_and_erase import erase, remove
from docmill.storage import failpoints
from docmill.storage.errors import Rejected
from docmill.storage.search.encode import encoder, space
from docmill.storage.search.vectors.deferred_client import import_lancedb
from docmill.storage.snapshots.change.restoring import restore
from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.history.retention import Retention
from docmill.tasks.work.pool.pool import Pool
from tests.kit import fake_encoder
from tests.kit.workbench import Workbench

warnings.filterwarnings("ignore", message="lancedb fork support")  # nothing of it has run before the fork
CONTEXT = multiprocessing.get_context("forkserver")
import_lancedb()  # before the fork, so that no process has to
CONTEXT.set_forkserver_preload(["tests.kit.victim", "magika", "markdown_it", "sentencex"])
_SILENT = os.devnull


class Countdown:
    """Calls `act` at boundary number `at`, counted from 1, or of that name; remembers the names of all before.

    Only boundaries whose names hold the word `among` count, from the first one that holds the word `since`.
    """

    def __init__(self, at: int | str, act: Callable[[], None], among: str = "", since: str = "") -> None:
        self._at = at
        self._act = act
        self._among = among
        self._since = since
        self.seen: list[str] = []

    def __call__(self, name: str) -> None:
        if self._among not in name or (not self.seen and self._since not in name):
            return
        self.seen.append(name)
        if self._at in (name, len(self.seen)):
            self._act()


def every(names: Sequence[str]) -> list[int]:
    """Return the numbers of all boundaries, counted from 1."""
    return [at for at, _ in enumerate(names, start=1)]


def one_of_each_kind(names: Sequence[str]) -> list[int]:
    """Return the number of one boundary before each kind of effect, the middle one of its kind, and the last of all.

    What is on disk after an effect is there before the next one, too.
    """
    found: defaultdict[str, list[int]] = defaultdict(list)
    for at, name in enumerate(names, start=1):
        when, effect, *_ = name.replace("remote ", "").split()
        if when == "before":
            found[effect].append(at)
    return sorted({*(places[len(places) // 2] for places in found.values()), len(names)})


Places = Callable[[Sequence[str]], Sequence[int]]
at_boundaries = pytest.mark.parametrize("places", [one_of_each_kind, pytest.param(every, marks=pytest.mark.soak)])


def die() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def start(
    work: Callable[[Workbench], object], bench: Workbench, model: Path, kill_at: int | str = 0, among: str = ""
) -> "multiprocessing.process.BaseProcess":
    """Start `work` on a bench; with `kill_at` it kills itself at that boundary of those `among` which it counts."""
    process = CONTEXT.Process(target=_run, args=(work, bench, str(model), kill_at, among))
    process.start()
    return process


def ingest(bench: Workbench) -> object:
    """Ingest all documents of a bench."""
    return bench.ingest(allow_delete=True)


def compact_all(bench: Workbench) -> object:
    """Compact the store of a bench, and keep one snapshot."""
    return compact(bench.root, Retention(keep_snapshots=1))


def compact_at_once(bench: Workbench) -> object:
    """Compact the store of a bench on an object store, keep one snapshot, and no object that it does not name."""
    return compact(bench.root, Retention(keep_snapshots=1, grace_hours=0.0))


def restore_first(bench: Workbench) -> object:
    """Go back to the first snapshot of a bench."""
    return restore(bench.root, 1, Retention())


def remove_notes(bench: Workbench) -> object:
    """Remove the source "notes" of a bench."""
    return remove(Settings(store=bench.root), ["notes"])


def erase_secrets(bench: Workbench) -> object:
    """Erase the documents of a bench whose names begin with "secret", present and deleted ones."""
    return erase(Settings(store=bench.root), ["secret.md", "secret-old.md"])


def _in_this_process(
    _: Pool, function: Callable[[Any], Any], items: Sequence[Any], _light: bool = False
) -> Iterator[Any]:
    """Do what `Pool.map` does; to start its processes, which write nothing, would take longer than all else."""
    for item in items:
        try:
            yield function(item)
        except Rejected as why:
            yield why


def _run(work: Callable[[Workbench], object], bench: Workbench, model: str, kill_at: int | str, among: str) -> None:
    quiet = os.open(_SILENT, os.O_WRONLY)
    os.dup2(quiet, 2)
    space.FOLDERS[fake_encoder.NAME] = lambda: Path(model)
    encoder.LOADERS[fake_encoder.NAME] = fake_encoder.TokenCounts
    pytest.MonkeyPatch().setattr(Pool, "map", _in_this_process)
    failpoints.watch = Countdown(kill_at, die, among)
    work(bench)
