"""Plain text, split into paragraphs at blank lines; source code, kept whole; and tables drawn in a text.

Programs print tables with rules of dashes or box-drawing characters (psql, mysql). The text is left unchanged; an
element gives the position of each table and its cells.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions

_BLOCK = re.compile(r"\S[^\r\n]*(?:(?:\r\n?|\n)(?![^\S\r\n]*(?:[\r\n\f]|\Z))[^\r\n]+)*")
_NEWLINE = re.compile(r"\r\n?|\n")
_SAMPLE = 20_000
"""Number of characters from which a text is judged to be prose. A smaller sample may be a single table or heading."""
_MIN_LINES = 10
"""Minimum lines to judge a text. With fewer, a comment in code or a log message looks like prose."""
_WORDY = 5
"""Words of a line of prose; half of the lines must have at least as many. Statements of code have fewer; with more,
verse and narrow columns would not count as prose."""
_LETTERS = 0.85
"""Minimum share of letters among the characters of prose. The rest are punctuation and digits; code and logs have more
of both, and tables of numbers most."""
_LINE = re.compile(r"[^\r\n]+|\r\n?|\n")
_DASH, _JOINT, _BAR = "-=─━═╌┄", "+┼┬┴┌┐└┘├┤╪╤╧╬╦╩╔╗╚╝╠╣╟╢╒╕╘╛╞╡╭╮╰╯╫╥╨", "|│┃║"
_RULE = re.compile(rf"\s*(?=[^\s]*[{_DASH}]{{2}})(?=.*[{_JOINT}{_BAR}])[{_DASH}{_JOINT}{_BAR}:\s]+$")
_DASHED = re.compile(r"\s*-{2,}(?: +-{2,})+\s*$")
_BARS = re.compile(rf"[{_BAR}]")
_GROUP = re.compile(r"-+")
_LEAST_EVEN = 0.9
"""Share of a table's rows with the usual number of cells: a few have a bar in their text; lines of prose have none."""
_MOST_RULES = 3  # of a table with one rule above, below the header and below the rows; otherwise all rows have rules
_LEAST_ROWS = 2  # including the header


def parse_text(data: bytes, _: ParseOptions) -> Parsed:
    """Return the decoded file, newlines unchanged, with a paragraph for each run of lines, and its drawn tables."""
    found = decode(data)
    elements = with_drawn_tables(found.text, paragraphs(found.text))
    return Parsed(found.text, tuple(elements), "", found.metadata)


def paragraphs(text: str) -> list[Element]:
    """Return the paragraphs of a text."""
    elements = []
    line, seen = 1, 0
    for match in _BLOCK.finditer(text):
        start, end = match.start(), match.end()
        block = match.group().rstrip()
        end = start + len(block)
        # Count from the last block on; counting from the beginning each time would take quadratic time.
        line += newlines(text, seen, start)
        seen = start
        elements.append(Element("paragraph", start, end, 0, 0, line))
    return elements


def is_prose(text: str) -> bool:
    """Return whether a text of some length consists of lines of words, unlike code or logs."""
    lines = [line.split() for line in text[:_SAMPLE].splitlines() if line.strip()]
    if len(lines) < _MIN_LINES:
        return False
    signs = "".join(sign for line in lines for sign in line)
    wordy = sum(len(line) >= _WORDY for line in lines)
    return wordy >= len(lines) / 2 and sum(map(str.isalpha, signs)) > _LETTERS * len(signs)


def newlines(text: str, start: int, end: int) -> int:
    """Return how many lines end in a span; a lone carriage return ends a line."""
    count = text.count("\n", start, end)
    if text.find("\r", start, end) >= 0:
        # Slower than `count`, and needed only for the few texts with old or foreign line ends.
        count = len(_NEWLINE.findall(text, start, end))
    return count


def numbered(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield each non-blank line's start, its text without the line end, and its number, from 1."""
    number = 1
    for match in _LINE.finditer(text):
        line = match.group()
        if line[0] in "\r\n":
            number += 1
        elif line.strip():
            yield match.start(), line, number


def parse_code(data: bytes, options: ParseOptions) -> Parsed:
    """Return the decoded file, newlines unchanged, as one code element."""
    found = decode(data)
    text = found.text
    end = len(text.rstrip())
    start = len(text) - len(text.lstrip())
    # The first line keeps its indentation, to match the lines below.
    start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    line = 1 + newlines(text, 0, start)
    element = Element("code", start, end, 0, 0, line, None, {"language": options.language})
    return Parsed(text, (element,) if end else (), "", found.metadata)


class DrawnTable(NamedTuple):
    """A table's first line, the line after its last, its cells, and whether the first row names the columns."""

    first: int
    last: int
    rows: list[list[str]]
    headed: bool


def drawn_tables(lines: Sequence[str]) -> Iterator[DrawnTable]:
    """Yield the tables drawn in some lines, in order."""
    at = 0
    while at < len(lines):
        found = None
        if _RULE.match(lines[at]):
            found = _barred(lines, at)
        elif at and _DASHED.match(lines[at]):
            found = _dashed(lines, at)
        if found is not None:
            yield found
        at = found.last if found is not None else at + 1


def with_drawn_tables(text: str, elements: Sequence[Element]) -> list[Element]:
    """Return the elements of a text, with paragraphs split where a table is drawn."""
    whole: list[Element] = []
    for element in elements:
        piece = text[element.start_char : element.end_char]
        if element.kind == "paragraph" and ("--" in piece or "──" in piece or "══" in piece or "━━" in piece):
            whole += _cut(text, element)
        else:
            whole.append(element)
    return whole


def _cut(text: str, element: Element) -> Iterator[Element]:
    """Yield a paragraph's tables, and the text between them as paragraphs."""
    # From the beginning of its first line, whose indentation is part of a column.
    begin = max(text.rfind("\n", 0, element.start_char), text.rfind("\r", 0, element.start_char)) + 1
    lines = text[begin : element.end_char].splitlines(keepends=True)
    starts = [begin]
    for line in lines:
        starts.append(starts[-1] + len(line))
    at = 0
    for table in drawn_tables([line.rstrip("\r\n") for line in lines]):
        yield from _piece(text, element, (starts, at, table.first), "paragraph", {})
        attributes = {"cells": table.rows, "header_rows": int(table.headed)}
        yield from _piece(text, element, (starts, table.first, table.last), "table", attributes)
        at = table.last
    yield from _piece(text, element, (starts, at, len(lines)), "paragraph", {})


def _piece(
    text: str, around: Element, lines: tuple[list[int], int, int], kind: str, attributes: dict[str, object]
) -> Iterator[Element]:
    starts, first, last = lines
    start, end = max(starts[first], around.start_char), min(starts[last], around.end_char)
    raw = text[start:end]
    if raw.strip():
        start, end = start + len(raw) - len(raw.lstrip()), end - (len(raw) - len(raw.rstrip()))
        yield Element(kind, start, end, 0, around.page, around.line + first, None, attributes)


def _barred(lines: Sequence[str], rule: int) -> DrawnTable | None:
    """Return the table with bars between its cells whose first rule is in a line, or None."""
    named = rule > 0 and _BARS.search(lines[rule - 1]) is not None and not _RULE.match(lines[rule - 1])
    first = rule - named  # the column names may be above the first rule
    last = rule
    while last < len(lines) and (_RULE.match(lines[last]) or _BARS.search(lines[last])):
        last += 1
    framed = not named or _BARS.match(lines[first].strip()) is not None
    groups = _groups(lines[first:last])
    parted = len(groups) - 1 > _MOST_RULES
    rows = [row for group in groups for row in _rows(group, framed, parted)]
    if not _is_even(rows):
        return None
    width = max(map(len, rows))
    whole = [[*row, *[""] * (width - len(row))] for row in rows]
    return DrawnTable(first, last, whole, _is_headed(groups, parted))


def _groups(lines: Sequence[str]) -> list[list[str]]:
    """Return lines in groups separated by rules, with the same character for all bars."""
    groups: list[list[str]] = [[]]
    for line in lines:
        if _RULE.match(line):
            groups.append([])
        else:
            groups[-1].append(_BARS.sub("|", line))
    return groups


def _is_headed(groups: list[list[str]], parted: bool) -> bool:
    """Return whether one row is above the rule that separates column names from rows."""
    filled = [group for group in groups if group]
    return len(filled) > 1 and (parted or len(filled[0]) == 1)


def _rows(group: Sequence[str], framed: bool, parted: bool) -> list[list[str]]:
    rows = [_cells(line, framed) for line in group]
    if not parted or not rows:
        return rows
    width = max(map(len, rows))
    return [[" ".join(filter(None, (row[at] for row in rows if at < len(row)))) for at in range(width)]]


def _cells(line: str, framed: bool) -> list[str]:
    bare = line.strip() if framed else line
    bare = bare.removeprefix("|").removesuffix("|") if framed else bare
    return [cell.strip() for cell in bare.split("|")]


def _is_even(rows: list[list[str]]) -> bool:
    widths = [len(row) for row in rows]
    if len(rows) < _LEAST_ROWS:
        return False
    usual = max(set(widths), key=widths.count)
    return usual > 1 and widths.count(usual) >= _LEAST_EVEN * len(widths)


def _dashed(lines: Sequence[str], rule: int) -> DrawnTable | None:
    """Return the table whose columns are as wide as the dashes in a line below their names, or None."""
    starts = [found.start() for found in _GROUP.finditer(lines[rule])]
    below = takewhile(lambda line: line.strip() and not _DASHED.match(line), lines[rule + 1 :])
    rows = [lines[rule - 1], *below]
    if len(rows) < _LEAST_ROWS or not all(_fits(line, starts) for line in rows):
        return None
    bounds = list(pairwise([*starts, None]))
    cut = [[line[start:end].strip() for start, end in bounds] for line in rows]
    return DrawnTable(rule - 1, rule + len(rows), cut, True) if all(cut[0]) else None


def _fits(line: str, starts: Sequence[int]) -> bool:
    """Return whether no word of a line crosses the beginning of a column."""
    return not line[: starts[0]].strip() and all(start >= len(line) or line[start - 1] == " " for start in starts[1:])
