"""Chunk rows: the rows of an export of a snapshot, first as ids and digests, then as whole rows where needed."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.exports.columns import DELETED
from docmill.storage.exports.last_export import VERSION, Stamp
from docmill.storage.keys import bucket_of, hash_bytes
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, text_keys
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.tables.tables import at_once, read_stored_file
from docmill.storage.snapshots.write.pending_vectors import COLUMNS as PENDING_COLUMNS
from docmill.storage.snapshots.write.pending_vectors import waiting
from docmill.storage.sql.statement_pool import select_ids

GONE = "deleted"
"""The digest of a chunk that was removed since a snapshot."""
_OF_CHUNK = ("uri", "start_char", "end_char", "page", "headings", "text", "context", "content_type", "strategy")
_OF_DOCUMENT = ("source_url", "language", "lang")
_ROWS_AT_ONCE = 1 << 14
"""Rows whose vectors are read from the packs together, 25 MB with 384 dimensions. Each time, row groups are read again.
"""


@dataclass(frozen=True, slots=True)
class Selection:
    """The ids and digests of the rows of an export, and the number of chunks left out for lack of a vector.

    `figures` are the keys of the figures of those rows that have any.
    """

    digests: dict[str, str]
    pending: int = 0
    figures: dict[str, list[str]] = field(default_factory=dict)


def select(stored: StoredSnapshot, where: str | None) -> Selection:
    """Return the rows of a snapshot for which the predicate `where` is true. Raises the errors of `select_ids`."""
    keys = stored.snapshot.keys
    wanted = None if where is None else select_ids(stored.paths("chunks"), stored.paths("documents"), where, keys)
    packs = Packs(stored.ensure_packs("embeddings")) if stored.snapshot.pending else None
    found = at_once(lambda piece: _selected(stored, piece, wanted, packs), stored.pieces("chunks"))
    digests = {key: digest for one in found for key, digest in one.digests.items()}
    figures = {key: shown for one in found for key, shown in one.figures.items()}
    return Selection(digests, sum(one.pending for one in found), figures)


def since(old: Selection, new: Selection) -> Selection:
    """Return the rows of an export of changes: new and changed rows, and the ids of removed ones."""
    fresh = {key: digest for key, digest in new.digests.items() if old.digests.get(key) != digest}
    gone = dict.fromkeys(old.digests.keys() - new.digests.keys(), GONE)
    figures = {key: shown for key, shown in new.figures.items() if key in fresh}
    return Selection({**fresh, **gone}, new.pending, figures)


def _selected(
    stored: StoredSnapshot, piece: StoredFile, wanted: Collection[str] | None, packs: Packs | None
) -> Selection:
    table = _joined(stored, piece)
    ids = table.column("chunk_id").to_pylist()
    late = set() if packs is None else set(_late(stored, piece, packs))
    pairs = zip(ids, _digests(table), strict=True)
    chosen = {key: digest for key, digest in pairs if wanted is None or key in wanted}
    shown = dict(zip(ids, table.column("figures").to_pylist(), strict=True))
    kept = {key: digest for key, digest in chosen.items() if key not in late}
    return Selection(kept, len(chosen.keys() & late), {key: shown[key] for key in kept if shown[key]})


def _late(stored: StoredSnapshot, piece: StoredFile, packs: Packs) -> list[str]:
    """Return the ids of the chunks of a file that have no vector yet."""
    rows = waiting(read_stored_file(stored.root, piece, PENDING_COLUMNS), packs)
    ids: list[str] = rows.column("chunk_id").to_pylist()
    return ids


def _joined(stored: StoredSnapshot, piece: StoredFile) -> pa.Table:
    """Return the chunks of a file with the columns of their documents, which are in a single file, too."""
    chunks = read_stored_file(stored.root, piece, ["chunk_id", "document_id", *_OF_CHUNK, *KEYS, "parts"])
    number = piece.bucket % stored.snapshot.buckets_of("documents")
    (own,) = (one for one in stored.pieces("documents") if one.bucket == number)
    ids = sorted(pc.unique(chunks.column("document_id")).to_pylist())
    documents = read_stored_file(stored.root, own, ["document_id", *_OF_DOCUMENT, "figures"], ids)
    places = pc.index_in(chunks.column("document_id"), value_set=documents.column("document_id").combine_chunks())
    for name in _OF_DOCUMENT:
        chunks = chunks.append_column(name, documents.column(name).take(places))
    return chunks.append_column("figures", _figures(chunks, documents.column("figures"), places))


def _figures(chunks: pa.Table, shown: pa.ChunkedArray, places: pa.ChunkedArray) -> pa.Array:
    """Return the distinct keys of the figures in each chunk, given those of the documents and each one's document."""
    of = shown.to_pylist()
    spans = zip(
        *(chunks.column(name).to_pylist() for name in ("start_char", "end_char")), places.to_pylist(), strict=True
    )
    keys = (
        [one["key"] for one in of[place] if one["start_char"] < end and start < one["end_char"]]
        for start, end, place in spans
    )
    return pa.array([list(dict.fromkeys(found)) for found in keys], pa.list_(pa.string()))


def _digests(table: pa.Table) -> list[str]:
    """Return the content keys of rows. A vector is represented by its key in the packs, which depends on its model."""
    columns = (table.column(name).to_pylist() for name in (*_OF_CHUNK, *_OF_DOCUMENT, "figures", *KEYS))
    return [hash_bytes(orjson.dumps((VERSION, *row))) for row in zip(*columns, strict=True)]


def rows_of(stored: StoredSnapshot, stamp: Stamp, digests: dict[str, str]) -> Iterator[pa.Table]:
    """Yield whole rows of a snapshot, given their ids and digests, one table for each of `stamp.parts`."""
    buckets = stored.snapshot.buckets
    ids: dict[int, list[str]] = {}
    for key in digests:
        ids.setdefault(bucket_of(key, buckets), []).append(key)
    order = sorted(ids, key=lambda bucket: (bucket % stamp.parts, bucket))
    for group in _groups(order, ids, stamp.parts):
        table = _filled(stored, stamp, [(bucket, ids[bucket]) for bucket in group], digests)
        parts = np.array([bucket_of(key, stamp.parts) for key in table.column("chunk_id").to_pylist()])
        for part in np.unique(parts).tolist():
            yield table.filter(pa.array(parts == part))


def _groups(order: Sequence[int], ids: dict[int, list[str]], parts: int) -> Iterator[list[int]]:
    """Yield groups of buckets of the store with some rows; the buckets of one part stay together."""
    group: list[int] = []
    rows = 0
    for _, same in groupby(order, key=lambda bucket: bucket % parts):
        group += same
        rows = sum(len(ids[bucket]) for bucket in group)
        if rows >= _ROWS_AT_ONCE:
            yield group
            group = []
    if group:
        yield group


def _filled(
    stored: StoredSnapshot, stamp: Stamp, wanted: Sequence[tuple[int, list[str]]], digests: dict[str, str]
) -> pa.Table:
    pieces = {piece.bucket: piece for piece in stored.pieces("chunks")}
    gone = [key for _, ids in wanted for key in ids if digests[key] == GONE]
    live = [(bucket, ids) for bucket, ids in wanted if not set(ids) <= {*gone}]
    own = [_among(_joined(stored, pieces[bucket]), ids) for bucket, ids in live]
    found = [_with_vectors(stored, stamp, pa.concat_tables(own), digests)] if own else []
    return pa.concat_tables([stamp.schema.empty_table(), *found, *_tombstones(stored, stamp, gone)])


def _among(table: pa.Table, ids: Sequence[str]) -> pa.Table:
    return table.filter(pc.is_in(table.column("chunk_id"), value_set=pa.array(ids, pa.string())))


def _with_vectors(stored: StoredSnapshot, stamp: Stamp, table: pa.Table, digests: dict[str, str]) -> pa.Table:
    """Return rows in the schema of an export, with their vectors."""
    vectors = _vectors(stored, table)
    columns = {
        "snapshot": pa.array([stored.number] * table.num_rows, pa.int64()),
        "digest": pa.array([digests[key] for key in table.column("chunk_id").to_pylist()], pa.string()),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), stamp.dimension),
        DELETED: pa.array([False] * table.num_rows),
    }
    names = stamp.schema.names
    arrays = [columns[name] if name in columns else table.column(name) for name in names]
    return pa.table(arrays, names=names).cast(stamp.schema)


def _tombstones(stored: StoredSnapshot, stamp: Stamp, gone: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows that name removed chunks."""
    if not gone:
        return
    filled = {
        "chunk_id": pa.array(gone, pa.string()),
        "snapshot": pa.array([stored.number] * len(gone), pa.int64()),
        "digest": pa.array([GONE] * len(gone), pa.string()),
        DELETED: pa.array([True] * len(gone)),
    }
    yield pa.table([filled.get(one.name, pa.nulls(len(gone), one.type)) for one in stamp.schema], schema=stamp.schema)


def _vectors(stored: StoredSnapshot, table: pa.Table) -> npt.NDArray[np.float32]:
    """Return the vector of each chunk, float32 (n, dim) of unit L2 norm. Those of parts are averaged."""
    own = text_keys(table)
    keys = pa.array(list(chain.from_iterable(own)), pa.string())
    distinct = pc.unique(keys)
    found = Packs(stored.ensure_packs("embeddings")).take(distinct).column("vector").combine_chunks()
    matrix = np.asarray(found.flatten(), np.float32).reshape(len(distinct), -1)
    every: npt.NDArray[np.float32] = matrix[pc.index_in(keys, value_set=distinct).to_numpy()]
    counts = np.array([len(some) for some in own], np.int64)
    if len(every) == len(counts):
        return every
    sums = np.add.reduceat(every, np.concatenate([[0], np.cumsum(counts)[:-1]]), axis=0)
    means: npt.NDArray[np.float32] = np.where(
        (counts > 1)[:, None], sums / np.linalg.norm(sums, axis=1, keepdims=True), sums
    ).astype(np.float32)
    return means
