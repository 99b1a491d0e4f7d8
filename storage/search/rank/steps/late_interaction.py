"""Late interaction: score chunks by the tokens that they share with a query.

It needs no other model: it compares each token of the query with each token of a chunk and sums the best matches
(Khattab and Zaharia, "ColBERT", SIGIR 2020). Rare tokens weigh more.
"""

from collections.abc import Sequence
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from docmill.storage.process.one_blas_thread import one_blas_thread
from docmill.storage.schema import ChunkRow, indexed_text, part_readings
from docmill.storage.search.encode.encoder import TokenVectors
from docmill.storage.search.rank.candidates.query import Query


def by_tokens(query: Query, rows: Sequence[ChunkRow]) -> npt.NDArray[np.float64]:
    """Return a score for each chunk, by the token vectors of the store's encoder."""
    return late_interaction(*_tokens_of(query, rows))


def _tokens_of(query: Query, rows: Sequence[ChunkRow]) -> tuple[TokenVectors, list[TokenVectors]]:
    """Return the token vectors of a query and of each chunk; the parts of a long chunk are encoded one by one."""
    parts = [
        [indexed_text(row.context, read) for read in part_readings(row.text, row.parts, row.unread)] for row in rows
    ]
    question = _joined([query.sources.encoder.encode_query_tokens(window) for window in query.windows])
    left = iter(query.sources.tokens.of(list(chain.from_iterable(parts))))
    return question, [_joined(list(islice(left, len(own)))) for own in parts]


def _joined(parts: Sequence[TokenVectors]) -> TokenVectors:
    ids = tuple(chain.from_iterable(part.ids for part in parts))
    return TokenVectors(ids, np.concatenate([part.vectors for part in parts]))


@one_blas_thread()
def late_interaction(question: TokenVectors, chunks: Sequence[TokenVectors]) -> npt.NDArray[np.float64]:
    """Return for each chunk the mean of the best cosine of each query token, weighted by the token's rarity."""
    held = [set(chunk.ids) for chunk in chunks]
    weights = np.array([np.log1p(len(held) / (1 + sum(token in own for own in held))) for token in question.ids])
    best = [(chunk.vectors @ question.vectors.T).max(axis=0, initial=-1.0) for chunk in chunks]
    return np.array([float(weights @ one) / float(weights.sum()) for one in best])
