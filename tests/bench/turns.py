"""What a worker process did with one document, logged by the worker itself: it imports no more than one does."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from tasks.process import Job, Processed, process_document

LOG = "POOL_BENCH_LOG"


@dataclass(frozen=True, slots=True)
class Turn:
    """One document in a worker: its process, when it began and ended, and that process's megabytes by then."""

    worker: int
    begin: float
    end: float
    resident: float
    suffix: str


def timed(job: Job) -> Processed:
    """Process a document as a worker does, and log when, and how large the worker is by then."""
    begin = time.monotonic()
    result = process_document(job)
    fields = (os.getpid(), begin, time.monotonic(), _resident_mb(), Path(job.work.uri).suffix or "-")
    with Path(os.environ[LOG]).open("a") as log:
        log.write(" ".join(map(str, fields)) + "\n")
    return result


def _resident_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))
