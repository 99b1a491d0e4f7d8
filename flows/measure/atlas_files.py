"""Atlas files: the map of a snapshot as files that Apple's embedding-atlas opens without further computation."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.flows.measure.chunk_map import ChunkMap, chunk_map
from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.files import close_to_others, explain_full_disk, sync_folder, temporary
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.read.store import Store
from docmill.storage.snapshots.tables.tables import read_table

CHUNKS, LABELS = "chunks.parquet", "labels.parquet"
"""The files in a folder: the points, and the words of the clusters."""
_NEIGHBOURS = 15  # per point, as many as embedding-atlas computes itself
_AT_ONCE = 1024  # vectors compared with all others at once: 400 MB at 100,000 chunks
_MOST_COMPARED = 50_000
"""Largest number of chunks for which neighbours are computed. Comparing all pairs of vectors takes a minute."""
_OF_CHUNK = ["chunk_id", "ordinal", "page", "headings", "context", "text", "tokens"]
_OF_DOCUMENT = ["uri", "title", "format", "lang", "source_url"]
_FIRST = ["content_type", "strategy", "format", "lang", "uri", "changed", "tokens"]  # in the order of its charts
_NEIGHBOUR_TYPE = pa.struct({"ids": pa.list_(pa.int64()), "distances": pa.list_(pa.float64())})

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AtlasFiles:
    """The written files: the points, the words of clusters or None, and the number of points.

    `left_out` counts the `pending` chunks, which wait for their vectors, and those beyond the limit of a map.
    `has_neighbours` says whether the rows name their nearest neighbours.
    """

    chunks: Path
    labels: Path | None
    points: int
    left_out: int
    pending: int
    has_neighbours: bool

    @property
    def command(self) -> str:
        """The command that opens the files."""
        neighbours = " --neighbors neighbors" if self.has_neighbours else ""
        labels = f" --labels {self.labels}" if self.labels else ""
        return f"embedding-atlas {self.chunks} --text text --x x --y y{neighbours}{labels}"


def write_atlas(store: Store, to: Path) -> AtlasFiles:
    """Write the map of a snapshot to `NAME.parquet`, or with the words of its clusters to a folder.

    Columns are x and y in [0, 1], text, the columns of chunks and documents that tell points apart, and `neighbors`,
    which names rows by their numbers and gives cosine distances.

    Raises:
        docmill.errors.ConfigError: `to` is a file of another ending, or scikit-learn is not installed.
        docmill.errors.StoreError: A file of the snapshot is damaged, or `to` names a folder where a file is.
        docmill.errors.Transient: The disk is full.
    """
    chunks, labels = _places(to)
    made = chunk_map(store)
    table = _rows(store, made)
    with explain_full_disk(chunks.parent):
        _write(table, chunks)
        if labels is not None:
            _write(_labels(made), labels)
    return AtlasFiles(chunks, labels, len(table), made.left_out, made.pending, "neighbors" in table.column_names)


def _places(to: Path) -> tuple[Path, Path | None]:
    if to.suffix == ".parquet":
        if to.is_dir():
            raise StoreError(f"{to} is a folder; name a file")
        return to, None
    if to.suffix or to.is_file():
        raise ConfigError(f"--atlas writes NAME.parquet or a folder, got {to}")
    return to / CHUNKS, to / LABELS


def _rows(store: Store, made: ChunkMap) -> pa.Table:
    """Return the points with the columns for colours and filters."""
    points = made.chunks.select(["chunk_id", "uri", "content_type", "strategy"])
    own = read_table(store.stored, "chunks", [*_OF_CHUNK])
    at = pc.index_in(points.column("chunk_id"), value_set=own.column("chunk_id").combine_chunks())
    for name in _OF_CHUNK[1:]:
        points = points.append_column(name, own.column(name).take(at))
    documents = read_table(store.stored, "documents", [*_OF_DOCUMENT, "mtime_ns"])
    at = pc.index_in(points.column("uri"), value_set=documents.column("uri").combine_chunks())
    for name in _OF_DOCUMENT[1:]:
        points = points.append_column(name, documents.column(name).take(at))
    changed = (
        documents.column("mtime_ns").take(at).cast(pa.timestamp("ns", "UTC")).cast(pa.timestamp("ms", "UTC"), False)
    )
    points = points.append_column("changed", changed)
    for place, name in enumerate("xy"):
        points = points.append_column(name, pa.array(made.places[:, place], pa.float32()))
    if 1 < len(points) <= _MOST_COMPARED:
        points = points.append_column("neighbors", _neighbours(_vectors(store, made)))
    return points.select([*_FIRST, *(name for name in points.column_names if name not in _FIRST)])


def _vectors(store: Store, made: ChunkMap) -> Floats:
    """Return the vector of each point, float32 (points, dimension) of unit length."""
    keys = made.chunks.column("embedding_key").combine_chunks()
    distinct = pc.unique(keys)
    flat = Packs(store.stored.ensure_packs("embeddings")).take(distinct).column("vector").combine_chunks().flatten()
    matrix = np.asarray(flat, np.float32).reshape(len(distinct), -1)
    found: Floats = matrix[pc.index_in(keys, value_set=distinct).to_numpy()]
    return found


def _neighbours(vectors: Floats) -> pa.Array:
    """Return for each row the numbers of its nearest rows, nearest first, and their cosine distances."""
    count = min(_NEIGHBOURS, len(vectors) - 1)
    parts = [_nearest(vectors, start, count) for start in range(0, len(vectors), _AT_ONCE)]
    ids, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
    lists = [pa.array(list(values)) for values in (ids.astype(np.int64), distances.astype(np.float64))]
    return pa.StructArray.from_arrays(lists, fields=list(_NEIGHBOUR_TYPE))


def _nearest(vectors: Floats, start: int, count: int) -> tuple[npt.NDArray[np.intp], Floats]:
    similar = vectors[start : start + _AT_ONCE] @ vectors.T
    own = np.arange(len(similar))
    similar[own, start + own] = -np.inf
    best = np.argpartition(-similar, count - 1, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(similar, best, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(best, order, axis=1)
    distances: Floats = np.maximum(0, 1 - np.take_along_axis(similar, best, axis=1))
    return best, distances


def _labels(made: ChunkMap) -> pa.Table:
    """Return the words of the clusters in the format of embedding-atlas, which shows larger clusters' first."""
    return pa.table(
        {
            "x": pa.array([label.x for label in made.labels], pa.float64()),
            "y": pa.array([label.y for label in made.labels], pa.float64()),
            "text": pa.array([" ".join(label.words) for label in made.labels], pa.string()),
            "level": pa.array([0] * len(made.labels), pa.int64()),
            "priority": pa.array([label.chunks for label in made.labels], pa.int64()),
        }
    )


def _write(table: pa.Table, path: Path) -> None:
    """Write a file in one step."""
    with temporary(path.parent) as draft:
        pq.write_table(table, draft, compression="zstd")
        close_to_others(draft, path)
        draft.replace(path)
    sync_folder(path.parent)
