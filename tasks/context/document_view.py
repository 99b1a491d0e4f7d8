"""Document view: what a language model sees of a document when asked about a part of it.

It sees the whole document if that fits the window, otherwise the outline and the section around the part.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from docmill.storage.keys import key_of
from docmill.storage.schema import Parsed
from docmill.tasks.model.prompt import estimate
from docmill.tasks.split.parts.outline import Outline
from docmill.tasks.split.spans.span import Span

_OUTLINE_SHARE = 4
"""The outline of a long document gets this fraction of the window: one part in four.

A larger outline leaves less room for the section around a chunk; a smaller one has only the highest headings.
"""
_LINE = 2000
"""The characters to search for a line end after a cut.

Longer lines are cut in the middle, because searching further would exceed the window by too much.
"""
_KEY_LENGTH = 12
"""The characters of the key in a marker.

To end the marker, a text would have to contain its own hash, and 48 bits are too many to find such a text by trial.
"""


def marked(name: str, text: str) -> str:
    """Return a text between markers that it cannot contain: they carry its hash, so nothing in the text can end it."""
    mark = f"{name}-{key_of(text)[:_KEY_LENGTH]}"
    return f"<{mark}>\n{text}\n</{mark}>"


class Shown:
    """What a language model sees of one document, about `window` tokens at most; each stretch is built once."""

    def __init__(self, parsed: Parsed, outline: Outline, window: int) -> None:
        self._text = parsed.text
        self._outline = outline
        self._window = window
        self._made: dict[tuple[int, int], tuple[str, str]] = {}

    @cached_property
    def _density(self) -> float:
        """Return the estimated tokens per character."""
        return estimate(self._text) / max(1, len(self._text))

    def around(self, span: Span) -> tuple[str, str]:
        """Return the text shown with a span, and its key."""
        stretch = self._stretch(span)
        # Neighbouring chunks see the same stretch, which a provider's cache makes cheaper after the first call.
        if stretch not in self._made:
            shown = self._draw(*stretch)
            self._made[stretch] = shown, key_of("shown", shown)
        return self._made[stretch]

    def beginning(self, span: Span) -> str:
        """Return the text of a span, or as much of its start as fits."""
        return self._text[span.start : min(span.end, span.start + int(self._window / self._density))]

    def _draw(self, start: int, end: int) -> str:
        if (start, end) == (0, len(self._text)):
            return marked("document", self._text)
        return "\n".join((marked("outline", self._headings), marked("section", self._text[start:end])))

    def _stretch(self, span: Span) -> tuple[int, int]:
        """Return the largest section around a span that fits, or a part of a section that is too long."""
        if self._fits(0, len(self._text), self._window):
            return 0, len(self._text)
        # Whenever the whole document is not shown, the outline is.
        room = self._window - self._window // _OUTLINE_SHARE
        sections = list(self._sections(span.start))
        for start, end in sections:
            if self._fits(start, end, room):
                return start, end
        return self._cut(*sections[-1], span.start, room)

    def _fits(self, start: int, end: int, tokens: int) -> bool:
        # Estimated by length: counting the tokens of every section exactly would take too long.
        return (end - start) * self._density <= tokens

    def _sections(self, position: int) -> Iterator[tuple[int, int]]:
        """Yield the sections that contain a position, the largest first.

        The innermost one includes no subsection before the position.
        """
        headings, path = self._outline.headings, self._outline.path(self._outline.at(position))
        if not path:
            yield 0, headings[0].start if headings else len(self._text)
        for number in path:
            yield headings[number].start, self._section_ends[number]

    @cached_property
    def _section_ends(self) -> list[int]:
        """Return the end of each heading's section: the next heading that is not below it."""
        headings = self._outline.headings
        ends, open_ = [len(self._text)] * len(headings), list[int]()
        for number, heading in enumerate(headings):
            while open_ and headings[open_[-1]].level >= heading.level:
                ends[open_.pop()] = heading.start
            open_.append(number)
        return ends

    def _cut(self, start: int, end: int, position: int, room: int) -> tuple[int, int]:
        """Return the part of a stretch around a position; parts have equal length and end at a line end if possible."""
        length = max(1, int(room / self._density))
        # Parts are counted from the start of the section, so that neighbouring chunks see the same part.
        number = (position - start) // length
        first, last = (self._line_end(start + place * length, start, end) for place in (number, number + 1))
        return (first, last) if first <= position else (start + number * length, first)

    def _line_end(self, place: int, start: int, end: int) -> int:
        if place <= start or place >= end:
            return max(start, min(place, end))
        found = self._text.find("\n", place, min(end, place + _LINE))
        return found + 1 if found >= 0 else place

    @cached_property
    def _headings(self) -> str:
        """Return as many levels of the outline as fit, or as much of the top level as fits."""
        room = int(self._window // _OUTLINE_SHARE / self._density)
        depths = [len(self._outline.path(number)) for number in range(len(self._outline.headings))]
        texts = (heading.text for heading in self._outline.headings)
        lines = [(depth, f"{'  ' * (depth - 1)}- {text}") for depth, text in zip(depths, texts, strict=True)]
        deepest, lowest = 1, max(depths, default=1)
        while deepest < lowest and _length(lines, deepest + 1) <= room:
            deepest += 1
        return "\n".join(line for depth, line in lines if depth <= deepest)[:room]


def _length(lines: Sequence[tuple[int, str]], deepest: int) -> int:
    return sum(len(line) + 1 for depth, line in lines if depth <= deepest)
