"""Level: one kind of chunks of a strategy that makes several, each below those of the kind before."""

from collections.abc import Callable
from typing import Any, NamedTuple

from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.span import Span

Split = Callable[[Part, Any], list[Span]]


class Level(NamedTuple):
    """Chunks below those of the level above, each of which is split as a part; `role` is what they are called."""

    role: str
    split: Split
