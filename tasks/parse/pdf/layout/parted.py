"""PDF parted lines: the gaps of a line, and its pieces, which keep the bullet drawn before it."""

from collections.abc import Sequence
from statistics import median

from docmill.tasks.parse.pdf.text.letter_gaps import Gap
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

BULLET = "\u2022"

_LOOSE_GAP, _LOOSE_MONO_GAP = 0.55, 1.0
"""Font sizes of a gap that is no space between words unless all of its line are as wide: twice a space and more."""
_LOOSE = 1.8  # times the usual gap of its line, if there are several
_PLAIN, _PLAIN_GAP = 2.5, 0.85  # times the usual gap, and font sizes: one alone is no space
_LEAST_GAPS = 3  # of a line, from which on one is usual


def width(gap: Gap) -> float:
    """Return how wide a gap is."""
    return gap[1] - gap[0]


def gaps_of(line: TextLine, layer: TextLayer) -> list[tuple[Gap, bool]]:
    """Return the gaps between a line's words, each with whether the page draws no space there, but most others."""
    gaps, undrawn = layer.gaps(line)
    if len(gaps) > _LEAST_GAPS and 2 * sum(undrawn) > len(gaps):  # a font for which some programs draw no spaces
        undrawn = [False] * len(gaps)
    return [*zip(gaps, undrawn, strict=True)]


def loose(line: TextLine, layer: TextLayer) -> list[tuple[Gap, bool]]:
    """Return the gaps of a line that may be between cells, each with whether its width alone makes that certain.

    They are far wider than its usual gap, or the page draws no space there.
    """
    if " " not in line.text:
        return []
    gaps = gaps_of(line, layer)
    least = (_LOOSE_MONO_GAP if line.font.mono else _LOOSE_GAP) * line.size
    known = len(gaps) >= _LEAST_GAPS
    usual = median([width(gap) for gap, _ in gaps]) if known else 0.0
    plain = max(_PLAIN * usual, _PLAIN_GAP * line.size)
    return [
        (gap, known and width(gap) > plain)
        for gap, undrawn in gaps
        if undrawn or width(gap) > max(least, _LOOSE * usual)
    ]


def parted(line: TextLine, places: Sequence[float], layer: TextLayer) -> list[TextLine]:
    """Return a line in pieces, cut between words at each of the places, from the left.

    A bullet that is drawn as a shape is none of the page's letters, of which the pieces are made.
    """
    if not places:
        return [line]
    pieces = layer.parted(line, places)
    pieces[-1].ruled = line.ruled
    first = pieces[0]
    if first is not line and line.text.startswith(BULLET) and not first.text.startswith(BULLET):
        first.text = f"{BULLET} {first.text}"
        first.box = (line.box[0], *first.box[1:])
    return pieces
