"""Enclosing block: what a chunk begins in the middle of and should repeat: a table, a row of it, a speaker's turn."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice, takewhile

from docmill.storage.schema import Element
from docmill.tasks.context.context_input import ContextInput
from docmill.tasks.parse.tables.header_rows import column_names
from docmill.tasks.split.content.qa import asking_column
from docmill.tasks.split.parts.blocks import announces
from docmill.tasks.split.spans.span import Span

_CELL = re.compile(r"(?<!\\)\|")
_LONGEST_CAPTION = 200  # characters; a longer paragraph is prose, and would fill the context
_LONGEST_ROW = 2000  # characters searched for the cell that names a row
_GAP = 4  # characters, an empty line with CRLF; further above a table, there could be other text in between


def begun(setting: ContextInput, span: Span) -> str:
    """Return, line by line, what encloses the start of a chunk: a table's caption, header and row, or the speaker."""
    table = _holding(setting.tables, span)
    if table is not None:
        return _within_table(setting, table, span)
    turn = _holding(setting.turns, span)
    return _speaker(turn) if turn else _caption_beyond(setting, span)


def _caption_beyond(setting: ContextInput, span: Span) -> str:
    """Return the caption of a table of which a chunk has only the beginning, and that stands below it."""
    last = _holding(setting.tables, Span(span.end, span.end))
    bound = setting.captions.of.get(last.start_char) if last else None
    return _in_line(setting.parsed.text[bound.start_char : bound.end_char]) if bound else ""


def _within_table(setting: ContextInput, table: Element, span: Span) -> str:
    """Return the question of a row of questions and answers, else the caption, the header and the name of the row."""
    asking = asking_column(table)
    row = _row(setting, table, span, max(asking, 0))
    if row and asking >= 0:
        return row
    return "\n".join(filter(None, (_caption(setting, table), _header(setting, table, span), row)))


def _speaker(turn: Element) -> str:
    return ", ".join(str(turn.attributes[name]) for name in ("speaker", "time") if turn.attributes.get(name))


def _holding(elements: list[Element], span: Span) -> Element | None:
    """Return the element that a span begins inside of, but not at its start."""
    before = bisect_left(elements, span.start, key=lambda element: element.start_char) - 1
    return elements[before] if before >= 0 and span.start < elements[before].end_char else None


def _header(setting: ContextInput, table: Element, span: Span) -> str:
    """Return the names of a table's columns, or where these are too long, of the cells filled in a span.

    The words that a name begins with as the one before it, such as that of a group, are left out rather than the names
    of columns of which a span fills most.
    """
    cells = table.attributes.get("cells") or [[]]
    names = column_names(cells, table.attributes["header_rows"])
    if _fits(setting, header := _joined(names)):
        return header
    filled = _filled_columns(setting, table, span)
    own = [name for column, name in enumerate(names) if column in filled]
    tried = [_joined(own), _joined(_shortened(names)), _joined(_shortened(own))]
    if 2 * len(own) > len(names):
        tried[:2] = tried[1::-1]
    return next((header for header in tried if _fits(setting, header)), "")


def _fits(setting: ContextInput, header: str) -> bool:
    return setting.count(header) < max(setting.budget, setting.widest)


def _shortened(names: Sequence[str]) -> list[str]:
    """Return names, each without the words that it begins with as the one before it."""
    pairs = zip(["", *names], names, strict=False)
    return [" ".join(name.split()[_count_shared(before.split(), name.split()[:-1]) :]) for before, name in pairs]


def _count_shared(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _joined(names: Sequence[str]) -> str:
    # A bar within a cell would look like the next column.
    return " | ".join(" ".join(str(name).replace("|", "/").split()) for name in names if str(name).strip())


def _filled_columns(setting: ContextInput, table: Element, span: Span) -> set[int]:
    """Return the columns in which a span, of rows or of a part of one, has text."""
    starts, cells = setting.rows_of(table), table.attributes["cells"]
    shift = min(max(len(cells) - len(starts), 0), 1)  # 0 if the rule below the header is a line, but no row
    first, last = (find(starts, end) + shift for find, end in ((bisect_right, span.start), (bisect_left, span.end)))
    if first < last:
        return set().union(*map(_filled, cells[max(1, first - 1) : last]))
    if not 0 < first <= len(cells):
        return set()
    left, right = (len(_CELL.findall(setting.parsed.text, starts[first - shift - 1], end)) for end in span)
    return _filled(cells[first - 1]) & {*range(max(0, left - 1), right)}


def _filled(row: Sequence[object]) -> set[int]:
    return {column for column, cell in enumerate(row) if str(cell).strip()}


def _row(setting: ContextInput, table: Element, span: Span, column: int) -> str:
    """Return the cell that names the row in which a span begins, "" if it begins with a row."""
    text, rows = setting.parsed.text, setting.rows_of(table)
    number = bisect_right(rows, span.start) - 1
    if number < 0 or rows[number] == span.start:
        return ""
    end = min(span.start, rows[number] + _LONGEST_ROW)
    bars = [match.start() for match in islice(_CELL.finditer(text, rows[number], end), column + 2)]
    if len(bars) < column + 2:
        return ""
    return " ".join(text[bars[column] + 1 : bars[column + 1]].split())


def _caption(setting: ContextInput, table: Element) -> str:
    """Return the caption of a table, or the short paragraph directly above it that introduces it."""
    bound = setting.captions.of.get(table.start_char)
    if bound is not None:
        return _in_line(setting.parsed.text[bound.start_char : bound.end_char])
    elements = setting.parsed.elements
    number = bisect_left(elements, table.start_char, key=lambda element: element.start_char) - 1
    above = elements[number] if number >= 0 else None
    if above is None or above.kind != "paragraph" or above.start_char in setting.captions.below:
        return ""
    if not 0 <= table.start_char - above.end_char <= _GAP:
        return ""
    text = setting.parsed.text[above.start_char : above.end_char]
    return _in_line(text) if len(text) <= _LONGEST_CAPTION and announces(text) else ""


def _in_line(caption: str) -> str:
    # A bar in a caption would make it look like the names of columns.
    return " ".join(caption.strip("*_ \n").replace("|", "/").split())
