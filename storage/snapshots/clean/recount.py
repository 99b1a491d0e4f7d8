"""Recount: count the words of every chunk's fields again from the tables, and compare the keyword index with that."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.search.keywords.keyword_writer import open_segment
from docmill.storage.search.keywords.segments.build import build
from docmill.storage.search.keywords.segments.chunk_fields import FIELDS
from docmill.storage.search.keywords.segments.postings import Postings
from docmill.storage.search.keywords.segments.tombstones import NONE
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.write.posting_rows import stored_rows

_Part = tuple[pa.Array, npt.NDArray[np.uint64]]
"""Ids of chunks, and for each, shape (chunks, 2 * fields), the lengths of its fields and the sums of their terms."""


def miscounted(stored: StoredSnapshot) -> int:
    """Return how many chunks have other words in a field than the keyword index counted there.

    An index that the next ingest builds again is not compared, and neither is one that lacks chunks or has more.
    """
    state = stored.snapshot.keywords
    if state.outdated:
        return 0
    segments = [open_segment(stored.root, segment) for segment in state.segments]
    with TemporaryDirectory(prefix="docmill-recount-") as folder:  # a store may be mounted for reading only
        ours = _together(
            [_counted(one.postings, NONE.rows) for one in build(Path(folder), stored_rows(stored), state.language)]
        )
    theirs = _together([_counted(one.postings, one.tombstones.rows) for one in segments])
    if ours[0] != theirs[0]:
        return 0
    return int((ours[1] != theirs[1]).any(axis=1).sum())


def _counted(postings: Postings, dead: npt.NDArray[np.int32]) -> _Part:
    """Return what the living chunks of postings have, in numbers that do not depend on the order of rows and terms."""
    hashes = np.fromiter(_hashes(postings.terms), np.uint64, len(postings.terms))
    of_posting = np.repeat(hashes, np.diff(postings.starts))
    lengths = np.stack([postings.lengths_of(field) for field in range(len(FIELDS))]).astype(np.uint64)
    sums = np.zeros_like(lengths)
    np.add.at(sums[0], postings.rows, of_posting * postings.frequencies.astype(np.uint64))
    side = postings.side.entries(0, len(postings.rows))
    weights = of_posting[side.places] * side.frequencies.astype(np.uint64)
    np.add.at(sums, (side.fields, postings.rows[side.places]), weights)
    alive = np.ones(lengths.shape[1], bool)
    alive[dead] = False
    return postings.chunk_ids.filter(pa.array(alive)), np.concatenate([lengths, sums]).T[alive]


def _hashes(terms: pa.StringArray) -> Iterator[int]:
    return (crc32(term.as_py().encode()) for term in terms)


def _together(parts: Sequence[_Part]) -> _Part:
    """Return the chunks of all parts in the order of their ids."""
    if not parts:
        return pa.array([], pa.string()), np.zeros((0, 2 * len(FIELDS)), np.uint64)
    ids = pa.concat_arrays([part for part, _ in parts])
    order = pc.array_sort_indices(ids)
    return ids.take(order), np.concatenate([counts for _, counts in parts])[order.to_numpy()]
