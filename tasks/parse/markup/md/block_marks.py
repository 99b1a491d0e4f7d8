"""Markdown block marks: the inline markup of a file, with the elements in which it stands."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from markdown_it.token import Token

from docmill.storage.schema import Element
from docmill.tasks.parse.markup.md.directives import directive_marks
from docmill.tasks.parse.markup.md.inline_marks import (
    Mark,
    inline_marks,
    inline_pictures,
    said_of,
    tag_marks,
    tag_pictures,
    wordless,
)

_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """A Markdown text, the starts of its lines, and the addresses of its labels as markdown-it-py wants them."""

    text: str
    line_starts: Sequence[int]
    references: Mapping[str, Mapping[str, str]]

    def with_marks(self, elements: Sequence[Element], tokens: Sequence[Token]) -> list[Element]:
        """Return the elements; the outermost have `marks`, the offsets of markup in them; of furniture, all is."""
        found = self._all(tokens, _VISITS)
        starts, reached, marked = [start for start, _ in found], 0, list[Element]()
        for element in elements:
            own: list[int] = []
            if element.start_char >= reached:
                reached = element.end_char
                span = found[bisect_left(starts, element.start_char) : bisect_left(starts, reached)]
                own = [place - element.start_char for mark in span for place in mark]
            if element.kind == "furniture":
                own = [0, element.end_char - element.start_char]
            marked.append(replace(element, attributes=element.attributes | {"marks": own}) if own else element)
        return marked

    def pictures(self, tokens: Sequence[Token]) -> list[Mark]:
        """Return where the text shows a picture: the start and the end of the markup of each, in order."""
        return self._all(tokens, _PICTURES)

    def addresses(self, tokens: Sequence[Token]) -> set[str]:
        """Return the addresses of the pictures that the text shows."""
        return {said_of(self.text[slice(*place)], self.references)[0] for place in self.pictures(tokens)}

    def _all(self, tokens: Sequence[Token], visits: Mapping[str, Any]) -> list[Mark]:
        """Return what visits of tokens yield, by its offsets in the text."""
        visited = ((visits.get(token.type), token, *(token.map or (0, 0))) for token in tokens)
        return sorted(
            mark
            for visit, token, first, last in visited
            if visit and last > first
            for mark in visit(self, token, first, last)
        )

    def _lines(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield the start and the text of each of some lines."""
        ends = (*self.line_starts, len(self.text))
        yield from ((ends[number], self.text[ends[number] : ends[number + 1]]) for number in range(first, last))

    def _words(self, token: Token, first: int, last: int, look: Any = inline_marks) -> Iterator[Mark]:
        """Yield the markup of a paragraph or heading; its token has the lines without what precedes them in a quote."""
        marks = list(look(token.content, self.references))
        places = self._places(token, first, last) if marks else []
        for one, stop in marks:
            if 0 < stop <= len(places):
                yield places[one], places[stop - 1] + 1

    def _places(self, token: Token, first: int, last: int) -> list[int]:
        """Return where each character of a token stands in the text; of lines that are not found, none."""
        places: list[int] = []
        for line, (start, raw) in zip(token.content.split("\n"), self._lines(first, last), strict=False):
            end = raw.rstrip()
            at = len(end) - len(line) if end.endswith(line) else raw.find(line)
            if at < 0:
                return []
            places += range(start + at, start + at + len(line) + 1)
        return places

    def _cells(self, _: Token, first: int, last: int, look: Any = inline_marks) -> Iterator[Mark]:
        for start, line in self._lines(first, last):
            bars = [0, *(match.end() for match in _BAR.finditer(line)), len(line)]
            for left, right in pairwise(bars):
                marks = look(line[left:right].rstrip("|"), self.references)
                yield from ((start + left + one, start + left + stop) for one, stop in marks)

    def _page(self, _: Token, first: int, last: int, look: Any = tag_marks) -> Iterator[Mark]:
        lines = list(self._lines(first, last))
        page = "".join(line for _, line in lines)
        yield from ((lines[0][0] + one, lines[0][0] + stop) for one, stop in look(page))

    def _component(self, _: Token, first: int, last: int) -> Iterator[Mark]:
        lines = list(self._lines(first, last))
        yield from wordless("".join(line for _, line in lines), lines[0][0])

    def _directive(self, _: Token, first: int, last: int) -> Iterator[Mark]:
        for start, line in self._lines(first, last):
            within = start + len(line) - len(line.lstrip())
            yield from ((within + one, within + stop) for one, stop in directive_marks(line.strip()))


_VISITS: dict[str, Any] = {
    "inline": MarkedFile._words,
    "table_rows": MarkedFile._cells,
    "html_block": MarkedFile._page,
    "mdx_tag": MarkedFile._component,
    "directive": MarkedFile._directive,
}
_PICTURES: dict[str, Any] = {
    "inline": partial(MarkedFile._words, look=inline_pictures),
    "table_rows": partial(MarkedFile._cells, look=inline_pictures),
    "html_block": partial(MarkedFile._page, look=tag_pictures),
    "mdx_tag": partial(MarkedFile._page, look=tag_pictures),
}
