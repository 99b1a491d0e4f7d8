"""Reach sources: ask the sources of a run, again where they do not answer, and go on without those that cannot be had.

A run of one source fails with it. A run of several leaves the documents of such a source as they are.
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
"""What a source raises that cannot be had: it is missing or empty, refuses the credentials, or does not answer."""
_TOLD = 3
"""Links out of a source that a report names; it counts them all."""
FIRST_PAUSE_S = 1.0
"""Seconds before a source is asked again; each pause is twice the one before. Servers restart within seconds."""


class SourceLost(Exception):
    """Sources that were listed and cannot be used after all: by name, the error that a run of that one alone raises."""

    def __init__(self, why: Mapping[str, DocmillError]) -> None:
        super().__init__(dict(why))
        self.why = why


def asked(question: Callable[[], T], retries: int) -> T:
    """Return what a source answers; ask again, so many times, while it raises `Transient`."""
    for number in range(retries):
        try:
            return question()
        except Transient:
            time.sleep(FIRST_PAUSE_S * 2**number)
    return question()


def each(
    report: Report, things: Sequence[T], name: Callable[[T], str], question: Callable[[T], R], retries: int
) -> list[tuple[T, R]]:
    """Return what each source answers; report those that cannot be had, and raise if there is no other."""
    found, why = list[tuple[T, R]](), list[tuple[str, DocmillError]]()
    for thing in things:
        try:
            found.append((thing, asked(partial(question, thing), retries)))
        except UNREACHED as error:
            why.append((name(thing), error))
    _go_on(report, why, found)
    return found


def without(report: Report, listed: Iterable[Listed], lost: SourceLost) -> list[Listed]:
    """Return the sources but those that were lost, which are reported; raise if there is no other."""
    left = [(source, listing) for source, listing in listed if source.name not in lost.why]
    _go_on(report, [*lost.why.items()], left)
    return left


def _go_on(report: Report, why: Sequence[tuple[str, DocmillError]], left: Sequence[object]) -> None:
    """Report sources that cannot be had; raise why if no source is left."""
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
    """Return an error for each source that would lose too many documents; it names links that may lead to them."""
    most = 1.0 if allow_delete else run.settings.max_delete_fraction
    return {
        name: SourceError("; ".join([said, *links_out(one for one in expanded if one[0].name == name)]))
        for name, said in excessive_losses(state, lost, most).items()
    }


def links_out(expanded: Iterable[Listed]) -> Iterator[str]:
    """Yield one message for all links that lead out of a source."""
    for source, listing in expanded:
        links = sorted(one.uri for one in listing.skipped if one.reason == OUTSIDE)
        if links:
            some = ", ".join(links[:_TOLD]) + (", ..." if len(links) > _TOLD else "")
            yield f"{source.name}: {len(links)} link(s) out of the source not followed: {some} (discover.follow_links)"
