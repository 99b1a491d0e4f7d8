"""Chart: the content of an Office chart as a title and a table of its points, for slides, texts and workbooks alike.

Sources: ISO/IEC 29500-1, 21.2 "DrawingML - Charts"; [MS-ODRAWXML] 2.24.3, the charts that Office has had since 2016.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from docmill.tasks.parse.office.sheets.cells import format_kind, shown_number
from docmill.tasks.parse.xml_trees import whole

MOST_POINTS = 10_000
"""Points of a series. A stated index may be any number, and each index is a row of the chart's table. With a lower
limit, long measured series would be cut."""
_MOST_SERIES = 255  # of a chart, as in Excel
MOST_CELLS = 100_000  # of a chart's table, because its series may have points at different indexes
_FIGURES = 10
"""Significant figures of a point. Charts keep computed values such as 0.30000000000000004; with fewer figures, large
sums would be rounded."""
_GENERAL = "General"  # the number format of numbers without a format
_OF_CATEGORIES, _AXES = ("catAx", "dateAx"), ("{*}catAx", "{*}dateAx", "{*}valAx", "{*}serAx", "{*}axis")
CHARTS = frozenset(("chart", "chartEx"))
"""The kinds of relationship that lead to a chart, of Office 2007 or of the kinds that Office 2016 added."""

Cells = Callable[[str], Sequence[str]]
"""Returns the texts in a cell range of a workbook, such as "Sheet1!$B$2:$B$9", as far as available."""


class Chart(NamedTuple):
    """A chart's title, including those of its value axes, and its points: column names, then a row for each."""

    title: str
    rows: list[list[str]]


class _Series(NamedTuple):
    name: str
    labels: dict[int, str]
    points: dict[int, str]


def _none(_: str) -> Sequence[str]:
    return ()


def chart_of(root: Any, cells: Cells = _none) -> Chart:
    """Return the content of a chart: a column for each series, a row for each category.

    Series with their own categories, such as the points of a scatter chart, are written one below another. Values that
    a chart does not repeat come from `cells`.
    """
    read = _Points(root, cells)
    series = [read.series(one) for one in islice(root.iter("{*}ser", "{*}series"), _MOST_SERIES)]
    above, beside = _axes(root)
    title = _words(root.find("{*}chart/{*}title"))
    if not title and len(series) == 1 and not _is_untitled(root):
        title = series[0].name  # as Office shows it
    axes = f"({', '.join(beside)})" if beside else ""
    return Chart(" ".join(filter(None, (title, axes))), _table(series, above))


def _is_untitled(root: Any) -> bool:
    """Return whether someone has removed the title that Office gives a chart with one series."""
    stated = root.find("{*}chart/{*}autoTitleDeleted")
    return stated is not None and stated.get("val", "1") in ("1", "true")


def _words(title: Any) -> str:
    """Return the words of a title or a name, which may be literal or from a cell."""
    return "" if title is None else " ".join("".join(title.itertext("{*}t", "{*}v")).split())


def _axes(root: Any) -> tuple[str, list[str]]:
    """Return the title of the category axis, and those of all others."""
    titled = [(axis.tag.rpartition("}")[2], _words(axis.find("{*}title"))) for axis in root.iter(*_AXES)]
    above = next((words for kind, words in titled if words and kind in _OF_CATEGORIES), "")
    return above, [words for _, words in titled if words not in ("", above)]


def _table(series: list[_Series], above: str) -> list[list[str]]:
    """Return the column names and the rows below them; nothing for a chart without points."""
    if not any(one.points for one in series):
        return []
    own = [one.labels for one in series if one.labels]
    if any(labels != own[0] for labels in own[1:]):
        return [["", above, ""], *islice(_one_below_the_other(series), MOST_CELLS // 3)]
    return [[above, *(one.name for one in series)], *_side_by_side(series, own[0] if own else {})]


def _one_below_the_other(series: list[_Series]) -> Iterator[list[str]]:
    for one in series:
        yield from ([one.name, one.labels.get(at, ""), value] for at, value in one.points.items())


def _side_by_side(series: list[_Series], labels: dict[int, str]) -> Iterator[list[str]]:
    numbers = sorted(set(labels).union(*(one.points for one in series)))
    for at in numbers[: MOST_CELLS // (len(series) + 1)]:
        yield [labels.get(at, ""), *(one.points.get(at, "") for one in series)]


class _Points:
    """Reads the series of a chart."""

    def __init__(self, root: Any, cells: Cells) -> None:
        stated = root.find("{*}date1904")
        self._from_1904 = stated is not None and stated.get("val") in ("1", "true")
        self._cells = cells
        self._data = {one.get("id"): one for one in root.iterfind("{*}chartData/{*}data")}

    def series(self, node: Any) -> _Series:
        """Return a series, whose data are stored separately in newer charts."""
        held, name = node, node.find("{*}tx")
        labels: Sequence[str] = ("{*}cat", "{*}xVal")
        points: Sequence[str] = ("{*}val", "{*}yVal")
        if node.tag.endswith("}series"):
            stated = node.find("{*}dataId")
            held = self._data.get("" if stated is None else stated.get("val"), node)
            labels, points = ("{*}strDim",), ("{*}numDim",)
        said = " ".join(self._of(name).values()) or _words(name)
        return _Series(said, self._of(_first(held, labels)), self._of(_first(held, points)))

    def _of(self, node: Any) -> dict[int, str]:
        """Return the texts of a part of a series by index; texts of several levels, such as "2026 May", are joined."""
        if node is None:
            return {}
        levels = [*node.iter("{*}lvl")] or [node]
        found = self._level(levels[0])
        for level in levels[1:]:
            outer, last = self._level(level), ""
            for at in sorted(found):
                last = outer.get(at, last)
                found[at] = f"{last} {found[at]}".strip()
        if not found:
            texts = self._cells(next(node.itertext("{*}f"), ""))
            found = dict(enumerate(texts[:MOST_POINTS]))
        return found

    def _level(self, node: Any) -> dict[int, str]:
        code = node.get("formatCode") or next(node.itertext("{*}formatCode"), _GENERAL)
        kind = "" if code == _GENERAL else format_kind(-1, code)
        found: dict[int, str] = {}
        for point in node.iter("{*}pt"):
            at = whole(point.get("idx", str(len(found))), -1)
            if 0 <= at < MOST_POINTS:
                value = point.findtext("{*}v")
                found[at] = self._shown((point.text if value is None else value) or "", kind)
        return found

    def _shown(self, value: str, kind: str) -> str:
        value = value.strip()
        try:
            if kind:
                return shown_number(float(value), kind, self._from_1904)
            return f"{float(value):.{_FIGURES}g}" if "." in value else value
        except ValueError:
            return value


def _first(node: Any, names: Sequence[str]) -> Any:
    return next((found for found in map(node.find, names) if found is not None), None)
