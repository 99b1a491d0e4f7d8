"""Rerank: score the best candidates again, more precisely."""

import numpy as np
import numpy.typing as npt

from docmill.storage.search.rank.candidates.hit import Candidate
from docmill.storage.search.rank.candidates.query import Query

Floats = npt.NDArray[np.float64]


def rerank(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return the best candidates by their new scores, in [0, 1], followed by the others."""
    from docmill.storage.search.rank.steps.rerankers import reranker_of

    reranker = reranker_of(query.options.rerank)
    some, rest = candidates[: query.options.rerank_depth], candidates[query.options.rerank_depth :]
    found = reranker.score(query, [*query.rows([one.key for one in some]).values()])
    before = _scaled(np.array([one.score for one in some]))
    scores = (1 - reranker.share) * before + reranker.share * _scaled(found)
    order = np.argsort(-scores, kind="stable")
    for place, i in enumerate(order.tolist(), start=1):
        some[i].score = float(scores[i])
        some[i].note("rerank", f"{reranker.name} gives {found[i]:.3f}: from place {i + 1} to {place}")
    highest = max((one.score for one in rest), default=0.0)
    for one in rest:  # below all rescored candidates
        one.score -= highest
    return [some[i] for i in order] + rest


def _scaled(scores: Floats) -> Floats:
    low, span = scores.min(), np.ptp(scores)
    return (scores - low) / span if span else np.ones(len(scores))
