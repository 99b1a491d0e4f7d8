"""Outline: the sections of a document with their spans, sizes and pages, and how to find one by its name."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from docmill.storage.errors import QueryError
from docmill.storage.schema import Element

OPENING = "0"
"""The number of the section without a heading: the text before the first heading, or all text if there is none."""
_MOST_NAMED = 12
"""The most sections that a message names; for more, the user can look at the outline."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a document: a heading and what is below it, subsections included.

    Offsets are half-open and count code points of the canonical text.

    Attributes:
        number: Its place in the outline: "2.1" is the first section within the second. "0" is the text before the
            first heading.
        heading: The plain text of the heading; "" for section "0".
        headings: The headings above it and its own, outermost first.
        level: The level that the document gives the heading, 1 for the highest; 0 for section "0".
        start_char: Where the section starts: with its heading.
        end_char: Where it ends, exclusive: where the next heading of its level or of a higher one starts.
        characters: Its length.
        line: The line on which it starts, from 1.
        page: The page on which it starts, or None if the format has no pages.
        last_page: The page on which it ends, or None.
        text: Its text. An outline leaves it "".
    """

    number: str
    heading: str
    headings: tuple[str, ...]
    level: int
    start_char: int
    end_char: int
    characters: int
    line: int
    page: int | None
    last_page: int | None
    text: str = ""


def heading_text(text: str, element: Element) -> str:
    """Return the words of a heading, without the marks around it; `text` is the canonical text of its document."""
    stated = element.attributes.get("text")
    return " ".join(str(stated if stated else text[element.start_char : element.end_char].strip("#= \t\r\n")).split())


def outline(text: str, elements: Sequence[Element]) -> list[Section]:
    """Return the sections of a document in order; together they contain all of its text."""
    titles = [element for element in elements if element.kind == "title"]
    pages = _PagesOfSpans(elements)
    opening = titles[0].start_char if titles else len(text)
    found = [_section(OPENING, (), 0, (0, opening), 1, pages)] if text[:opening].strip() else []
    path: list[tuple[int, int, str]] = []  # level, number among its siblings, and heading of each open section
    for place, title in enumerate(titles):
        before = 0
        while path and path[-1][0] >= title.level:
            before = path.pop()[1]
        path.append((title.level, before + 1, heading_text(text, title)))
        number = ".".join(str(count) for _, count, _ in path)
        span = title.start_char, _end(titles, place, len(text))
        found.append(_section(number, tuple(words for *_, words in path), title.level, span, title.line, pages))
    return found


def find_section(sections: Sequence[Section], which: str) -> Section:
    """Return the section with a number or a unique heading; raise `QueryError` if there is none."""
    wanted = which.strip()
    for section in sections:
        if section.number == wanted:
            return section
    folded = " ".join(wanted.split()).casefold()
    found = [one for one in sections if folded in (one.heading.casefold(), " › ".join(one.headings).casefold())]
    if len(found) == 1 and folded:
        return found[0]
    several = f"several sections are called {which!r}" if found else f"no section {which!r}"
    raise QueryError(f"{several}; name one by its number: {_named(found or sections)}")


def _end(titles: Sequence[Element], place: int, length: int) -> int:
    """Return where the section of a heading ends."""
    level = titles[place].level
    return next((one.start_char for one in titles[place + 1 :] if one.level <= level), length)


def _section(
    number: str, headings: tuple[str, ...], level: int, span: tuple[int, int], line: int, pages: "_PagesOfSpans"
) -> Section:
    start, end = span
    heading = headings[-1] if headings else ""
    return Section(number, heading, headings, level, start, end, end - start, line, *pages.of(start, end))


def _named(sections: Sequence[Section]) -> str:
    names = [f"{one.number} {one.heading}".strip() for one in sections[:_MOST_NAMED]]
    more = len(sections) - len(names)
    return ", ".join([*names, *([f"and {more} more"] if more else [])]) or "the document has no text"


class _PagesOfSpans:
    """The pages of elements, to look up the pages of a span."""

    def __init__(self, elements: Sequence[Element]) -> None:
        paged = [element for element in elements if element.page]
        self._starts = [element.start_char for element in paged]
        self._pages = [element.page for element in paged]

    def of(self, start: int, end: int) -> tuple[int | None, int | None]:
        """Return the first and the last page of a span, both None without pages."""
        pages = self._pages[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        return (pages[0], pages[-1]) if pages else (None, None)
