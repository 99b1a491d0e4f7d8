"""What hits are worth, by measure, from 0 to 1."""

from collections.abc import Sequence
from math import log2

from docmill.storage.search.rank.candidates.hit import Hit
from docmill.tasks.evaluate.overlap import Passage, length, overlap, shared
from tests.bench.sets.collection import Asked, Worth

RANKED = 10


def excerpts_held(depth: int) -> Worth:
    """Return the measures of Chroma's evaluation: of `depth` hits, or of all where passages were asked for."""

    def worth(asked: Asked, hits: Sequence[Hit]) -> dict[str, float]:
        read = hits if any(hit.passage for hit in hits) else hits[:depth]
        found = overlap([_passage(hit) for hit in read], asked.references)
        measures = {"recall": found.recall, "precision": found.precision, "IoU": found.iou}
        return {f"{name}@{depth}": value for name, value in measures.items()}

    return worth


def documents_ranked(asked: Asked, hits: Sequence[Hit]) -> dict[str, float]:
    """Return nDCG@10 of the documents, each by its best chunk."""
    ranked = list(dict.fromkeys(hit.uri for hit in hits))[:RANKED]
    best = sorted(asked.grades.values(), reverse=True)[:RANKED]
    return {f"nDCG@{RANKED}": _gain([asked.grades.get(uri, 0) for uri in ranked]) / _gain(best)}


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / log2(place + 2) for place, grade in enumerate(grades))


def hit_at(*depths: int, share: float = 0.0) -> Worth:
    """Return whether one of the first hits overlaps a right passage, or holds at least a share of its characters."""

    def worth(asked: Asked, hits: Sequence[Hit]) -> dict[str, float]:
        right = [any(_held(hit, one) > 0 and _held(hit, one) >= share for one in asked.references) for hit in hits]
        return {f"hit@{depth}": float(any(right[:depth])) for depth in depths}

    return worth


def _held(hit: Hit, one: Passage) -> float:
    return length(shared([_passage(hit)], [one])) / (one.end - one.start)


def _passage(hit: Hit) -> Passage:
    return Passage(hit.uri, hit.start_char, hit.end_char)


def pages_led_to(depth: int) -> Worth:
    """Return the reciprocal rank of the right page, whether it is among the first, and if so asked, its section."""

    def worth(asked: Asked, hits: Sequence[Hit]) -> dict[str, float]:
        ranks = (place for place, uri in enumerate(dict.fromkeys(hit.uri for hit in hits), 1) if uri in asked.grades)
        rank = next(ranks, 0)
        found = {"MRR": 1 / rank if rank else 0.0, f"hit@{depth}": float(0 < rank <= depth)}
        if asked.references:
            found |= {f"section {name}": value for name, value in hit_at(depth)(asked, hits).items()}
        return found

    return worth
