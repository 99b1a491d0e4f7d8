"""Read one file as an ingest does: what worker processes of a benchmark import."""

import time
from dataclasses import dataclass
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """A file to read, and the passwords to try."""

    path: Path
    passwords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """What became of a file: `reason` is empty for a good one; `seconds` of the parser alone, its libraries loaded."""

    path: Path
    format: str
    reason: str
    message: str
    size: int
    seconds: float
    elements: int


def read(job: WorkRequest) -> Read:
    """Read one file."""
    data = job.path.read_bytes()
    kind, start = "", time.perf_counter()
    try:
        file_type = detect_file_type(job.path.name, data)
        kind, start = file_type.format, time.perf_counter()
        for _ in range(2):  # the first time a process reads a format it loads its libraries
            start = time.perf_counter()
            parsed = parse(data, file_type, ParseOptions(passwords=job.passwords))
    except Rejected as why:
        seconds = time.perf_counter() - start
        return Read(job.path, kind or suffix_of(job.path), why.reason, why.message, len(data), seconds, 0)
    return Read(job.path, kind, "", "", len(data), time.perf_counter() - start, len(parsed.elements))


def suffix_of(path: Path) -> str:
    """Return how a file is called whose format is not known."""
    return f"({path.suffix.lower() or 'no suffix'})"
