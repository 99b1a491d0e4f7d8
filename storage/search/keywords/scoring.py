"""Scoring: BM25F from counts alone; with one field it equals BM25 as `rank_bm25.BM25Okapi` computes it.

Source: Zaragoza, Craswell, Taylor, Saria and Robertson, "Microsoft Cambridge at TREC-13" (2004), after Robertson,
Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields" (2004); idf as in Robertson and Zaragoza, "The
Probabilistic Relevance Framework: BM25 and Beyond" (2009). A term counts in a chunk with

    T = sum over fields of weight * frequency / (1 - b + b * length / average length)

and adds idf * (k1 + 1) * T / (k1 + T) to the score, so a word in several fields saturates as in one. The idf counts the
chunks that have the term in any field. As in rank_bm25, a negative idf is replaced by epsilon times the average idf. In
a corpus of a few chunks that average is negative, too, so a chunk loses score for each word of the query that it
contains. The idf "positive" avoids this and is used for searches.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError
from docmill.storage.search.keywords.segments.chunk_fields import FIELDS

Floats = npt.NDArray[np.float64]
Idf = Literal["okapi", "lucene", "positive"]
_SMALLEST = 1e-300  # replaces a k1 of 0, with which a chunk excluded by a filter would score 0 / 0


class FieldScoring(NamedTuple):
    """How much a term counts in a field, and how strongly that is normalised by the field's length, in [0, 1]."""

    weight: float
    b: float

    def factor(self, length: float, average: float) -> float:
        """Return what one occurrence of a term counts in a field of `length` terms, at least 1."""
        return self.weight / (1 - self.b + self.b * length / average)


FIELD_SCORING: dict[str, FieldScoring] = {
    "text": FieldScoring(1.0, 0.75),  # as in `rank_bm25`, so that a chunk without other fields has the same score
    "context": FieldScoring(0.5, 0.75),  # with 1, a line that many chunks share hurts: untitled articles -1.0
    "headings": FieldScoring(1.0, 0.75),  # with 2, a section's name beats its content: filings -1.0, abstracts -0.6
    "title": FieldScoring(1.0, 0.75),  # with 0.5 for title and headings, abstracts -1.2; with 2 -0.6
    "path": FieldScoring(1.0, 0.75),  # with 0, code -2.8; with 0.5, code -0.4; with 2, other sets gain no more
    "phrasings": FieldScoring(0.5, 0.75),  # as the context, which a model may write, too
}
"""The figures are changes of what keyword search found, in % of a set, with one field changed at a time. The b of
`rank_bm25` is used for all fields: 0.3 for the context or the path makes no significant difference."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The parameters of BM25F; `fields` are in the order of `FIELDS`.

    `idf` is "okapi" (as in rank_bm25, with its floor), "lucene" (always above 0), or "positive". The latter is okapi,
    but the floor also replaces an idf of 0, which terms in exactly half of the chunks have; if the floor itself is not
    above 0, it is lucene.
    """

    k1: float = 1.5
    epsilon: float = 0.25
    idf: Idf = "okapi"
    fields: tuple[FieldScoring, ...] = tuple(FIELD_SCORING[name] for name in FIELDS)

    def __post_init__(self) -> None:
        if self.idf not in get_args(Idf):
            raise ConfigError(f'idf must be "positive", "okapi" or "lucene", got {self.idf!r}')
        if not self.k1 >= 0:
            raise ConfigError(f"k1 must be at least 0, got {self.k1}")
        for name, (weight, b) in zip(FIELDS, self.fields, strict=True):
            if not (weight >= 0 and 0 <= b <= 1):
                raise ConfigError(f"{name} must have a weight of at least 0 and b in [0, 1], got {weight} and {b}")

    @property
    def saturation(self) -> float:
        """The weighted frequency at which a term has half of its largest gain."""
        return max(self.k1, _SMALLEST)

    def idfs(self, rows: int, frequencies: npt.NDArray[np.int64], average: float) -> Floats:
        """Return the idfs of terms from their document frequencies; `average` is the `average_idf` of the corpus."""
        floor = self.epsilon * average
        if self.idf == "lucene" or (self.idf == "positive" and floor <= 0):
            return np.log1p((rows - frequencies + 0.5) / (frequencies + 0.5), dtype=np.float64)
        raw = raw_idfs(rows, frequencies)
        return np.where(raw <= 0 if self.idf == "positive" else raw < 0, floor, raw)

    def factors(self, field: int, lengths: npt.NDArray[np.integer[Any]], average: float) -> Floats:
        """Return what one occurrence of a term counts in the field of each chunk; 0 if the field is empty."""
        weight, b = self.fields[field]
        if not weight or not average:
            return np.zeros(len(lengths))
        found = lengths.astype(np.float64)
        found *= b / average
        found += 1 - b
        with np.errstate(divide="ignore"):  # an empty field with b = 1
            np.divide(weight, found, out=found)
        found[lengths == 0] = 0.0
        return found


def raw_idfs(rows: int, frequencies: npt.NDArray[np.int64]) -> Floats:
    """Return the idfs before the floor: negative for terms in more than half of the chunks."""
    idfs: Floats = np.log(rows - frequencies + 0.5) - np.log(frequencies + 0.5)
    return idfs
