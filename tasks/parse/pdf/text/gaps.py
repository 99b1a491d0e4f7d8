"""PDF gaps: where the words or letters of a line are so far apart that they are separate texts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from statistics import median

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.line import TextLine, fitting_size, is_by_height
from docmill.tasks.parse.pdf.text.pdfium_calls import Place, Span, around, is_upright, placed, placed_sides
from docmill.tasks.parse.pdf.text.right_to_left import may_be_right_to_left

Words = Sequence[tuple[Span, Box]]
Gap = tuple[float, float]  # between two words: where it begins, where it ends

_LETTER_GAP = 0.35
"""Font sizes between letters of one word that are in different cells: some programs write the marks of a row as one
spaced word. Letters of words touch; those of spaced headings do not, but no rule separates them."""
_OFF_LEVEL = 0.7
"""Heights by which a letter on another line is off: lines are further apart, letters on a slope are closer."""
_ALIKE = 0.9  # of the height: scripts and initials, which belong to the line, are smaller or larger


def groups_of_words(words: Words, gap: float, leftward: bool = False) -> list[Span]:
    """Return the first and last characters of runs of words on one level between gaps wider than `gap` points.

    In a right-to-left line (`leftward`), a word may be to the left of the previous one.
    """
    groups: list[Span] = []
    before: Box | None = None
    for (first, last), box in words:
        level = before is not None and not _is_other_level(before, box)
        if before and level and (-gap < box[0] - before[2] <= gap or (leftward and -gap < before[0] - box[2] <= gap)):
            groups[-1] = (groups[-1][0], last)
            before = around(before, box) if leftward else box  # the next word may be on either side
        else:
            groups.append((first, last))
            before = box
    return groups


def runs_of_letters(word: Span, letters: Sequence[Box], size: float) -> Iterator[tuple[Span, Box]]:
    """Yield the parts of a word, split where letters are far apart, with their boxes; `letters` has a box for each."""
    first, begun = word[0], 0
    for at, (one, other) in enumerate(pairwise(letters), 1):
        if other[0] - one[2] > _LETTER_GAP * size or _is_other_level(one, other):
            yield (first + begun, first + at - 1), around(letters[begun], one)
            begun = at
    yield (first + begun, word[1]), around(letters[begun], letters[-1])


def _is_other_level(one: Box, other: Box) -> bool:
    """Return whether letters of one size are on two lines, which pdfium sometimes reads as one."""
    height = one[3] - one[1]
    if abs(other[1] - one[1]) <= _OFF_LEVEL * height:  # nearly all
        return False
    return _ALIKE * height < other[3] - other[1] < height / _ALIKE


GAP = 1.2
"""Font sizes; wider gaps split a line. Less would cut justified text at its spaces, more would join cells of narrow
tables."""
_TIGHT_GAP = 1.0  # the same between boxes of ink, which are narrower than the letters' advance

# Cells on one level may be slightly higher or lower than each other; the further off, the clearer the gap must be.
_LEVELS = 3  # points
_SAME_LEVEL = 1  # points within which _TIGHT_GAP is enough
_LEVEL_GAP = 1.5  # font sizes, for the others
_NO_ACCENT = 0.4  # font sizes: least height of the others, because accents over a line have boxes, too
_ON_LEVEL = 100  # lines on one level to examine, which bounds the work on a malicious page

# Lines with loose text. Letters advance by about half their size, including spaces.
_LOOSE = 1.25  # times the usual advance: justified text stays below, and a false positive costs only time
_NARROW = 0.25  # font sizes a letter: letters of condensed fonts take a third
_MOST_ADVANCE = 0.55  # font sizes a letter: upper limit of the usual advance
_LONG = 20  # letters: only longer lines determine the usual advance
_FEW = 4  # letters: too few for two texts
_TALL = 1.6
"""Font sizes: a higher line is two, one of which may be half a line lower, like a cell in the middle of its row. Lines
with raised signs are not as high; a false positive costs only time."""
_TWO = 2.0  # font sizes: in nearly all fonts a letter is less high

# Boxes of text on one baseline, in heights of the less high one.
_SHARED = 0.4  # the least vertical overlap of boxes on one baseline
_OFF = -0.25  # the same of cells with different numbers of lines: negative, a gap
_MUCH = 3  # how far apart such cells must be

_ROUNDED = 0.99  # tolerance on the least gap, because sizes are rounded to a tenth of a point
_SIDES = 4  # of a box: left, top, right, bottom

_NEAR = tuple(
    (off, _TIGHT_GAP, 0.0) if abs(off) <= _SAME_LEVEL else (off, _LEVEL_GAP, _NO_ACCENT)
    for off in range(-_LEVELS, _LEVELS + 1)
)
"""For each level near that of a gap: its distance, and how wide and high the gap must be, in sizes of the line."""


def gapped(lines: list[TextLine], tall: set[int], pieces: Sequence[float], place: Place) -> list[int]:
    """Return the indexes of lines that may hold a wide gap, including the `tall` lines.

    `pieces` are the sides of pdfium's pieces of text in the page's own coordinates; none if no line has several.
    """
    loose = [at for at in _loose(lines) if len(lines[at].text) > _FEW and " " in lines[at].text]
    return sorted({*loose, *tall, *_between_texts(lines, pieces, place)})


def tall_lines(lines: list[TextLine]) -> set[int]:
    """Return the indexes of lines so high that they may be several, which pdfium has read as one.

    It does so with very small text, and with most text that is drawn large and scaled down, as by Qt.
    """
    heights = [line.box[3] - line.box[1] for line in lines]
    usual = _TALL * min(heights, default=0.0)
    return {
        index
        for index, (line, height) in enumerate(zip(lines, heights, strict=True))
        if height > _TALL * line.size or (height > usual and is_by_height(line.size, height))
    }


def holds_two(line: TextLine, words: Words) -> bool:
    """Return whether a high line may hold two levels: its words differ in height, or all are too high."""
    heights = [box[3] - box[1] for _, box in words]
    least = min(heights)
    return max(heights) > _TALL * least or least > _TWO * line.size or is_by_height(line.size, line.height)


def size_of_each(line: TextLine, words: Words) -> float:
    """Return the size of the lines within a high one, whose own size may come from their total height."""
    return min(line.size, *(fitting_size(line.size, box[3] - box[1]) for _, box in words))


def _loose(lines: list[TextLine]) -> Iterator[int]:
    """Yield the indexes of lines whose advance per letter is unusual.

    If it is wide, the line may hold a gap. If it is narrow, pdfium may have joined two columns, the right one first.
    """
    advances = [(line.box[2] - line.box[0]) / (line.size * len(line.text)) for line in lines]
    long = [advance for advance, line in zip(advances, lines, strict=True) if len(line.text) > _LONG]
    most = _LOOSE * min(median(long or [_MOST_ADVANCE]), _MOST_ADVANCE)
    for index, (advance, line) in enumerate(zip(advances, lines, strict=True)):
        if advance > most or _is_narrow(advance, line):
            yield index


def _is_narrow(advance: float, line: TextLine) -> bool:
    """Return whether a level line is too short for its letters."""
    return advance < _NARROW and line.height < _TWO * line.size


def _between_texts(lines: list[TextLine], pieces: Sequence[float], place: Place) -> Iterator[int]:
    """Yield the indexes of lines with a gap between two of pdfium's pieces of text that is wide for their size."""
    if not lines or not pieces:
        return
    least = _ROUNDED * _TIGHT_GAP * min([line.size for line in lines])
    gaps = _gaps(pieces, place, least, may_be_right_to_left("".join(map(attrgetter("text"), lines))))
    levels = _by_level(lines) if gaps else {}
    for left, top, right, bottom in gaps:
        middle = int((top + bottom) / 2)
        for off, least, high in _NEAR:
            for index in levels.get(middle + off, ())[:_ON_LEVEL]:
                line = lines[index]
                wide = right - left > least * line.size and bottom - top >= high * line.size
                if wide and line.box[0] < left < line.box[2]:
                    yield index


def _by_level(lines: list[TextLine]) -> dict[int, list[int]]:
    """Return the indexes of lines by the vertical position of their middle, in whole points."""
    levels: defaultdict[int, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        _, top, _, bottom = line.box
        levels[int((top + bottom) / 2)].append(index)
    return levels


def _gaps(sides: Sequence[float], place: Place, least: float, leftward: bool) -> list[Box]:
    """Return the boxes of gaps between pieces on one baseline, wide for their height and at least `least` points.

    In right-to-left text (`leftward`), the next piece may be to the left of the previous one.
    """
    upright = is_upright(place)
    if upright:
        least /= place[0]
    else:
        sides = placed_sides(sides, place)
    found: list[Box] = []
    for index, (left, right) in enumerate(zip(sides[_SIDES::_SIDES], sides[2::_SIDES], strict=False)):
        if left - right > least:  # few are; only these are examined further
            at = _SIDES * index
            one, other = sides[at : at + _SIDES], sides[at + _SIDES : at + 2 * _SIDES]
            if _is_gap(one, other):
                found.append((right, one[1], left, one[3]))
    if leftward:
        found += _leftward_gaps(sides, least)
    return placed(found, place) if upright else found


def _leftward_gaps(sides: Sequence[float], least: float) -> Iterator[Box]:
    """Yield the gaps between a piece and the next one to its left."""
    for at in range(0, len(sides) - _SIDES, _SIDES):
        one, other = sides[at : at + _SIDES], sides[at + _SIDES : at + 2 * _SIDES]
        if one[0] - other[2] > least and _is_gap(other, one):
            yield (other[2], one[1], one[0], one[3])


def _is_gap(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether two boxes share a baseline and are further apart than they are high; the other is on the right.

    Cells of a row with different numbers of lines may be at different heights; these must be much further apart.
    """
    tops, bottoms = (one[1], other[1]), (one[3], other[3])
    high = min(abs(one[3] - one[1]), abs(other[3] - other[1]))
    shared = min(bottoms) - max(tops) if one[1] < one[3] else min(tops) - max(bottoms)
    apart = other[0] - one[2]
    return apart > high and (shared > _SHARED * high or (shared > _OFF * high and apart > _MUCH * high))
