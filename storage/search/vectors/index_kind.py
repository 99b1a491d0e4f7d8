"""Index kind: what a search of a large table scans: few bits for each number, and then the best rows by their vectors.

LanceDB makes and searches the indices. The vectors themselves stay in a column of the table.
Sources: IVF_RQ is RaBitQ, Gao and Long, 2024; IVF_SQ is scalar quantisation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docmill.storage.search.encode.space import BINARY, INT8, PACKED, EmbeddingSpace

INDEX_ROWS = 100_000
"""Rows from which on the table has an index. Below, all vectors are compared in memory, in 5 ms at 100,000 rows."""
SMALL_ROWS = 10_000
"""The same for `int8` and `binary`, whose vectors shall not all be in memory: 123 MB if each has 3,072 numbers."""

_BITS = 4  # for each dimension: takes 3-4 times as long to build as one bit, half as long to search
_EIGHT = 8
_REFINED = {1: (10, 800)}
_REFINED_ELSE = (1, 200)
"""Rows whose exact distance is computed, as a multiple of the wanted rows and as a minimum; most of a search's time.

Keyed by the bits of an index. Recall@10 at 100,000 rows: one bit with 800 rows .99, with 200 .97; four bits with 200
rows 1.0. Of 200 wanted rows, twice as many take 13 ms and as many 9.
"""


@dataclass(frozen=True, slots=True)
class IndexKind:
    """How the vectors of a space are indexed; `bits` for each number."""

    bits: int
    least_rows: int

    @property
    def config(self) -> Any:
        """The index as LanceDB makes it."""
        from lancedb.index import IvfRq, IvfSq

        return IvfSq(distance_type="dot") if self.bits == _EIGHT else IvfRq(distance_type="dot", num_bits=self.bits)


def kind_of(space: EmbeddingSpace) -> IndexKind:
    """Return how a table of a space is indexed; four bits, but eight where RaBitQ cannot pack the dimensions."""
    if space.indexed == BINARY:
        return IndexKind(1, SMALL_ROWS)
    if space.indexed == INT8:
        return IndexKind(_EIGHT, SMALL_ROWS)
    return IndexKind(_EIGHT if space.dimension % PACKED else _BITS, INDEX_ROWS)


def by_id() -> Any:
    """Return the index of chunk ids, as LanceDB makes it."""
    from lancedb.index import BTree

    return BTree()


def bits_of(index: Any) -> int:
    """Return the bits for a number of an index of vectors that exists."""
    details: Mapping[str, Any] = index.index_details
    return int(details["compression"]["num_bits"])


def refined(bits: int) -> tuple[int, int]:
    """Return how many rows are compared exactly: a multiple of the wanted rows, and a minimum."""
    return _REFINED.get(bits, _REFINED_ELSE)
