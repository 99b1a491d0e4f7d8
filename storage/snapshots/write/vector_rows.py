"""Vector rows: make the rows of the vector index for chunks, from packs of embeddings or from the previous index."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.search.vectors.vectors import VectorIndex
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, by_vector
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.spill import Rows, gathered, parts

_BATCH_ROWS = 16_384  # vectors in memory at a time, 25 MB; each batch reads all packs that have some of them


@dataclass(frozen=True)
class MovedVectors:
    """Vectors of chunks that return under other ids, such as those of a renamed document.

    The index finds a few thousand rows among a million quickly; packs would decode all vectors around each of them.
    """

    keys: pa.StringArray
    vectors: pa.FixedSizeListArray

    def take(self, keys: pa.StringArray, packs: Packs) -> pa.Array:
        """Return the vectors of `keys`, in their order; vectors that have not moved come from the packs."""
        places = pc.index_in(keys, value_set=self.keys)
        others = keys.filter(places.is_null())
        if not len(others):
            return self.vectors.take(places)
        here, found = places.is_valid(), packs.take(others).column("vector").combine_chunks()
        rows = np.arange(len(self.keys), len(self.keys) + len(others))
        joined = pc.replace_with_mask(places, pc.invert(here), pa.array(rows, places.type))
        return pa.concat_arrays([self.vectors, found.cast(self.vectors.type)]).take(joined)


def moved_vectors(base: StoredSnapshot | None, sources: Mapping[str, Sequence[str]]) -> MovedVectors | None:
    """Return the index vectors of `sources`, a snapshot's chunks with the keys of their vectors in order.

    A chunk is left out unless the index has all of its vectors.
    """
    if base is None or not sources:
        return None
    snapshot = base.snapshot
    rows = VectorIndex(base.root, snapshot.vectors, snapshot.space).rows_of(sources)
    held = Counter(rows.column("chunk_id").to_pylist())
    whole = pa.array([key for key, count in held.items() if count == len(sources[key])], pa.string())
    rows = rows.filter(pc.is_in(rows.column("chunk_id"), value_set=whole)).combine_chunks()
    # The rows of a chunk are adjacent, in the order of its parts.
    keys = [key for chunk in dict.fromkeys(rows.column("chunk_id").to_pylist()) for key in sources[chunk]]
    return MovedVectors(pa.array(keys, pa.string()), rows.column("vector").combine_chunks())


def vector_rows(
    packs: Sequence[Path],
    chunks: Rows,
    wanted: pa.Array | None = None,
    moved: MovedVectors | None = None,
    at_once: int = _BATCH_ROWS,
) -> Iterator[pa.RecordBatch]:
    """Yield (chunk_id, document_id, vector) of chunks, or only of those `wanted`, from packs or `moved` vectors.

    A chunk with parts is repeated for each part. Every batch reads all packs, so the small parts of spilled rows are
    gathered into batches of `at_once` rows first.
    """
    held = Packs(packs)
    every = parts(chunks, ["chunk_id", "document_id", *KEYS])
    some = every if wanted is None else (_among(part, wanted) for part in every)
    for batch in gathered(map(by_vector, some), at_once):
        yield _with_found(batch, held, moved)


def _among(chunks: pa.Table, wanted: pa.Array) -> pa.Table:
    return chunks.filter(pc.is_in(chunks.column("chunk_id"), value_set=wanted))


def _with_found(batch: pa.RecordBatch, packs: Packs, moved: MovedVectors | None) -> pa.RecordBatch:
    keys = batch.column("embedding_key")
    found = moved.take(keys, packs) if moved else packs.take(keys).column("vector").combine_chunks()
    columns = [batch.column("chunk_id"), batch.column("document_id"), found]
    return pa.RecordBatch.from_arrays(columns, ["chunk_id", "document_id", "vector"])
