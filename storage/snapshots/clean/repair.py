"""Repair: rebuild damaged parts of a store from the tables and artifacts, and report what is lost."""

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, fault, remove, write_immutable
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import indexed_text
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.keywords import keyword_writer
from docmill.storage.search.vectors import vectors
from docmill.storage.snapshots.artifacts.late_vectors import encode_windows, late_rows, windows_of
from docmill.storage.snapshots.artifacts.multi_vector_rows import by_vector
from docmill.storage.snapshots.artifacts.packs import Packs, figure_keys, pack_embeddings, write_pack
from docmill.storage.snapshots.clean import verify_older
from docmill.storage.snapshots.clean.verify import KEPT_ROWS, findings_of
from docmill.storage.snapshots.history import quarantine
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.snapshots import OF_ONE_MODEL, StoredFile, vector_tag
from docmill.storage.snapshots.tables.rewrite_buckets import replace_documents
from docmill.storage.snapshots.tables.tables import OF_DOCUMENTS, read_table
from docmill.storage.snapshots.write import current_folder
from docmill.storage.snapshots.write.pending_vectors import counted, waiting, with_vectors
from docmill.storage.snapshots.write.posting_rows import stored_rows
from docmill.storage.snapshots.write.vector_rows import vector_rows

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]

_TRUTH = {"tables", "texts", "figures"}
"""The kinds of findings whose files cannot be rebuilt from the others."""
_UNKNOWN = {"tables", "snapshot"}
"""The kinds of findings that leave no intact rows to rebuild the indexes from."""


@dataclass(slots=True)
class Repaired:
    """What was done, one line each, and what is lost until an ingest reads the sources again.

    `at_stake` is what would be lost with `accept_loss`; without it, nothing is given up.
    """

    done: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    at_stake: list[str] = field(default_factory=list)


def repair(store: str | Path | StoreFolder, encode: Encode, wait_s: float = 0.0, accept_loss: bool = False) -> Repaired:
    """Repair the newest snapshot.

    A lost index is rebuilt from Parquet and committed as a new snapshot. `encode` is called only for texts whose
    vector is in no pack. What cannot be rebuilt is not given up: the result names it as `at_stake`. With
    `accept_loss`, documents with damaged rows or text are left out of the new snapshot, so that the next ingest makes
    them again; the damaged files are then set aside. Raises `StoreError` if anything else is still broken afterwards.
    """
    result, folder = Repaired(), open_folder(store).existing()
    with folder.lock(wait_s, mending=True):
        # First fetch what another machine or the object store has intact: it need not be rebuilt or given up.
        result.done += folder.restore()
        kinds = {finding.kind for finding in findings_of(folder, deep=True, read=False)}
        # After the findings, which may have fetched an intact file in place of a damaged one.
        base, loss = folder.read(), _Loss()
        whole = _after_lost_snapshots(base, loss)
        whole = _without_damage(whole, loss) if kinds & _TRUTH else whole
        if loss.names and not accept_loss:
            result.at_stake += loss.names
            result.done += _mend(base, base, kinds - _TRUTH, encode) if not kinds & _UNKNOWN else ()
            return result
        # Both indexes still hold the chunks of the documents that are left out.
        if kinds & _TRUTH:
            kinds |= {"vectors", "keywords"}
        result.lost += loss.names
        result.done += _mend(base, whole, kinds, encode)
        # Only after the commit: until then these files are all that is left of their content.
        folder.give_up(loss.files)
        folder.give_up_snapshots(loss.snapshots)
    # Check again: even if each step succeeded, the store may still be damaged.
    left = [finding for finding in findings_of(folder, deep=True, read=False) if finding.kind != "past"]
    if left:
        raise StoreError("cannot be repaired from the files here: " + "; ".join(map(str, left)))
    return result


@dataclass(slots=True)
class _Loss:
    """What the newest snapshot loses without its damaged files, those files, and the snapshots that cannot be read."""

    names: list[str] = field(default_factory=list)
    files: list[FileRef] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)


def _after_lost_snapshots(base: StoredSnapshot, loss: _Loss) -> StoredSnapshot:
    """Return the newest readable snapshot, renumbered so that the number of a lost snapshot is not used again."""
    loss.snapshots += [number for number, _ in base.folder.remote_snapshot_faults(read=False)]
    loss.names += (f"snapshot {number}" for number in loss.snapshots)
    # Readers and mirrors may know the lost number, and would take a new snapshot of that number for the lost one.
    newest = max(base.number, *loss.snapshots, 0)
    return base.changed(number=newest) if newest > base.number else base


def _without_damage(base: StoredSnapshot, loss: _Loss) -> StoredSnapshot:
    """Return the snapshot without its damaged files and without the documents that have rows in them."""
    root, before = base.root, base.snapshot
    broken = {name: _damaged(root, pieces) for name, pieces in before.tables.items()}
    kept = {kind: before.artifacts.get(kind, ()) for kind in ("texts", "figures")}
    packs = _damaged(root, [piece for pieces in kept.values() for piece in pieces])
    loss.names += _losses(broken)
    loss.files += [piece.file for pieces in (*broken.values(), packs) for piece in pieces]
    tables = {name: _without(pieces, broken[name]) for name, pieces in before.tables.items()}
    artifacts = before.artifacts | {kind: _without(pieces, packs) for kind, pieces in kept.items()}
    named = len(loss.names)
    whole = _without_textless(base.changed(tables=tables, artifacts=artifacts), loss)
    if len(loss.names) == named:  # no present document needs the packs, but a deleted one may
        loss.names += (f"the texts or figures of deleted documents in {piece.file.path}" for piece in packs)
    return whole


def _damaged(root: Path, pieces: Sequence[StoredFile]) -> list[StoredFile]:
    return [piece for piece in pieces if fault(root, piece.file)]


def _without(pieces: Sequence[StoredFile], damaged: Collection[StoredFile]) -> tuple[StoredFile, ...]:
    return tuple(piece for piece in pieces if piece not in damaged)


def _losses(broken: dict[str, list[StoredFile]]) -> Iterator[str]:
    """Yield which rows are lost with the damaged files of each table; documents that lost chunks are named later."""
    yield from (f"the documents of {piece.file.path}" for piece in broken.get("documents", ()))
    yield from (f"the rows of {name}" for name, pieces in broken.items() if pieces and name not in OF_DOCUMENTS)


def _without_textless(base: StoredSnapshot, loss: _Loss) -> StoredSnapshot:
    """Return the snapshot without documents whose text or figures are in no pack, or whose chunks are incomplete."""
    documents = read_table(base, "documents", ["document_id", "uri", "text_key", "chunks", "figures"])
    absent = Packs(base.packs("texts")).missing(documents.column("text_key").to_pylist())
    unseen = Packs(base.packs("figures")).missing(figure_keys(documents.column("figures")).to_pylist())
    chunks = read_table(base, "chunks", ["document_id"]).column(0)
    counted = {pair["values"]: pair["counts"] for pair in pc.value_counts(chunks).to_pylist()}
    gone = {
        row["document_id"]: row["uri"]
        for row in documents.to_pylist()
        if row["text_key"] in absent
        or counted.pop(row["document_id"], 0) != row["chunks"]
        or not unseen.isdisjoint(one["key"] for one in row["figures"])
    }
    loss.names += gone.values()
    leaving = {*gone, *counted}  # ids still counted have chunks but no document
    if not leaving:
        return base
    tables = {
        name: replace_documents(base.root, base.pieces(name), name, base.snapshot.buckets_of(name), leaving, empty)
        for name in OF_DOCUMENTS
        for empty in [read_table(None, name)]
    }
    return base.changed(tables={**base.snapshot.tables, **tables})


def _mend(base: StoredSnapshot, mended: StoredSnapshot, kinds: set[str], encode: Encode) -> Iterator[str]:
    """Rebuild the broken kinds of parts and commit; yield what was done, one line each."""
    mended = yield from _rebuild(mended, kinds, encode)
    changed = mended is not base
    if changed:
        mended = _commit(base, mended, kinds)
        yield f"committed snapshot {mended.number}"
    yield from _remove_unreadable(mended, kinds)
    if changed or kinds & {"current", *(kept.kind for kept in KEPT_ROWS)}:
        # The tables may be unchanged, but current/ itself may have been damaged.
        current_folder.publish(mended)
        yield f"current/ shows snapshot {mended.number}"


def _rebuild(mended: StoredSnapshot, kinds: set[str], encode: Encode) -> Generator[str, None, StoredSnapshot]:
    """Return the snapshot with its broken indexes rebuilt from the tables."""
    chunks = read_table(mended, "chunks")
    if mended.snapshot.pending and kinds & {"embeddings", "vectors"}:
        mended = _recounted(mended, chunks)
        kinds |= {"vectors"}
    elif "embeddings" in kinds:
        packs, count = _restore_embeddings(mended, chunks, encode)
        mended = mended.changed(artifacts={**mended.snapshot.artifacts, "embeddings": packs})
        yield f"embedded {count} texts again because no pack held their vectors"
    for kind in kinds.intersection(OF_ONE_MODEL):
        packs = mended.snapshot.artifacts[kind]
        whole = _without(packs, _damaged(mended.root, packs))
        mended = mended.changed(artifacts={**mended.snapshot.artifacts, kind: whole})
        yield f"left out {kind.replace('_', ' ')}; the next ingest makes them again"
    if "vectors" in kinds:
        ready = with_vectors(mended, chunks)
        rows, tag = vector_rows(mended.packs("embeddings"), ready), vector_tag(mended.number + 1)
        mended = mended.changed(vectors=vectors.rebuild(mended.root, mended.snapshot.space, rows, tag))
        yield f"rebuilt the vectors of {ready.num_rows} chunks"
    if "keywords" in kinds:
        mended = mended.changed(keywords=keyword_writer.rebuild(mended.root, stored_rows(mended)))
        yield f"rebuilt the postings of {chunks.num_rows} chunks"
    return mended


def _recounted(mended: StoredSnapshot, chunks: pa.Table) -> StoredSnapshot:
    """Return a snapshot with pending vectors without its damaged packs, whose vectors become pending, too.

    The next ingest computes them: embedding here would take as long as the run that was interrupted.
    """
    packs = mended.snapshot.artifacts["embeddings"]
    whole = _without(packs, _damaged(mended.root, packs))
    mended = mended.changed(artifacts={**mended.snapshot.artifacts, "embeddings": whole})
    before = mended.snapshot.pending
    left = waiting(chunks, Packs(mended.packs("embeddings")))
    return mended.changed(pending=counted(left, before.tokens_per_s if before else 0.0))


def _commit(base: StoredSnapshot, mended: StoredSnapshot, kinds: set[str]) -> StoredSnapshot:
    """Commit the repaired snapshot as the next one."""
    number, before = mended.number + 1, base.snapshot
    if "vectors" not in kinds:  # every snapshot needs its own tag, which keeps its version of the vectors
        same = vectors.update(base.root, before.vectors, before.space, (), (), vector_tag(number))
        mended = mended.changed(vectors=same)
    mended = mended.changed(number=number, created=datetime.now(UTC).isoformat("T", "milliseconds"))
    mended.folder.commit(mended.snapshot)
    return mended


def _remove_unreadable(mended: StoredSnapshot, kinds: set[str]) -> Iterator[str]:
    """Remove damaged files that the newest snapshot does not need."""
    for kept in (kept for kept in KEPT_ROWS if kept.kind in kinds):
        for path in kept.damaged(mended.root):
            quarantine.move(mended.root, path.relative_to(mended.root).as_posix())
            yield f"set aside {path.name}, {kept.what}, which could not be read{kept.remedy}"
    for file in verify_older.damaged_postings(mended) if kinds & {"past", "keywords"} else ():
        remove(mended.root / file.path)
        yield f"removed {file.path}, postings of older snapshots; searches of these build them again"


def _restore_embeddings(base: StoredSnapshot, chunks: pa.Table, encode: Encode) -> tuple[tuple[StoredFile, ...], int]:
    """Return the undamaged packs and a pack of the re-encoded vectors, with the number of re-encoded vectors."""
    root = base.root
    whole = tuple(piece for piece in base.snapshot.artifacts["embeddings"] if not fault(root, piece.file))
    packs = Packs([root / piece.file.path for piece in whole])
    chunks = by_vector(chunks)
    lost = packs.missing(chunks.column("embedding_key").to_pylist())
    rows = chunks.filter(pc.is_in(chunks.column("embedding_key"), value_set=pa.array(list(lost), pa.string())))
    first = {key: row for row, key in reversed([*enumerate(rows.column("embedding_key").to_pylist())])}
    if not first:
        return whole, 0
    # Encode each vector once, however many chunks share the text.
    table = pack_embeddings(list(first), _encoded(base, rows.take(pa.array(first.values())), encode))
    file = write_immutable(root, "artifacts/embeddings", ".parquet", lambda path: write_pack(path, table, "embeddings"))
    return (*whole, StoredFile(file, table.num_rows)), len(first)


def _encoded(base: StoredSnapshot, rows: pa.Table, encode: Encode) -> npt.NDArray[np.float32]:
    """Return the vectors of chunks; late vectors if the snapshot uses them."""
    space = base.snapshot.space
    if space.late:
        encoder = load_encoder(space.model, space.revision, space.light)
        return encode_windows(windows_of(*late_rows(base, rows)), encoder)
    return encode([*map(indexed_text, *(rows.column(name).to_pylist() for name in ("context", "text", "unread")))])
