"""Pruning: rewrite artifact packs without the artifacts that no kept snapshot names."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.files import write_immutable
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS
from docmill.storage.snapshots.artifacts.packs import Packs, figure_keys, stream_pack
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import Snapshot, StoredFile
from docmill.storage.snapshots.tables.tables import read_stored_file

MOST_PACKS = 32
"""Packs of a kind that a snapshot may name. A reader searches them one after the other; a smaller number
merges packs, which copies them, after every few ingests."""
MOST_GARBAGE = 0.5
"""Share of unused rows above which a pack is rewritten. A smaller share copies more than it frees; with a larger one
a store keeps more than twice what it needs."""
_SMALL_BYTES = 32 << 20
"""A pack up to this size is merged to reduce the number of packs; larger ones take too long to copy for that."""
_ROWS_AT_ONCE = {
    "texts": 256,
    "embeddings": 1 << 14,
    "figures": 8,
    "picture_vectors": 1 << 14,
    "sparse_vectors": 1 << 14,
}  # rows in memory while a pack is written
_BY_VECTOR = tuple((table, key) for table in ("chunks", "deleted_chunks") for key in KEYS)
_NAMED_BY = {
    "texts": (("documents", "text_key"), ("deleted", "text_key")),
    "figures": (("documents", "figures"), ("deleted", "figures")),
    "picture_vectors": (("documents", "figures"), ("deleted", "figures")),
    "embeddings": _BY_VECTOR,
    "sparse_vectors": _BY_VECTOR,
}


def crowded(snapshot: Snapshot) -> bool:
    """Return whether a snapshot names so many packs that finding an artifact is slow."""
    return any(len(pieces) > MOST_PACKS for pieces in snapshot.artifacts.values())


def prune(stored: StoredSnapshot, kind: str, everything: bool = False) -> tuple[StoredFile, ...]:
    """Return the packs of a kind, in which small and mostly unused packs are rewritten as one.

    An artifact is used if any kept snapshot names it. `everything` rewrites every pack with an unused artifact.
    """
    root, pieces = stored.root, stored.snapshot.artifacts[kind]
    wanted = _wanted(root, kind)
    chosen = _chosen(root, pieces, wanted, everything)
    if not chosen:
        return pieces
    kept = tuple(piece for piece in pieces if piece not in chosen)
    groups = _by_schema(root, [piece for piece in pieces if piece in chosen])
    merged = [made for group in groups for made in _merge(root, group, kept, wanted, kind)]
    return (*kept, *merged)


def _chosen(root: Path, pieces: Sequence[StoredFile], wanted: pa.Array, everything: bool) -> set[StoredFile]:
    """Return the packs to rewrite: those with too many unused rows, and small ones if there are too many packs."""
    most_garbage, most_small = (0.0, 1) if everything else (MOST_GARBAGE, MOST_PACKS // 2)
    worn = {piece for piece in pieces if _garbage(root, piece, wanted) > most_garbage}
    small = [piece for piece in pieces if piece.file.bytes <= _SMALL_BYTES]
    return worn.union(small) if len(small) > most_small else worn


def _by_schema(root: Path, pieces: Sequence[StoredFile]) -> list[list[StoredFile]]:
    """Group packs that fit into one file: vectors of two spaces may differ in their dimension."""
    groups: dict[str, list[StoredFile]] = {}
    for piece in pieces:
        groups.setdefault(str(pq.read_schema(root / piece.file.path)), []).append(piece)
    return list(groups.values())


def _wanted(root: Path, kind: str) -> pa.Array:
    """Return the artifact keys in the tables of all kept snapshots and candidate snapshots."""
    # A set, because snapshots share most of their files, and each is read once.
    pieces = {
        (piece, column)
        for state in snapshots.needed(root)
        for table, column in _NAMED_BY[kind]
        for piece in state.tables.get(table, ())
    }
    columns = [_flat(read_stored_file(root, piece, [column]).column(0)) for piece, column in pieces]
    return pc.unique(pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string()))


def _flat(keys: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_list(keys.type):
        return keys
    return figure_keys(keys) if pa.types.is_struct(keys.type.value_type) else pc.list_flatten(keys)


def _keys(root: Path, piece: StoredFile) -> pa.ChunkedArray:
    return pq.read_table(root / piece.file.path, columns=["key"], partitioning=None).column("key")


def _garbage(root: Path, piece: StoredFile, wanted: pa.Array) -> float:
    """Return the share of unused rows in a pack."""
    named = pc.sum(pc.is_in(_keys(root, piece), value_set=wanted)).as_py() or 0
    return 1 - named / piece.rows if piece.rows else 1.0


def _merge(
    root: Path, chosen: list[StoredFile], kept: tuple[StoredFile, ...], wanted: pa.Array, kind: str
) -> tuple[StoredFile, ...]:
    """Write the wanted rows of packs as one pack, without those that the kept packs hold already."""
    held = [_keys(root, piece).combine_chunks() for piece in chosen]
    keys = pc.unique(pa.chunked_array(held, pa.string()))
    keys = keys.filter(pc.is_in(keys, value_set=wanted))
    # A key may be in several packs, when two runs have made the same artifact.
    left = Packs([root / piece.file.path for piece in kept]).absent(keys)
    if not len(left):
        return ()
    packs = Packs([root / piece.file.path for piece in chosen])
    file = write_immutable(
        root, f"artifacts/{kind}", ".parquet", lambda path: stream_pack(path, _parts(packs, left, kind), kind)
    )
    return (StoredFile(file, len(left)),)


def _parts(packs: Packs, keys: pa.StringArray, kind: str) -> Iterator[pa.Table]:
    step = _ROWS_AT_ONCE[kind]
    for first in range(0, len(keys), step):
        yield packs.take(keys[first : first + step])
