"""What the process that calls the flow has at hand, and what it wants to know of the run."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

from docmill.flows.config.settings import Settings


@dataclass(slots=True)
class Held:
    """A run in this process: its settings, kept out of the parameters that the server stores, and its records."""

    settings: Settings
    flow_run_id: UUID | None = None
    tasks: int = 0
    done: bool = False


_held: ContextVar[Held | None] = ContextVar("held", default=None)


def current() -> Held | None:
    """Return what the caller of the flow holds; None in a process that Prefect started."""
    return _held.get()


@contextmanager
def hold(held: Held) -> Iterator[None]:
    """Hold it while the block runs."""
    token = _held.set(held)
    try:
        yield
    finally:
        _held.reset(token)
