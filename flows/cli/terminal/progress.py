"""Progress on a terminal: a bar for a run, a spinner for anything slow."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOADING = "docmill.loading"
"""The logger to which `storage/embedding/encoder.py` says that it loads a model."""
Progress = Callable[[int, int], None]


def _silent(_done: int, _total: int) -> None: ...


@contextmanager
def progress_bar(label: str = "ingest") -> Iterator[Progress]:
    """Yield a function of (done, total) that draws a bar on standard error if it is a terminal."""
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def waiting(label: str) -> Iterator[None]:
    """Show a spinner beside `label` on standard error during the block, if it is a terminal.

    While the embedding model is loaded, which takes seconds, the label says so.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(label) as status, _told(lambda said: status.update(f"{label}: {said} ...")):
        yield


@contextmanager
def _told(show: Callable[[str], None]) -> Iterator[None]:
    """Hand what is loaded during the block to `show`."""
    logger, handler = logging.getLogger(LOADING), _Handing(show)
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Handing(logging.Handler):
    """Hands the messages of a logger to a function."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(record.getMessage())
