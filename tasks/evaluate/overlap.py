"""Overlap: how much of the reference passages the retrieved chunks contain, and how much else.

Source: Smith and Troynikov, Evaluating Chunking Strategies for Retrieval, Chroma, 2024. All lengths are in characters.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Passage(NamedTuple):
    """A half-open span of a document."""

    document: str
    start: int
    end: int


class Overlap(NamedTuple):
    """The measures of the chunks retrieved for one question, each from 0 to 1."""

    recall: float
    precision: float
    iou: float


def overlap(retrieved: Sequence[Passage], references: Sequence[Passage]) -> Overlap:
    """Return the measures of the chunks retrieved for a question, given at least one reference.

    Let N be the length of the union of all intersections of chunks and references. Recall is N over the length of all
    references. Precision is N over the length of all chunks, counting repetitions. IoU is N over the length of all
    chunks plus the parts of references that no chunk contains.
    """
    found = length(shared(retrieved, references))
    wanted = sum(one.end - one.start for one in references)
    given = sum(one.end - one.start for one in retrieved)
    missed = wanted - sum(length(shared(retrieved, [one])) for one in references)
    return Overlap(found / wanted, found / given if given else 0.0, found / (given + missed))


def precision_omega(chunks: Iterable[Passage], references: Sequence[Passage]) -> float:
    """Return the precision of a perfect retrieval: all chunks that intersect a reference.

    It is the length of the union of the intersections over that of the union of these chunks and the references. As in
    the reference implementation, a chunk that merely touches a reference counts as intersecting it.
    """
    touching = [chunk for chunk in chunks if any(_touch(chunk, one) for one in references)]
    return length(shared(touching, references)) / length([*touching, *references])


def _touch(one: Passage, other: Passage) -> bool:
    return one.document == other.document and max(one.start, other.start) <= min(one.end, other.end)


def shared(passages: Sequence[Passage], others: Sequence[Passage]) -> list[Passage]:
    """Return the intersection of passages with others, which may overlap."""
    return [
        Passage(one.document, start, end)
        for one in passages
        for other in others
        if one.document == other.document
        for start, end in [(max(one.start, other.start), min(one.end, other.end))]
        if start < end
    ]


def length(passages: Iterable[Passage]) -> int:
    """Return the number of characters in at least one passage."""
    total, document, reached = 0, "", 0
    for one in sorted(passages):
        reached = reached if one.document == document else 0
        document = one.document
        total += max(0, one.end - max(one.start, reached))
        reached = max(reached, one.end)
    return total
