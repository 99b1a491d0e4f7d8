"""The folder of a store: where it lies, and what is done otherwise where it mirrors an object store.

`open_folder` in `storage/mirror/mirror_folder.py` decides once which of the two a folder is, and gives back a
`StoreFolder` or the `MirrorFolder` that overrides these methods. Who is handed one never asks.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, explain_full_disk, put_if_absent, settle
from docmill.storage.history import snapshots
from docmill.storage.history.retention import forget, hold
from docmill.storage.history.snapshots import Snapshot
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
        snapshots.existing(self.root)
        return self

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

    def hold(self, at: int | str | None) -> tuple[Snapshot, int]:
        """Return a snapshot that can be searched, the newest or the one that `at` says, and the file that holds it."""
        return hold(self.root, at)

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
