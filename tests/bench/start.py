"""Measure what commands that start anew each time cost, in CPU seconds of a whole process.

python -m tests.bench.start
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from docmill.storage.search.encode.space import FOLDERS
from tests.bench.table import Figure, show

_DOCMILL = [sys.executable, "-m", "docmill.flows.cli.start"]
_CORPUS = Path(__file__).parents[1] / "corpus"
_LIBRARIES = "import duckdb, pyarrow"  # the least that a command on Parquet and SQL imports
_MODEL = (
    "from sentence_transformers import SentenceTransformer as T; "
    f"T({str(next(iter(FOLDERS.values()))())!r}, local_files_only=True)"
)
_TURNS = 9  # of a command and the libraries; with fewer, the ratio of their medians moves by more than a tenth
_EDITED = "handbook/glossary.md"
_SETTLED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""With that variable, a checkout compiles each module again for each process, which an installed package never does."""


def cpu_seconds(command: list[str]) -> float:
    """Return user and system time of one process."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_SETTLED) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ends with {process.returncode}")
    return used.ru_utime + used.ru_stime


def usual(command: list[str], times: int) -> float:
    """Return the median of several processes, after one that fills the caches."""
    cpu_seconds(command)
    return statistics.median(cpu_seconds(command) for _ in range(times))


def in_turn(command: list[str], times: int) -> float:
    """Return the CPU time of a command as a multiple of that of importing the libraries, each measured in turn."""
    yardstick = [sys.executable, "-c", _LIBRARIES]
    cpu_seconds(command)
    pairs = [(cpu_seconds(command), cpu_seconds(yardstick)) for _ in range(times)]
    own, other = (statistics.median(one) for one in zip(*pairs, strict=True))
    return float(own / other)


def modules(command: list[str]) -> int:
    """Return how many modules a command imports, ours and others."""
    timed = [sys.executable, "-X", "importtime", *command[1:]]
    done = subprocess.run(timed, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return sum(line.startswith("import time:") for line in done.stderr.splitlines()) - 1


COMMANDS = (
    "docmill --help",
    "docmill search --mode keyword",
    "docmill search",
    "docmill ingest, nothing new in 35 documents",
)


def ratios(again: list[str], search: list[str]) -> list[Figure]:
    """Return what no load of the machine changes: CPU as a multiple of another's, and counts of modules."""
    typed = ([*_DOCMILL, "--help"], [*search, "--mode", "keyword"], search, again)
    commands = dict(zip(COMMANDS, typed, strict=True))
    multiples = [
        Figure(f"{name} / import of duckdb and pyarrow, CPU", in_turn(command, _TURNS), "", judged=True)
        for name, command in commands.items()
    ]
    counts = [Figure(f"{name}: modules", modules(command), "", judged=True) for name, command in commands.items()]
    return [*multiples, *counts]


def edits(source: Path, store: list[str], times: int) -> float:
    """Return the median of runs each of which finds one more sentence in one document."""
    taken = []
    for number in range(times + 1):  # the first fills the caches
        with (source / _EDITED).open("a", encoding="utf-8") as file:
            file.write(f"\nThe glossary has one more sentence, which is number {number}.\n")
        taken.append(cpu_seconds([*_DOCMILL, "ingest", str(source), *store]))
    return statistics.median(taken[1:])


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        source, store = Path(folder) / "source", ["--store", str(Path(folder) / "store")]
        shutil.copytree(_CORPUS, source)
        cpu_seconds([*_DOCMILL, "ingest", str(source), *store])
        search = [*_DOCMILL, "search", "how do I reset the sensor", *store]
        again = [*_DOCMILL, "ingest", str(source), *store]
        cpu_seconds(again)  # which remembers the files that the first run saw
        multiples = ratios(again, search)
        libraries = usual([sys.executable, "-c", _LIBRARIES], 7)
        figures = [
            Figure("docmill --help, CPU", usual([*_DOCMILL, "--help"], 7), "s", 0.3),
            Figure("python alone, CPU", usual([sys.executable, "-c", ""], 7), "s"),
            Figure(f'python -c "{_LIBRARIES}", CPU', libraries, "s"),
            Figure("docmill search --mode keyword, CPU", usual([*search, "--mode", "keyword"], 5), "s", 0.8),
            Figure("docmill search, CPU", usual(search, 5), "s", 1.3),
            Figure("docmill sql, CPU", usual([*_DOCMILL, "sql", "SELECT count(*) FROM chunks", *store], 5), "s"),
            Figure("docmill ingest, one sentence new in 35 documents, CPU", edits(source, store, 3), "s", 2.5),
            Figure(
                "sentence-transformers and the model loaded alone, CPU", usual([sys.executable, "-c", _MODEL], 3), "s"
            ),
        ]
    show("Start", [*figures, *multiples])


if __name__ == "__main__":
    main()
