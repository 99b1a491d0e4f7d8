"""Weighing: how much the vectors count for one question, by what both rankings can know of it.

A fusion stretches the scores of both rankings to the same range, also where the vectors tell nothing apart: all cosines
of a question in a language that the model does not know are alike, and their order is chance.
"""

from collections.abc import Collection, Iterable

from docmill.storage.search.rank.candidates.fusion import Ranking

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
