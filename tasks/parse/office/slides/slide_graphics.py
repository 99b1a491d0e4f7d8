"""What a slide shows in frames: tables, charts and diagrams."""

from typing import Any

from docmill.tasks.parse.office.parts import whole
from docmill.tasks.parse.office.sheets.sheet import has_header
from docmill.tasks.parse.office.slides.slide_text import text_of

_MAX_POINTS = 10_000


def table_of(frame: Any) -> tuple[list[list[str]], int] | None:
    """Return the cells of a frame's table and how many rows are its header, or None where it holds no table."""
    table = next(frame.iter("{*}tbl"), None)
    if table is None:
        return None
    rows: list[list[str]] = []
    for row in table.iterchildren("{*}tr"):
        cells: list[str] = []
        for at, cell in enumerate(row.iterchildren("{*}tc")):
            text = "\n".join(text_of(line) for line in cell.iter("{*}p"))
            over = cell.get("vMerge") in ("1", "true") and rows and at < len(rows[-1])
            cells.append(rows[-1][at] if over else text)
        rows.append(cells)
    properties = table.find("{*}tblPr")
    first = properties is not None and properties.get("firstRow") in ("1", "true")
    return rows, int(first or (bool(rows) and has_header(rows)))


def chart_of(chart: Any) -> tuple[str, list[list[str]]]:
    """Return a chart's title, and a table of its points: a column for each series, a row for each category."""
    title = chart.find(".//{*}chart/{*}title")
    heading = "" if title is None else " ".join(text_of(line) for line in title.iter("{*}p"))
    columns: list[dict[int, str]] = []
    labels: dict[int, str] = {}
    names = [""]
    for series in chart.iter("{*}ser"):
        names.append(" ".join(_points(series.find("{*}tx")).values()))
        labels = labels or _points(series.find("{*}cat")) or _points(series.find("{*}xVal"))
        value = series.find("{*}val")
        columns.append(_points(series.find("{*}yVal") if value is None else value))
    numbers = sorted({*labels, *(number for column in columns for number in column)})
    rows = [[labels.get(at, ""), *(column.get(at, "") for column in columns)] for at in numbers]
    return heading, [names, *rows] if rows else []


def diagram_of(data: Any) -> list[str]:
    """Return the texts of a diagram's points, in their order."""
    points = ("\n".join(text_of(line) for line in point.iter("{*}p")) for point in data.iter("{*}pt"))
    return [text for text in points if text.strip()]


def _points(node: Any) -> dict[int, str]:
    found: dict[int, str] = {}
    for point in () if node is None else node.iter("{*}pt"):
        at = whole(point.get("idx"), len(found))
        if at < _MAX_POINTS:
            found[at] = _shown((point.findtext("{*}v") or "").strip())
    return found or ({0: node.findtext("{*}v") or ""} if node is not None and node.find("{*}v") is not None else {})


def _shown(value: str) -> str:
    try:
        return f"{float(value):.10g}" if "." in value else value
    except ValueError:
        return value
