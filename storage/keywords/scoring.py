"""Scoring: BM25 as `rank_bm25.BM25Okapi` computes it, from counts alone.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). As in rank_bm25, a
negative idf is replaced by epsilon times the average idf. In a corpus of a few chunks that average is negative, too,
and a chunk then loses by each word of the query that it contains. "positive" is for searches, where it must not.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError

Floats = npt.NDArray[np.float64]
Idf = Literal["okapi", "lucene", "positive"]


@dataclass(frozen=True, slots=True)
class Scoring:
    """The parameters of BM25.

    `idf` is "okapi" (rank_bm25's, with its floor), "lucene" (always above 0), or "positive": okapi's with the floor for
    a term in exactly half of the chunks, too, whose idf is 0, and Lucene's where the floor is not above 0.
    """

    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25
    idf: Idf = "okapi"

    def __post_init__(self) -> None:
        if self.idf not in get_args(Idf):
            raise ConfigError(f'idf must be "positive", "okapi" or "lucene", got {self.idf!r}')
        if not (self.k1 >= 0 and 0 <= self.b <= 1):
            raise ConfigError(f"k1 must be at least 0 and b in [0, 1], got k1={self.k1}, b={self.b}")

    def idfs(self, rows: int, frequencies: npt.NDArray[np.int64], average: float) -> Floats:
        """Return the idfs of terms from their document frequencies; `average` is the `average_idf` of the corpus."""
        floor = self.epsilon * average
        if self.idf == "lucene" or (self.idf == "positive" and floor <= 0):
            return np.log1p((rows - frequencies + 0.5) / (frequencies + 0.5), dtype=np.float64)
        raw = raw_idfs(rows, frequencies)
        return np.where(raw <= 0 if self.idf == "positive" else raw < 0, floor, raw)

    def norms(self, lengths: npt.NDArray[np.integer[Any]], average: float) -> Floats:
        """Return the addend to the term frequency in the denominator, for chunks of `lengths` terms."""
        if not average:  # no chunk has a term, so no norm is ever read
            return np.full(len(lengths), self.k1 * (1 - self.b))
        return self.k1 * (1 - self.b + self.b * lengths.astype(np.float64) / average)


def raw_idfs(rows: int, frequencies: npt.NDArray[np.int64]) -> Floats:
    """Return the idfs before the floor: negative for terms in more than half of the chunks."""
    idfs: Floats = np.log(rows - frequencies + 0.5) - np.log(frequencies + 0.5)
    return idfs
