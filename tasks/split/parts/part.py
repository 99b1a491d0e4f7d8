"""Part: the input of a splitter, which is a document or a stretch of one, such as a region or a section."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from docmill.storage.schema import Element, Parsed
from docmill.tasks.counting.tokens import Tokens
from docmill.tasks.split.parts.captions import Captions, bound_captions
from docmill.tasks.split.parts.model_lookup import Lookup
from docmill.tasks.split.parts.outline import Outline

LEFT_OUT = frozenset({"front_matter", "furniture", "toc"})
"""Kinds of elements that are in no chunk, because they only say something about the document."""


class PartIndex:
    """Look-up tables of one document, shared by its parts; each is computed on first use."""

    def __init__(self, parsed: Parsed, lookup: Lookup) -> None:
        self.parsed = parsed
        self.lookup = lookup

    @cached_property
    def starts(self) -> list[int]:
        """Return the starts of the elements."""
        return [element.start_char for element in self.parsed.elements]

    @cached_property
    def outer(self) -> "Ordered":
        """Return the outermost elements that are not empty."""
        return Ordered(self.parsed.elements)

    @cached_property
    def left_out(self) -> "Ordered":
        """Return the elements that are in no chunk: front matter, furniture and tables of contents."""
        return Ordered([e for e in self.parsed.elements if e.kind in LEFT_OUT])

    @cached_property
    def outline(self) -> Outline:
        """Return the headings of the whole document."""
        return Outline(self.parsed)

    @cached_property
    def captions(self) -> Captions:
        """Return the captions of the document's tables and figures."""
        return bound_captions(self.parsed)


class Ordered:
    """Elements in order, without overlaps: an element that begins within another is dropped."""

    def __init__(self, elements: Sequence[Element]) -> None:
        self._elements: list[Element] = []
        for element in elements:
            if element.end_char > element.start_char >= (self._elements[-1].end_char if self._elements else 0):
                self._elements.append(element)
        self._ends = [element.end_char for element in self._elements]

    def within(self, start: int, end: int) -> Iterator[Element]:
        """Yield the elements that share at least one character with a span."""
        for i in range(bisect_right(self._ends, start), len(self._elements)):
            if self._elements[i].start_char >= end:
                return
            yield self._elements[i]


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a document to split: [start, end), in code points of `parsed.text`.

    Proposed spans are within [start, end), as offsets in the whole text. A splitter may look at the text around the
    part: `parsed`, `tokens` and `outline` belong to the whole document.
    """

    parsed: Parsed
    tokens: Tokens
    start: int
    end: int
    index: PartIndex

    @classmethod
    def whole(cls, parsed: Parsed, tokens: Tokens, lookup: Lookup | None = None) -> Self:
        """Return the part that covers a whole document."""
        return cls(parsed, tokens, 0, len(parsed.text), PartIndex(parsed, lookup or Lookup()))

    def within(self, start: int, end: int) -> "Part":
        """Return a part of this part."""
        return Part(self.parsed, self.tokens, max(start, self.start), min(end, self.end), self.index)

    @property
    def text(self) -> str:
        """Return the text of the whole document, to which offsets refer."""
        return self.parsed.text

    @property
    def outline(self) -> Outline:
        """Return the headings of the whole document."""
        return self.index.outline

    @property
    def captions(self) -> Captions:
        """Return the captions of the document's tables and figures."""
        return self.index.captions

    @property
    def lookup(self) -> Lookup:
        """Return the look-up for answers of models."""
        return self.index.lookup

    @property
    def headings(self) -> dict[int, int]:
        """Return the ends of the headings within the part by their starts."""
        return {one.start_char: one.end_char for one in self.elements if one.kind == "title"}

    @property
    def elements(self) -> Sequence[Element]:
        """Return the elements, including nested ones, that begin within the part; the last may extend beyond it."""
        starts = self.index.starts
        return self.parsed.elements[bisect_left(starts, self.start) : bisect_left(starts, self.end)]
