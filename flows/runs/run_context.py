"""Run context: settings and records that a caller shares with the flow in the same process."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

from docmill.flows.config.settings import Settings


@dataclass(slots=True)
class RunContext:
    """What the caller of a flow shares with it: its settings and the records of the run.

    This keeps the settings out of the flow parameters, which the server stores.
    """

    settings: Settings
    flow_run_id: UUID | None = None
    tasks: int = 0
    done: bool = False


_held: ContextVar[RunContext | None] = ContextVar("held", default=None)


def current() -> RunContext | None:
    """Return the caller's `RunContext`, or None in a process that Prefect started."""
    return _held.get()


@contextmanager
def hold(held: RunContext) -> Iterator[None]:
    """Make `held` the current context during the block."""
    token = _held.set(held)
    try:
        yield
    finally:
        _held.reset(token)
