"""Visible part: the part of a snapshot that some principals may see.

The part is a store like one that was built from the visible documents alone: the statistics of its keyword index are
those of the visible chunks, so scores tell nothing of what is hidden. What belongs to no document is left out: rejects,
runs, costs, evaluations, deleted documents and other snapshots.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.access.narrowed_folder import COPIED, NarrowedFolder, make_folder
from docmill.storage.access.principals import named, visible_in
from docmill.storage.errors import StoreError
from docmill.storage.keys import bucket_of, key_of
from docmill.storage.search.keywords.analysis.languages import languages_in, with_languages
from docmill.storage.search.keywords.keyword_writer import part_of, rebuild
from docmill.storage.search.keywords.segments.build import language_of
from docmill.storage.search.keywords.segments.state import FOLDER, KeywordState
from docmill.storage.search.vectors.vectors import FOLDER as VECTOR_TABLES
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import PendingVectors, Snapshot, StoredFile
from docmill.storage.snapshots.tables.tables import (
    OF_DOCUMENTS,
    at_once,
    bucket_counts,
    read_stored_file,
    read_table,
    write_bucket,
)
from docmill.storage.snapshots.write.pending_vectors import COLUMNS, counted, waiting
from docmill.storage.snapshots.write.posting_rows import stored_rows


def narrowed(
    stored: StoredSnapshot, principals: Iterable[str], earlier: StoredSnapshot | None = None
) -> StoredSnapshot:
    """Return the part of a held snapshot that principals may see, in a temporary folder of its own.

    It shares files of tables with `earlier`, what they could see of an earlier snapshot, where these are as they were.
    """
    visible = visible_in(stored, principals, _later(stored))
    folder = make_folder(stored)
    for name in (FOLDER, snapshots.FOLDER, *(f"artifacts/{kind}" for kind in COPIED)):
        (folder.root / name).mkdir(parents=True)
    _link(stored.root / "artifacts" / "texts", folder.root / "artifacts" / "texts")
    _link(stored.root / VECTOR_TABLES, folder.root / VECTOR_TABLES)
    before = earlier.folder if earlier and isinstance(earlier.folder, NarrowedFolder) else None
    buckets = bucket_counts(len(visible), _chunks_of(stored, visible), stored.snapshot)
    own = replace(
        stored.snapshot,
        tables={name: _table(_Cut(stored, name, buckets[name]), visible, folder, before) for name in OF_DOCUMENTS},
        artifacts=_artifacts(stored.snapshot),
        inventory=None,
        buckets=buckets["chunks"],
        document_buckets=buckets["documents"],
    )
    part = StoredSnapshot(folder, own)
    own = replace(own, keywords=_keywords(stored, part), pending=_pending(stored, part))
    snapshots.path_of(folder.root, own.number).write_bytes(snapshots.encode(own))
    return StoredSnapshot(folder, own)


def _chunks_of(stored: StoredSnapshot, documents: pa.Array) -> int:
    """Return how many chunks some documents have."""
    table = read_table(stored, "documents", ["document_id", "chunks"])
    held = table.filter(pc.is_in(table.column("document_id"), value_set=documents)).column("chunks")
    return pc.sum(held).as_py() or 0


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
    copied = {kind: StoredFile(file, 0) for kind, file in COPIED.items()}
    return {kind: (copied[kind],) if packs and kind in copied else packs for kind, packs in whole.artifacts.items()}


@dataclass(frozen=True, slots=True)
class _Cut:
    """A table of a snapshot, of which a part is to be written into `buckets` files, at most as many as it has."""

    stored: StoredSnapshot
    name: str
    buckets: int

    def groups(self, own: Mapping[int, Sequence[str]]) -> dict[int, list[StoredFile]]:
        """Return the files with documents of `own`, which are by bucket, by the bucket of their rows in the part."""
        found: dict[int, list[StoredFile]] = {}
        for piece in self.stored.pieces(self.name):
            if piece.bucket in own:
                found.setdefault(piece.bucket % self.buckets, []).append(piece)
        return found


def _table(
    cut: _Cut, visible: pa.Array, folder: NarrowedFolder, earlier: NarrowedFolder | None
) -> tuple[StoredFile, ...]:
    """Write the visible rows of a table."""
    own = _by_bucket(visible, cut.stored.snapshot.buckets_of(cut.name))
    groups = cut.groups(own)

    def seen(piece: StoredFile) -> pa.Table:
        documents = own[piece.bucket]
        rows = read_stored_file(cut.stored.root, piece, documents=documents)
        return rows.filter(pc.is_in(rows.column("document_id"), value_set=pa.array(documents)))

    def written(bucket: int) -> StoredFile:
        pieces = groups[bucket]
        made_from = key_of(cut.name, bucket, [(piece.file.hash, own[piece.bucket]) for piece in pieces])
        file = folder.adopt(earlier, made_from) if earlier else None
        file = file or write_bucket(folder.root, cut.name, pa.concat_tables(map(seen, pieces)), bucket)
        folder.made[made_from] = file
        return file

    return tuple(file for file in at_once(written, sorted(groups)) if file.rows)


def _by_bucket(documents: pa.Array, buckets: int) -> dict[int, list[str]]:
    """Return the ids of documents, sorted, by their buckets."""
    found: dict[int, list[str]] = {}
    for key in sorted(documents.to_pylist()):
        found.setdefault(bucket_of(key, buckets), []).append(key)
    return found


def _keywords(stored: StoredSnapshot, part: StoredSnapshot) -> KeywordState:
    """Return the keyword index of the visible chunks."""
    state = stored.snapshot.keywords
    ids = read_table(part, "chunks", ["chunk_id"]).column("chunk_id").combine_chunks()
    try:
        made = part_of(stored.root, state, part.root, ids)
    except StoreError:  # postings of an older docmill, or those of an old snapshot, which a repair gives up
        return rebuild(part.root, stored_rows(part), state.language)
    return replace(made, language=_languages(part, made.language))


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
