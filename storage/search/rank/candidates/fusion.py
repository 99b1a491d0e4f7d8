"""Fusion: combine the rankings of two indexes into one score for each chunk."""

from collections.abc import Callable, Collection, Mapping, Sequence

Ranking = Sequence[tuple[str, float]]
Scores = dict[str, float]

_RRF_K = 60  # from the paper that `reciprocal` cites; with a larger one, the first ranks count less

_LEARNED = 0.5
"""Learned terms and exact words count alike: without judged questions on such a model, nothing speaks for another."""


def linear(ranking: Ranking, weight: float) -> Scores:
    """Scale scores to [0, weight] from the last candidate to the first; chunks that are no candidates have 0."""
    if not ranking:
        return {}
    scores = [score for _, score in ranking]
    low, span = min(scores), max(scores) - min(scores)
    return {key: weight * ((score - low) / span if span else 1.0) for key, score in ranking}


def reciprocal(ranking: Ranking, _weight: float) -> Scores:
    """Reciprocal rank fusion, k = 60 (Cormack, Clarke and Büttcher, SIGIR 2009)."""
    return {key: 1 / (_RRF_K + rank) for rank, (key, _) in enumerate(ranking, start=1)}


def weighted_reciprocal(ranking: Ranking, weight: float) -> Scores:
    """Reciprocal rank fusion with a weight for each ranking; weight .5 gives the order of plain fusion."""
    return {key: weight * score for key, score in reciprocal(ranking, weight).items()}


FUSIONS: Mapping[str, Callable[[Ranking, float], Scores]] = {
    "linear": linear,
    "rrf": reciprocal,
    "weighted_rrf": weighted_reciprocal,
}
"""The contribution of a ranking to the score of a chunk, given its weight."""


def fuse(
    vector: Ranking, keyword: Ranking, fusion: str, weight: float, pending: Collection[str] = ()
) -> dict[str, tuple[float, float]]:
    """Return the contributions of both rankings to the score of each chunk.

    The vectors of `pending` chunks are not known: their keywords contribute in place of them, so that these chunks rank
    among each other as by keywords. With vectors for 10 % of the documents, nDCG@10 was .664 over the test corpus, by
    keywords alone .663, and .615 with 0 in their place (`tests/bench/finding/covered.py`).
    """
    left, right = FUSIONS[fusion](vector, weight), FUSIONS[fusion](keyword, 1 - weight)
    if pending:
        instead = FUSIONS[fusion](keyword, weight)
        left |= {key: instead[key] for key in pending}
    return {key: (left.get(key, 0.0), right.get(key, 0.0)) for key in {**left, **right}}


def with_pictures(
    parts: Mapping[str, tuple[float, float]], pictures: Ranking, fusion: str, weight: float
) -> dict[str, tuple[float, float]]:
    """Return the contributions, the first of them that of a chunk's picture if it is nearer than the chunk's text is.

    Cosines of texts and of pictures have other scales, so what is compared are their contributions.
    """
    seen = FUSIONS[fusion](pictures, weight)
    texts = {key: parts.get(key, (0.0, 0.0)) for key in {**parts, **seen}}
    return {key: (max(left, seen.get(key, 0.0)), right) for key, (left, right) in texts.items()}


def with_learned(
    parts: Mapping[str, tuple[float, float]], learned: Ranking, fusion: str, weight: float
) -> dict[str, tuple[float, float]]:
    """Return the contributions, in which learned terms have `_LEARNED` of the share of the keywords.

    `weight` is that of the vectors. The highest score of a search stays the same.
    """
    seen = FUSIONS[fusion](learned, 1 - weight)
    held = {key: parts.get(key, (0.0, 0.0)) for key in {**parts, **seen}}
    return {key: (left, right + _LEARNED * (seen.get(key, 0.0) - right)) for key, (left, right) in held.items()}
