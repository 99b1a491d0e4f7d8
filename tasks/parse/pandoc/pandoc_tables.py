"""Pandoc's tables as rows of cells; those that only lay out a page, as the blocks inside of them."""

from typing import Any, NamedTuple

Node = dict[str, Any]

_MAX_SPAN = 100


class Table(NamedTuple):
    """Cells as lists of blocks; `boxed` is what a table of a single cell holds, which is no table."""

    caption: list[Node]
    rows: list[list[list[Node]]]
    header_rows: int
    boxed: list[Node] | None


def read_table(content: list[Any]) -> Table:
    """Return a table; a cell over several columns is followed by empty ones, one over several rows is repeated."""
    _, (_, caption), _, (_, head), bodies, (_, foot) = content
    header = _rows(head)
    body = [row for _, _, between, rows in bodies for row in (*_rows(between), *_rows(rows))]
    if header and body and header[-1] == body[0]:  # said again, for pages that the table goes on over
        body = body[1:]
    rows = [row for row in (*header, *body, *_rows(foot)) if any(row)]
    headers = sum(any(row) for row in header)
    if max(map(len, rows), default=0) == 1:
        return Table(caption, [], 0, [block for row in rows for cell in row for block in cell])
    return Table(caption, rows, headers, None)


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
