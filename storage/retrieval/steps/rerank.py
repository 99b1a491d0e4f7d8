"""Rerank: score the best candidates again, more precisely.

`late` needs no other model: it compares each token of the query with each token of a chunk and sums the best matches
(Khattab and Zaharia, "ColBERT", SIGIR 2020). Rare tokens weigh more.
"""

from collections.abc import Sequence
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from docmill.storage.embedding.cross_encoder import load_cross_encoder
from docmill.storage.embedding.encoder import TokenVectors
from docmill.storage.retrieval.candidates.hit import Candidate
from docmill.storage.retrieval.candidates.query import Query
from docmill.storage.schema import ChunkRow, indexed_text, part_texts

LATE = "late"
_SHARE = 0.35
"""The share of late interaction in the score next to the fused one; see `python -m tests.bench.finding.retrieval`."""

Floats = npt.NDArray[np.float64]


def rerank(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return the best candidates by their new scores, in [0, 1], followed by the others."""
    name = query.options.rerank
    some, rest = candidates[: query.options.rerank_depth], candidates[query.options.rerank_depth :]
    rows = query.rows([one.key for one in some])
    if name == LATE:
        found = late_interaction(*_tokens_of(query, list(rows.values())))
        scores = (1 - _SHARE) * _scaled(np.array([one.score for one in some])) + _SHARE * _scaled(found)
    else:
        texts = [indexed_text(row.context, row.text) for row in rows.values()]
        found = load_cross_encoder(name).score(query.text, texts)
        scores = _scaled(found)
    order = np.argsort(-scores, kind="stable")
    for place, i in enumerate(order.tolist(), start=1):
        some[i].score = float(scores[i])
        some[i].note("rerank", f"{name} gives {found[i]:.3f}: from place {i + 1} to {place}")
    highest = max((one.score for one in rest), default=0.0)
    for one in rest:  # below all rescored candidates
        one.score -= highest
    return [some[i] for i in order] + rest


def _tokens_of(query: Query, rows: Sequence[ChunkRow]) -> tuple[TokenVectors, list[TokenVectors]]:
    """Return the token vectors of a query and of each chunk; the parts of a long chunk are encoded one by one."""
    parts = [[indexed_text(row.context, text) for text in part_texts(row.text, row.parts)] for row in rows]
    question = query.sources.encoder.encode_query_tokens(query.text)
    left = iter(query.sources.tokens.of(list(chain.from_iterable(parts))))
    return question, [_joined(list(islice(left, len(own)))) for own in parts]


def _joined(parts: Sequence[TokenVectors]) -> TokenVectors:
    ids = tuple(chain.from_iterable(part.ids for part in parts))
    return TokenVectors(ids, np.concatenate([part.vectors for part in parts]))


def late_interaction(question: TokenVectors, chunks: Sequence[TokenVectors]) -> Floats:
    """Return for each chunk the mean of the best cosine of each query token, weighted by the token's rarity."""
    held = [set(chunk.ids) for chunk in chunks]
    weights = np.array([np.log1p(len(held) / (1 + sum(token in own for own in held))) for token in question.ids])
    best = [(chunk.vectors @ question.vectors.T).max(axis=0, initial=-1.0) for chunk in chunks]
    return np.array([float(weights @ one) / float(weights.sum()) for one in best])


def _scaled(scores: Floats) -> Floats:
    low, span = scores.min(), np.ptp(scores)
    return (scores - low) / span if span else np.ones(len(scores))
