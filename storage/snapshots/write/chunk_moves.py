"""Chunk moves: compare old rows with new ones to find which chunks a commit removes from the indexes and adds."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.spill import Rows, parts
from docmill.storage.snapshots.tables.tables import read_buckets
from docmill.storage.snapshots.write.posting_rows import TITLES, titles_of

COMPARED = ("chunk_id", "document_id", "headings", *KEYS)
"""The columns of chunks that decide whether a chunk stays as it is; `TITLES` are those of documents."""
_Own = tuple[tuple[str, ...], list[str]]
_Compared = tuple[str, _Own, str]


@dataclass(frozen=True, slots=True)
class ChunkMoves:
    """Ids of the chunks that leave both indexes (`removed`) and enter them (`added`), and how many stay.

    Chunks that stay but have a new title or new headings are `renamed`: only their postings are written again.
    `sources` are old chunks whose vectors added chunks need, with the keys of their vectors.
    """

    removed: frozenset[str]
    added: pa.StringArray
    kept: int
    renamed: pa.StringArray = field(default_factory=lambda: pa.array([], pa.string()))
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)


NO_MOVES = ChunkMoves(frozenset(), pa.array([], pa.string()), 0)


@dataclass(frozen=True, slots=True)
class LeftRows:
    """The rows of the documents that leave: their `TITLES`, and the `COMPARED` columns of their chunks."""

    documents: pa.Table
    chunks: pa.Table


def read_left(base: StoredSnapshot | None, gone: Collection[str]) -> LeftRows:
    """Read the rows of the documents `gone` without changing anything."""

    def rows(name: str, columns: Sequence[str], schema: pa.Schema) -> pa.Table:
        held = read_buckets(base, name, gone, list(columns)) if base and gone else []
        return pa.concat_tables([schema.empty_table().select(list(columns)), *held])

    return LeftRows(rows("documents", TITLES, DOCUMENTS), rows("chunks", COMPARED, CHUNKS))


def compare_chunks(base: StoredSnapshot | None, left: LeftRows, documents: pa.Table, chunks: Rows) -> ChunkMoves:
    """Return which chunks a commit removes, adds and keeps; `documents` and `chunks` are its new rows.

    A chunk with a new vector is both removed and added.
    """
    old = {key: own for key, own, _ in _compared(left.chunks)}
    before, retitled = (base.snapshot.rows("chunks") if base else 0) - len(old), _retitled(left, documents)
    entering, renamed, staying = [pa.array([], pa.string())], [pa.array([], pa.string())], set[str]()
    holders, sources = _holders(old), dict[str, Sequence[str]]()
    for part in parts(chunks, COMPARED):
        new, same = _divided(_compared(part), old)
        names = [key for key, own, document in same if own != old[key] or document in retitled]
        staying |= {key for key, *_ in same}
        sources |= _sources(new, old, holders)
        entering.append(pa.array([key for key, *_ in new], pa.string()))
        renamed.append(pa.array(names, pa.string()))
    leaving, added = frozenset(old.keys() - staying), pa.concat_arrays(entering)
    return ChunkMoves(leaving, added, before + len(staying), pa.concat_arrays(renamed), sources)


def _holders(old: Mapping[str, _Own]) -> dict[str, str]:
    """Return for each vector key a chunk that has that vector."""
    return {one: key for key, (own, _) in old.items() for one in own}


def _sources(new: Sequence[_Compared], old: Mapping[str, _Own], holders: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """Return the chunks of `old` whose vectors new chunks need, with the keys of their vectors."""
    wanted = (one for _, (own, _), _ in new for one in own)
    found = {holders[one] for one in wanted if one in holders}
    return {key: old[key][0] for key in found}


def _divided(rows: Iterable[_Compared], old: Mapping[str, _Own]) -> tuple[list[_Compared], list[_Compared]]:
    """Split chunks into new ones, and ones whose vectors are unchanged.

    A chunk with unchanged text may have other parts or another window, and therefore other vectors.
    """
    new, same = list[_Compared](), list[_Compared]()
    for row in rows:
        key, (vectors_of_chunk, _), _ = row
        known = key in old and old[key][0] == vectors_of_chunk
        (same if known else new).append(row)
    return new, same


def _retitled(left: LeftRows, documents: pa.Table) -> set[str]:
    """Return the ids of documents whose title has changed."""
    held = titles_of(left.documents)
    return {key for key, title in titles_of(documents).items() if held.get(key, title) != title}


def _compared(chunks: pa.Table) -> Iterator[_Compared]:
    """Yield the id, the vector keys with the headings, and the document of each chunk."""
    for batch in chunks.to_batches():
        columns = (batch.column(name).to_pylist() for name in COMPARED)
        for chunk_id, document, headings, first, others in zip(*columns, strict=True):
            yield chunk_id, ((first, *others), headings), document
