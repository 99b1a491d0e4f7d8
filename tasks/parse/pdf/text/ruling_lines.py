"""PDF ruling lines: the horizontal and vertical lines that a page draws, in points from its top left."""

import ctypes
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.pdfium_calls import (
    MOST_OBJECTS,
    Handle,
    OpenPage,
    Place,
    around_all,
    boxes_from,
    calls,
    grouped,
    objects_in,
    placed,
)

Rule = tuple[float, float, float]  # its position, from, to
Point = tuple[float, float]

_PATH, _FORM = 2, 5  # FPDF_PAGEOBJ_...
_LINE_TO, _MOVE_TO = 0, 2  # FPDF_SEGMENT_...
_UNCHANGED = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)  # the identity matrix
_MATRIX = ctypes.c_float * 6  # FS_MATRIX: a, b, c, d, e, f

_THIN = 2.5  # points: thicker shapes are bars of a chart or boxes of colour, not lines between cells
_SHORT = 6.0  # points: shorter ones are parts of letters, ticks of an axis or dashes; all cells are higher
_SMALL = 12.0  # points: narrower shapes are signs
_LEAST_DOT = 1.0  # points: smaller dots are specks and dotted lines, larger ones may be bullets
_LEAST_ROUND, _MOST_ROUND = 0.6, 1.6  # width by height of a dot: a disc or a square, perhaps slightly scaled
_SNAP = 2.5  # points: strokes of one line differ by less; rows of a table are further apart
_STRAY = 4.0  # points by which a rule may be shorter than the text above it: the inner margin of a cell
_LEAST_BARS, _LEAST_LENGTHS = 4, 3  # of a chart: cells of a row have one height, or two if a cell spans two rows
_DIFFERENT = 0.5  # lengths per bar: filled cells of a column have few widths, however many they are
# Limits that save time on pages without tables: maps, plots, engineering drawings.
_OF_BOX = 5  # segments of a path: a fill with more may be no box
_MAX_SEGMENTS = 400  # of one path: a table drawn in one stroke has fewer, a curve drawn point by point may have more
_MAX_POINTS = 20_000  # of all paths together
_MAX_DEPTH = 4  # forms within forms; deeper ones hold no table, and may be malicious
_MAX_RULES = 1_500  # of one direction: a page has room for a few hundred distinct ones; more are a drawing


@dataclass(slots=True)
class PageRules:
    """The rules of a page: horizontal ones as (y, from x, to x), vertical ones as (x, from y, to y).

    `dots` are the boxes of small shapes about as wide as high. `edges` are the upper and lower edges of filled boxes.
    `curves` are the boxes of larger shapes with a slanted or curved side and of the bars of charts, each with its
    number of segments.
    """

    level: list[Rule] = field(default_factory=list)
    upright: list[Rule] = field(default_factory=list)
    dots: list[Box] = field(default_factory=list)
    edges: list[Rule] = field(default_factory=list)
    curves: list[tuple[Box, int]] = field(default_factory=list)

    def add(self, box: Box) -> None:
        """Add a box as a rule if it is thin and long enough."""
        left, top, right, bottom = box
        if bottom - top <= _THIN and right - left >= _SHORT:
            self.level.append(((top + bottom) / 2, left, right))
        elif right - left <= _THIN and bottom - top >= _SHORT:
            self.upright.append(((left + right) / 2, top, bottom))


class LevelRules:
    """Horizontal rules, sorted from the top for fast look-up, and the upper and lower `edges` of fills."""

    def __init__(self, rules: Iterable[Rule] = (), edges: Iterable[Rule] = ()) -> None:
        self._rules = sorted(rules)
        self._places = [rule[0] for rule in self._rules]
        self._edges = [*edges]

    def wide(self) -> list[Rule]:
        """Return the rules and the edges of fills, from the top."""
        return sorted([*self._rules, *self._edges])

    def parts(self, upper: float, lower: float, left: float, right: float) -> bool:
        """Return whether a rule or the edge of a fill between two heights spans from `left` to `right`."""
        if self.between(upper, lower, left, right):
            return True
        return _spans((edge for edge in self._edges if upper <= edge[0] < lower), left, right)

    def between(self, upper: float, lower: float, left: float, right: float) -> bool:
        """Return whether a rule between two heights spans from `left` to `right`."""
        found = self._rules[bisect_left(self._places, upper) : bisect_left(self._places, lower)]
        return _spans(found, left, right)


def _spans(rules: Iterable[Rule], left: float, right: float) -> bool:
    return any(start < left + _STRAY and end > right - _STRAY for _, start, end in rules)


def page_rules(page: OpenPage, place: Place, only_dots: bool = False) -> PageRules:
    """Return a page's rules, with adjacent ones joined; none if there are too many for tables.

    `only_dots` skips the rules, which are slower to read.
    """
    objects, kinds = page.objects
    if _PATH not in kinds and _FORM not in kinds:  # a page of plain text
        return PageRules()
    walk = _ObjectWalk(only_dots)
    walk.visit(objects, kinds, place, 0)
    level, upright = joined_rules(walk.rules.level), joined_rules(walk.rules.upright)
    if max(len(level), len(upright), len(walk.rules.dots)) > _MAX_RULES:
        return PageRules()
    edges = joined_rules(walk.rules.edges[:_MAX_RULES], _STRAY)
    curves = [*walk.rules.curves, *((bar, _OF_BOX) for bar in _chart_bars(walk.shapes))]
    return PageRules(level, upright, walk.rules.dots, edges, curves[:_MAX_RULES])


def _chart_bars(shapes: Iterable[Box]) -> Iterator[Box]:
    """Yield the bars of charts: boxes of one thickness that begin at one line, many of different lengths."""
    rows = defaultdict[tuple[bool, int, int], list[Box]](list)
    for box in shapes:
        left, top, right, bottom = box
        rows[True, round(bottom), round(right - left)].append(box)
        rows[False, round(left), round(bottom - top)].append(box)
    for (upright, *_), row in rows.items():
        lengths = {round(box[1] if upright else box[2]) for box in row}
        if len(row) >= _LEAST_BARS and len(lengths) >= max(_LEAST_LENGTHS, _DIFFERENT * len(row)):
            yield from row


class _ObjectWalk:
    """Walks over the objects of a page, also nested ones, and collects their rules.

    It counts the objects and stops at the limits, because nested objects multiply.
    """

    def __init__(self, only_dots: bool) -> None:
        self.ask = calls()
        self.rules = PageRules()
        self.shapes: list[Box] = []
        self._only_dots = only_dots
        self._left = MOST_OBJECTS  # including nested ones
        self._points = _MAX_POINTS
        self._pair = (ctypes.c_float * 2)()  # where pdfium writes a point
        self._pair_at = _two_places(self._pair)
        self._modes = (ctypes.c_int * 2)()  # where pdfium writes whether a path is filled and stroked
        self._mode_at = _two_places(self._modes)

    def visit(self, objects: list[Handle], kinds: list[int], place: Place, depth: int) -> None:
        """Collect the rules among objects; `place` maps their coordinates to points from the page's top left."""
        self._left -= len(objects)
        paths = [*compress(objects, map(_PATH.__eq__, kinds))]
        if paths:
            self._paths(paths, place)
        if _FORM in kinds and depth < _MAX_DEPTH:
            for one, kind in zip(objects, kinds, strict=True):
                if kind == _FORM and self._left > 0:
                    self.visit(*objects_in(one, self._left), _within(place, self._matrix(one)), depth + 1)

    def _matrix(self, one: Handle) -> Sequence[float]:
        matrix = _MATRIX()
        known = self.ask["FPDFPageObj_GetMatrix"](one, ctypes.addressof(matrix))
        return list(matrix) if known else _UNCHANGED

    def _paths(self, paths: list[Handle], place: Place) -> None:
        """Collect the rules that paths draw, mostly from their boxes alone, because reading segments is slow."""
        for path, box in zip(paths, placed(boxes_from("FPDFPageObj_GetBounds", paths), place), strict=True):
            left, top, right, bottom = box
            wide, high = right - left, bottom - top
            if _LEAST_DOT < wide < _SMALL and _LEAST_ROUND * high < wide < _MOST_ROUND * high:
                self.rules.dots.append(box)
            elif self._only_dots:
                continue
            elif wide <= _THIN or high <= _THIN:
                self.rules.add(box)
            elif high >= _SHORT:
                self.shapes.append(box)
                if wide >= _SMALL:
                    self._add_sides(path, box, place)

    def _add_sides(self, path: Handle, box: Box, place: Place) -> None:
        """Add the segments of a stroked path if all are horizontal or vertical, and the edges of a filled box.

        A filled path may consist of several thin boxes, such as all rules of a row.
        """
        filled, stroked = self._mode(path)
        if filled and not stroked:
            self.rules.edges += [(box[1], box[0], box[2]), (box[3], box[0], box[2])]
        count = self.ask["FPDFPath_CountSegments"](path)
        sides = self._sides(path, count) if stroked or count > _OF_BOX else []
        if sides is None:
            self.rules.curves.append((box, count))
            return
        drawn = sides if stroked else [around_all(figure) for figure in grouped(sides, _meets)]
        for one in placed(drawn, _within(place, self._matrix(path))):
            self.rules.add(one)

    def _mode(self, path: Handle) -> tuple[bool, bool]:
        """Return whether a path is filled, and whether it is stroked."""
        known = self.ask["FPDFPath_GetDrawMode"](path, *self._mode_at)
        return bool(known and self._modes[0]), bool(known and self._modes[1])

    def _sides(self, path: Handle, count: int) -> list[Box] | None:
        """Return the segments of a path in its own coordinates, or an empty list if the page has too many.

        None means that one is slanted or curved, or that the path has too many to be a table.
        """
        ask = self.ask
        if count > _MAX_SEGMENTS:
            return None
        if count > self._points:
            return []
        start = before = (0.0, 0.0)
        sides: list[Box] = []
        for index in range(count):
            self._points -= 1
            segment = ask["FPDFPath_GetPathSegment"](path, index)
            kind, point = ask["FPDFPathSegment_GetType"](segment), self._point(segment)
            if kind == _MOVE_TO:
                start = point
            elif kind != _LINE_TO or not _is_straight(before, point):
                return None
            else:
                sides.append((*before, *point))
            if ask["FPDFPathSegment_GetClose"](segment):
                sides.append((*point, *start))
            before = point
        return sides

    def _point(self, segment: int) -> Point:
        self.ask["FPDFPathSegment_GetPoint"](segment, *self._pair_at)
        return self._pair[0], self._pair[1]


def _two_places(numbers: Any) -> tuple[int, int]:
    """Return the addresses of the two numbers of an array."""
    first = ctypes.addressof(numbers)
    return first, first + ctypes.sizeof(numbers) // 2


def _meets(figure: list[Box], side: Box) -> bool:
    """Return whether a segment begins where the last one of a figure ends."""
    return figure[-1][2:] == side[:2]


def _is_straight(one: Point, other: Point) -> bool:
    return abs(one[0] - other[0]) <= _THIN or abs(one[1] - other[1]) <= _THIN


def _within(outer: Place, inner: Sequence[float]) -> Place:
    """Return the map that applies `inner`, then `outer`."""
    a, b, c, d, e, f = outer
    p, q, r, s, t, u = inner
    return (a * p + c * q, b * p + d * q, a * r + c * s, b * r + d * s, a * t + c * u + e, b * t + d * u + f)


def joined_rules(rules: list[Rule], apart: float = _SNAP) -> list[Rule]:
    """Return rules, joining those on one line at most `apart` points apart: fills of cells leave some space."""
    return [rule for line in grouped(sorted(rules), _is_on) for rule in _whole(line, apart)]


def _is_on(line: list[Rule], rule: Rule) -> bool:
    """Return whether a rule is close to the last one of a line and not far from the first, as in a ladder of rules."""
    return rule[0] - line[-1][0] <= _SNAP and rule[0] - line[0][0] <= 2 * _SNAP


def _whole(line: list[Rule], apart: float) -> Iterator[Rule]:
    """Yield the rules of one line, with overlaps and small gaps closed, all at their mean position."""
    where = sum(rule[0] for rule in line) / len(line)
    spans = sorted((start, end) for _, start, end in line)
    begin, until = spans[0]
    for start, end in spans[1:]:
        if start > until + apart:
            yield where, begin, until
            begin = start
            until = end
        until = max(until, end)
    yield where, begin, until
