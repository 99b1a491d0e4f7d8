"""Fusion: combine the rankings of two indexes into one score for each chunk."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

Ranking = Sequence[tuple[str, float]]
Scores = dict[str, float]

_RRF_K = 60  # from the paper that `reciprocal` cites; with a larger value, the first ranks count less

_LEARNED = 0.5
"""Learned terms and exact words count equally, because no judged questions on such a model justify another value."""


def linear(ranking: Ranking, weight: float) -> Scores:
    """Scale scores to [0, weight], from the last candidate to the first; other chunks have 0."""
    if not ranking:
        return {}
    scores = [score for _, score in ranking]
    low, span = min(scores), max(scores) - min(scores)
    return {key: weight * ((score - low) / span if span else 1.0) for key, score in ranking}


def reciprocal(ranking: Ranking, _weight: float) -> Scores:
    """Reciprocal rank fusion, k = 60 (Cormack, Clarke and Büttcher, SIGIR 2009)."""
    return {key: 1 / (_RRF_K + rank) for rank, (key, _) in enumerate(ranking, start=1)}


def weighted_reciprocal(ranking: Ranking, weight: float) -> Scores:
    """Reciprocal rank fusion with a weight for each ranking; with weight .5, the order is that of plain fusion."""
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

    The vectors of `pending` chunks are unknown, so their keywords contribute a second time instead, and these chunks
    are ranked among each other as by keywords. With vectors for 10 % of the documents, nDCG@10 over the test corpus was
    .664, with keywords alone .663, and with 0 for pending vectors .615 (`tests/bench/finding/covered.py`).
    """
    left, right = FUSIONS[fusion](vector, weight), FUSIONS[fusion](keyword, 1 - weight)
    if pending:
        instead = FUSIONS[fusion](keyword, weight)
        left |= {key: instead[key] for key in pending}
    return {key: (left.get(key, 0.0), right.get(key, 0.0)) for key in {**left, **right}}


def with_pictures(
    parts: Mapping[str, tuple[float, float]], pictures: Ranking, fusion: str, weight: float
) -> dict[str, tuple[float, float]]:
    """Return the contributions, with that of a chunk's picture instead of its text if the picture's is larger.

    Cosines of texts and pictures have different scales, so their contributions are compared.
    """
    seen = FUSIONS[fusion](pictures, weight)
    texts = {key: parts.get(key, (0.0, 0.0)) for key in {**parts, **seen}}
    return {key: (max(left, seen.get(key, 0.0)), right) for key, (left, right) in texts.items()}


def with_learned(
    parts: Mapping[str, tuple[float, float]], learned: Ranking, fusion: str, weight: float
) -> dict[str, tuple[float, float]]:
    """Return the contributions, with `_LEARNED` of the keywords' share given to learned terms.

    `weight` is that of the vectors. The highest possible score stays the same.
    """
    seen = FUSIONS[fusion](learned, 1 - weight)
    held = {key: parts.get(key, (0.0, 0.0)) for key in {**parts, **seen}}
    return {key: (left, right + _LEARNED * (seen.get(key, 0.0) - right)) for key, (left, right) in held.items()}


_CLEAR = 0.4
"""If the cosines of the candidates span at least this much, vectors count in full. The span is .4 to .6 if vectors
distinguish chunks well, and .24 to .37 for Japanese questions with an English model."""
_SURE = 3
"""The power of `found` in the reduction for flat cosines. With 1, the reduction is too strong where the keywords find
few of the words, as in code (-1.4) and abstracts (-1.0), and the vectors are better than their span suggests."""


def vector_weight(weight: float, near: Ranking, unread: float, found: float) -> float:
    """Return the weight of the vectors for a question, given the weight in use and their ranking.

    `unread` is the share of the question's letters that the model cannot read. `found` is the share of its words,
    weighted by rarity, that the best chunk by keywords has. The odds of vectors against keywords are reduced by
    `unread`, and for a narrow span of cosines the more, the larger `found` is. Weights of 0 and 1 stay the same.
    """
    flat = 1 - min(1.0, _span(near) / _CLEAR)
    kept = weight * (1 - unread) * (1 - found**_SURE * flat)
    return kept / (kept + 1 - weight) if weight < 1 else weight


def found_share(terms: Collection[str], words: Iterable[tuple[Collection[str], float]]) -> float:
    """Return the share of a question's words, by weight, that a chunk with some terms has.

    Each word is given as its terms, one for each language of the store, and its weight.
    """
    weights = [(weight, any(term in terms for term in word)) for word, weight in words]
    total = sum(weight for weight, _ in weights)
    return sum(weight for weight, held in weights if held) / total if total else 0.0


def _span(near: Ranking) -> float:
    scores = [score for _, score in near]
    return max(scores) - min(scores) if scores else 0.0
