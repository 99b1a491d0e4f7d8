"""Measure what commands that start anew each time cost, in CPU seconds of a whole process.

python -m tests.bench.start
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from docmill.storage.embedding.space import FOLDERS
from tests.bench.table import Figure, show

_DOCMILL = [sys.executable, "-m", "docmill.flows.cli.app"]
_CORPUS = Path(__file__).parents[1] / "corpus"
_LIBRARIES = (
    "import lancedb; from sentence_transformers import SentenceTransformer as T; "
    f"T({str(next(iter(FOLDERS.values()))())!r}, local_files_only=True)"
)


def cpu_seconds(command: list[str]) -> float:
    """Return user and system time of one process."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ends with {process.returncode}")
    return used.ru_utime + used.ru_stime


def usual(command: list[str], times: int) -> float:
    """Return the median of several processes, after one that fills the caches."""
    cpu_seconds(command)
    return statistics.median(cpu_seconds(command) for _ in range(times))


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        store = ["--store", str(Path(folder) / "store")]
        cpu_seconds([*_DOCMILL, "ingest", str(_CORPUS), *store])
        search = [*_DOCMILL, "search", "how do I reset the sensor", *store]
        figures = [
            Figure("docmill --help, CPU", usual([*_DOCMILL, "--help"], 7), "s", 0.3),
            Figure("python alone, CPU", usual([sys.executable, "-c", ""], 7), "s"),
            Figure("docmill search --mode keyword, CPU", usual([*search, "--mode", "keyword"], 5), "s"),
            Figure("docmill search, CPU", usual(search, 3), "s"),
            Figure("docmill sql, CPU", usual([*_DOCMILL, "sql", "SELECT count(*) FROM chunks", *store], 5), "s"),
            Figure("the libraries and the model loaded alone, CPU", usual([sys.executable, "-c", _LIBRARIES], 3), "s"),
        ]
    show("Start", figures)


if __name__ == "__main__":
    main()
