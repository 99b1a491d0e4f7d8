"""Proposal: the spans of a strategy, the name of the strategy that made them, and the levels of chunks below them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from docmill.tasks.split.spans.span import Span

if TYPE_CHECKING:
    from docmill.tasks.split.parts.part import Part

Split = Callable[["Part", Any], list[Span]]


class Proposed(NamedTuple):
    """Spans, and the name of the strategy that made them; after a fallback, it is not the requested one."""

    spans: list[Span]
    strategy: str


Propose = Callable[["Part", Any], Proposed]


class Level(NamedTuple):
    """Chunks below those of the previous level, each of which is split as a part; `role` is their name."""

    role: str
    split: Split
