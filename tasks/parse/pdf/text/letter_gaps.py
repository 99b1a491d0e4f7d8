"""PDF letter gaps: the parts of a line that stand apart, by the boxes of its words and of its letters."""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice, pairwise

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.place import around

Span = tuple[int, int]  # the first and the last of some characters of the page, by their numbers in pdfium
Words = Sequence[tuple[Span, Box]]
Gap = tuple[float, float]  # between two words: where it begins, where it ends

_LETTER_GAP = 0.35
"""Font sizes between letters of one word that stand in different cells: programs write the marks of a row as one word,
spaced. Letters of words touch; those of spaced headings are apart, too, but no rule stands between them."""
_OFF_LEVEL = 0.7
"""Heights by which a letter on another line is off: lines are further apart, and letters on a slope are closer."""
_ALIKE = 0.9  # of the height: scripts and initials, which belong to their line, are smaller or larger


def groups_of_words(words: Words, gap: float, leftward: bool = False) -> list[Span]:
    """Return the first and last characters of runs of words on one level between gaps wider than `gap` points.

    In a line that is read from the right, `leftward`, a word may follow at the left of the one before.
    """
    groups: list[Span] = []
    before: Box | None = None
    for (first, last), box in words:
        level = before is not None and not _is_other_level(before, box)
        if before and level and (-gap < box[0] - before[2] <= gap or (leftward and -gap < before[0] - box[2] <= gap)):
            groups[-1] = (groups[-1][0], last)
            before = around(before, box) if leftward else box  # it goes on at either side
        else:
            groups.append((first, last))
            before = box
    return groups


def parts_of_words(
    words: Words, parted: Container[Span], letters: Iterable[Box], size: float
) -> Iterator[tuple[Span, Box]]:
    """Yield words, and the parts of those to be `parted`; `letters` are the boxes of each letter of these."""
    boxes = iter(letters)
    for span, box in words:
        if span in parted:
            yield from runs_of_letters(span, [*islice(boxes, span[1] + 1 - span[0])], size)
        else:
            yield span, box


def runs_of_letters(word: Span, letters: Sequence[Box], size: float) -> Iterator[tuple[Span, Box]]:
    """Yield the parts of a word whose letters stand apart, each with its box; `letters` are the boxes of each."""
    first, begun = word[0], 0
    for at, (one, other) in enumerate(pairwise(letters), 1):
        if other[0] - one[2] > _LETTER_GAP * size or _is_other_level(one, other):
            yield (first + begun, first + at - 1), around(letters[begun], one)
            begun = at
    yield (first + begun, word[1]), around(letters[begun], letters[-1])


def _is_other_level(one: Box, other: Box) -> bool:
    """Return whether letters of one size stand on two lines, which pdfium reads as one where they were drawn so."""
    height = one[3] - one[1]
    if abs(other[1] - one[1]) <= _OFF_LEVEL * height:  # as nearly all
        return False
    return _ALIKE * height < other[3] - other[1] < height / _ALIKE
