"""Contents lists: the entries of a document's own table of contents, which name its sections without describing them.

An entry ends with leaders and a page number, or is only a link to another place in the same document.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from docmill.storage.schema import Element, Parsed

_LEADERS = re.compile(
    r"(?:\.{4,}|(?:\s\.){3,}|\u2026{2,}|(?:\s?\u00b7){4,}|_{5,})[\s.]*(?:(?P<page>\d{1,4})|[ivxlc]{1,6})$"
)
_NAME = re.compile(
    r"\W*(?:(?:table of )?contents|contents of this (?:page|document)|toc|on this page|in this (?:article|page)"
    r"|list of (?:tables|figures)|inhalt(?:sverzeichnis|sübersicht)?|sommaire|table des matières|índice|indice"
    r"|sommario|innehåll|inhoud(?:sopgave)?|содержание|оглавление|目次|目录)\W*",
    re.IGNORECASE,
)
_ROMAN = frozenset("ivxlc")
LEAST = 3
"""Minimum entries of a list: two consecutive links, or two prices with leaders, are not a list."""
_BESIDE = 6
"""Characters of an entry outside its link: an item's marker or a page number."""
_ENTRIES = frozenset(("paragraph", "list_item"))
_BLANK = frozenset(("page_break", "furniture"))


def leads_within(text: str, linked: int) -> bool:
    """Return whether `linked` characters of a block, in links within its document, are all of its text."""
    return linked > 0 and len(text) - linked <= _BESIDE


def with_contents(parsed: Parsed, entries: Collection[int] = ()) -> Parsed:
    """Return a document whose tables of contents, including their titles, are elements of kind `toc`.

    `entries` are the indices of elements that are only a link within the document. A document that is mostly a table of
    contents keeps it unchanged, as nothing else in it can be found.
    """
    listed = {i for run in _runs(parsed, {*entries, *_entries(parsed)}) for i in run}
    if not listed or _size(parsed.elements, listed) > _size(parsed.elements) / 2:
        return parsed
    elements = (replace(one, kind="toc", level=0) if i in listed else one for i, one in enumerate(parsed.elements))
    return replace(parsed, elements=tuple(elements))


def _entries(parsed: Parsed) -> list[int]:
    """Return the indices of the elements that look like entries."""
    return [i for i, one in enumerate(parsed.elements) if one.kind in _ENTRIES and _is_entry(parsed.text, one)]


def _is_entry(text: str, element: Element) -> bool:
    """Return whether a paragraph consists of entry lines, or is only a link within the document."""
    links = element.attributes.get("links", ())
    if links and links[0]["url"].startswith("#") and all(link["url"].startswith("#") for link in links):
        own = text[element.start_char : element.end_char]
        # Markdown keeps its links as written: brackets and an address around the words.
        return own.lstrip("-*+0123456789.) ").startswith("[") and own.rstrip().endswith((f"]({links[-1]['url']})", "]"))
    # Few paragraphs end with a number, and reading all others line by line would be slow.
    last = text[element.end_char - 1]
    return (last.isspace() or _may_end_page(last)) and _are_led(text[element.start_char : element.end_char])


def _are_led(lines: str) -> bool:
    return _may_hold_leaders(lines) and all(_is_led(line.rstrip()) for line in lines.splitlines())


def _may_hold_leaders(text: str) -> bool:
    """Return whether a text may have leaders; a quick test, as few texts have them and searching for them is slow."""
    return text.count(".") > 2 or "__" in text or "\u2026" in text or "\u00b7" in text


def _may_end_page(letter: str) -> bool:
    """Return whether a page number, in digits or Roman numerals, may end with a letter."""
    return letter.isdigit() or letter in _ROMAN


def _is_led(line: str) -> bool:
    return _may_end_page(line[-1:]) and _LEADERS.search(line) is not None


def _runs(parsed: Parsed, entries: Collection[int]) -> Iterator[list[int]]:
    """Yield consecutive entries, with the title before them, as indices."""
    run: list[int] = []
    for i in sorted(entries):
        if run and any(one.kind not in _BLANK for one in parsed.elements[run[-1] + 1 : i]):
            yield from _listed(parsed, run)
            run = []
        run.append(i)
    yield from _listed(parsed, run)


def _listed(parsed: Parsed, run: Sequence[int]) -> Iterator[list[int]]:
    """Yield a run of entries with its title if there are enough of them and their page numbers never decrease."""
    lines = [line for i in run for line in _own(parsed, i).splitlines()]
    if len(lines) < LEAST or not _counts(lines):
        return
    above = run[0] - 1
    named = above >= 0 and _NAME.fullmatch(_own(parsed, above)) is not None
    yield [above] * named + list(run)


def _counts(lines: Sequence[str]) -> bool:
    """Return whether the page numbers of entries never decrease, unlike prices and scores."""
    found = (match["page"] for line in lines if (match := _LEADERS.search(line.rstrip())))
    return all(before <= after for before, after in pairwise(int(page) for page in found if page))


def _own(parsed: Parsed, i: int) -> str:
    return parsed.text[parsed.elements[i].start_char : parsed.elements[i].end_char]


def _size(elements: Sequence[Element], only: Collection[int] | None = None) -> int:
    """Return the number of characters of elements without furniture."""
    return sum(
        one.end_char - one.start_char
        for i, one in enumerate(elements)
        if one.kind not in ("furniture", "front_matter", "toc") and (only is None or i in only)
    )
