"""Narrow: make the part of a snapshot that some principals may see.

The part is a store like one that was built from the visible documents alone: the statistics of its keyword index are
those of the visible chunks, so scores tell nothing of what is hidden. What belongs to no document is left out: rejects,
runs, costs, evaluations, deleted documents and other snapshots.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.access.narrowed_folder import PICTURES, VECTORS, NarrowedFolder, make_folder
from docmill.storage.access.principals import named, visible_in
from docmill.storage.artifacts.packs import Packs
from docmill.storage.errors import StoreError
from docmill.storage.history import snapshots
from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.history.snapshots import PendingVectors, Snapshot, StoredFile
from docmill.storage.keywords.analysis.languages import languages_in, with_languages
from docmill.storage.keywords.keyword_writer import rebuild, update
from docmill.storage.keywords.segments.build import language_of
from docmill.storage.keywords.segments.state import FOLDER, KeywordState
from docmill.storage.lance.vectors import FOLDER as VECTOR_TABLES
from docmill.storage.tables.tables import OF_DOCUMENTS, at_once, read_stored_file, read_table, write_bucket
from docmill.storage.writer.pending_vectors import COLUMNS, counted, waiting
from docmill.storage.writer.posting_rows import stored_rows

_CHUNK = ["chunk_id", "document_id"]


def narrowed(stored: StoredSnapshot, principals: Iterable[str]) -> StoredSnapshot:
    """Return the part of a held snapshot that principals may see, in a temporary folder of its own."""
    visible = visible_in(stored, principals, _later(stored))
    folder = make_folder(stored)
    for name in (FOLDER, snapshots.FOLDER, "artifacts/embeddings", "artifacts/figures"):
        (folder.root / name).mkdir(parents=True)
    _link(stored.root / "artifacts" / "texts", folder.root / "artifacts" / "texts")
    _link(stored.root / VECTOR_TABLES, folder.root / VECTOR_TABLES)
    tables = {name: _table(stored, name, visible, folder) for name in OF_DOCUMENTS}
    own = replace(stored.snapshot, tables=tables, artifacts=_artifacts(stored.snapshot), inventory=None)
    part = StoredSnapshot(folder, own)
    own = replace(own, keywords=_keywords(stored, part, visible), pending=_pending(stored, part))
    snapshots.path_of(folder.root, own.number).write_bytes(snapshots.encode(own))
    return StoredSnapshot(folder, own)


def named_in(stored: StoredSnapshot) -> frozenset[str]:
    """Return the principals that make a difference to what is seen of a snapshot."""
    later = _later(stored)
    return named(stored) | (named(later) if later else frozenset())


def _later(stored: StoredSnapshot) -> StoredSnapshot | None:
    """Return the newest snapshot if `stored` is an older one."""
    newest = stored.folder.newest()
    if newest is None or newest.number <= stored.number:
        return None
    stored.folder.ensure([piece.file for piece in newest.pieces("documents")])
    return newest


def _link(target: Path, link: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target.resolve())


def _artifacts(whole: Snapshot) -> dict[str, tuple[StoredFile, ...]]:
    copied = {"embeddings": StoredFile(VECTORS, 0), "figures": StoredFile(PICTURES, 0)}
    return {kind: (copied[kind],) if packs and kind in copied else packs for kind, packs in whole.artifacts.items()}


def _table(stored: StoredSnapshot, name: str, visible: pa.Array, folder: NarrowedFolder) -> tuple[StoredFile, ...]:
    """Write the visible rows of a table."""

    def written(piece: StoredFile) -> Iterator[StoredFile]:
        rows = read_stored_file(stored.root, piece)
        seen = rows.filter(pc.is_in(rows.column("document_id"), value_set=visible))
        if seen.num_rows:
            yield write_bucket(folder.root, name, seen, piece.bucket)

    return tuple(file for files in at_once(lambda piece: [*written(piece)], stored.pieces(name)) for file in files)


def _keywords(stored: StoredSnapshot, part: StoredSnapshot, visible: pa.Array) -> KeywordState:
    """Return the keyword index without the hidden chunks: its postings are links, and tombstones hide rows of them."""
    state = stored.snapshot.keywords
    try:
        for file in state.files():
            _link(stored.root / file.path, part.root / file.path)
        made = update(part.root, state, _hidden(stored, visible), ())
    except StoreError:  # postings of an older docmill, or those of an old snapshot, which a repair gives up
        return rebuild(part.root, stored_rows(part), state.language)
    return replace(made, language=_languages(part, made.language))


def _hidden(stored: StoredSnapshot, visible: pa.Array) -> list[str]:
    """Return the ids of the chunks of all documents that are not visible."""
    chunks = read_table(stored, "chunks", _CHUNK)
    hidden = chunks.filter(pc.invert(pc.is_in(chunks.column("document_id"), value_set=visible)))
    found: list[str] = hidden.column("chunk_id").to_pylist()
    return found


def _languages(part: StoredSnapshot, language: str) -> str:
    """Return the languages of an index without those that no visible chunk has: a query is read in each of them."""
    first, *others = languages_in(language)
    left = set(others)
    for _, fields in stored_rows(part) if left else ():
        left.discard(language_of(fields, first))
        if not left:
            break
    return with_languages(first, set(others) - left)


def _pending(stored: StoredSnapshot, part: StoredSnapshot) -> PendingVectors | None:
    """Return the count of the visible chunks that wait for their vectors."""
    pending = stored.snapshot.pending
    if pending is None:
        return None
    packs = Packs(stored.ensure_packs("embeddings"))
    return counted(waiting(read_table(part, "chunks", COLUMNS), packs), pending.tokens_per_s)
