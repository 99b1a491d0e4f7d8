"""Processes that do one verb's work, to be killed; each forks from one that has imported everything."""

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

from docmill.storage import failpoints
from docmill.storage.errors import DocmillError
from tests.kit.victim import CONTEXT
from tests.kit.workbench import Workbench
from tests.soak_store.verbs import models

_LONGEST_S = 300  # of a run; one that hangs is counted as what it is
REFUSED = 3  # exit status of a run that ended with an error of docmill's own
Work = Callable[[Workbench], object]


@contextmanager
def many_children() -> Iterator[None]:
    """Have the children's parent import what they need, once, so that no child's time is measured with it."""
    CONTEXT.set_forkserver_preload(["tests.soak_store.children", "magika", "markdown_it", "sentencex"])
    first = CONTEXT.Process(target=_nothing)
    first.start()
    finish(first)
    yield
    multiprocessing.active_children()


def start(work: Work, bench: Workbench, folder: Path, largest_file: int = 0) -> BaseProcess:
    """Start work on a bench; a file may grow to `largest_file` bytes only, 0 for any size."""
    process = CONTEXT.Process(target=_run, args=(work, bench, str(folder), largest_file))
    process.start()
    return process


def finish(process: BaseProcess) -> int | None:
    """Wait for a process and return its exit status, None if it hangs; what hangs is killed."""
    process.join(_LONGEST_S)
    status = process.exitcode
    if status is None:
        process.kill()
        process.join()
    return status


def kill_after(process: BaseProcess, seconds: float) -> bool:
    """Kill a process after some seconds; return whether it was still alive."""
    process.join(seconds)
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def duration(work: Work, bench: Workbench, folder: Path) -> float:
    """Return the seconds that unharmed work takes in a process of its own."""
    began = time.monotonic()
    assert finish(start(work, bench, folder)) == 0, "the work fails without any fault"
    return time.monotonic() - began


def _nothing() -> None:
    pass


def _run(work: Work, bench: Workbench, folder: str, largest_file: int) -> None:
    failpoints.watch = None
    if largest_file:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write past the size fails, as one to a full disk does
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
    with models(Path(folder)):
        try:
            work(bench)
        except (DocmillError, OSError):
            os._exit(REFUSED)
