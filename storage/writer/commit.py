"""Commit: artifacts → tables → postings → vectors → snapshot → `current/`, in this order.

Readers see nothing before the snapshot file is written. No snapshot names what a crash leaves behind: files, which the
next writer finds again by content, and a LanceDB version, which it reverts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import RUNS, to_table
from docmill.storage.artifacts.multi_vector_rows import KEYS
from docmill.storage.artifacts.packs import Packs
from docmill.storage.embedding.encoder import EmbeddingSpace
from docmill.storage.errors import StoreError
from docmill.storage.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.history.retention import Retention
from docmill.storage.history.snapshots import PendingVectors, Snapshot, StoredFile, vector_tag
from docmill.storage.keywords import keyword_writer
from docmill.storage.keywords.segments.state import KeywordState
from docmill.storage.lance import vectors
from docmill.storage.process.malloc_tuning import sparing
from docmill.storage.schema import CostRow, RunRow
from docmill.storage.schema_evolution import schema_key
from docmill.storage.tables.deleted import deleted_tables
from docmill.storage.tables.spill import Rows, parts
from docmill.storage.tables.tables import (
    Leaving,
    bucket_count,
    exchange_documents,
    read_buckets,
    rebucket,
    rewrite,
    write_single,
)
from docmill.storage.writer import current_folder
from docmill.storage.writer.pending_vectors import counted, waiting, waiting_in, waiting_rows, without
from docmill.storage.writer.posting_rows import TITLES, posting_rows, stored_rows, titles_of
from docmill.storage.writer.run_tables import costs_of, other_runs
from docmill.storage.writer.vector_rows import moved_vectors, vector_rows

_COMPARED = ["chunk_id", "document_id", "headings", *KEYS]
_Own = tuple[tuple[str, ...], list[str]]
_Compared = tuple[str, _Own, str]
_MOST_MOVED = 20_000  # chunks whose vectors are held in memory because they move: 30 MB with 384 dimensions
_ROWS_AT_ONCE = (
    20_000  # up to this, tables, vectors and postings are written in parallel; above, in turn to save memory
)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of one run.

    `gone` are the ids of documents whose rows leave. `documents` and `chunks` are the new
    rows, including those of changed documents. `rejects` is the whole table after the run.
    `artifacts` are packs that are already in the store. Deleted documents can be restored for `undelete_days`.
    `costs` are the costs since the last commit; rows that the store already has are skipped.
    With `partial`, chunks may lack their vectors, which then are pending; `tokens_per_s` says how fast they are made.
    """

    gone: frozenset[str]
    documents: pa.Table
    chunks: Rows
    rejects: pa.Table
    artifacts: dict[str, tuple[StoredFile, ...]]
    space: EmbeddingSpace
    undelete_days: float = Retention().undelete_days
    costs: tuple[CostRow, ...] = ()
    partial: bool = False
    tokens_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ChunkMoves:
    """Ids of the chunks that leave both indexes (`removed`) and enter them (`added`), and how many stay.

    Chunks that stay with another title or other headings are `renamed`: only their postings are written again.
    `sources` are chunks that were there with vectors of added ones, and the keys of their vectors.
    """

    removed: frozenset[str]
    added: pa.StringArray
    kept: int
    renamed: pa.StringArray = field(default_factory=lambda: pa.array([], pa.string()))
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)


NO_MOVES = ChunkMoves(frozenset(), pa.array([], pa.string()), 0)


@dataclass(frozen=True, slots=True)
class VectorMoves:
    """Chunks that leave the vector index and enter it: `added` of the new rows, and `filled`, which have waited."""

    removed: frozenset[str]
    added: pa.Array
    filled: pa.Table
    pending: PendingVectors | None


def check_space(base: StoredSnapshot | None, space: EmbeddingSpace) -> None:
    """Raise if the vectors of a run would be of another embedding space than those of the store."""
    if base is not None and base.snapshot.space.id != space.id:
        raise StoreError(
            f"the store holds vectors of {_name(base.snapshot.space)}, the settings name {_name(space)}; "
            "restore the settings [embedding], ingest into a new store, or replace the vectors of this one:"
            " docmill reembed"
        )


def _name(space: EmbeddingSpace) -> str:
    late = "late, " if space.late else ""
    return f"{space.model} ({late}{space.dimension} dimensions, revision {space.revision[:12]})"


def compare_chunks(base: StoredSnapshot | None, changes: Changes) -> ChunkMoves:
    """Return which chunks `changes` remove, add and keep; a chunk with a new vector is both removed and added."""
    old = {key: own for key, own, _ in _chunk_ids(base, changes.gone)}
    before, retitled = (base.snapshot.rows("chunks") if base else 0) - len(old), _retitled(base, changes)
    entering, renamed, staying = [pa.array([], pa.string())], [pa.array([], pa.string())], set[str]()
    holders, sources = _holders(old), dict[str, Sequence[str]]()
    for part in parts(changes.chunks, _COMPARED):
        new, same = _divided(_compared(part), old)
        names = [key for key, own, document in same if own != old[key] or document in retitled]
        staying |= {key for key, *_ in same}
        sources |= _sources(new, old, holders)
        entering.append(pa.array([key for key, *_ in new], pa.string()))
        renamed.append(pa.array(names, pa.string()))
    leaving, added = frozenset(old.keys() - staying), pa.concat_arrays(entering)
    return ChunkMoves(leaving, added, before + len(staying), pa.concat_arrays(renamed), sources)


def _holders(old: Mapping[str, _Own]) -> dict[str, str]:
    """Return a chunk that has a vector, by the key of the vector."""
    return {one: key for key, (own, _) in old.items() for one in own}


def _sources(new: Sequence[_Compared], old: Mapping[str, _Own], holders: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """Return the chunks of `old` that have vectors of new ones, with the keys of their vectors."""
    wanted = (one for _, (own, _), _ in new for one in own)
    found = {holders[one] for one in wanted if one in holders}
    return {key: old[key][0] for key in found}


def _divided(rows: Iterable[_Compared], old: Mapping[str, _Own]) -> tuple[list[_Compared], list[_Compared]]:
    """Return the chunks that are new, and the chunks that have the vectors that they had.

    A chunk whose text is as before may have other parts or another window, and so other vectors.
    """
    new, same = list[_Compared](), list[_Compared]()
    for row in rows:
        key, (vectors_of_chunk, _), _ = row
        known = key in old and old[key][0] == vectors_of_chunk
        (same if known else new).append(row)
    return new, same


def _retitled(base: StoredSnapshot | None, changes: Changes) -> set[str]:
    """Return the ids of documents with another title than before."""
    titles = titles_of(changes.documents)
    held = dict[str, str]()
    for table in read_buckets(base, "documents", titles, list(TITLES)) if base else []:
        held |= titles_of(table)
    return {key for key, title in titles.items() if held.get(key, title) != title}


def _chunk_ids(base: StoredSnapshot | None, documents: frozenset[str]) -> Iterator[_Compared]:
    """Yield the id of each chunk of some documents, with what is compared of it, and its document."""
    if base is None or not documents:
        return
    for table in read_buckets(base, "chunks", documents, _COMPARED):
        yield from _compared(table)


def _compared(chunks: pa.Table) -> Iterator[_Compared]:
    """Yield id, keys of the vectors with the headings, and document of chunks."""
    columns = (chunks.column(name).to_pylist() for name in _COMPARED)
    for chunk_id, document, headings, first, others in zip(*columns, strict=True):
        yield chunk_id, ((first, *others), headings), document


def compare_vectors(
    base: StoredSnapshot | None, changes: Changes, moves: ChunkMoves, packs: Sequence[Path]
) -> VectorMoves:
    """Return how the vector index changes: a chunk is in it once all its vectors are in the packs."""
    held = Packs(packs)
    # What waits for its vector is in no index, so it need not be removed from one either.
    before = waiting_in(base)
    left = without(before, pa.array(moves.removed, pa.string()))
    later = waiting(left, held)
    known = base.snapshot.pending if base else None
    new = waiting_rows(changes.chunks, held, moves.added if changes.partial or known else moves.added.slice(0, 0))
    rate = changes.tokens_per_s or (known.tokens_per_s if known else 0.0)
    return VectorMoves(
        removed=moves.removed.difference(before.column("chunk_id").to_pylist()),
        added=moves.added.filter(pc.invert(pc.is_in(moves.added, value_set=pc.unique(new.column("chunk_id"))))),
        filled=without(left, later.column("chunk_id")),
        pending=counted(pa.concat_tables([later, new]), rate),
    )


def commit(
    folder: StoreFolder, base: StoredSnapshot | None, changes: Changes, run: RunRow
) -> tuple[StoredSnapshot, ChunkMoves]:
    """Commit one snapshot on top of `base`; the caller holds the writer's lock."""
    made, moves = prepare(folder, base, changes, run)
    put(made)
    return made, moves


def put(made: StoredSnapshot) -> None:
    """Commit the prepared snapshot."""
    made.folder.commit(made.snapshot)
    current_folder.publish(made)


def prepare(
    folder: StoreFolder, base: StoredSnapshot | None, changes: Changes, run: RunRow
) -> tuple[StoredSnapshot, ChunkMoves]:
    """Write all of a snapshot except the file that commits it; a `Store` can open the result.

    `run` gets the snapshot's number and the counts of chunks here. A later commit of the same run adds to its counts.
    """
    check_space(base, changes.space)
    before = base.snapshot if base else None
    moves = compare_chunks(base, changes)
    number = (before.number if before else 0) + 1
    run = replace(
        run,
        snapshot=number,
        chunks_added=run.chunks_added + len(moves.added),
        chunks_kept=moves.kept - run.chunks_added,
        chunks_removed=run.chunks_removed + len(moves.removed),
    )
    artifacts = join_artifacts(before.artifacts if before else {}, changes.artifacts)
    packs = [folder.root / piece.file.path for piece in artifacts["embeddings"]]
    entering, vectored = moves.added, compare_vectors(base, changes, moves, packs)
    buckets = bucket_count(moves.kept + len(moves.added), before.buckets if before else 0)
    # One after the other: each of them alone takes as much memory as a large run may have.
    large = len(entering) > _ROWS_AT_ONCE
    with ThreadPoolExecutor(1 if large else 3) as pool:
        tables = pool.submit(sparing, large, _tables, folder.root, base, changes, buckets, run)
        postings = pool.submit(
            sparing,
            large,
            _postings,
            folder.root,
            base,
            changes,
            moves,
        )
        vectors_ = pool.submit(
            sparing,
            large,
            vectors.update,
            folder.root,
            before.vectors if before else None,
            changes.space,
            vectored.removed,
            _vector_rows(base, packs, changes.chunks, moves, vectored),
            tag=vector_tag(number),
        )
    snapshot = Snapshot(
        number=number,
        created=datetime.now(UTC).isoformat("T", "milliseconds"),
        run_id=run.run_id,
        buckets=buckets,
        tables=tables.result(),
        columns=schema_key(),
        artifacts=artifacts,
        space=changes.space,
        vectors=vectors_.result(),
        keywords=postings.result(),
        pending=vectored.pending,
    )
    return StoredSnapshot(folder, snapshot), moves


def _vector_rows(
    base: StoredSnapshot | None, packs: Sequence[Path], chunks: Rows, moves: ChunkMoves, vectored: VectorMoves
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that enter the vector index."""
    few = moves.sources if len(moves.sources) <= _MOST_MOVED else {}
    yield from vector_rows(packs, chunks, vectored.added, moved_vectors(base, few))
    yield from vector_rows(packs, vectored.filled)


def join_artifacts(
    old: dict[str, tuple[StoredFile, ...]], new: dict[str, tuple[StoredFile, ...]]
) -> dict[str, tuple[StoredFile, ...]]:
    """Return the packs of both, each once, new ones last."""

    def merged(kind: str) -> tuple[StoredFile, ...]:
        pieces = {piece.file.path: piece for piece in (*old.get(kind, ()), *new.get(kind, ()))}
        return tuple(pieces.values())

    return {kind: merged(kind) for kind in ("texts", "embeddings")}


def _tables(
    root: Path, base: StoredSnapshot | None, changes: Changes, buckets: int, run: RunRow
) -> dict[str, tuple[StoredFile, ...]]:
    bases = dict(base.snapshot.tables) if base else {}
    if base and base.snapshot.buckets != buckets:
        bases |= {name: rebucket(root, bases.get(name, ()), name, buckets) for name in ("documents", "chunks")}
    elif base and base.snapshot.columns != schema_key():  # so that a plain glob over `current/` finds one schema
        bases |= {name: rewrite(root, bases.get(name, ()), name) for name in ("documents", "chunks")}
    runs = pa.concat_tables([other_runs(base, run), to_table([run], RUNS)])
    added, leaving = {"documents": changes.documents, "chunks": changes.chunks}, _leaving(changes)
    made = {
        name: exchange_documents(root, bases.get(name, ()), name, buckets, leaving, rows)
        for name, rows in added.items()
    }
    left = {name: rows for name, (_, rows) in made.items()}
    return {
        **{name: pieces for name, (pieces, _) in made.items()},
        **deleted_tables(base, left, changes.documents, changes.undelete_days),
        "rejects": write_single(root, "rejects", changes.rejects),
        "runs": write_single(root, "runs", runs),
        "costs": write_single(root, "costs", costs_of(base, changes.costs, run)),
    }


def _leaving(changes: Changes) -> Leaving:
    """Return the documents whose rows leave; those of deleted documents are wanted, so that they can come back."""
    back = changes.documents.column("document_id").to_pylist()
    return Leaving(changes.gone, changes.gone.difference(back) if changes.undelete_days > 0 else ())


def _postings(root: Path, base: StoredSnapshot | None, changes: Changes, moves: ChunkMoves) -> KeywordState:
    before, titles = base.snapshot.keywords if base else None, titles_of(changes.documents)
    if base and before and before.outdated:
        rows = chain(stored_rows(base, changes.gone), posting_rows(changes.chunks, titles))
        return keyword_writer.rebuild(root, rows, before.language)
    wanted = pa.concat_arrays([moves.added, moves.renamed])
    return keyword_writer.update(root, before, moves.removed, posting_rows(changes.chunks, titles, wanted))
