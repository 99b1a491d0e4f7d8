"""Fake models that count the texts which they embed: over several processes, or slowly."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from docmill.flows.runs import backlog, commits
from docmill.storage.search.encode import encoder
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.history import snapshots
from tests.kit.fake_encoder import NAME, TokenCounts
from tests.kit.victim import die
from tests.kit.workbench import Workbench


class Counting(TokenCounts):
    """Appends a byte to a file for each text, and ends the process at text number `last`."""

    log = Path(os.devnull)
    last = 0

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        with Counting.log.open("ab") as file:
            file.write(b"." * len(rows))
        if Counting.last and counted(Counting.log) >= Counting.last:
            die()
        return super().embed(rows)


def counted(log: Path) -> int:
    """Return how many texts were embedded."""
    return log.stat().st_size if log.exists() else 0


def ingest_counted(bench: Workbench) -> object:
    """Ingest with a model that counts; the settings of the bench are read, its `last` is the text to end at."""
    Counting.log = bench.folder / "counted"
    Counting.last = int((bench.folder / "last").read_text()) if (bench.folder / "last").exists() else 0
    encoder.LOADERS[NAME] = Counting
    return bench.ingest(allow_delete=True)


def _nothing(_count: int) -> None: ...


class Slow(TokenCounts):
    """Waits for each text that it embeds, and counts them; `after` is called with the count."""

    embedded = 0
    wait_s = 0.002
    after: Callable[[int], object] = staticmethod(_nothing)

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        time.sleep(Slow.wait_s * len(rows))
        Slow.embedded += len(rows)
        Slow.after(Slow.embedded)
        return super().embed(rows)


PAGES: dict[str, str | bytes] = {
    f"{bird}.txt": "\n\n".join(f"The {bird} number {i} sings on tree {i * i} of the wood." for i in range(12))
    for bird in ("owl", "tit", "jay", "daw", "rook", "wren", "kite", "crow", "lark", "dove", "swan", "gull")
}
SMALL = {"routes": [{"glob": "*", "strategy": "recursive", "options": {"size": 16}}]}
LONG_RUN = {**SMALL, "run": {"commit_every": 0.05 / 60, "early_commit": 0.1 / 60}}
"""Settings with which a run that takes a second commits before it embeds, and then every 0.05 s."""


@contextmanager
def slow_model() -> Iterator[None]:
    """Let the fake model be slow and its runs be cut into small pieces, inside of the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(encoder.LOADERS, NAME, Slow)
        patch.setattr(encoder, "_LOADED", {})
        patch.setattr(Slow, "embedded", 0)
        patch.setattr(Slow, "after", staticmethod(_nothing))
        patch.setattr(staging, "PORTION_TEXTS", 8)
        patch.setattr(staging, "_FIRST_TEXTS", 8)
        for module in (backlog, commits):
            patch.setattr(module, "SLICE_S", 0.02)
        yield


def ingest_slowly(bench: Workbench) -> object:
    """Ingest with the slow model; the process ends at the text whose number the file `last` of the bench holds."""
    last = int((bench.folder / "last").read_text())
    with slow_model():
        Slow.after = staticmethod(lambda count: die() if count >= last else None)
        return bench.ingest(allow_delete=True)


def interrupt(bench: Workbench, at: float = 0.5) -> None:
    """Ingest until a snapshot has this share of its vectors, and stop there as Ctrl-C does."""

    def stop(_count: int) -> None:
        newest = snapshots.newest(bench.root)
        if newest and newest.pending and newest.covered >= at:
            raise KeyboardInterrupt

    with slow_model():
        Slow.after = staticmethod(stop)
        with pytest.raises(KeyboardInterrupt):
            bench.ingest(allow_delete=True)
