"""Narrowed folder: a temporary store that holds what some principals may see of a snapshot, and nothing else.

Whatever reads a store reads this one in its place: search, SQL, exports and pages need not know of permissions. Files
that are found by keys of visible rows only, such as canonical texts, are links to those of the whole store.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from weakref import finalize

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.files import FileRef, forget_unsettled
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, by_vector
from docmill.storage.snapshots.artifacts.packs import FIGURES, Packs, embeddings_schema, figure_keys, stream_pack
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.snapshots import PICTURE_VECTORS, SPARSE_VECTORS, StoredFile
from docmill.storage.snapshots.tables.tables import read_table

COPIED = {
    kind: FileRef(f"artifacts/{kind}/narrowed.parquet", 0, "0" * 32)
    for kind in ("embeddings", "figures", PICTURE_VECTORS, SPARSE_VECTORS)
}
"""The kinds of artifacts of which a narrowed store has a pack of its own, with what is visible: whoever knows a key may
not see the others. Each is written when it is first needed: keyword search and SQL do without."""
_PREFIX = f"docmill-narrowed-{os.getuid()}-"
_LOCK = "lock"
_VECTORS_AT_ONCE = 1 << 16
"""Vectors to copy at a time, in 100 MB if each has 384 numbers; each time, all packs are read."""
_PICTURES_AT_ONCE = 1  # each can be large


@dataclass(frozen=True)
class NarrowedFolder(StoreFolder):
    """The folder of a narrowed snapshot; `shown` is the snapshot that it shows a part of."""

    shown: StoredSnapshot
    made: dict[str, StoredFile] = field(default_factory=dict)
    """The files of its tables by what they were made from."""

    @property
    def whole(self) -> StoredSnapshot:
        """The snapshot that this folder shows a part of."""
        return self.shown

    @property
    def name(self) -> str:
        """The name of the whole store."""
        return self.whole.folder.name

    @property
    def synced(self) -> datetime | None:
        """When the whole store was last in step with an object store."""
        return self.whole.folder.synced

    @property
    def facts(self) -> Path:
        """The folder of the whole store, which knows where the originals of visible documents are."""
        return self.whole.folder.facts

    @property
    def beside(self) -> StoreFolder:
        """The whole store, which keeps what people have judged and asked."""
        return self.whole.folder

    def adopt(self, earlier: "NarrowedFolder", made_from: str) -> StoredFile | None:
        """Return a file that was made from the same for an earlier snapshot, which both folders then hold."""
        file = earlier.made.get(made_from)
        if file is None:
            return None
        own = self.root / file.file.path
        own.parent.mkdir(parents=True, exist_ok=True)
        try:
            own.hardlink_to(earlier.root / file.file.path)
        except OSError:  # that folder is gone, or its file system has no links
            return None
        return file

    def ensure(self, files: Sequence[FileRef]) -> None:
        """Make files available: by the folder of the whole store; visible vectors and pictures by copying them."""
        own = [file for file in files if not (self.root / file.path).is_file()]
        for kind, copied in COPIED.items():
            if copied in own:
                _copy(self, kind)
        if others := [file for file in own if file not in COPIED.values()]:
            self.whole.folder.ensure(others)


def _copy(folder: NarrowedFolder, kind: str) -> None:
    """Write the artifacts of a kind that visible rows name into one pack."""
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
    """Make an empty folder that only its owner can read; it is removed with the last reference to it.

    Those that a killed process has left are removed first.
    """
    _sweep(Path(tempfile.gettempdir()))
    draft = Path(tempfile.mkdtemp(prefix="docmill-")).resolve()
    held = os.open(draft / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    root = draft.rename(draft.with_name(draft.name.replace("docmill-", _PREFIX)))  # which others sweep if unlocked
    made = NarrowedFolder(root, whole)
    finalize(made, _remove, root, held)
    return made


def _remove(root: Path, held: int) -> None:
    forget_unsettled(root)
    shutil.rmtree(root, ignore_errors=True)
    os.close(held)


def _sweep(place: Path) -> None:
    """Remove the narrowed folders whose process is gone: its lock ended with it."""
    for root in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            held = os.open(root / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(root, ignore_errors=True)
            finally:
                os.close(held)
