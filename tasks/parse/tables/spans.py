"""Spans: the rows of a table whose cells stand over several rows and columns."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

MOST_SPANNED = 100
"""Columns or rows of one cell. Files state thousands to mean "all of them", which would be drawn one by one; a cell
that really is wider is cut here, and those after it are in the wrong columns."""

Cell = TypeVar("Cell")


def spread(
    rows: Iterable[Sequence[tuple[Cell, int, int]]],
    headers: int,
    blank: Cell,
    repeated: Callable[[Cell], Cell] = lambda cell: cell,
) -> list[list[Cell]]:
    """Return rows of cells, each of which is given with how many rows and columns it stands over.

    A cell over several columns is followed by blank ones, but in the first rows, `headers` many, it names all of them.
    One over several rows stands in each, below the first as `repeated` returns it.
    """
    drawn, pending = list[list[Cell]](), dict[int, tuple[int, Cell]]()
    for number, cells in enumerate(rows):
        row = list[Cell]()
        for cell, over_rows, over_columns in cells:
            _carry(row, pending)
            for column in range(min(over_columns, MOST_SPANNED)):
                shown = blank if column and number >= headers else cell
                if over_rows > 1:
                    pending[len(row)] = (min(over_rows, MOST_SPANNED) - 1, repeated(shown))
                row.append(shown)
        _carry(row, pending)
        drawn.append(row)
    return drawn


def _carry(row: list[Cell], pending: dict[int, tuple[int, Cell]]) -> None:
    """Add to a row the cells from above that stand over its next columns; `pending` has the rows left, by column."""
    while len(row) in pending:
        left, cell = pending.pop(len(row))
        if left > 1:
            pending[len(row)] = (left - 1, cell)
        row.append(cell)
