"""PDF contents: lists whose lines end with leaders and the number of a page, and tables of such numbers."""

import re
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise

from docmill.tasks.parse.pdf.layout.page_table import Item, PageTable
from docmill.tasks.parse.pdf.text.characters import squeeze
from docmill.tasks.parse.pdf.text.line import TextLine

_ENTRY = re.compile(
    r"(?:\.{4,}|(?:\s\.){3,}|\u2026{2,}|(?:\s?\u00b7){4,}|_{5,})[\s.]*(?:(?P<page>\d{1,4})|[ivxlc]{1,6})\s*$"
)
_NAME = re.compile(
    r"(?:table of )?contents|list of (?:tables|figures)|inhalt(?:sverzeichnis|sübersicht)?|sommaire|table des matières"
    r"|índice|indice|sommario|innehåll|inhoud(?:sopgave)?|содержание|оглавление",
    re.IGNORECASE,
)
_ROMAN = "ivxlc"  # with figures, what an entry ends with: the pattern is slow, and few lines end so
_LEADERS = re.compile("[._\u2026\u00b7]")  # what leaders are made of
_LEAST = 3  # entries: two rows with leaders may be the prices of a menu
_LEAST_ROWS, _MOST_ROWS = 4, 0.8
"""Rows of a table of contents that have a number: fewer are no list, and of all rows some name a part without one."""
_WRAPPED = 2  # lines from one entry to the next: a title may run over two lines


def mark_contents(pages: list[list[TextLine]]) -> None:
    """Mark the entries of lists of contents; their pages never go back, as prices and scores do."""
    for page in pages:
        for row in _rows(page):
            if len(row) >= _LEAST and _counts(page, row):
                first = row[0] - (row[0] > 0 and _NAME.fullmatch(page[row[0] - 1].text) is not None)
                for line in page[first : row[-1] + 1]:
                    line.contents = True


def _rows(page: list[TextLine]) -> list[list[int]]:
    """Return the places of entries that follow one another."""
    rows: list[list[int]] = []
    for at in (at for at, line in enumerate(page) if _may_be_entry(line.text) and _ENTRY.search(line.text)):
        if rows and at - rows[-1][-1] <= _WRAPPED:
            rows[-1].append(at)
        else:
            rows.append([at])
    return rows


def _may_be_entry(text: str) -> bool:
    last = text.rstrip()[-1:]
    return (last.isdecimal() or last in _ROMAN) and _LEADERS.search(text) is not None


def _counts(page: list[TextLine], row: list[int]) -> bool:
    numbers = (match["page"] for at in row if (match := _ENTRY.search(page[at].text)))
    return all(before <= after for before, after in pairwise(int(number) for number in numbers if number))


def mark_tables(pages: list[list[Item]]) -> None:
    """Mark the tables of contents: a line of their page names them, or the document has their titles as lines."""
    said = cache(partial(_said, pages))
    for items in pages:
        tables = [item for item in items if isinstance(item, PageTable)]
        name = next((at for at, item in enumerate(items) if _is_name(item)), None) if tables else None
        for table in tables:
            table.contents = _is_of_contents(table, name is not None, said)
        if name is not None:
            _mark_parts(items[name + 1 :])


def _mark_parts(below: list[Item]) -> None:
    """Mark the tables directly below the name of a list of contents whose last columns are one list of pages."""
    parts: list[PageTable] = []
    for item in below:
        if not isinstance(item, PageTable):
            break
        parts.append(item)
    if _lists_pages([row[-1] for part in parts for row in part.cells]):
        for part in parts:
            part.contents = True


def _is_of_contents(table: PageTable, named: bool, said: Callable[[], set[str]]) -> bool:
    first, last = ([row[side] for row in table.cells] for side in (0, -1))
    if named:
        return _lists_pages(first) or _lists_pages(last)
    return _rises(last) and _are_titles(table, said())


def _said(pages: list[list[Item]]) -> set[str]:
    return {squeeze(item.text) for items in pages for item in items if isinstance(item, TextLine)}


def _are_titles(table: PageTable, said: set[str]) -> bool:
    """Return whether what stands before the numbers of a table's rows is said elsewhere, with its own number or not."""
    rows = [(squeeze("".join(row[:-1])), squeeze("".join(row[1:-1]))) for row in table.cells]
    return sum(bool(said.intersection(filter(None, row))) for row in rows) >= _MOST_ROWS * len(rows)


def _is_name(item: Item) -> bool:
    return isinstance(item, TextLine) and _NAME.fullmatch(item.text) is not None


def _lists_pages(column: list[str]) -> bool:
    """Return whether a column of a table, its first or last, holds numbers of pages."""
    # What is counted from one is the rows, and no pages.
    return _rises(column) and _numbers(column) != [*range(1, len(_numbers(column)) + 1)]


def _rises(column: list[str]) -> bool:
    """Return whether most cells of a column are numbers that never go down."""
    numbers = _numbers(column)
    rise = all(before <= after for before, after in pairwise(numbers))
    return rise and len(numbers) >= max(_LEAST_ROWS, _MOST_ROWS * len(column))


def _numbers(column: list[str]) -> list[int]:
    return [int(cell) for cell in column if cell.isascii() and cell.isdecimal()]
