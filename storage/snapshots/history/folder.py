"""Folder: a store's folder and a snapshot in it, with a hook for each step that an object store changes.

`open_folder` in `storage/remote/mirror/open_folder.py` returns a `StoreFolder`, or a `MirrorFolder` that overrides
these methods. Callers do not need to know which one they have.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Self

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, explain_full_disk, put_if_absent, settle
from docmill.storage.lock import locked
from docmill.storage.snapshots.history import quarantine, snapshots
from docmill.storage.snapshots.history.quarantine import SetAside
from docmill.storage.snapshots.history.retention import forget, hold
from docmill.storage.snapshots.history.snapshots import Snapshot, StoredFile


@dataclass(frozen=True)
class StoreFolder:
    """The folder of a store without an object store, so many methods below do nothing."""

    root: Path
    always_shows_newest: ClassVar[bool] = True
    """Whether `current/` must show the newest snapshot; a mirror without a writer has no `current/`."""
    next_writer_is_here: ClassVar[bool] = True
    """Whether the next writer uses this folder too. In a mirror, it may be on another machine."""

    @property
    def name(self) -> str:
        """The name of the store in messages."""
        return str(self.root)

    @property
    def facts(self) -> Path:
        """The folder where runs keep notes besides snapshots, such as where the files of the sources are."""
        return self.root

    @property
    def whole(self) -> "StoredSnapshot | None":
        """The complete snapshot, if this folder only has the part of it that some principals may see; else None."""
        return None

    @property
    def beside(self) -> "StoreFolder":
        """The folder that keeps judgements and logged queries."""
        return self

    def existing(self) -> Self:
        """Return the folder after checking that it holds a snapshot."""
        snapshots.existing(self.root, self.name)
        return self

    def read(self, number: int | None = None) -> "StoredSnapshot":
        """Return the snapshot `number`, or the newest; raise `StoreError` if there is none."""
        return StoredSnapshot(self, snapshots.read(self.root, number, self.name))

    def newest(self) -> "StoredSnapshot | None":
        """Return the newest snapshot, or None before the first commit."""
        return self.read() if snapshots.numbers(self.root) else None

    @contextmanager
    def lock(self, wait_s: float = 0.0, mending: bool = False) -> Iterator[None]:
        """Lock the store for writing, and bring its list of snapshots up to date.

        Raises `Locked` if another writer holds the lock for more than `wait_s` seconds, `Transient` if the disk is
        full, and `StoreError` if the newest snapshot cannot be read from an object store, unless the caller is
        `mending` it.
        """
        # One deadline for both locks: `wait_s` is the total waiting time.
        deadline = time.monotonic() + wait_s
        with explain_full_disk(self.root), locked(self.root, self.name, deadline), self._leased(deadline, mending):
            yield

    def _leased(self, deadline: float, mending: bool) -> AbstractContextManager[None]:
        """Keep out writers on other machines; a plain folder has none. Wait until `deadline` (monotonic clock)."""
        return nullcontext()

    def hold(self, at: int | str | None) -> tuple["StoredSnapshot", int]:
        """Return a searchable snapshot, the newest or the one at `at`, and the open file whose lock protects it."""
        snapshot, handle = hold(self.root, at, self.name)
        return StoredSnapshot(self, snapshot), handle

    def refresh(self) -> None:
        """Bring the lists of snapshots, candidates and tags up to date."""

    def refresh_if_possible(self) -> None:
        """Do what `refresh` does; if an object store does not answer, only log it."""
        self.refresh()

    @property
    def synced(self) -> datetime | None:
        """When this folder was last in sync with its object store, or None without one."""
        return None

    def ensure(self, files: Sequence[FileRef]) -> None:
        """Make files of a snapshot available on this machine; the caller holds the snapshot."""

    def complete(self, others: Iterable[Snapshot] = (), tables_of: Iterable[Snapshot] = ()) -> None:
        """Make available all files of the newest snapshot and of `others`, and the tables of `tables_of`."""

    def commit(self, snapshot: Snapshot) -> None:
        """Make a snapshot the newest one, in one write; the caller holds the lock.

        Raises if another writer has committed this number first.
        """
        # Once the snapshot has its name, readers trust every file that it names; a power cut must not undo a write.
        settle()
        # The lock should keep others out, but some network file systems do not honour locks, so the name decides.
        if not put_if_absent(snapshots.path_of(self.root, snapshot.number), snapshots.encode(snapshot)):
            raise StoreError(f"snapshot {snapshot.number} was committed by another writer; run again")

    def drop(self, numbers: Iterable[int]) -> list[int]:
        """Remove snapshots that no reader holds; return the removed ones. `sweep` removes their files later."""
        return [number for number in numbers if forget(snapshots.path_of(self.root, number))]

    def collect(self, grace_hours: float) -> int:
        """Remove the objects that no snapshot names, and return the bytes freed.

        Objects younger than `grace_hours` stay. The caller holds the lock.
        """
        return 0

    def share_candidate(self, name: str, snapshot: Snapshot) -> Snapshot:
        """Share a candidate snapshot with other machines; return the version that was shared."""
        return snapshot

    def share_tag(self, name: str, data: bytes) -> None:
        """Share a tag with other machines."""

    def unshare(self, folder: str, name: str) -> None:
        """Remove a shared tag or candidate snapshot; `folder` is the folder of tags or of candidates."""

    def share(self, folder: str, path: Path) -> None:
        """Share a file that no snapshot names; it replaces a shared file of the same name."""

    def share_own(self, folder: str, path: Path) -> None:
        """Share a file that only this machine writes; it replaces the shared file of the same name."""

    def unshare_files(self, folder: str, names: Iterable[str]) -> None:
        """Remove shared files, given their names without ending."""

    def level(self, folder: str, own: str) -> None:
        """Exchange files with other machines: fetch shared files into `own`, and share files that only `own` has."""

    def remote_faults(self, snapshot: Snapshot, deep: bool, read: bool) -> Iterator[tuple[str, str]]:
        """Yield the faults of a snapshot's objects, each as its kind and a message; `read` compares their content."""
        yield from ()

    def remote_faults_of(self, files: Iterable[FileRef], read: bool) -> dict[FileRef, str] | None:
        """Return the faults of the objects of files, by file, or None without an object store."""
        return None

    def remote_snapshot_faults(self, read: bool) -> list[tuple[int, str]]:
        """Return the damaged snapshots of the object store, each with its number and a message."""
        return []

    def give_up_snapshots(self, numbers: Iterable[int]) -> None:
        """Set damaged snapshots of the object store aside; the caller holds the lock."""

    def restore(self) -> list[str]:
        """Replace damaged or missing files with intact copies between folder and object store.

        Returns what was done, one line each.
        """
        return []

    def give_up(self, files: Iterable[FileRef]) -> None:
        """Set damaged files aside, so that new files can take their names; the caller holds the lock."""
        for file in files:
            quarantine.move(self.root, file.path)

    def set_aside(self) -> list[SetAside]:
        """Return the files and objects that repairs have set aside."""
        return quarantine.listing(self.root)

    def expire_aside(self, days: float) -> None:
        """Remove what was set aside more than `days` ago; the caller holds the lock."""
        quarantine.expire(self.root, days)


@dataclass(frozen=True)
class StoredSnapshot:
    """A snapshot and the folder of its files; the snapshot is committed, or prepared for a commit."""

    folder: StoreFolder
    snapshot: Snapshot

    @property
    def root(self) -> Path:
        """The path of the folder."""
        return self.folder.root

    @property
    def number(self) -> int:
        """The number of the snapshot."""
        return self.snapshot.number

    def pieces(self, table: str) -> tuple[StoredFile, ...]:
        """Return the files of a table with their buckets, or none for a table that the snapshot lacks."""
        return self.snapshot.tables.get(table, ())

    def paths(self, table: str) -> list[Path]:
        """Return the Parquet files of a table."""
        return [self.root / piece.file.path for piece in self.pieces(table)]

    def packs(self, kind: str) -> list[Path]:
        """Return the packs of a kind of artifact: `texts`, `embeddings` or `figures`."""
        return [self.root / piece.file.path for piece in self.snapshot.artifacts.get(kind, ())]

    def ensure_packs(self, kind: str) -> list[Path]:
        """Return the packs of a kind after making all of them available on this machine."""
        self.folder.ensure([piece.file for piece in self.snapshot.artifacts.get(kind, ())])
        return self.packs(kind)

    def changed(self, **parts: Any) -> "StoredSnapshot":
        """Return the snapshot with some parts replaced, in the same folder; nothing is written."""
        return replace(self, snapshot=replace(self.snapshot, **parts))
