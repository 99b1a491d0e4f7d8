"""Restoring: bring back the documents of an earlier snapshot, or deleted ones, without parsing or embedding.

It is an ordinary commit of the rows that differ between the two snapshots. So tables, postings and vectors change
together, versions only ever go up, and each document that it removes can be restored in turn.
"""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS
from docmill.storage.errors import QueryError, StoreError
from docmill.storage.files import fault, remove
from docmill.storage.process.shutdown import tidied
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.history import snapshots, tags
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.history.snapshots import Snapshot, StoredFile
from docmill.storage.snapshots.tables.spill import spill
from docmill.storage.snapshots.tables.tables import OF_DOCUMENTS, read_buckets, read_stored_file, read_table
from docmill.storage.snapshots.write import current_folder
from docmill.storage.snapshots.write.commit import Changes, commit
from docmill.storage.snapshots.write.current_folder import writing
from docmill.storage.snapshots.write.run_tables import run_of


@dataclass(frozen=True, slots=True)
class Restored:
    """The number of the earlier snapshot, how many documents change, and the number of the new snapshot.

    `snapshot` is None if nothing was committed: in a dry run, or because nothing differs.
    """

    earlier: int
    added: int
    changed: int
    removed: int
    rejects: bool
    snapshot: int | None = None

    @property
    def same(self) -> bool:
        """Whether the newest snapshot already has the contents of the earlier one."""
        return not (self.added or self.changed or self.removed or self.rejects)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """Ids of documents to remove from the newest snapshot, and of those to take from the earlier one."""

    gone: frozenset[str]
    back: frozenset[str]


def restore(
    store: str | Path | StoreFolder, at: int | str, retention: Retention, dry_run: bool = False, wait_s: float = 0.0
) -> Restored:
    """Commit a snapshot with the documents, chunks and rejects of the kept snapshot `at`, a number or a tag.

    The history of runs and costs stays as it is. Raises `StoreError` if the earlier snapshot has vectors of another
    model, or lacks a file. A dry run only compares.
    """
    folder = open_folder(store).existing()
    with nullcontext() if dry_run else writing(folder, wait_s):
        newest, earlier = folder.read(), _earlier(folder, at)
        _check_model(newest, earlier)
        # A mirror may lack what is read below.
        folder.complete(tables_of=[earlier.snapshot])
        folder.ensure([piece.file for piece in _needed(earlier)])
        if not dry_run:
            current_folder.catch_up(folder)  # an attempt that died just after its commit may have left only this to do
        _check_whole(earlier)
        exchange, rejects = _compare(newest, earlier), read_table(earlier, "rejects")
        found = Restored(
            earlier.number,
            added=len(exchange.back - exchange.gone),
            changed=len(exchange.back & exchange.gone),
            removed=len(exchange.gone - exchange.back),
            rejects=not rejects.equals(read_table(newest, "rejects")),
        )
        if dry_run or found.same:
            return found
        return _commit(newest, earlier, exchange, found, retention)


def _earlier(folder: StoreFolder, at: int | str) -> StoredSnapshot:
    if at in snapshots.candidates(folder.root):
        raise QueryError(f"{at} was held back by the gate; to take it, type: docmill publish {at}")
    return folder.read(tags.find(folder.root, at))


def _check_model(newest: StoredSnapshot, earlier: StoredSnapshot) -> None:
    """Raise `StoreError` if the vectors of the two snapshots are from different models: they cannot share an index."""
    before, now = earlier.snapshot.space, newest.snapshot.space
    if before.id == now.id:
        return
    said = (
        f"snapshot {earlier.number} has vectors of {before.model} (revision {before.revision[:12]}), and the newest one"
        f" of {now.model} (revision {now.revision[:12]})"
    )
    if before.late != now.late:
        raise StoreError(f"{said}, one of them late: search it with --at {earlier.number}")
    raise StoreError(f"{said}; go back to that model first: docmill reembed --model {before.model}")


def _needed(earlier: StoredSnapshot) -> list[StoredFile]:
    """Return the files that restoring a snapshot reads; its indexes are rebuilt."""
    tables = [earlier.pieces(name) for name in (*OF_DOCUMENTS, "rejects")]
    return [piece for pieces in (*tables, *earlier.snapshot.artifacts.values()) for piece in pieces]


def _check_whole(earlier: StoredSnapshot) -> None:
    for piece in _needed(earlier):
        if said := fault(earlier.root, piece.file, deep=False):
            raise StoreError(f"snapshot {earlier.number} cannot be restored: {said}; see: docmill verify")


def _compare(newest: StoredSnapshot, earlier: StoredSnapshot) -> _Exchange:
    gone, back = set[str](), set[str]()
    for name in OF_DOCUMENTS:
        for mine, others in _differing_files(newest, earlier, name):
            now, before = _by_document(newest.root, mine), _by_document(earlier.root, others)
            changed = {key for key in now.keys() | before.keys() if now.get(key) != before.get(key)}
            gone |= changed & now.keys()
            back |= changed & before.keys()
    return _Exchange(frozenset(gone), frozenset(back))


def _differing_files(
    newest: StoredSnapshot, earlier: StoredSnapshot, name: str
) -> Iterable[tuple[list[StoredFile], list[StoredFile]]]:
    """Return the files of a table that only one of two snapshots has, grouped so that each document is in one group."""
    # Both bucket counts are powers of two, so the smaller one gives such groups.
    count = min(state.snapshot.buckets_of(name) for state in (newest, earlier))
    groups: defaultdict[int, tuple[list[StoredFile], list[StoredFile]]] = defaultdict(lambda: ([], []))
    for place, state in enumerate((newest, earlier)):
        for piece in state.pieces(name):
            groups[piece.bucket % count][place].append(piece)
    return [(mine, others) for mine, others in groups.values() if _paths(mine) != _paths(others)]


def _paths(pieces: Sequence[StoredFile]) -> set[str]:
    return {piece.file.path for piece in pieces}


def _by_document(root: Path, pieces: Sequence[StoredFile]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of some files by document id, in the order of the files."""
    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for piece in pieces:
        for row in read_stored_file(root, piece).to_pylist():
            found[row["document_id"]].append(row)
    return dict(found)


def _commit(
    newest: StoredSnapshot, earlier: StoredSnapshot, exchange: _Exchange, found: Restored, retention: Retention
) -> Restored:
    run = run_of(
        "restore",
        added=found.added,
        changed=found.changed,
        deleted=found.removed,
        unchanged=newest.snapshot.rows("documents") - found.changed - found.removed,
    )
    # In staging, which is on the disk of the store, and where the next run removes what a killed run has left.
    scratch = newest.root / staging.FOLDER / run.run_id
    with tidied(partial(remove, scratch)):
        changes = Changes(
            gone=exchange.gone,
            documents=pa.concat_tables([DOCUMENTS.empty_table(), *read_buckets(earlier, "documents", exchange.back)]),
            chunks=spill(scratch / "chunks.arrow", CHUNKS, read_buckets(earlier, "chunks", exchange.back)),
            rejects=read_table(earlier, "rejects"),
            artifacts=earlier.snapshot.artifacts,
            space=newest.snapshot.space,
            undelete_days=retention.undelete_days,
            partial=True,  # vectors that were pending and are still missing stay pending
        )
        return replace(found, snapshot=commit(newest.folder, newest, changes, run)[0].number)


def undelete(
    store: str | Path | StoreFolder, uris: Sequence[str], retention: Retention, wait_s: float = 0.0
) -> Snapshot:
    """Commit a snapshot with the deleted documents `uris` as they were, with the status `restored`.

    They stay although their files are gone. If a file appears again, its document follows the file.
    """
    folder = open_folder(store).existing()
    with writing(folder, wait_s):
        # A mirror may lack the tables that are read below.
        folder.complete()
        base = folder.read()
        held = read_table(base, "deleted")
        _check(uris, set(held.column("uri").to_pylist()), retention)
        rows = held.filter(pc.is_in(held.column("uri"), value_set=pa.array(list(uris), pa.string())))
        status = DOCUMENTS.get_field_index("status")
        documents = rows.select(DOCUMENTS.names)
        documents = documents.set_column(status, "status", pa.array(["restored"] * len(rows), pa.string()))
        chunks = read_table(base, "deleted_chunks")
        changes = Changes(
            gone=frozenset(),
            documents=documents,
            chunks=chunks.filter(pc.is_in(chunks.column("document_id"), value_set=rows.column("document_id"))),
            rejects=read_table(base, "rejects"),
            artifacts={},
            space=base.snapshot.space,
            undelete_days=retention.undelete_days,
            # After a reembed they may lack vectors of the current model; the next run computes them.
            partial=True,
        )
        return commit(folder, base, changes, run_of("undelete", added=len(rows)))[0].snapshot


def _check(uris: Sequence[str], held: set[str], retention: Retention) -> None:
    for uri in uris:
        if uri not in held:
            # At any distance: even a poor match shows what the uris of this store look like.
            near = difflib.get_close_matches(uri, held, n=3, cutoff=0.0)
            there = f"; there are {', '.join(near)}" if near else ""
            raise QueryError(
                f"no document {uri!r} was deleted within {retention.undelete_days:g} days{there}; "
                "all of them: docmill sql 'SELECT uri, deleted FROM deleted'"
            )
