"""Reach sources: ask the sources of a run, retry if they do not answer, and continue without unreachable ones.

A run with one source fails with it. A run with several leaves the documents of an unreachable source as they are.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from docmill.flows.runs.report import Report, UnreachedSource
from docmill.flows.runs.run_state import Run
from docmill.storage.errors import DocmillError, SourceError, StoreError, Transient
from docmill.tasks.publishing.plan import StoreState, excessive_losses
from docmill.tasks.sources.expand_archives import Listed
from docmill.tasks.sources.source import OUTSIDE

T = TypeVar("T")
R = TypeVar("R")
UNREACHED = (SourceError, StoreError, Transient)
"""The errors of an unreachable source: it is missing or empty, refuses the credentials, or does not answer."""
_TOLD = 3
"""The most links out of a source that a report names; it counts all of them."""
FIRST_PAUSE_S = 1.0
"""Seconds before the first retry; each pause is twice the one before. Servers restart within seconds."""


class SourceLost(Exception):
    """Sources that were listed but cannot be used after all: by name, the error of a run with only that source."""

    def __init__(self, why: Mapping[str, DocmillError]) -> None:
        super().__init__(dict(why))
        self.why = why


def asked(question: Callable[[], T], retries: int) -> T:
    """Return the answer of a source; retry up to `retries` times if it raises `Transient`."""
    for number in range(retries):
        try:
            return question()
        except Transient:
            time.sleep(FIRST_PAUSE_S * 2**number)
    return question()


def each(
    report: Report, things: Sequence[T], name: Callable[[T], str], question: Callable[[T], R], retries: int
) -> list[tuple[T, R]]:
    """Return the answer of each source; report unreachable ones, and raise if there are no others."""
    found, why = list[tuple[T, R]](), list[tuple[str, DocmillError]]()
    for thing in things:
        try:
            found.append((thing, asked(partial(question, thing), retries)))
        except UNREACHED as error:
            why.append((name(thing), error))
    _go_on(report, why, found)
    return found


def without(report: Report, listed: Iterable[Listed], lost: SourceLost) -> list[Listed]:
    """Return the sources without lost ones, which are reported; raise if there are no others."""
    left = [(source, listing) for source, listing in listed if source.name not in lost.why]
    _go_on(report, [*lost.why.items()], left)
    return left


def _go_on(report: Report, why: Sequence[tuple[str, DocmillError]], left: Sequence[object]) -> None:
    """Report unreachable sources; raise the reason if no source is left."""
    report.unreached += [UnreachedSource(name, str(error)) for name, error in why]
    if left:
        return
    if len(report.unreached) == 1:
        raise why[0][1]
    said = "; ".join(one.message for one in report.unreached)
    raise Transient(said) if any(isinstance(error, Transient) for _, error in why) else SourceError(said)


def losses(
    run: Run, state: StoreState, lost: set[str], expanded: Sequence[Listed], allow_delete: bool
) -> dict[str, DocmillError]:
    """Return an error for each source that would lose too many documents, naming links that may be the cause."""
    most = 1.0 if allow_delete else run.settings.max_delete_fraction
    return {
        name: SourceError("; ".join([said, *links_out(one for one in expanded if one[0].name == name)]))
        for name, said in excessive_losses(state, lost, most).items()
    }


def links_out(expanded: Iterable[Listed]) -> Iterator[str]:
    """Yield, for each source with links that lead out of it, one message."""
    for source, listing in expanded:
        links = sorted(one.uri for one in listing.skipped if one.reason == OUTSIDE)
        if links:
            some = ", ".join(links[:_TOLD]) + (", ..." if len(links) > _TOLD else "")
            yield f"{source.name}: {len(links)} link(s) out of the source not followed: {some} (discover.follow_links)"
