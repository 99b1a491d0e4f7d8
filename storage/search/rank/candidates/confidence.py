"""Confidence and relevance: how likely a hit answers its query, and its share of the highest possible score.

Scores rank the chunks of one query: the best chunk has a high score even if none answers the query. A logistic model
recognises answers from what both indexes know about a chunk.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from docmill.storage.search.rank.candidates.fusion import found_share, fuse
from docmill.storage.search.rank.candidates.hit import Candidate
from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.rank.candidates.search_options import Mode, SearchOptions

Floats = npt.NDArray[np.float64]

DOUBTFUL = 0.2
"""If the best hit has a lower confidence than this, a query counts as unanswered; the guides use it as
`min_confidence`."""
FITTED: Mapping[Mode, tuple[float, ...]] = MappingProxyType(
    {
        "hybrid": (-8.6, 1.9, 2.4, 2.1, 3.6),
        "vector": (-8.5, 6.1, 0.0, 0.0, 3.8),
        "keyword": (-11.2, 0.0, 3.4, 2.5, 6.0),
    }
)
"""The constant and the weights of the `evidence`, by mode, fitted by `python -m tests.bench.finding.doubting`."""


def confidences(best: Sequence[Candidate], query: Query) -> list[float]:
    """Return how likely each hit answers the query, in [0, 1]; `best` are the hits after all steps."""
    constant, *weights = FITTED[query.options.mode]
    found: list[float] = (1 / (1 + np.exp(-constant - evidence(best, query) @ np.array(weights)))).tolist()
    return found


def evidence(best: Sequence[Candidate], query: Query) -> Floats:
    """Return the evidence for each hit, (hits, 4).

    The columns are: its cosine times the share of the query that the model can read; the share of the query's words
    that it has, weighted by rarity; how many these are, as log(1 + their rarity / the rarity of a word in one chunk);
    and its score as a share of the highest score. Values that a mode does not have are 0.
    """
    mode, rows = query.options.mode, np.zeros((len(best), 4))
    if mode != "keyword":
        rows[:, 0] = [_cosine(one, query) * (1 - query.unread) for one in best]
    if mode != "vector":
        words = query.weighted_words
        rows[:, 1] = [found_share(one.terms, words) for one in best]
        rows[:, 2] = np.log1p(rows[:, 1] * sum(weight for _, weight in words) / query.sources.rarest)
    scores = np.array([max(0.0, one.score) for one in best])
    rows[:, 3] = scores / (scores.max(initial=0.0) or 1.0)
    return rows


def _cosine(one: Candidate, query: Query) -> float:
    """Return the cosine of a candidate, or that of the last vector candidate if only the keywords found it."""
    return query.farthest if one.vector_score is None else one.vector_score


_FIRST = [("", 1.0)]  # a ranking of one chunk


def highest_score(options: SearchOptions, found: Sequence[Candidate]) -> float:
    """Return the highest score that a hit can have.

    For a reranker and for cosines, it is 1. For a fusion, it is the score of a chunk that is first in both rankings.
    BM25 has no bound that a chunk could reach, so it is the best BM25 score of the query.
    """
    if options.rerank or options.mode == "vector":
        return 1.0
    if options.mode == "keyword":
        return max((one.score for one in found), default=0.0)
    return sum(fuse(_FIRST, _FIRST, options.fusion, options.weight)[""])


def relevances(best: Sequence[Candidate], highest: float) -> Iterator[float]:
    """Yield the relevance of each hit in [0, 1], never above that of a better-ranked one.

    `diversity` and rewordings can rank a hit above one with a higher score; the latter then gets the lower relevance.
    """
    shares = (min(1.0, max(0.0, one.score / highest)) if highest > 0 else 0.0 for one in best)
    return accumulate(shares, min)
