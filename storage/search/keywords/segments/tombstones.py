"""Tombstones: the chunks of a segment that were removed after it was written, and how many chunks each term lost."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from docmill.storage.files import FileRef
from docmill.storage.search.keywords.segments.arrays import read_arrays, write_arrays
from docmill.storage.search.keywords.segments.postings import Postings
from docmill.storage.search.keywords.segments.side_postings import Int32, Int64

SUFFIX = ".tombstones.arrow"


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Dead `rows`; term `terms[i]` of the segment's dictionary occurs in `counts[i]` of them. Both arrays ascend."""

    rows: Int32
    terms: Int32
    counts: Int32

    def dead_in(self, terms: Int64) -> Int64:
        """Return in how many dead rows each of the given terms of the dictionary occurs."""
        if not len(self.terms):
            return np.zeros(len(terms), np.int64)
        place = np.searchsorted(self.terms, terms.astype(np.int32)).clip(max=len(self.terms) - 1)
        return np.where(self.terms[place] == terms, self.counts[place], 0).astype(np.int64)

    def dead_in_term(self, term: int) -> int:
        """Return in how many dead rows one term of the dictionary occurs."""
        place = int(self.terms.searchsorted(term))
        return int(self.counts[place]) if place < len(self.terms) and self.terms[place] == term else 0

    def bury(self, postings: Postings, rows: Int32) -> "Tombstones":
        """Return tombstones that include `rows`; rows that are dead already are not counted again."""
        fresh = np.setdiff1d(rows, self.rows)
        holders = np.searchsorted(postings.starts, postings.entries_of(fresh), side="right") - 1
        terms, group = np.unique(np.concatenate([self.terms, holders.astype(np.int32)]), return_inverse=True)
        # Earlier counts are kept, and each newly dead row that has the term adds one.
        weights = np.concatenate([self.counts, np.ones(len(holders), np.int32)])
        counts = np.bincount(group, weights, len(terms)).astype(np.int32)
        return Tombstones(np.union1d(self.rows, fresh).astype(np.int32), terms.astype(np.int32), counts)


_NOTHING = np.zeros(0, np.int32)
NONE = Tombstones(_NOTHING, _NOTHING, _NOTHING)


def write_tombstones(root: Path, tombstones: Tombstones) -> FileRef:
    """Write tombstones as an immutable file."""
    arrays = {"rows": tombstones.rows, "terms": tombstones.terms, "counts": tombstones.counts}
    return write_arrays(root, SUFFIX, arrays)


def read_tombstones(root: Path, file: FileRef | None) -> Tombstones:
    """Return the tombstones in a file, or empty ones if `file` is None."""
    if file is None:
        return NONE
    return Tombstones(**read_arrays(root, file, ("rows", "terms", "counts")))
