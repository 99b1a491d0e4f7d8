"""The folder of a store, and a snapshot in it: where they lie, and what differs where an object store is behind.

`open_folder` in `storage/mirror/mirror_folder.py` decides once which of the two a folder is, and gives back a
`StoreFolder` or the `MirrorFolder` that overrides these methods. Who is handed one never asks.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, explain_full_disk, put_if_absent, settle
from docmill.storage.history import snapshots
from docmill.storage.history.retention import forget, hold
from docmill.storage.history.snapshots import Snapshot, StoredFile
from docmill.storage.lock import locked


@dataclass(frozen=True)
class StoreFolder:
    """The folder of a store that nothing lies behind: all of it is here, so much below is nothing to do."""

    root: Path
    always_shows_newest: ClassVar[bool] = True
    """Whether `current/` has to show the newest snapshot; a mirror where nobody writes has none."""

    @property
    def name(self) -> str:
        """How a person names the store."""
        return str(self.root)

    def existing(self) -> Self:
        """Return the folder, having checked that it holds a snapshot."""
        snapshots.existing(self.root, self.name)
        return self

    def read(self, number: int | None = None) -> "StoredSnapshot":
        """Return a snapshot, the newest unless `number` says which; `StoreError` where there is none."""
        return StoredSnapshot(self, snapshots.read(self.root, number, self.name))

    def newest(self) -> "StoredSnapshot | None":
        """Return the newest snapshot, or None where nothing was committed yet."""
        return self.read() if snapshots.numbers(self.root) else None

    @contextmanager
    def lock(self, wait_s: float = 0.0) -> Iterator[None]:
        """Hold the store for writing, with its list of snapshots up to date.

        Raises `Locked` if another writer has it for longer than `wait_s` seconds, `Transient` where the disk is full.
        """
        deadline = time.monotonic() + wait_s
        with explain_full_disk(self.root), locked(self.root, self.name, deadline), self._leased(deadline):
            yield

    def _leased(self, deadline: float) -> AbstractContextManager[None]:
        """Keep writers on other machines away until `deadline`, of the monotonic clock; there are none."""
        return nullcontext()

    def hold(self, at: int | str | None) -> tuple["StoredSnapshot", int]:
        """Return a snapshot that can be searched, the newest or the one that `at` says, and the file that holds it."""
        snapshot, handle = hold(self.root, at, self.name)
        return StoredSnapshot(self, snapshot), handle

    def refresh(self) -> None:
        """Bring the lists of snapshots, candidates and tags up to date."""

    def ensure(self, files: Sequence[FileRef]) -> None:
        """Have files of a snapshot here that the caller holds."""

    def complete(self, others: Iterable[Snapshot] = (), tables_of: Iterable[Snapshot] = ()) -> None:
        """Have all files of the newest snapshot and of `others` here, and the tables of those in `tables_of`."""

    def commit(self, snapshot: Snapshot) -> None:
        """Make a snapshot the newest one, in one write; the caller holds the lock.

        Raises where another writer was quicker.
        """
        settle()
        if not put_if_absent(snapshots.path_of(self.root, snapshot.number), snapshots.encode(snapshot)):
            raise StoreError(f"snapshot {snapshot.number} was committed by another writer; run again")

    def drop(self, numbers: Iterable[int]) -> list[int]:
        """Remove snapshots unless a reader has come meanwhile; return those gone. Their files stay for `sweep`."""
        return [number for number in numbers if forget(snapshots.path_of(self.root, number))]

    def collect(self, grace_hours: float) -> int:
        """Remove what no snapshot names from behind the folder and return how many bytes it was.

        What is younger than `grace_hours` stays, to the second. The caller holds the lock.
        """
        return 0

    def share_candidate(self, name: str, snapshot: Snapshot) -> Snapshot:
        """Give a snapshot that is held back to other machines; return it as they see it."""
        return snapshot

    def share_tag(self, name: str, data: bytes) -> None:
        """Give a tag to other machines."""

    def unshare(self, folder: str, name: str) -> None:
        """Take a tag or a candidate from other machines; `folder` is where its kind lies."""

    def share(self, folder: str, path: Path) -> None:
        """Give a file that no snapshot names to other machines, in the place of what had its name."""

    def level(self, folder: str, own: str) -> None:
        """Have here, in the folder `own`, what all machines have in `folder`, and give them what is only here."""

    def far_faults(self, snapshot: Snapshot, deep: bool) -> Iterator[tuple[str, str]]:
        """Yield what is wrong behind the folder with the files of a snapshot: its kind and a message."""
        yield from ()

    def far_sizes(self) -> dict[str, int]:
        """Return the lengths of the files behind the folder, by key, from which it takes what it lacks."""
        return {}

    def restore(self) -> list[str]:
        """Bring the folder and what lies behind it in line, each with what only the other has; say what was done."""
        return []


@dataclass(frozen=True)
class StoredSnapshot:
    """A snapshot and the folder that has its files: what is read, or has been prepared to be committed."""

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
        """Return the files of a table with their buckets, of one that the snapshot does not have none."""
        return self.snapshot.tables.get(table, ())

    def paths(self, table: str) -> list[Path]:
        """Return the Parquet files of a table."""
        return [self.root / piece.file.path for piece in self.pieces(table)]

    def packs(self, kind: str) -> list[Path]:
        """Return the packs of a kind of artifact, texts or embeddings."""
        return [self.root / piece.file.path for piece in self.snapshot.artifacts[kind]]

    def ensure_packs(self, kind: str) -> list[Path]:
        """Return the packs of a kind, having them all here."""
        self.folder.ensure([piece.file for piece in self.snapshot.artifacts[kind]])
        return self.packs(kind)

    def changed(self, **parts: Any) -> "StoredSnapshot":
        """Return the snapshot with other parts, in the same folder; nothing is written."""
        return replace(self, snapshot=replace(self.snapshot, **parts))
