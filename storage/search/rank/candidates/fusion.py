"""Fusion: combine the rankings of two indexes into one score for each chunk."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

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


_CLEAR = 0.4
"""The span of cosines, from the first candidate to the last, from which vectors count in full. It is .4 to .6 where
they tell chunks apart, and .24 to .37 for questions in Japanese under a model of English."""
_SURE = 3
"""The power of `found` by which flat cosines cost weight: 1 takes too much where the keywords find few of the words,
as in code (-1.4) and abstracts (-1.0), and the vectors are better than their span says."""


def vector_weight(weight: float, near: Ranking, unread: float, found: float) -> float:
    """Return the weight of the vectors for a question, given the weight in use and their ranking.

    `unread` is the share of the question's letters that the model cannot read, `found` the share of its words, by
    rarity, that the best chunk by keywords has. The vectors' odds against the keywords are multiplied by the share that
    is read, and, as far as the keywords found the words, by how far apart the cosines are. So 0 and 1 stay.
    """
    flat = 1 - min(1.0, _span(near) / _CLEAR)
    kept = weight * (1 - unread) * (1 - found**_SURE * flat)
    return kept / (kept + 1 - weight) if weight < 1 else weight


def found_share(terms: Collection[str], words: Iterable[tuple[Collection[str], float]]) -> float:
    """Return the share of a question's words, by weight, that a chunk of some terms has.

    A word is its terms, one in each language of the store, and its weight.
    """
    weights = [(weight, any(term in terms for term in word)) for word, weight in words]
    total = sum(weight for weight, _ in weights)
    return sum(weight for weight, held in weights if held) / total if total else 0.0


def _span(near: Ranking) -> float:
    scores = [score for _, score in near]
    return max(scores) - min(scores) if scores else 0.0
