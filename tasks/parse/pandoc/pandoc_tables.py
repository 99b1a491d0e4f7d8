"""Pandoc tables: rows of cells, or the blocks inside a table used for layout."""

from itertools import chain
from typing import Any, NamedTuple

Node = dict[str, Any]

_MAX_SPAN = 100
"""Columns or rows covered by one cell: no real table is wider, and a span may claim any number."""


class PandocTable(NamedTuple):
    """Cells as lists of blocks; `boxed` is the content of a table of one column, which is only a frame."""

    caption: list[Node]
    rows: list[list[list[Node]]]
    header_rows: int
    boxed: list[Node] | None


def read_table(content: list[Any]) -> PandocTable:
    """Return a table; a cell over several columns is followed by empty ones, one over several rows is repeated."""
    _, (_, caption), _, (_, head), bodies, (_, foot) = content
    header, body = _rows(head), list(chain.from_iterable(map(_body_rows, bodies)))
    if header and header[-1:] == body[:1]:  # repeated on each page of the table
        body = body[1:]
    rows = list(filter(any, (*header, *body, *_rows(foot))))
    if max(map(len, rows), default=0) == 1:
        return PandocTable(caption, [], 0, [block for (cell,) in rows for block in cell])
    return PandocTable(caption, rows, sum(map(any, header)), None)


def _body_rows(body: Any) -> list[list[list[Node]]]:
    _, _, between, rows = body
    return _rows(between) + _rows(rows)


def _rows(rows: list[Any]) -> list[list[list[Node]]]:
    drawn: list[list[list[Node]]] = []
    pending: dict[int, tuple[int, list[Node]]] = {}
    for _, cells in rows:
        drawn.append(_row(cells, pending))
    return drawn


def _row(cells: list[Any], pending: dict[int, tuple[int, list[Node]]]) -> list[list[Node]]:
    row: list[list[Node]] = []

    def carry() -> None:
        while len(row) in pending:
            left, blocks = pending.pop(len(row))
            if left > 1:
                pending[len(row)] = (left - 1, blocks)
            row.append(blocks)

    for _, _, over_rows, over_columns, blocks in cells:
        carry()
        for column in range(min(over_columns, _MAX_SPAN)):
            shown = [] if column else blocks
            if over_rows > 1:
                pending[len(row)] = (min(over_rows, _MAX_SPAN) - 1, shown)
            row.append(shown)
    carry()
    return row
