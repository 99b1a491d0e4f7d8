"""Pandoc table: the rows of a table in pandoc's tree, with its header rows and what its cells span."""

from itertools import chain, takewhile
from typing import Any, NamedTuple

from docmill.tasks.parse.pandoc.inlines import Node
from docmill.tasks.parse.passes.table_rows import MOST_SPANNED, spanned_rows, spread

HEADER_MARK = "\ue00e"
"""Marks the first cell of each row of a header with several rows; a private-use character."""
_SPACES = frozenset(("Space", "SoftBreak", "LineBreak"))


class PandocTable(NamedTuple):
    """Cells as lists of blocks; `boxed` is the content of a table of one column, which is only a frame."""

    caption: list[Node]
    rows: list[list[list[Node]]]
    header_rows: int
    boxed: list[Node] | None

    @property
    def within(self) -> list[list[list[Node]]]:
        """Return the rows of a table within a cell; a frame is a row of one cell."""
        return self.rows if self.boxed is None else [[self.boxed]]


def read_table(content: list[Any]) -> PandocTable:
    """Return a table; empty cells follow a cell that spans columns, and a cell that spans rows is repeated.

    A header cell is repeated in all columns that it spans.
    """
    _, (_, caption), _, (_, head), bodies, (_, foot) = content
    header, body = _parted(head, bodies)
    rows = list(filter(any, (*header, *body, *_rows(foot))))
    if max(map(len, rows), default=0) == 1:
        return PandocTable(caption, [], 0, [block for (cell,) in rows for block in cell])
    headers = sum(map(any, header)) or int(len(rows) > 1 and _is_bold_row(rows[0]) and not _is_bold_row(rows[1]))
    return PandocTable(caption, rows, headers, None)


def _parted(head: list[Any], bodies: list[Any]) -> tuple[list[list[list[Node]]], list[list[list[Node]]]]:
    """Return the rows of the header and the body; pandoc's body may begin with header rows."""
    header, body = _rows(head, len(head)), list(chain.from_iterable(map(_body_rows, bodies)))
    if header and header[-1:] == body[:1]:  # repeated on each page of the table
        body = body[1:]
    if any(map(any, header)):
        more = int(bool(body) and _goes_on(head[-1], body[0]))
        return [*header, *body[:more]], body[more:]
    deep = _marked(bodies) or spanned_rows(_sizes(bodies), len(body))
    return (_rows(bodies[0][3][:deep], deep), body[deep:]) if deep else (header, body)


def _marked(bodies: list[Any]) -> int:
    """Return the number of rows that are marked as header rows in a source; the marks are removed."""
    rows = bodies[0][3] if bodies else ()
    return sum(1 for _ in takewhile(lambda row: _unmark(row[1]), rows))


def _unmark(cells: list[Any]) -> bool:
    """Remove the marks from the cells of a row; return whether there was one."""
    marked = [blocks for *_, blocks in cells if any(map(_marks_in, blocks))]
    for blocks in marked:
        for one in chain.from_iterable(map(_marks_in, blocks)):
            one["c"] = one["c"].replace(HEADER_MARK, "")
        blocks[:] = filter(_has_words, blocks)
    return bool(marked)


def _has_words(block: Node) -> bool:
    return any(one.get("c") != "" for one in _inlines(block))


def _marks_in(block: Node) -> list[Node]:
    return [one for one in _inlines(block) if one["t"] == "Str" and HEADER_MARK in one["c"]]


def _goes_on(header: Any, row: list[list[Node]]) -> bool:
    """Return whether a row has text exactly where header cells above span columns, i.e. it names these columns."""
    spans = [over_columns for _, _, _, over_columns, _ in header[1] for _ in range(min(over_columns, MOST_SPANNED))]
    return max(spans, default=1) > 1 and [over > 1 for over in spans] == [bool(cell) for cell in row]


def _is_bold_row(row: list[list[Node]]) -> bool:
    """Return whether all cells have text and all of it is bold."""
    inlines = [one for cell in row for block in cell for one in _inlines(block) if one["t"] not in _SPACES]
    return bool(inlines) and all(row) and all(one["t"] == "Strong" for one in inlines)


def _inlines(block: Node) -> list[Node]:
    """Return the inlines of a paragraph; any other block counts as one inline that is not bold."""
    return block["c"] if block["t"] in ("Para", "Plain") else [block]


def _body_rows(body: Any) -> list[list[list[Node]]]:
    _, _, between, rows = body
    return _rows(between) + _rows(rows)


def _sizes(bodies: list[Any]) -> list[tuple[int, int]]:
    """Return how many rows and columns each cell of the first row spans."""
    first = bodies[0][3][0][1] if bodies and bodies[0][3] and not bodies[0][2] else ()
    return [(over_rows, over_columns) for _, _, over_rows, over_columns, _ in first]


def _rows(rows: list[Any], headers: int = 0) -> list[list[list[Node]]]:
    sized = ([(blocks, over_rows, over_columns) for *_, over_rows, over_columns, blocks in cells] for _, cells in rows)
    return spread(sized, headers, [])
