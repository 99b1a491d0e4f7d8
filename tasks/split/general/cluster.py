"""Cluster splitting: the best grouping of small neighbouring pieces by similarity, found by dynamic programming.

After the ClusterSemanticChunker of Smith and Troynikov, Evaluating Chunking Strategies for Retrieval (Chroma, 2024):
the value of a group is the sum of the similarities within it, each less the mean of all. Here the tokens of a group are
limited, and the mean is computed from the sum of the vectors, so that the work is linear in the length of the text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from docmill.storage.errors import ConfigError
from docmill.tasks.split.general.recursive import split_recursive
from docmill.tasks.split.parts.blocks import runs
from docmill.tasks.split.parts.model_lookup import Vector
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.sentence_vectors import unit_vectors
from docmill.tasks.split.parts.strategy_options import MAX_SIZE, MIN_SIZE, Options, option
from docmill.tasks.split.parts.usual_options import Recursive
from docmill.tasks.split.spans.pieces import Piece
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span

_MOST_PIECES = 64
"""The maximum number of pieces in a group.

It bounds the work per piece; with fewer, very short pieces could not fill a chunk.
"""


@dataclass(frozen=True, slots=True)
class Cluster(Options):
    """Groups small neighbouring pieces in the best way by the similarity of their vectors."""

    piece: int = option(50, "The maximum size of a piece; at most `size`.", "tokens", MIN_SIZE, MAX_SIZE)

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.piece > self.size:
            raise ConfigError(f"piece must be at most size = {self.size}, got {self.piece}")

    def within(self, tokens: int) -> Self:
        """Return the options for a model with room for this many tokens of a chunk's text."""
        return self if self.size <= tokens else replace(self, size=tokens, piece=min(self.piece, tokens))


def split_cluster(part: Part, options: Cluster) -> list[Span]:
    """Return spans of at most `options.size` tokens; those of `recursive` if vectors are missing."""
    small = Recursive(min(options.piece, options.size))
    found = [[Piece(*span, 0) for span in split_recursive(part.within(*run), small)] for run in runs(part)]
    vectors = unit_vectors(part, [piece for pieces in found for piece in pieces], options.size)
    if vectors is None:
        return split_recursive(part, Recursive(options.size))
    room, spans, first = Room(part.tokens, options.size), list[Span](), 0
    for pieces in found:
        here = vectors[first : first + len(pieces)]
        spans += [Span(pieces[low].start, pieces[high - 1].end) for low, high in group(here, pieces, room)]
        first += len(pieces)
    return spans


def group(vectors: Vector, pieces: Sequence[Piece], room: Room) -> list[tuple[int, int]]:
    """Return the half-open runs of pieces that fit the room and have the highest total value."""
    mean, best, choice = mean_similarity(vectors), np.zeros(len(pieces) + 1), list[int]()
    worth = np.zeros(0)  # of the runs that end with the previous piece, by first piece
    low = 0
    for last, piece in enumerate(pieces):
        before = last - low
        low = max(low, last + 1 - _MOST_PIECES)
        while low < last and not room.fits(pieces[low].start, piece.end):
            low += 1
        with np.errstate(invalid="ignore"):  # BLAS may set the flag although all values are finite
            likeness = (vectors[low:last] @ vectors[last]).astype(np.float64) - mean
        worth = np.append(worth[before - (last - low) :] + 1 + 2 * np.cumsum(likeness[::-1])[::-1], 1.0)
        totals = best[low : last + 1] + worth
        choice.append(low + int(np.argmax(totals)))
        best[last + 1] = totals[choice[-1] - low]
    return list(_chosen(choice))[::-1]


def _chosen(choice: Sequence[int]) -> Iterator[tuple[int, int]]:
    end = len(choice)
    while end:
        yield choice[end - 1], end
        end = choice[end - 1]


def mean_similarity(vectors: Vector) -> float:
    """Return the mean cosine similarity of all pairs of different rows; 0 if there are none."""
    count = len(vectors)
    if count < 2:
        return 0.0
    total = vectors.sum(axis=0, dtype=np.float64)
    own = np.einsum("ij,ij->", vectors, vectors, dtype=np.float64)
    return float((total @ total - own) / (count * (count - 1)))
