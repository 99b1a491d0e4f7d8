"""What a worker process did with one document, logged by the worker itself: it imports no more than one does."""

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from docmill.tasks.work.document.process import WorkRequest, WorkResult, process_document

LOG = "POOL_BENCH_LOG"


@dataclass(frozen=True, slots=True)
class Turn:
    """One document in a worker: its process, when it began and ended, and that process's megabytes by then.

    `ran_before` and `ran_after` are the seconds for which the process had run, or would have on a machine of its own.
    """

    worker: int
    begin: float
    end: float
    ran_before: float
    ran_after: float
    resident: float
    suffix: str


def timed(job: WorkRequest) -> WorkResult:
    """Process a document as a worker does, and log when, and how large the worker is by then."""
    begin, before = time.monotonic(), _ran()
    result = process_document(job)
    turn = Turn(os.getpid(), begin, time.monotonic(), before, _ran(), _resident_mb(), Path(job.work.uri).suffix or "-")
    with Path(os.environ[LOG]).open("a") as log:
        log.write(json.dumps(asdict(turn)) + "\n")
    return result


def _ran() -> float:
    """Return the seconds on a processor and those in the queue for one."""
    on, waiting, _ = Path("/proc/self/schedstat").read_text().split()
    return (int(on) + int(waiting)) / 1e9


def _resident_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))
