"""Relevance: the score of a hit as a share of the highest score that the search could have given.

Scores of the modes and fusions have different scales, which only their formulas tell. A share reads the same in all.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from docmill.storage.search.rank.candidates.fusion import fuse
from docmill.storage.search.rank.candidates.hit import Candidate
from docmill.storage.search.rank.candidates.search_options import SearchOptions

_FIRST = [("", 1.0)]  # a ranking in which one chunk stands first


def highest_score(options: SearchOptions, found: Sequence[Candidate]) -> float:
    """Return the highest score that a hit can have.

    After a reranker, and of a cosine, it is 1. Of a fusion it is the score of a chunk that is first in both rankings.
    BM25 has no bound that a chunk could reach, so it is the best BM25 score of the query.
    """
    if options.rerank or options.mode == "vector":
        return 1.0
    if options.mode == "keyword":
        return max((one.score for one in found), default=0.0)
    return sum(fuse(_FIRST, _FIRST, options.fusion, options.weight)[""])


def relevances(best: Sequence[Candidate], highest: float) -> Iterator[float]:
    """Yield the relevance of each hit in [0, 1], never above that of a better-ranked one.

    `diversity` and rewordings can rank a hit above one of higher score, whose relevance is then the lower one.
    """
    shares = (min(1.0, max(0.0, one.score / highest)) if highest > 0 else 0.0 for one in best)
    return accumulate(shares, min)
