"""Level: what a strategy gives: spans, by which strategy they are, and the levels of chunks below them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.span import Span

Split = Callable[[Part, Any], list[Span]]


class Proposed(NamedTuple):
    """Spans, and the name of the strategy that they are by: another than the one asked for where that fell back."""

    spans: list[Span]
    strategy: str


Propose = Callable[[Part, Any], Proposed]


class Level(NamedTuple):
    """Chunks below those of the level above, each of which is split as a part; `role` is what they are called."""

    role: str
    split: Split
