"""Index kind: how a large table is indexed. A search scans a few bits per number, then compares the best rows exactly.

LanceDB builds and searches the indexes. The vectors themselves stay in a column of the table.
Sources: IVF_RQ is RaBitQ, Gao and Long, 2024; IVF_SQ is scalar quantisation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docmill.storage.search.encode.space import BINARY, INT8, PACKED, EmbeddingSpace

INDEX_ROWS = 100_000
"""From this many rows on, the table has an index. Below, all vectors are compared in memory: 5 ms for 100,000 rows."""
SMALL_ROWS = 10_000
"""The same for `int8` and `binary`, which are chosen to save memory: 10,000 vectors of 3,072 dimensions take 123 MB."""

_BITS = 4  # per dimension: takes 3-4 times as long to build as one bit, but half as long to search
_EIGHT = 8
_REFINED = {1: (10, 800)}
_REFINED_ELSE = (1, 200)
"""Rows whose exact distance is computed, as a multiple of the wanted rows and as a minimum, by the bits of an index.

This takes most of the time of a search. Recall@10 at 100,000 rows: .99 for one bit with 800 rows, .97 with 200; 1.0 for
four bits with 200 rows. For 200 wanted rows, comparing 200 takes 9 ms, and comparing 400 takes 13 ms.
"""


@dataclass(frozen=True, slots=True)
class IndexKind:
    """How the vectors of a space are indexed: the `bits` per number, and the fewest rows to index."""

    bits: int
    least_rows: int

    @property
    def config(self) -> Any:
        """The index as LanceDB makes it."""
        from lancedb.index import IvfRq, IvfSq

        return IvfSq(distance_type="dot") if self.bits == _EIGHT else IvfRq(distance_type="dot", num_bits=self.bits)


def kind_of(space: EmbeddingSpace) -> IndexKind:
    """Return how a table of a space is indexed: usually four bits, but eight if RaBitQ cannot pack the dimensions."""
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
    """Return the bits per number of an existing vector index."""
    details: Mapping[str, Any] = index.index_details
    return int(details["compression"]["num_bits"])


def refined(bits: int) -> tuple[int, int]:
    """Return how many rows are compared exactly: a multiple of the wanted rows, and a minimum."""
    return _REFINED.get(bits, _REFINED_ELSE)
