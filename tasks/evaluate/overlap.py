"""Overlap: how much of the passages that answer a question the retrieved chunks hold, and how much else.

Source: Smith and Troynikov, Evaluating Chunking Strategies for Retrieval, Chroma, 2024. All lengths are in
characters.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Passage(NamedTuple):
    """A half-open span of a document."""

    document: str
    start: int
    end: int


class Overlap(NamedTuple):
    """What the retrieved chunks are worth for one question, each from 0 to 1."""

    recall: float
    precision: float
    iou: float


def overlap(retrieved: Sequence[Passage], references: Sequence[Passage]) -> Overlap:
    """Return the measures of the chunks retrieved for a question, given its references, of which there is one at least.

    With N the length of the union of what chunks and references share: recall is N over the length of all
    references, precision N over that of all chunks, said twice or not, IoU N over that of all chunks and of
    what of each reference none holds.
    """
    found = length(shared(retrieved, references))
    wanted = sum(one.end - one.start for one in references)
    given = sum(one.end - one.start for one in retrieved)
    missed = wanted - sum(length(shared(retrieved, [one])) for one in references)
    return Overlap(found / wanted, found / given if given else 0.0, found / (given + missed))


def precision_omega(chunks: Iterable[Passage], references: Sequence[Passage]) -> float:
    """Return the precision of a perfect retrieval: of all chunks that share anything with a reference.

    It is the length of the union of what they share over that of the union of these chunks and the references. As in
    the reference implementation, a chunk that only ends where one begins shares something, too.
    """
    touching = [chunk for chunk in chunks if any(_touch(chunk, one) for one in references)]
    return length(shared(touching, references)) / length([*touching, *references])


def _touch(one: Passage, other: Passage) -> bool:
    return one.document == other.document and max(one.start, other.start) <= min(one.end, other.end)


def shared(passages: Sequence[Passage], others: Sequence[Passage]) -> list[Passage]:
    """Return what passages have in common with others, which may overlap."""
    return [
        Passage(one.document, start, end)
        for one in passages
        for other in others
        if one.document == other.document
        for start, end in [(max(one.start, other.start), min(one.end, other.end))]
        if start < end
    ]


def length(passages: Iterable[Passage]) -> int:
    """Return the number of characters that lie in at least one passage."""
    total, document, reached = 0, "", 0
    for one in sorted(passages):
        reached = reached if one.document == document else 0
        document = one.document
        total += max(0, one.end - max(one.start, reached))
        reached = max(reached, one.end)
    return total
