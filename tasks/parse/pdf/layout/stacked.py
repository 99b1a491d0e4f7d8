"""PDF stacked tables: ruled tables that touch, one directly below the other, told apart by their sides and columns."""

from itertools import groupby, pairwise

from docmill.tasks.parse.pdf.text.ruling_lines import Rule

TOUCH = 3.0
"""Points within which rules touch, or stand on one place: less loses corners drawn carelessly, more joins thin rows."""
_LEAST_ROWS = 2  # of each table; a row that is wider or narrower than the others is one of their table

Rules = tuple[list[Rule], list[Rule]]


def stacked(level: list[Rule], upright: list[Rule]) -> list[Rules]:
    """Return the level and the upright rules of each table, from the top; browsers print tables without a gap."""
    rows = list(pairwise(steps([where for where, _, _ in level])))
    places = [_places(upright, (top + bottom) / 2) for top, bottom in rows]
    numbers = [0]
    for one, other in pairwise(places):
        numbers.append(numbers[-1] + _are_of_two(one, other))
    groups = [[*group] for _, group in groupby(range(len(rows)), key=lambda row: numbers[row])]
    if len(groups) < 2 or min(map(len, groups)) < _LEAST_ROWS:
        return [(level, upright)]
    return [
        _within(level, upright, (min(places[first]), max(places[first])), (rows[first][0], rows[last][1]))
        for first, last in ((group[0], group[-1]) for group in groups)
    ]


def _places(upright: list[Rule], y: float) -> list[float]:
    """Return where the rules of a row stand, from the left; of one without any, beyond all others."""
    return steps([where for where, start, end in upright if start <= y <= end]) or [float("-inf")]


def _are_of_two(one: list[float], other: list[float]) -> bool:
    """Return whether two rows are of two tables: their outer sides differ, or both have columns and none in common."""
    if max(abs(one[0] - other[0]), abs(one[-1] - other[-1])) > TOUCH:
        return True
    inner, outer = one[1:-1], other[1:-1]
    return bool(inner and outer) and not any(abs(a - b) <= TOUCH for a in inner for b in outer)


def _within(level: list[Rule], upright: list[Rule], sides: tuple[float, float], ends: tuple[float, float]) -> Rules:
    """Return the parts of rules that are within a table."""
    left, right = sides
    top, bottom = ends
    return (
        [
            (where, max(start, left), min(end, right))
            for where, start, end in level
            if top - TOUCH < where < bottom + TOUCH and min(end, right) - max(start, left) > TOUCH
        ],
        [
            (where, max(start, top), min(end, bottom))
            for where, start, end in upright
            if min(end, bottom) - max(start, top) > TOUCH
        ],
    )


def steps(places: list[float]) -> list[float]:
    """Return places in order, those that touch as one."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > TOUCH:
            found.append(place)
    return found
