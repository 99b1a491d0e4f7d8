"""Visible part: the part of a snapshot that some principals may see.

The part is like a store built only from the visible documents: the statistics of its keyword index are those of the
visible chunks, so scores reveal nothing about hidden ones. Data that belongs to no document is left out: rejects, runs,
costs, evaluations, deleted documents and other snapshots.

All readers of a store read this one instead, in a temporary folder, so search, SQL, exports and pages need no code for
permissions. Files that are found only by keys of visible rows, such as canonical texts, are links to those of the whole
store.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from weakref import finalize

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.access.principals import named, visible_in
from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, forget_unsettled
from docmill.storage.keys import bucket_of, key_of
from docmill.storage.search.keywords.analysis.languages import languages_in, with_languages
from docmill.storage.search.keywords.keyword_writer import part_of, rebuild
from docmill.storage.search.keywords.segments.build import language_of
from docmill.storage.search.keywords.segments.state import FOLDER, KeywordState
from docmill.storage.search.vectors.vectors import FOLDER as VECTOR_TABLES
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, by_vector
from docmill.storage.snapshots.artifacts.packs import FIGURES, Packs, embeddings_schema, figure_keys, stream_pack
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.snapshots import (
    PICTURE_VECTORS,
    SPARSE_VECTORS,
    PendingVectors,
    Snapshot,
    StoredFile,
)
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
    """Return the part of a held snapshot that principals may see, in a separate temporary folder.

    It shares unchanged files of tables with `earlier`, the part of an earlier snapshot that they could see.
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
    """Return the number of chunks of some documents."""
    table = read_table(stored, "documents", ["document_id", "chunks"])
    held = table.filter(pc.is_in(table.column("document_id"), value_set=documents)).column("chunks")
    return pc.sum(held).as_py() or 0


def named_in(stored: StoredSnapshot) -> frozenset[str]:
    """Return the principals that make a difference for a snapshot."""
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
    """A table of a snapshot, with a part to be written into `buckets` files, at most as many as the table has."""

    stored: StoredSnapshot
    name: str
    buckets: int

    def groups(self, own: Mapping[int, Sequence[str]]) -> dict[int, list[StoredFile]]:
        """Return the files with documents of `own`, given by bucket, by the bucket of their rows in the part."""
        found: dict[int, list[StoredFile]] = {}
        for piece in self.stored.pieces(self.name):
            if piece.bucket in own:
                found.setdefault(piece.bucket % self.buckets, []).append(piece)
        return found


def _table(
    cut: _Cut, visible: pa.Array, folder: "NarrowedFolder", earlier: "NarrowedFolder | None"
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
    """Return the sorted ids of documents by bucket."""
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
    except StoreError:  # postings of an older docmill, or of an old snapshot that a repair gave up
        return rebuild(part.root, stored_rows(part), state.language)
    return replace(made, language=_languages(part, made.language))


def _languages(part: StoredSnapshot, language: str) -> str:
    """Return the languages of an index that visible chunks have, because a query is analysed in each language."""
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


COPIED = {
    kind: FileRef(f"artifacts/{kind}/narrowed.parquet", 0, "0" * 32)
    for kind in ("embeddings", "figures", PICTURE_VECTORS, SPARSE_VECTORS)
}
"""The kinds of artifacts for which a narrowed store has its own pack, with only the visible ones, because knowing a key
must not be enough to see others. Each is written when first needed; keyword search and SQL need none."""
_PREFIX = f"docmill-narrowed-{os.getuid()}-"
_LOCK = "lock"
_VECTORS_AT_ONCE = 1 << 16
"""Vectors to copy at a time, 100 MB with 384 dimensions; each time, all packs are read."""
_PICTURES_AT_ONCE = 1  # each can be large


@dataclass(frozen=True)
class NarrowedFolder(StoreFolder):
    """The folder of a narrowed snapshot; `shown` is the whole snapshot."""

    shown: StoredSnapshot
    made: dict[str, StoredFile] = field(default_factory=dict)
    """The files of its tables by the files that they were made from."""

    @property
    def whole(self) -> StoredSnapshot:
        """The whole snapshot."""
        return self.shown

    @property
    def name(self) -> str:
        """The name of the whole store."""
        return self.whole.folder.name

    @property
    def synced(self) -> datetime | None:
        """When the whole store was last in sync with an object store."""
        return self.whole.folder.synced

    @property
    def facts(self) -> Path:
        """The folder of the whole store, which has the places of the originals of visible documents."""
        return self.whole.folder.facts

    @property
    def beside(self) -> StoreFolder:
        """The whole store, which has the judgements and logged queries."""
        return self.whole.folder

    def adopt(self, earlier: "NarrowedFolder", made_from: str) -> StoredFile | None:
        """Return a file that was made from the same file for an earlier snapshot, now in both folders."""
        file = earlier.made.get(made_from)
        if file is None:
            return None
        own = self.root / file.file.path
        own.parent.mkdir(parents=True, exist_ok=True)
        try:
            own.hardlink_to(earlier.root / file.file.path)
        except OSError:  # the folder is gone, or its file system has no links
            return None
        return file

    def ensure(self, files: Sequence[FileRef]) -> None:
        """Make files available from the whole store's folder, but copy visible vectors and pictures."""
        own = [file for file in files if not (self.root / file.path).is_file()]
        for kind, copied in COPIED.items():
            if copied in own:
                _copy(self, kind)
        if others := [file for file in own if file not in COPIED.values()]:
            self.whole.folder.ensure(others)


def _copy(folder: NarrowedFolder, kind: str) -> None:
    """Write the artifacts of a kind that visible rows name into a pack."""
    paths = folder.whole.ensure_packs(kind)
    packs, pictured = Packs(paths), kind in ("figures", PICTURE_VECTORS)
    wanted = _visible_pictures(folder) if pictured else _visible_vectors(folder)
    here = wanted.filter(pc.invert(pc.is_in(wanted, value_set=packs.absent(wanted))))
    of_none = FIGURES if kind == "figures" else embeddings_schema(folder.whole.snapshot.space.dimension)
    schema = pq.read_schema(paths[0]) if paths and kind != "embeddings" else of_none
    at_once = _PICTURES_AT_ONCE if kind == "figures" else _VECTORS_AT_ONCE
    _write_pack(folder.root / COPIED[kind].path, _rows(packs, here, schema, at_once), kind)


def _visible_vectors(folder: NarrowedFolder) -> pa.StringArray:
    """Return the keys of the vectors of visible chunks."""
    rows = by_vector(read_table(folder.read(), "chunks", ["chunk_id", *KEYS]))
    return pc.unique(rows.column("embedding_key")).sort()


def _visible_pictures(folder: NarrowedFolder) -> pa.StringArray:
    """Return the keys of the pictures of the visible documents."""
    return pc.unique(figure_keys(read_table(folder.read(), "documents", ["figures"]).column("figures")))


def _rows(packs: Packs, keys: pa.StringArray, schema: pa.Schema, at_once: int) -> Iterator[pa.Table]:
    yield schema.empty_table()
    for first in range(0, len(keys), at_once):
        yield packs.take(keys.slice(first, at_once)).select(schema.names)


def _write_pack(target: Path, tables: Iterator[pa.Table], kind: str) -> None:
    draft = target.with_suffix(".draft")
    stream_pack(draft, tables, kind)
    draft.replace(target)


def make_folder(whole: StoredSnapshot) -> NarrowedFolder:
    """Create an empty folder that only its owner can read. It is removed with the last reference to it.

    Folders left by killed processes are removed first.
    """
    _sweep(Path(tempfile.gettempdir()))
    draft = Path(tempfile.mkdtemp(prefix="docmill-")).resolve()
    held = os.open(draft / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    root = draft.rename(draft.with_name(draft.name.replace("docmill-", _PREFIX)))  # others remove it if it is unlocked
    made = NarrowedFolder(root, whole)
    finalize(made, _remove, root, held)
    return made


def _remove(root: Path, held: int) -> None:
    forget_unsettled(root)
    shutil.rmtree(root, ignore_errors=True)
    os.close(held)


def _sweep(place: Path) -> None:
    """Remove the narrowed folders of processes that have ended, which released their locks."""
    for root in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            held = os.open(root / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(root, ignore_errors=True)
            finally:
                os.close(held)
