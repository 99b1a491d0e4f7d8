"""Slide graphics: tables and diagrams."""

from typing import Any

from docmill.tasks.parse.office.slides.slide_text import text_of
from docmill.tasks.parse.tables.header_rows import REPEATED, spanned_rows
from docmill.tasks.parse.trees import whole


def table_of(frame: Any) -> tuple[list[list[str]], int | None] | None:
    """Return the cells of a frame's table and its stated number of header rows, or None if it holds no table."""
    table = next(frame.iter("{*}tbl"), None)
    if table is None:
        return None
    drawn = list(table.iterchildren("{*}tr"))
    first_row = drawn[0].iterchildren("{*}tc") if drawn else ()
    deep = spanned_rows([_size(cell) for cell in first_row if not _is_covered(cell)], len(drawn))
    rows: list[list[str]] = []
    for number, row in enumerate(drawn):
        rows.append(_cells(row, rows[-1] if rows else [], number < deep))
    properties = table.find("{*}tblPr")
    first = properties is not None and properties.get("firstRow") in ("1", "true")
    return rows, deep or (1 if first else None)


def _size(cell: Any) -> tuple[int, int]:
    """Return how many rows and columns a cell spans."""
    return whole(cell.get("rowSpan"), 1), whole(cell.get("gridSpan"), 1)


def _is_covered(cell: Any) -> bool:
    """Return whether a cell is covered by one to its left."""
    return cell.get("hMerge") in ("1", "true")


def _cells(row: Any, above: list[str], header: bool) -> list[str]:
    """Return the texts of a row; a cell that is merged with the one above it repeats its text, unless it is long.

    A cell of a header is repeated in the columns that it names.
    """
    cells: list[str] = []
    for at, cell in enumerate(row.iterchildren("{*}tc")):
        merged = cell.get("vMerge") in ("1", "true") and at < len(above)
        if header and cells and _is_covered(cell):
            cells.append(cells[-1])
        elif merged:
            cells.append(above[at] if len(above[at]) <= REPEATED else "")
        else:
            cells.append("\n".join(text_of(line) for line in cell.iter("{*}p")))
    return cells


def diagram_of(data: Any) -> list[str]:
    """Return the texts of a diagram's points, in their order."""
    points = ("\n".join(text_of(line) for line in point.iter("{*}p")) for point in data.iter("{*}pt"))
    return [text for text in points if text.strip()]
