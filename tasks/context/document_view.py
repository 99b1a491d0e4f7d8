"""Shown: what a language model sees of a document while it is asked about a part of it.

That is the whole document, or, of one that is longer than the window, the outline and the section around the part.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from docmill.storage.keys import key_of
from docmill.storage.schema import Parsed
from docmill.tasks.model.prompt import estimate
from docmill.tasks.split.parts.outline import Outline
from docmill.tasks.split.spans.span import Span

_OUTLINE_SHARE = 4
_LINE = 2000


def marked(name: str, text: str) -> str:
    """Return a text between marks that it cannot hold: they carry a key of it, so nothing in it can end it."""
    mark = f"{name}-{key_of(text)[:12]}"
    return f"<{mark}>\n{text}\n</{mark}>"


class Shown:
    """What is shown of one document, at most about `window` tokens of it; each stretch is put together once."""

    def __init__(self, parsed: Parsed, outline: Outline, window: int) -> None:
        self._text = parsed.text
        self._outline = outline
        self._window = window
        self._made: dict[tuple[int, int], tuple[str, str]] = {}
        self._ends: list[int] = []
        self._drawn = ""

    @cached_property
    def _density(self) -> float:
        """Return about how many tokens there are in a character."""
        return estimate(self._text) / max(1, len(self._text))

    def around(self, span: Span) -> tuple[str, str]:
        """Return what is shown with a span, and the key of that."""
        stretch = self._stretch(span)
        if stretch not in self._made:
            shown = self._draw(*stretch)
            self._made[stretch] = shown, key_of("shown", shown)
        return self._made[stretch]

    def beginning(self, span: Span) -> str:
        """Return the text of a span, or as much from its front as fits."""
        return self._text[span.start : min(span.end, span.start + int(self._window / self._density))]

    def _draw(self, start: int, end: int) -> str:
        if (start, end) == (0, len(self._text)):
            return marked("document", self._text)
        return "\n".join((marked("outline", self._headings()), marked("section", self._text[start:end])))

    def _stretch(self, span: Span) -> tuple[int, int]:
        """Return the largest section around a span that fits, or a stretch of a section that is too long itself."""
        if self._fits(0, len(self._text), self._window):
            return 0, len(self._text)
        room = self._window - self._window // _OUTLINE_SHARE
        sections = list(self._sections(span.start))
        for start, end in sections:
            if self._fits(start, end, room):
                return start, end
        return self._cut(*sections[-1], span.start, room)

    def _fits(self, start: int, end: int, tokens: int) -> bool:
        return (end - start) * self._density <= tokens

    def _sections(self, position: int) -> Iterator[tuple[int, int]]:
        """Yield the sections that hold a position, the largest first; the last holds no other heading before it."""
        headings, path = self._outline.headings, self._outline.path(self._outline.at(position))
        if not path:
            yield 0, headings[0].start if headings else len(self._text)
        for number in path:
            yield headings[number].start, self._section_ends()[number]

    def _section_ends(self) -> list[int]:
        """Return where the section of each heading ends: at the next one that is not below it."""
        headings = self._outline.headings
        if not self._ends and headings:
            self._ends = [len(self._text)] * len(headings)
            open_: list[int] = []
            for number, heading in enumerate(headings):
                while open_ and headings[open_[-1]].level >= heading.level:
                    self._ends[open_.pop()] = heading.start
                open_.append(number)
        return self._ends

    def _cut(self, start: int, end: int, position: int, room: int) -> tuple[int, int]:
        """Return the part of a stretch around a position; parts are of one length, and end with a line if they can."""
        length = max(1, int(room / self._density))
        number = (position - start) // length
        first, last = (self._line_end(start + place * length, start, end) for place in (number, number + 1))
        return (first, last) if first <= position else (start + number * length, first)

    def _line_end(self, place: int, start: int, end: int) -> int:
        if place <= start or place >= end:
            return max(start, min(place, end))
        found = self._text.find("\n", place, min(end, place + _LINE))
        return found + 1 if found >= 0 else place

    def _headings(self) -> str:
        """Return the outline, as many levels of it as fit, the highest at least in part."""
        if not self._drawn:
            room = int(self._window // _OUTLINE_SHARE / self._density)
            lines = [
                (depth, f"{'  ' * (depth - 1)}- {one.text}")
                for number, one in enumerate(self._outline.headings)
                for depth in [len(self._outline.path(number))]
            ]
            deepest, lowest = 1, max((depth for depth, _ in lines), default=1)
            while deepest < lowest and _length(lines, deepest + 1) <= room:
                deepest += 1
            self._drawn = "\n".join(line for depth, line in lines if depth <= deepest)[:room]
        return self._drawn


def _length(lines: Sequence[tuple[int, str]], deepest: int) -> int:
    return sum(len(line) + 1 for depth, line in lines if depth <= deepest)
