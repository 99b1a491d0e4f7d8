"""Sentence vectors: embeddings of the small pieces of a part, for comparison."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from docmill.tasks.split.parts.model_lookup import Vector
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.pieces import Piece

_SAFE_CHARACTERS = 8  # even the strangest characters make fewer tokens than the minimum size

_LEAST_NORM = 1e-12  # avoids a division by zero for a zero vector; other norms are near 1

Floats = npt.NDArray[np.float64]


def unit_vectors(part: Part, pieces: Sequence[Piece], size: int) -> Vector | None:
    """Return the vectors of pieces, (n, dim), or None if the look-up lacks one.

    A piece of more than `size` tokens, which only a cut word can be, is represented by its first characters.
    """
    texts = [part.text[piece.start : piece.end] for piece in pieces]
    counts = part.tokens.exact([(piece.start, piece.end) for piece in pieces])
    return part.lookup.vectors_of(
        [text if count <= size else text[:_SAFE_CHARACTERS] for text, count in zip(texts, counts, strict=True)]
    )


def buffered(vectors: Vector, buffer: int) -> tuple[Vector, Vector]:
    """Return the mean directions of the `buffer` units up to each one, and from each one on; (n, dim) each."""
    sums = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0, dtype=np.float64)])
    at = np.arange(len(vectors))
    before = sums[at + 1] - sums[np.maximum(0, at + 1 - buffer)]
    after = sums[np.minimum(len(vectors), at + buffer)] - sums[at]
    return directions(before), directions(after)


def directions(vectors: npt.NDArray[np.floating]) -> Vector:
    """Return vectors scaled to unit L2 norm."""
    norms = np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), _LEAST_NORM)
    scaled: Vector = (vectors / norms).astype(np.float32)
    return scaled


def adjacent(vectors: Vector, buffer: int) -> Floats:
    """Return the cosine similarity across each gap, (n - 1,), between the `buffer` units on both sides."""
    before, after = buffered(vectors, buffer)
    found: Floats = np.einsum("ij,ij->i", before[:-1], after[1:]).astype(np.float64)
    return found
