"""Erase: remove documents from every file of a store, so that nothing can restore them.

Each file has the rows of many documents, and older snapshots share files with the newest one. So no older snapshot is
kept. `erasing.json` names the documents from the first step to the last: if the process is killed, the same call
completes the work.
"""

import difflib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS
from docmill.storage.errors import QueryError
from docmill.storage.files import remove, write_whole
from docmill.storage.search.keywords.segments import merged_ahead
from docmill.storage.search.sentences.quotations import flat
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.artifacts.packs import Packs, decode_parsed
from docmill.storage.snapshots.change.candidate_snapshots import discard_held
from docmill.storage.snapshots.clean.compact import compact_held
from docmill.storage.snapshots.history import judgements, measurements, snapshots, tags
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.garbage import sweep
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.tables.tables import read_stored_file, read_table
from docmill.storage.snapshots.write import current_folder
from docmill.storage.snapshots.write.commit import Changes, commit
from docmill.storage.snapshots.write.run_tables import run_of

NOTE = "erasing.json"
_LISTING = ("documents", "deleted", "rejects")
"""The tables that name documents by their uris."""
_CACHES = ("page", "map", "quality", "tune")
"""Folders of `cache/` with texts, names or vectors of documents; they are rebuilt when needed."""
_TOLD = 3


@dataclass(frozen=True, slots=True)
class Erased:
    """What was erased, or would be in a dry run.

    `documents` and `chunks` count rows of the newest snapshot, `restorable` documents that were deleted earlier.
    `snapshots`, `tags` and `candidates` are removed, and `questions` of evaluations and `judgements` that mention the
    documents. `open` are snapshots that a reader still uses: erase again once it has closed them. `bytes` is the space
    freed, and `snapshot` the new snapshot. `remains` says where copies may exist that erasing does not reach.
    """

    uris: tuple[str, ...]
    documents: int = 0
    chunks: int = 0
    restorable: int = 0
    rejects: int = 0
    snapshots: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    questions: int = 0
    judgements: int = 0
    open: tuple[int, ...] = ()
    bytes: int = 0
    snapshot: int | None = None
    remains: tuple[str, ...] = ()


def found(folder: StoreFolder, uris: Sequence[str], unlisted: bool) -> Erased:
    """Return what would be erased; raise `QueryError` for a uri that no snapshot lists, unless `unlisted`.

    The files of the newest snapshot and the tables of the older ones must be on this machine.
    """
    root = folder.root
    _check(uris, _listed(root) | noted(root), unlisted)
    newest = folder.read()
    own = [_of(read_table(newest, name, ["uri"]), uris).num_rows for name in _LISTING]
    chunks = _of(read_table(newest, "chunks", ["uri"]), uris).num_rows
    return Erased(
        tuple(uris),
        documents=own[0],
        chunks=chunks,
        restorable=own[1],
        rejects=own[2],
        snapshots=tuple(snapshots.numbers(root)),
        tags=tuple(tags.files(root)),
        candidates=tuple(snapshots.candidates(root)),
    )


def same_elsewhere(folder: StoreFolder, uris: Collection[str]) -> list[str]:
    """Return other documents, present or deleted, with the same content: copies, and former names of moved files."""
    newest = folder.read()
    held = pa.concat_tables([read_table(newest, name, ["uri", "content_hash"]) for name in _LISTING[:2]])
    hashes = _of(held, uris).column("content_hash")
    alike = held.filter(pc.is_in(held.column("content_hash"), value_set=hashes.combine_chunks()))
    return sorted({*alike.column("uri").to_pylist()} - {*uris})


def erase_held(folder: StoreFolder, what: Erased, retention: Retention) -> Erased:
    """Erase what `found` returned; the caller holds the writer's lock."""
    root, before = folder.root, snapshots.numbers(folder.root)
    every = sorted({*what.uris, *noted(root)})
    write_whole(root / NOTE, json.dumps(every).encode())
    # Before the texts that judgements quote are gone.
    what = replace(what, judgements=_forget_judgements(folder, every))
    _commit_without(folder.read(), every, retention)
    for name in what.tags:
        folder.unshare(tags.FOLDER, name)
        remove(root / tags.FOLDER / f"{name}.json")
    discard_held(folder, what.candidates)
    staging.clear(root)
    merged_ahead.clear(root)
    for name in _CACHES:
        remove(root / "cache" / name)
    questions = measurements.forget_questions(folder, every)
    folder.expire_aside(0.0)
    only = replace(retention, keep_snapshots=1, keep_days=0.0, keep_steps=False, grace_hours=0.0)
    done = compact_held(folder, only, replace_all=True, vectors_anew=True)
    current_folder.remove_former(root)
    sweep(root)
    *still_open, newest = snapshots.numbers(root)
    if not still_open:
        remove(root / NOTE)
    gone = tuple(number for number in before if number not in still_open and number != newest)
    return replace(what, snapshots=gone, questions=questions, open=tuple(still_open), bytes=done.bytes, snapshot=newest)


def _forget_judgements(folder: StoreFolder, uris: Collection[str]) -> int:
    """Blank the judgements about some documents, also those under an earlier name, found by file hash or quotation."""
    newest = folder.read()
    rows = _of(read_table(newest, "documents", ["uri", "content_hash", "text_key"]), uris)
    packed = Packs(newest.ensure_packs("texts")).take(rows.column("text_key").to_pylist()).to_pylist()
    texts = [flat(decode_parsed(one).text) for one in packed]
    return judgements.forget(folder, uris, set(rows.column("content_hash").to_pylist()), texts)


def noted(root: Path) -> set[str]:
    """Return the uris that an interrupted call has yet to erase."""
    path = root / NOTE
    return set(json.loads(path.read_bytes())) if path.is_file() else set()


def _listed(root: Path) -> set[str]:
    """Return the uris of all kept and candidate snapshots."""
    # A set, because snapshots share most of their files, and each is read once.
    pieces = {piece for state in snapshots.needed(root) for name in _LISTING for piece in state.tables.get(name, ())}
    return {uri for piece in pieces for uri in read_stored_file(root, piece, ["uri"]).column("uri").to_pylist()}


def _check(uris: Sequence[str], listed: Collection[str], unlisted: bool) -> None:
    for uri in uris:
        if uri not in listed and not unlisted:
            near = difflib.get_close_matches(uri, listed, n=_TOLD)
            there = f" (but {' and '.join(near)})" if near else ""
            raise QueryError(
                f"no snapshot lists a document {uri!r}{there}; if it was deleted before the oldest of them was made,"
                f" its text may still be in their files: docmill erase --unlisted {uri!r}"
            )


def _of(table: pa.Table, uris: Collection[str]) -> pa.Table:
    return table.filter(pc.is_in(table.column("uri"), value_set=pa.array(list(uris), pa.string())))


def _ids(stored: StoredSnapshot, table: str, uris: Collection[str]) -> frozenset[str]:
    rows = _of(read_table(stored, table, ["document_id", "uri"]), uris)
    return frozenset(rows.column("document_id").to_pylist())


def _commit_without(newest: StoredSnapshot, uris: Collection[str], retention: Retention) -> None:
    """Commit a snapshot without the rows of these documents, including deleted ones that could be restored."""
    gone, deleted = _ids(newest, "documents", uris), _ids(newest, "deleted", uris)
    rejects = read_table(newest, "rejects")
    left = rejects.filter(pc.invert(pc.is_in(rejects.column("uri"), value_set=pa.array(list(uris), pa.string()))))
    if not gone | deleted and left.num_rows == rejects.num_rows:
        return
    changes = Changes(
        gone=gone,
        documents=DOCUMENTS.empty_table(),
        chunks=CHUNKS.empty_table(),
        rejects=left,
        artifacts={},
        space=newest.snapshot.space,
        undelete_days=retention.undelete_days,
        erased=gone | deleted,
        partial=True,  # pending vectors stay pending
    )
    run = run_of("erase", deleted=len(gone), unchanged=newest.snapshot.rows("documents") - len(gone))
    commit(newest.folder, newest, changes, run)
