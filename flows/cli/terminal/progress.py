"""Progress on a terminal: a bar for a run, a spinner for anything slow."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
    """Show a spinner beside `label` on standard error during the block, if it is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(label):
        yield
