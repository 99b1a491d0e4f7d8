"""Commit: artifacts → tables → postings → vectors → snapshot → `current/` → merged postings, in this order.

Readers see nothing before the snapshot file is written. A crash leaves behind only things that no snapshot names:
files, which the next writer finds again by content, and a LanceDB version, which it reverts.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import RUNS, to_table
from docmill.storage.errors import StoreError
from docmill.storage.process.malloc_tuning import sparing
from docmill.storage.schema import CostRow, RunRow
from docmill.storage.schema_evolution import schema_key
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.storage.search.keywords import keyword_writer
from docmill.storage.search.keywords.segments.state import KeywordState
from docmill.storage.search.vectors import vectors
from docmill.storage.search.vectors.fence import of_other_numbers
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.probed_models import check_space
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.history.snapshots import OF_ONE_MODEL, PendingVectors, Snapshot, StoredFile, vector_tag
from docmill.storage.snapshots.tables.deleted_documents import deleted_tables
from docmill.storage.snapshots.tables.rewrite_buckets import (
    BucketTable,
    Exchanged,
    Leaving,
    Rewriting,
    exchange_documents,
    rewrite_here,
)
from docmill.storage.snapshots.tables.spill import Rows
from docmill.storage.snapshots.tables.tables import bucket_counts, read_stored_file, rebucket, rewrite, write_single
from docmill.storage.snapshots.write import current_folder
from docmill.storage.snapshots.write.chunk_moves import COMPARED, ChunkMoves, LeftRows, compare_chunks
from docmill.storage.snapshots.write.pending_vectors import COLUMNS, counted, waiting, waiting_in, waiting_rows, without
from docmill.storage.snapshots.write.posting_rows import TITLES, posting_rows, stored_rows, titles_of
from docmill.storage.snapshots.write.run_tables import costs_of, other_runs
from docmill.storage.snapshots.write.vector_rows import moved_vectors, vector_rows

_MOST_MOVED = 20_000  # moved chunks whose vectors are kept in memory: 30 MB with 384 dimensions
_ROWS_AT_ONCE = (
    20_000  # up to this, tables, vectors and postings are written in parallel; above, in turn to save memory
)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of one run.

    `gone` are the ids of documents whose rows leave. `documents` and `chunks` are the new rows, including those of
    changed documents. `rejects` is the whole table after the run. `artifacts` are packs that are already in the store.
    Deleted documents can be restored for `undelete_days`, except those in `erased`, of which nothing is kept, even if
    they were deleted earlier. `costs` are the costs since the last commit; rows that the store already has are skipped.
    `keys` are the keys of [metadata] with their types; None keeps those of the previous snapshot. With `partial`,
    chunks may lack vectors, which are then pending; `tokens_per_s` is the speed of embedding.
    """

    gone: frozenset[str]
    documents: pa.Table
    chunks: Rows
    rejects: pa.Table
    artifacts: dict[str, tuple[StoredFile, ...]]
    space: EmbeddingSpace
    undelete_days: float = Retention().undelete_days
    erased: frozenset[str] = frozenset()
    costs: tuple[CostRow, ...] = ()
    partial: bool = False
    tokens_per_s: float = 0.0
    keys: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class VectorMoves:
    """Chunks that leave the vector index and enter it: `added` are new, `filled` had pending vectors until now."""

    removed: frozenset[str]
    added: pa.Array
    filled: pa.Table
    pending: PendingVectors | None


def compare_vectors(
    base: StoredSnapshot | None, changes: Changes, moves: ChunkMoves, packs: Sequence[Path]
) -> VectorMoves:
    """Return how the vector index changes; a chunk is in it once all its vectors are in the packs."""
    held = Packs(packs)
    # Chunks with pending vectors are not in the index, so they need not be removed from it.
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
    folder: StoreFolder,
    base: StoredSnapshot | None,
    changes: Changes,
    run: RunRow,
    rewriting: Rewriting = rewrite_here,
) -> tuple[StoredSnapshot, ChunkMoves]:
    """Commit one snapshot on top of `base`; the caller holds the writer's lock."""
    made, moves = prepare(folder, base, changes, run, rewriting)
    put(made, base)
    return made, moves


def put(made: StoredSnapshot, base: StoredSnapshot | None) -> None:
    """Commit the prepared snapshot, then merge postings ahead for the next commit if that is likely made here, too."""
    root, here = made.root, _stays_here(made.folder, base)
    current_folder.lay(made)
    made.folder.commit(made.snapshot)
    current_folder.show(made)
    # The snapshot is committed even if the merge fails; the next commit then does without it and tries again.
    with suppress(OSError, StoreError):
        if here:
            keyword_writer.merge_ahead(root, made.snapshot.keywords)
        if not made.folder.next_writer_is_here:
            keyword_writer.note(root, made.snapshot.keywords)


def _stays_here(folder: StoreFolder, base: StoredSnapshot | None) -> bool:
    """Return whether the next commit will probably be made in this folder, too.

    For a store in a bucket, this holds once a machine has made two commits in a row. If another machine makes the next
    commit, a merge that was prepared here is of no use to it.
    """
    noted = base is not None and keyword_writer.is_noted(base.root, base.snapshot.keywords)
    return folder.next_writer_is_here or noted


def prepare(
    folder: StoreFolder,
    base: StoredSnapshot | None,
    changes: Changes,
    run: RunRow,
    rewriting: Rewriting = rewrite_here,
) -> tuple[StoredSnapshot, ChunkMoves]:
    """Write all of a snapshot except the file that commits it; a `Store` can open the result.

    The snapshot's number and the counts of chunks are filled into `run`. A later commit of the same run adds to its
    counts. `rewriting` writes the buckets that change; it is only given files that are committed.
    """
    check_space(base, changes.space)
    root, before = folder.root, base.snapshot if base else None
    number, buckets = (before.number if before else 0) + 1, _buckets(before, changes)
    large = changes.chunks.num_rows > _ROWS_AT_ONCE
    documents, chunks = sparing(large, _exchange, root, base, changes, buckets, rewriting)
    # The rows that leave come from files that are rewritten anyway, so no file is read twice.
    moves = compare_chunks(base, LeftRows(documents.left, chunks.left), changes.documents, changes.chunks)
    run = replace(
        run,
        snapshot=number,
        chunks_added=run.chunks_added + len(moves.added),
        chunks_kept=moves.kept - run.chunks_added,
        chunks_removed=run.chunks_removed + len(moves.removed),
    )
    artifacts = join_artifacts(before.artifacts if before else {}, changes.artifacts)
    packs = [root / piece.file.path for piece in artifacts["embeddings"]]
    vectored = compare_vectors(base, changes, moves, packs)
    # If large, one after the other: each of them alone takes as much memory as a large run may have.
    large = len(moves.added) > _ROWS_AT_ONCE
    with ThreadPoolExecutor(1 if large else 2) as pool:
        postings = pool.submit(sparing, large, _postings, folder, base, changes, moves)
        if before and of_other_numbers(before.space, changes.space):
            every = _all_vector_rows(root, packs, chunks.pieces)
            vectors_ = pool.submit(sparing, large, vectors.rebuild, root, changes.space, every, vector_tag(number))
        else:
            vectors_ = pool.submit(
                sparing,
                large,
                vectors.update,
                root,
                before.vectors if before else None,
                changes.space,
                vectored.removed,
                _vector_rows(base, packs, changes.chunks, moves, vectored),
                tag=vector_tag(number),
            )
        left = {"documents": documents.whole, "chunks": chunks.whole}
        tables = {"documents": documents.pieces, "chunks": chunks.pieces} | _single_tables(
            root, base, changes, left, run
        )
    snapshot = Snapshot(
        number=number,
        created=datetime.now(UTC).isoformat("T", "milliseconds"),
        run_id=run.run_id,
        buckets=buckets["chunks"],
        document_buckets=buckets["documents"],
        tables=tables,
        columns=schema_key(),
        artifacts=artifacts,
        space=changes.space,
        vectors=vectors_.result(),
        keywords=postings.result(),
        pending=vectored.pending,
        keys=_keys(before, changes),
    )
    return StoredSnapshot(folder, snapshot), moves


def _keys(before: Snapshot | None, changes: Changes) -> dict[str, str]:
    if changes.keys is None:
        return before.keys if before else {}
    return changes.keys


def _buckets(before: Snapshot | None, changes: Changes) -> dict[str, int]:
    """Return how many buckets each table needs, assuming that documents that leave have an average number of chunks.

    The exact number is known only once their files are read, and by then they are being rewritten.
    """
    documents = before.rows("documents") if before else 0
    staying = max(0, documents - len(changes.gone))
    chunks = round(staying / documents * before.rows("chunks")) if before and documents else 0
    return bucket_counts(staying + changes.documents.num_rows, chunks + changes.chunks.num_rows, before)


def _vector_rows(
    base: StoredSnapshot | None, packs: Sequence[Path], chunks: Rows, moves: ChunkMoves, vectored: VectorMoves
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that enter the vector index."""
    few = moves.sources if len(moves.sources) <= _MOST_MOVED else {}
    yield from vector_rows(packs, chunks, vectored.added, moved_vectors(base, few))
    yield from vector_rows(packs, vectored.filled)


def _all_vector_rows(root: Path, packs: Sequence[Path], pieces: Sequence[StoredFile]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all chunks of these files that have their vectors, for an index with another number type."""
    chunks = pa.concat_tables([read_stored_file(root, piece, COLUMNS) for piece in pieces])
    return vector_rows(packs, without(chunks, waiting(chunks, Packs(packs)).column("chunk_id")))


def join_artifacts(
    old: dict[str, tuple[StoredFile, ...]], new: dict[str, tuple[StoredFile, ...]]
) -> dict[str, tuple[StoredFile, ...]]:
    """Return the packs of both without duplicates, new ones last; new packs of one model replace the old ones."""

    def merged(kind: str) -> tuple[StoredFile, ...]:
        pieces = {piece.file.path: piece for piece in (*old.get(kind, ()), *new.get(kind, ()))}
        return tuple(pieces.values())

    joined = {kind: merged(kind) for kind in ("texts", "embeddings", "figures")}
    return joined | {kind: packs for kind in OF_ONE_MODEL if (packs := new.get(kind, old.get(kind, ())))}


def _exchange(
    root: Path, base: StoredSnapshot | None, changes: Changes, buckets: Mapping[str, int], rewriting: Rewriting
) -> tuple[Exchanged, Exchanged]:
    """Write the buckets of documents and of chunks that change."""
    bases = {name: _in_buckets(base, name, count) for name, count in buckets.items()} if base else {}
    # Whole rows of deleted documents are kept for a while, so that they can be restored.
    back = changes.documents.column("document_id").to_pylist()
    whole = changes.gone.difference(back, changes.erased) if changes.undelete_days > 0 else ()

    def exchanged(name: str, columns: Sequence[str], rows: Rows) -> Exchanged:
        pieces = bases.get(name, ())
        # Files just rewritten for another number of buckets, or with other columns, exist only on this machine.
        committed = base is None or pieces == base.pieces(name)
        table, leaving = BucketTable(name, pieces, buckets[name]), Leaving(changes.gone, columns, whole)
        return exchange_documents(root, table, leaving, rows, rewriting if committed else rewrite_here)

    return exchanged("documents", TITLES, changes.documents), exchanged("chunks", COMPARED, changes.chunks)


def _in_buckets(base: StoredSnapshot, name: str, buckets: int) -> tuple[StoredFile, ...]:
    """Return the files of a table in this number of buckets and with the current columns."""
    if base.snapshot.buckets_of(name) != buckets:
        return rebucket(base.root, base.pieces(name), name, buckets)
    if base.snapshot.columns != schema_key():  # so that all files in `current/` have one schema
        return rewrite(base.root, base.pieces(name), name)
    return base.pieces(name)


def _single_tables(
    root: Path, base: StoredSnapshot | None, changes: Changes, deleted: Mapping[str, pa.Table], run: RunRow
) -> dict[str, tuple[StoredFile, ...]]:
    """Write the tables that are one file each; `deleted` are the rows that this commit removes."""
    runs = pa.concat_tables([other_runs(base, run), to_table([run], RUNS)])
    returned = changes.documents.column("document_id").to_pylist()
    return {
        **deleted_tables(base, deleted, changes.documents, changes.erased.union(returned), changes.undelete_days),
        "rejects": write_single(root, "rejects", changes.rejects),
        "runs": write_single(root, "runs", runs),
        "costs": write_single(root, "costs", costs_of(base, changes.costs, run)),
    }


def _postings(folder: StoreFolder, base: StoredSnapshot | None, changes: Changes, moves: ChunkMoves) -> KeywordState:
    root, before, titles = folder.root, base.snapshot.keywords if base else None, titles_of(changes.documents)
    if base and before and before.outdated:
        rows = chain(stored_rows(base, changes.gone), posting_rows(changes.chunks, titles))
        return keyword_writer.rebuild(root, rows, before.language)
    wanted = pa.concat_arrays([moves.added, moves.renamed])
    made = keyword_writer.update(root, before, moves.removed, posting_rows(changes.chunks, titles, wanted))
    later = _stays_here(folder, base) and not keyword_writer.overdue(made)
    return made if later else keyword_writer.merged(root, made)
