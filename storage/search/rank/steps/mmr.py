"""MMR: maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998)."""

import numpy as np

from docmill.storage.process.library_threads import one_blas_thread
from docmill.storage.search.rank.candidates.hit import Candidate
from docmill.storage.search.rank.candidates.query import Query

_FEWEST, _PER_HIT = 50, 10
"""How many of the first candidates take part: at least the first number, and the second for each hit. The vector of
each is read."""


def diversify(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Reorder candidates so that each scores well and differs from those before it: (1 - d) · score - d · likeness.

    Scores are scaled to [0, 1]; likeness is the largest cosine to a better hit. Only the first candidates take part.
    """
    share, depth = query.options.diversity, max(_FEWEST, query.options.wanted * _PER_HIT)
    some, rest = candidates[:depth], candidates[depth:]
    vectors = query.sources.vectors([one.key for one in some])
    unlike = np.zeros(query.sources.snapshot.space.dimension, np.float32)  # for a chunk whose vectors are pending
    matrix = np.stack([vectors.get(one.key, unlike) for one in some])
    worth = np.array([one.score for one in some])
    worth = (worth - worth.min()) / (np.ptp(worth) or 1.0)
    chosen: list[int] = []
    likeness = np.zeros(len(some))
    for place in range(len(some)):
        values = (1 - share) * worth - share * likeness
        values[chosen] = -np.inf
        best = int(np.argmax(values))
        some[best].note("diverse", f"place {place + 1}, cosine {likeness[best]:.3f} to the nearest better hit")
        chosen.append(best)
        with one_blas_thread():
            likeness = np.maximum(likeness, matrix @ matrix[best])
    return [some[best] for best in chosen] + rest
