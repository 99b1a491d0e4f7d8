"""Slide graphics: tables, charts and diagrams."""

from typing import Any

from docmill.tasks.parse.office.parts import whole
from docmill.tasks.parse.office.slides.slide_text import text_of
from docmill.tasks.parse.tables.header_rows import REPEATED, spanned_rows

_MAX_DIGITS = 3  # of a number of rows or columns
_MAX_POINTS = 10_000
"""Maximum points of a series. An index is stated and may be any number, and each is a row of the chart's table.

With a lower limit, long measured series are cut.
"""
_FIGURES = 10
"""Significant figures of a point. Charts keep what was computed, such as 0.30000000000000004; with fewer figures, large
sums would be rounded."""


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
    stated = (cell.get(name) or "1" for name in ("rowSpan", "gridSpan"))
    rows, columns = (int(value) if value.isdecimal() and len(value) <= _MAX_DIGITS else 1 for value in stated)
    return rows, columns


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


def chart_of(chart: Any) -> tuple[str, list[list[str]]]:
    """Return a chart's title, and a table of its points: a column for each series, a row for each category."""
    title = chart.find(".//{*}chart/{*}title")
    heading = "" if title is None else " ".join(text_of(line) for line in title.iter("{*}p"))
    columns: list[dict[int, str]] = []
    labels: dict[int, str] = {}
    names = [""]
    for series in chart.iter("{*}ser"):
        names.append(" ".join(_points(series.find("{*}tx")).values()))
        # Series share their categories; those of a scatter chart are its x values.
        labels = labels or _points(series.find("{*}cat")) or _points(series.find("{*}xVal"))
        value = series.find("{*}val")
        columns.append(_points(series.find("{*}yVal") if value is None else value))
    rows = _by_category(labels, columns)
    return heading, [names, *rows] if rows else []


def _by_category(labels: dict[int, str], columns: list[dict[int, str]]) -> list[list[str]]:
    """Return a row for each index that any label or point has."""
    numbers = sorted(set(labels).union(*columns))
    return [[labels.get(at, ""), *(column.get(at, "") for column in columns)] for at in numbers]


def diagram_of(data: Any) -> list[str]:
    """Return the texts of a diagram's points, in their order."""
    points = ("\n".join(text_of(line) for line in point.iter("{*}p")) for point in data.iter("{*}pt"))
    return [text for text in points if text.strip()]


def _points(node: Any) -> dict[int, str]:
    """Return the values of a part of a series by index; of a part without points, its own value."""
    if node is None:
        return {}
    found: dict[int, str] = {}
    for point in node.iter("{*}pt"):
        at = whole(point.get("idx"), len(found))
        if at < _MAX_POINTS:
            found[at] = _shown((point.findtext("{*}v") or "").strip())
    if found or node.find("{*}v") is None:
        return found
    return {0: node.findtext("{*}v") or ""}


def _shown(value: str) -> str:
    try:
        return f"{float(value):.{_FIGURES}g}" if "." in value else value
    except ValueError:
        return value
