"""Hybrid search: candidates from BM25 and from vectors, their scores fused, their rows read last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from storage.errors import QueryError

Mode = Literal["hybrid", "vector", "keyword"]
Fusion = Literal["linear", "rrf"]

CANDIDATES_PER_HIT = 10
MIN_CANDIDATES = 50
CHILDREN_PER_PARENT = 4
_RRF_K = 60


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that answers a query.

    `vector_score` is the cosine similarity, `keyword_score` the BM25 score; None where the chunk was
    no candidate of that index. `page` is None where the format has no pages. `matched` is the id of the
    chunk that was found where its parent stands for it, whose scores these are.
    """

    rank: int
    score: float
    vector_score: float | None
    keyword_score: float | None
    chunk_id: str
    uri: str
    start: int
    end: int
    text: str
    context: str
    headings: tuple[str, ...]
    page: int | None
    content_type: str
    strategy: str
    role: str = ""
    matched: str = ""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How rankings are made. `weight` is that of the vectors in a linear fusion."""

    k: int = 5
    mode: Mode = "hybrid"
    where: str | None = None
    weight: float = 0.5
    fusion: Fusion = "linear"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise QueryError(f"k must be at least 1, got {self.k}")
        if self.mode not in get_args(Mode):
            raise QueryError(f"mode must be one of {', '.join(get_args(Mode))}, got {self.mode!r}")
        if self.fusion not in get_args(Fusion):
            raise QueryError(f"fusion must be one of {', '.join(get_args(Fusion))}, got {self.fusion!r}")
        if not 0 <= self.weight <= 1:
            raise QueryError(f"weight must be in [0, 1], got {self.weight}")

    @property
    def candidates(self) -> int:
        """Return how many candidates each index gives."""
        return max(MIN_CANDIDATES, self.k * CANDIDATES_PER_HIT) if self.mode == "hybrid" else self.k


Ranking = Sequence[tuple[str, float]]


def fuse(vector: Ranking, keyword: Ranking, options: SearchOptions) -> list[tuple[str, float]]:
    """Return (chunk id, score) of the best `k`, best first; equal scores by id."""
    if options.mode == "vector":
        fused = dict(vector)
    elif options.mode == "keyword":
        fused = dict(keyword)
    elif options.fusion == "linear":
        fused = _add(_min_max(vector, options.weight), _min_max(keyword, 1 - options.weight))
    else:
        fused = _add(_reciprocal(vector), _reciprocal(keyword))
    return sorted(fused.items(), key=lambda item: (-item[1], item[0]))[: options.k]


def climb(fused: Ranking, parents: Mapping[str, str], k: int) -> list[tuple[str, str, float]]:
    """Return (id, id of the chunk found, score) of the best `k` parents; a chunk without one stands for itself."""
    best: dict[str, tuple[str, float]] = {}
    for key, score in fused:
        best.setdefault(parents[key] or key, (key, score))
    return [(parent, key, score) for parent, (key, score) in best.items()][:k]


def _min_max(ranking: Ranking, weight: float) -> dict[str, float]:
    """Scale scores to [0, weight]; a candidate of one index only has 0 in the other."""
    if not ranking:
        return {}
    scores = [score for _, score in ranking]
    low, span = min(scores), max(scores) - min(scores)
    return {key: weight * ((score - low) / span if span else 1.0) for key, score in ranking}


def _reciprocal(ranking: Ranking) -> dict[str, float]:
    """Reciprocal rank fusion, k = 60 (Cormack, Clarke and Büttcher, SIGIR 2009)."""
    return {key: 1 / (_RRF_K + rank) for rank, (key, _) in enumerate(ranking, start=1)}


def _add(left: Mapping[str, float], right: Mapping[str, float]) -> dict[str, float]:
    return {key: left.get(key, 0.0) + right.get(key, 0.0) for key in {**left, **right}}
