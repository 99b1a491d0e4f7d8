"""Ingest a folder of bad files for real, and count what became of them and what it cost the process in charge.

    python -m tests.bench.parsing.nasty --data FOLDER [--timeout SECONDS] [--password WORD ...] [--list]

Vectors are those of the tests' fake model. Reasons that point at a fault of ours, not of a file, are bounded by 0.
"""

import argparse
import shutil
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.flows.runs.report import Report
from docmill.storage.errors import REASONS
from docmill.storage.search.encode import encoder, space
from docmill.storage.snapshots.read.store import open_store
from tests.bench.table import Figure, show
from tests.kit import fake_encoder

_OURS = ("crashed", "timeout", "memory")


@dataclass(frozen=True, slots=True)
class Course:
    """One ingest of a folder: its report, its rejects, wall clock, and megabytes of this process."""

    report: Report
    rejects: list[dict[str, Any]]
    seconds: float
    before_mb: float
    after_mb: float
    peak_mb: float


def take(data: Path, settings: Settings) -> Course:
    """Ingest `data` twice, first to load what is loaded once; measure the second, which does it all again."""
    _ingest(data, settings)
    shutil.rmtree(settings.store)
    before, start = _megabytes("VmRSS"), time.perf_counter()
    report = _ingest(data, settings)
    seconds = time.perf_counter() - start
    rejects = (
        open_store(settings.store).sql("SELECT uri, reason, message, parser FROM rejects ORDER BY uri").to_pylist()
    )
    return Course(report, rejects, seconds, before, _megabytes("VmRSS"), _megabytes("VmHWM"))


def _ingest(data: Path, settings: Settings) -> Report:
    with LocalEngine() as engine:
        return ingest(settings, [str(data)], engine)


def _megabytes(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def figures(course: Course) -> list[Figure]:
    """Return what is told and what is bounded of a course."""
    reasons = Counter(row["reason"] for row in course.rejects)
    documents = course.report.documents
    told = [
        Figure("documents", documents.added, ""),
        Figure("rejected", documents.rejected, ""),
        *(Figure(f"rejected: {reason}", reasons[reason], "", 0 if reason in _OURS else None) for reason in REASONS),
        Figure("exit status (3 says that some were rejected)", course.report.exit_status, ""),
        Figure("wall", course.seconds, "s"),
        Figure("this process before", course.before_mb, "MB"),
        Figure("this process after", course.after_mb, "MB", course.before_mb + 100),
        Figure("this process at most", course.peak_mb, "MB"),
    ]
    return [figure for figure in told if figure.value or figure.bound is not None]


def main() -> None:
    """Parse the arguments, run, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one document")
    parser.add_argument("--password", action="append", default=[], help="a password to try on encrypted documents")
    parser.add_argument("--list", action="store_true", help="print each rejected file with its reason")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = fake_encoder.write_model(Path(folder) / fake_encoder.NAME)
        space.FOLDERS[fake_encoder.NAME] = lambda: model
        encoder.LOADERS[fake_encoder.NAME] = fake_encoder.TokenCounts
        parse = {"timeout_s": arguments.timeout, "passwords": arguments.password}
        values = {"store": Path(folder) / "store", "parse": parse, "embedding": {"model": fake_encoder.NAME}}
        course = take(arguments.data, Settings.model_validate(values))
    for row in course.rejects if arguments.list else []:
        print(f"{row['reason']:<12} {row['parser']:<12} {row['uri']}: {row['message']}")
    for line in course.report.problems if arguments.list else []:
        if ": skipped, " in line:
            print(line)
    show(f"What became of the files of {arguments.data.name}", figures(course))


if __name__ == "__main__":
    main()
