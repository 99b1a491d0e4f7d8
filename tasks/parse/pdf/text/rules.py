"""PDF rules: the lines that a page draws, level or upright, in points from its top left."""

import ctypes
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import repeat

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.pdfium_calls import Handle, boxes_from, calls, reference
from docmill.tasks.parse.pdf.text.place import Place, placed

Rule = tuple[float, float, float]  # where it stands, from, to
Point = tuple[float, float]

_PATH, _FORM = 2, 5
_LINE_TO, _MOVE_TO = 0, 2
_THIN = 2.5
_SHORT = 6.0
_SMALL = 12.0  # narrower shapes are signs
_LEAST_DOT = 1.0
_SNAP = 2.5
_STRAY = 4.0
_MAX_OBJECTS = 30_000
_MAX_SEGMENTS = 400
_MAX_POINTS = 20_000
_MAX_DEPTH = 4
_MAX_RULES = 1_500


@dataclass(slots=True)
class Rules:
    """Level rules as (y, from x, to x), upright ones as (x, from y, to y); dots are small and about as wide as high."""

    level: list[Rule] = field(default_factory=list)
    upright: list[Rule] = field(default_factory=list)
    dots: list[Box] = field(default_factory=list)

    def add(self, box: Box) -> None:
        """Add the rule that a thin box is, if it is one."""
        left, top, right, bottom = box
        if bottom - top <= _THIN and right - left >= _SHORT:
            self.level.append(((top + bottom) / 2, left, right))
        elif right - left <= _THIN and bottom - top >= _SHORT:
            self.upright.append(((left + right) / 2, top, bottom))


class Level:
    """Level rules from the top, to be asked which of them stand where."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._rules = sorted(rules)
        self._places = [rule[0] for rule in self._rules]

    def __bool__(self) -> bool:
        """Say whether there are any."""
        return bool(self._rules)

    def between(self, upper: float, lower: float, left: float, right: float) -> bool:
        """Return whether a rule stands between two places down the page that is as long as what is above it."""
        found = self._rules[bisect_left(self._places, upper) : bisect_left(self._places, lower)]
        return any(start < left + _STRAY and end > right - _STRAY for _, start, end in found)


def page_rules(page: int, place: Place) -> Rules:
    """Return a page's rules, those that touch end to end as one; none where there are too many to be a table's."""
    walk = _Walk()
    ask = walk.ask
    count = min(ask["FPDFPage_CountObjects"](page), _MAX_OBJECTS)
    walk.visit(list(map(ask["FPDFPage_GetObject"], repeat(reference(page)), range(count))), place, 0)
    level, upright = _joined(walk.rules.level), _joined(walk.rules.upright)
    if max(len(level), len(upright), len(walk.rules.dots)) > _MAX_RULES:
        return Rules()
    return Rules(level, upright, walk.rules.dots)


class _Walk:
    """Goes over page objects, and into those that hold others, within bounds."""

    def __init__(self) -> None:
        self.ask = calls()
        self.rules = Rules()
        self._left = _MAX_OBJECTS
        self._points = _MAX_POINTS
        self._pair = (ctypes.c_float * 2)()
        self._pair_at = (ctypes.addressof(self._pair), ctypes.addressof(self._pair) + 4)
        self._modes = (ctypes.c_int * 2)()
        self._mode_at = (ctypes.addressof(self._modes), ctypes.addressof(self._modes) + 4)

    def visit(self, objects: list[Handle], place: Place, depth: int) -> None:
        """Collect the rules among objects whose coordinates `place` maps to the page's top left."""
        self._left -= len(objects)
        kinds = list(map(self.ask["FPDFPageObj_GetType"], objects))
        paths = [one for one, kind in zip(objects, kinds, strict=True) if kind == _PATH]
        if paths:
            self._paths(paths, place)
        if depth < _MAX_DEPTH:
            for one, kind in zip(objects, kinds, strict=True):
                if kind == _FORM and self._left > 0:
                    self._form(one, place, depth)

    def _form(self, form: Handle, place: Place, depth: int) -> None:
        count = min(max(self.ask["FPDFFormObj_CountObjects"](form), 0), self._left)
        inside = map(self.ask["FPDFFormObj_GetObject"], repeat(form), range(count))
        self.visit([Handle(one) for one in inside if one], _within(place, self._matrix(form)), depth + 1)

    def _matrix(self, one: Handle) -> list[float]:
        matrix = (ctypes.c_float * 6)()
        known = self.ask["FPDFPageObj_GetMatrix"](one, ctypes.addressof(matrix))
        return list(matrix) if known else [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]

    def _paths(self, paths: list[Handle], place: Place) -> None:
        for path, box in zip(paths, placed(boxes_from("FPDFPageObj_GetBounds", paths), place), strict=True):
            wide, high = box[2] - box[0], box[3] - box[1]
            if _LEAST_DOT < wide < _SMALL and 0.6 * high < wide < 1.6 * high:
                self.rules.dots.append(box)
            elif wide <= _THIN or high <= _THIN:
                self.rules.add(box)
            elif wide >= _SMALL and high >= _SHORT:
                self._sides(path, place)

    def _sides(self, path: Handle, place: Place) -> None:
        """Add the segments of a stroked path, if all of them are level or upright."""
        ask = self.ask
        if not ask["FPDFPath_GetDrawMode"](path, *self._mode_at) or not self._modes[1]:
            return
        count = ask["FPDFPath_CountSegments"](path)
        if count > min(_MAX_SEGMENTS, self._points):
            return
        start = before = (0.0, 0.0)
        sides: list[tuple[Point, Point]] = []
        for index in range(count):
            self._points -= 1
            segment = ask["FPDFPath_GetPathSegment"](path, index)
            kind, point = ask["FPDFPathSegment_GetType"](segment), self._point(segment)
            if kind == _MOVE_TO:
                start = point
            elif kind != _LINE_TO or not _is_straight(before, point):
                return
            else:
                sides.append((before, point))
            if ask["FPDFPathSegment_GetClose"](segment):
                sides.append((point, start))
            before = point
        place = _within(place, self._matrix(path))
        for box in placed([(*one, *other) for one, other in sides], place):
            self.rules.add(box)

    def _point(self, segment: int) -> Point:
        self.ask["FPDFPathSegment_GetPoint"](segment, *self._pair_at)
        return self._pair[0], self._pair[1]


def _is_straight(one: Point, other: Point) -> bool:
    return abs(one[0] - other[0]) <= _THIN or abs(one[1] - other[1]) <= _THIN


def _within(outer: Place, inner: list[float]) -> Place:
    """Return the map that applies `inner`, then `outer`."""
    a, b, c, d, e, f = outer
    p, q, r, s, t, u = inner
    return (a * p + c * q, b * p + d * q, a * r + c * s, b * r + d * s, a * t + c * u + e, b * t + d * u + f)


def _joined(rules: list[Rule]) -> list[Rule]:
    """Return rules with those on one line that touch or overlap as one."""
    lines: list[list[Rule]] = []
    for rule in sorted(rules):
        if lines and rule[0] - lines[-1][-1][0] <= _SNAP and rule[0] - lines[-1][0][0] <= 2 * _SNAP:
            lines[-1].append(rule)
        else:
            lines.append([rule])
    whole: list[Rule] = []
    for line in lines:
        where = sum(rule[0] for rule in line) / len(line)
        spans = sorted((start, end) for _, start, end in line)
        begin, until = spans[0]
        for start, end in spans[1:]:
            if start > until + _SNAP:
                whole.append((where, begin, until))
                begin = start
                until = end
            until = max(until, end)
        whole.append((where, begin, until))
    return whole
