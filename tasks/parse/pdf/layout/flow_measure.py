"""PDF flow measures: how far apart the lines of a flow usually are, and how wide they are."""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise
from statistics import median

from docmill.tasks.parse.pdf.tables.page_table import Item
from docmill.tasks.parse.pdf.text.line import TextLine

_FULL = 0.75  # of the flow's width, which a line reaches that goes on below
_ENOUGH = 3  # gaps: with fewer the usual one is not known
_WIDEST = 2.5  # font sizes: beyond it the lines are not double-spaced text but rows of something else
SHORT = 0.2  # of the width, by which a line that ends a paragraph is shorter than others


class FlowMeasure:
    """The typical measures of a flow's lines; computed on demand, since few flows need them.

    `usual_step` gives that of the whole document, for a flow that has too few lines to tell its own.
    """

    def __init__(self, flow: list[Item], usual_step: Callable[[], float] = float) -> None:
        self._flow = flow
        self._usual_step = usual_step

    @cached_property
    def lines(self) -> list[TextLine]:
        """Return the lines of the flow without furniture."""
        return [item for item in self._flow if isinstance(item, TextLine) and not item.furniture]

    @cached_property
    def sides(self) -> tuple[float, float]:
        """Return where the lines begin on the left and end on the right."""
        return min(line.box[0] for line in self.lines), max(line.box[2] for line in self.lines)

    @cached_property
    def _within(self) -> list[tuple[TextLine, TextLine]]:
        """Return lines and those below them that go on their sentences; nothing if they are too few to tell."""
        return self.within if len(self.within) >= _ENOUGH else []

    @cached_property
    def within(self) -> list[tuple[TextLine, TextLine]]:
        """Return lines and those below them that go on their sentences."""
        return [pair for pair in pairwise(self.lines) if self.is_full(pair[0]) and may_go_on(*pair)]

    @cached_property
    def gap(self) -> float:
        """Return the usual gap between lines of one sentence, in font sizes; 0 if unknown."""
        usual = median([(lower.box[1] - upper.box[3]) / upper.size for upper, lower in self._within] or [0.0])
        return usual if 0 < usual < _WIDEST else 0.0

    @cached_property
    def step(self) -> float:
        """Return the usual distance from the foot of such a line to that of the next, in font sizes; 0 if unknown."""
        return _usual_step(self._within) or self._usual_step()

    @cached_property
    def pitch(self) -> float:
        """Return the usual distance in points from one line of code to the next; 0 if unknown."""
        steps = Counter(
            round(lower.box[1] - upper.box[1], 1)
            for upper, lower in pairwise(self.lines)
            if upper.font.mono and lower.font.mono and 0 < lower.box[1] - upper.box[1] < _WIDEST * upper.size
        )
        step, times = max(steps.items(), key=lambda pair: (pair[1], -pair[0]), default=(0.0, 0))
        return step if times >= _ENOUGH else 0.0

    def is_full(self, line: TextLine) -> bool:
        """Return whether a line reaches as far as one that goes on below."""
        left, right = self.sides
        return line.box[2] - left > _FULL * (right - left)

    def is_short(self, line: TextLine) -> bool:
        """Return whether a line ends far from where others do."""
        left, right = self.sides
        return right - line.box[2] > SHORT * max(right - left, 1)


def step_of_all(flows: Iterable[list[Item]]) -> float:
    """Return the usual step of all flows of a document, in font sizes; 0 if too few lines tell it."""
    found = [pair for flow in flows for pair in FlowMeasure(flow).within]
    return _usual_step(found) if len(found) >= _ENOUGH else 0.0


def _usual_step(pairs: list[tuple[TextLine, TextLine]]) -> float:
    return median([(lower.box[3] - upper.box[3]) / upper.size for upper, lower in pairs] or [0.0])


def may_go_on(upper: TextLine, lower: TextLine) -> bool:
    """Return whether a line may go on the sentence of the one above it; a command, set as code below it, does not."""
    return lower.text[:1].islower() and upper.size == lower.size and upper.font.mono == lower.font.mono
