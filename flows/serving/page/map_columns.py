"""Map columns: the map of a snapshot for the page, in columns, which take a fifth of the bytes of rows."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.flows.measure.chunk_map import ChunkMap
from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.errors import StoreError
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.store import Store
from docmill.storage.snapshots.tables.tables import read_stored_file, read_table
from docmill.storage.sql.document_warnings import messages_of
from docmill.storage.timestamps import STATED

_IDS = pa.schema([CHUNKS.field("chunk_id")])
_GRID = 65_535
"""The resolution of coordinates as they are sent; rounding moves a point by less than a pixel on any screen."""
_MOST_SNAPSHOTS = 12  # earlier snapshots that show how long a chunk has existed; more would not get distinct colours


def map_columns(store: Store, made: ChunkMap) -> dict[str, Any]:
    """Return a map in columns."""
    steps = (made.places * _GRID).astype(int)
    uris = _named(made.chunks.column("uri"))
    return {
        "grid": _GRID,
        "chunk_id": made.chunks.column("chunk_id").to_pylist(),
        "x": steps[:, 0].tolist(),
        "y": steps[:, 1].tolist(),
        "uri": uris,
        "day": _days(store, uris["names"]),
        "since": _since(store, made.chunks.column("chunk_id")),
        "type": _named(made.chunks.column("content_type")),
        "strategy": _named(made.chunks.column("strategy")),
        "twice": _twice(made.chunks.column("embedding_key")),
        "gaps": gaps(store, uris["names"]),
        "labels": [asdict(label) for label in made.labels],
        "left_out": made.left_out,
        "pending": made.pending,
    }


def _named(column: pa.ChunkedArray) -> dict[str, list[Any]]:
    """Return the distinct values of a column, and the number of each row's value."""
    coded = column.combine_chunks().dictionary_encode()
    return {"names": coded.dictionary.to_pylist(), "of": coded.indices.to_pylist()}


def _twice(keys: pa.ChunkedArray) -> list[int]:
    """Return for each chunk 1 if another chunk has the same vector, else 0."""
    numbers = keys.combine_chunks().dictionary_encode().indices.to_numpy()
    several: list[int] = (np.bincount(numbers)[numbers] > 1).astype(int).tolist()
    return several


@dataclass(frozen=True, slots=True)
class _Gap:
    """Something missing in a document or next to it: its name in the legend of colours, and why."""

    kind: str
    why: str


def gaps(store: Store, uris: list[str]) -> list[dict[str, str] | None]:
    """Return for each document what is missing in it or next to it, or None.

    A rejected file has no chunk that the map could show. So it is shown at the documents before and after it in its
    folder, in the order of names, which are probably about similar subjects.
    """
    rejects = {row["uri"]: row for row in read_table(store.stored, "rejects", ["uri", "reason", "message"]).to_pylist()}
    found = {uri: _Gap("beside a rejected file", f"{other}: {why}") for uri, other, why in _beside(uris, rejects)}
    for row in read_table(store.stored, "documents", ["uri", "status", "metadata"]).to_pylist():
        if row["status"] == "stale":
            found[row["uri"]] = _Gap("an older version", rejects.get(row["uri"], {}).get("message", "its file is gone"))
        elif messages := messages_of(row["metadata"]):
            found[row["uri"]] = _Gap("read badly", "; ".join(messages))
    return [asdict(found[uri]) if uri in found else None for uri in uris]


def _beside(uris: list[str], rejects: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield the documents next to rejected files: the document, the file, and why it was rejected."""
    names = sorted({*uris, *rejects}, key=_by_folder)
    for order in (names, names[::-1]):
        before = ""
        for name in order:
            if name not in rejects:
                before = name
            elif before and _by_folder(before)[0] == _by_folder(name)[0]:
                yield before, name, rejects[name]["message"]


def _by_folder(uri: str) -> tuple[str, str]:
    folder, _, name = uri.rpartition("/")
    return folder, name


def _days(store: Store, uris: list[str]) -> list[str]:
    """Return the day of each document: the one that it states, or else when its file was last changed."""
    rows = read_table(store.stored, "documents", ["uri", *STATED, *STATED.values(), "mtime_ns"]).to_pylist()
    days = {row["uri"]: (row["modified_at"] or row["created_at"] or _changed(row["mtime_ns"])).date() for row in rows}
    return [days[uri].isoformat() for uri in uris]


def _changed(mtime_ns: int) -> datetime:
    return datetime.fromtimestamp(mtime_ns / 1e9, UTC)


def _since(store: Store, ids: pa.ChunkedArray) -> list[int]:
    """Return for each chunk the oldest kept snapshot since which it has existed without a gap."""
    since = np.full(len(ids), store.snapshot.number)
    standing = np.ones(len(ids), bool)
    with suppress(StoreError):  # if a vacuum removes it meanwhile, or a mirror lacks its files, older ones are unknown
        for earlier in _earlier(store):
            chunks = [read_stored_file(store.root, piece, ["chunk_id"]) for piece in earlier.tables["chunks"]]
            held = pa.concat_tables([_IDS.empty_table(), *chunks]).column("chunk_id").combine_chunks()
            standing &= pc.is_in(ids, value_set=held).to_numpy()
            since[standing] = earlier.number
    found: list[int] = since.tolist()
    return found


def _earlier(store: Store) -> list[snapshots.Snapshot]:
    """Return the kept snapshots before that of a store, newest first."""
    kept = [one for one in snapshots.each(store.root, store.snapshot.number) if one.number < store.snapshot.number]
    return kept[::-1][:_MOST_SNAPSHOTS]
