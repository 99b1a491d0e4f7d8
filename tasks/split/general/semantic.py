"""Semantic splitting: between sentences whose vectors show that the subject changes.

Breakpoints are after Greg Kamradt's semantic chunking and LangChain's SemanticChunker (percentile, standard deviation,
interquartile range of distances over buffered windows), the running mean and the centroid after semantic-router and
chonkie. Between breaks, sentences are joined up to the size: first those of a paragraph, and among these the most
similar neighbours. Similarity is that of the two sentences at a gap, so inserting a sentence changes two gaps.

A break must be the least similar of the gaps around it, like the valleys in TextTiling (Hearst, "TextTiling: segmenting
text into multi-paragraph subtopic passages", 1997). Among all gaps whose comparison involves one sentence, at most one
is a break, so replacing a sentence moves at most one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError
from docmill.tasks.split.general.recursive import split_recursive
from docmill.tasks.split.general.sentences import sentences
from docmill.tasks.split.parts.model_lookup import Vector
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.sentence_vectors import Floats, adjacent, directions, unit_vectors
from docmill.tasks.split.parts.strategy_options import Options, option
from docmill.tasks.split.parts.usual_options import Recursive
from docmill.tasks.split.spans.heading_leads import with_leads
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK, GLUE, HEADING, Piece, merge
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span

_MAX_BUFFER = 20  # sentences; over more than a page, no change of subject stands out
_WINDOW = 16  # gaps or sentences to compare with; among fewer, a single odd one would count as a change
_QUARTILES = (25, 75)
_SHARE = 8  # no break leaves less than one part in eight of the size
_STEPS = HEADING - 1 - BLOCK  # seams between the most and the least similar neighbours
_LEVELS = 0.8  # cosine distances from 0 to this value get different seams
_FAR = 10.0  # more than any cosine distance: no break if there is no gap to compare with
_MOST_PER_CENT = 100.0  # of a percentile
_MOST_AMOUNT = 10.0  # no similarity exceeds 1, and no distance is this many deviations or ranges above the mean
_AMOUNTS: dict[str, float] = {
    "threshold": 0.3,
    "percentile": 80,
    "deviation": 1.0,
    "interquartile": 0.7,
    "running_mean": 0.25,
    "centroid": 0.3,
}
"""The default amounts.

For `threshold` and `centroid`, a higher amount gives more breaks and so smaller chunks; for the others it gives fewer,
until only the size cuts.
"""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Semantic(Options):
    """Cuts between sentences where the subject changes, by the vectors of the embedding model.

    `method` decides where the subject changes, `amount` how much of a change it takes:

    | method | a break is where | amount, by default |
    |---|---|---|
    | threshold | the similarity is under it | 0.3 |
    | percentile | the distance is over this percentile of all | 80 |
    | deviation | the distance is so many standard deviations over the mean | 1.0 |
    | interquartile | the distance is so many interquartile ranges over the mean | 0.7 |
    | running_mean | the similarity is so far under the mean of the last 16 | 0.25 |
    | centroid | the similarity with the chunk so far, its last 16 sentences, is under it | 0.3 |

    A gap is judged by the `buffer` sentences on either side of it. Of 2 * `buffer` gaps in a row, at most one is a
    break: the one with the least similar sides. `percentile`, `deviation` and `interquartile` compare with all gaps of
    the text, so under these an edit may move a break far away.
    """

    method: str = option("threshold", "A method of the table above.")
    amount: float = option(
        -1.0, "How much of a change it takes: 0 to 100 for `percentile`, else 0 to 10; -1 is the default."
    )
    buffer: int = option(2, "Sentences on either side of a gap that are compared.", "sentences", 1, _MAX_BUFFER)

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.method not in METHODS:
            raise ConfigError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        most = _MOST_PER_CENT if self.method == "percentile" else _MOST_AMOUNT
        if isinstance(self.amount, bool) or not isinstance(self.amount, int | float):
            raise ConfigError(f"amount must be a number, got {self.amount!r}")
        if self.amount != -1 and not 0 <= self.amount <= most:
            raise ConfigError(f"amount must be in [0, {most:g}], or -1, got {self.amount!r}")


def split_semantic(part: Part, options: Semantic) -> list[Span]:
    """Return spans of at most `options.size` tokens; those of `recursive` if vectors are missing."""
    room = Room(part.tokens, options.size)
    pieces = list(with_leads(part.text, sentences(part, room), part.headings, room))
    vectors = unit_vectors(part, pieces, options.size)
    if vectors is None:
        return split_recursive(part, Recursive(options.size))
    likeness, wanted = METHODS[options.method](vectors, options)
    breaks = wanted & _least_alike(part, pieces, likeness, options)
    nearest = adjacent(vectors, 1)
    seams = [_seam(*one) for one in zip(pieces[1:], nearest.tolist(), breaks.tolist(), strict=True)]
    return merge(part.text, [pieces[0], *(p._replace(seam=s) for p, s in zip(pieces[1:], seams, strict=True))], room)


def _least_alike(part: Part, pieces: Sequence[Piece], likeness: Floats, options: Semantic) -> Flags:
    """Return bool (n - 1,): whether no gap within 2 * `buffer` - 1 gaps, or an eighth of the size, is less similar.

    Gaps that stay closed do not compete. There is no break near the ends of the text or of a stretch.
    """
    seams = np.array([piece.seam for piece in pieces[1:]], int)
    here = np.where(seams >= BARRIER, -np.inf, np.where(seams == GLUE, np.inf, likeness))
    here = np.concatenate([[-np.inf], here, [-np.inf]])
    places = np.array(part.tokens.at([*(piece.start for piece in pieces), pieces[-1].end]))
    least, open_ = np.ones(len(here), bool), np.isfinite(here)
    reach, tokens = 2 * options.buffer - 1, options.size // _SHARE
    for apart in range(1, min(len(here), max(reach, tokens) + 1)):
        left, right = slice(None, -apart), slice(apart, None)
        near = places[right] - places[left] < tokens
        if apart <= reach:
            near |= open_[left] & open_[right]
        elif not near.any():
            break
        least[left] &= ~near | (here[left] <= here[right])
        least[right] &= ~near | (here[right] < here[left])
    return least[1:-1]


def _seam(piece: Piece, likeness: float, breaks: bool) -> int:
    if piece.seam in (GLUE, BARRIER):
        return piece.seam
    if breaks:
        return BARRIER
    return piece.seam + min(_STEPS, max(0, round((1 - likeness) / _LEVELS * _STEPS)))


Method = Callable[[Vector, Semantic], tuple[Floats, Flags]]
"""Maps the vectors of units to the similarity across each gap, and to whether it is low enough for a break."""


def _amount(options: Semantic) -> float:
    return _AMOUNTS[options.method] if options.amount == -1 else options.amount


def _threshold(vectors: Vector, options: Semantic) -> tuple[Floats, Flags]:
    likeness = adjacent(vectors, options.buffer)
    return likeness, likeness < _amount(options)


def _percentile(vectors: Vector, options: Semantic) -> tuple[Floats, Flags]:
    likeness = adjacent(vectors, options.buffer)
    far = np.percentile(1 - likeness, _amount(options)) if len(likeness) else _FAR
    return likeness, 1 - likeness > far


def _deviation(vectors: Vector, options: Semantic) -> tuple[Floats, Flags]:
    likeness = adjacent(vectors, options.buffer)
    far = np.mean(1 - likeness) + _amount(options) * np.std(1 - likeness) if len(likeness) else _FAR
    return likeness, 1 - likeness > far


def _interquartile(vectors: Vector, options: Semantic) -> tuple[Floats, Flags]:
    likeness = adjacent(vectors, options.buffer)
    low, high = np.percentile(1 - likeness, _QUARTILES) if len(likeness) else (0.0, 0.0)
    far = (np.mean(1 - likeness) if len(likeness) else _FAR) + _amount(options) * (high - low)
    return likeness, 1 - likeness > far


def _running_mean(vectors: Vector, options: Semantic) -> tuple[Floats, Flags]:
    likeness = adjacent(vectors, options.buffer)
    sums = np.concatenate([[0.0], np.cumsum(likeness)])
    at = np.arange(len(likeness))
    first = np.maximum(0, at - _WINDOW)
    means = (sums[at] - sums[first]) / np.maximum(1, at - first)
    return likeness, (at > 0) & (likeness < means - _amount(options))


def _centroid(vectors: Vector, options: Semantic) -> tuple[Floats, Flags]:
    likeness, breaks = np.zeros(max(0, len(vectors) - 1)), np.zeros(max(0, len(vectors) - 1), bool)
    total, first = vectors[0].astype(np.float64), 0
    for number, vector in enumerate(vectors[1:]):
        likeness[number] = float(directions(total) @ vector)
        breaks[number] = likeness[number] < _amount(options)
        if breaks[number]:
            total, first = np.zeros(len(vector)), number + 1
        elif number + 1 - first == _WINDOW:
            total, first = total - vectors[first], first + 1
        total = total + vector
    return likeness, breaks


METHODS: dict[str, Method] = {
    "threshold": _threshold,
    "percentile": _percentile,
    "deviation": _deviation,
    "interquartile": _interquartile,
    "running_mean": _running_mean,
    "centroid": _centroid,
}
