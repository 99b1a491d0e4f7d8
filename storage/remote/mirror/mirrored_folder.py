"""Mirrored folder: the local mirror of a store on an object store.

A lease on the object store lets one writer among all machines write.
"""

import json
import logging
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Self

from docmill.storage.address import MirrorMark
from docmill.storage.errors import Locked, StoreError, Transient
from docmill.storage.files import FileRef, put_if_absent, settle
from docmill.storage.remote.mirror import (
    check,
    garbage_collection,
    offline,
    pull,
    restore_objects,
)
from docmill.storage.remote.mirror.inventory import all_files, with_inventory
from docmill.storage.remote.mirror.pull import IDENTITY
from docmill.storage.remote.objects import shared_files
from docmill.storage.remote.objects.bucket import Objects, connect
from docmill.storage.remote.objects.lease import confirm, leased
from docmill.storage.remote.objects.transfer import faults, key_of_file, send
from docmill.storage.snapshots.history import snapshots, tags
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.quarantine import SetAside
from docmill.storage.snapshots.history.snapshots import Snapshot, vector_tag

FORMAT = 1  # of the file that identifies a store


def _found(objects: Objects) -> None:
    """Give a new store its identity; raise an error for an object store whose conditional puts overwrite objects."""
    if not objects.put_if_absent(IDENTITY, _identity()):
        return
    if objects.put_if_absent(IDENTITY, _identity()):
        objects.delete([IDENTITY])
        raise StoreError(f"{objects.url}: this object store ignores If-None-Match on a put, so no commit would be safe")


def _identity() -> bytes:
    return json.dumps({"format": FORMAT, "store": secrets.token_hex(16)}).encode()


_log = logging.getLogger("docmill.remote")


@dataclass(frozen=True)
class MirrorFolder(StoreFolder):
    """The mirror of a store on an object store. It fetches files when they are needed and uploads new ones."""

    mark: MirrorMark
    always_shows_newest: ClassVar[bool] = False
    next_writer_is_here: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The address of the store."""
        return self.mark.url

    @property
    def objects(self) -> Objects:
        """The object store."""
        return connect(self.mark.url)

    def existing(self) -> Self:
        """Return the folder after checking that it has an undamaged snapshot."""
        if not snapshots.numbers(self.root):
            pull.refuse(self.objects, self.root, pull.refresh(self.objects, self.root, self.mark))
        return super().existing()

    @contextmanager
    def _leased(self, deadline: float, mending: bool) -> Iterator[None]:
        """Hold the lease of the store; the caller has the lock of the mirror, whose list of snapshots is up to date.

        Raises `Locked` if another mirror's writer still holds the lease at `deadline`, on the monotonic clock, and
        `StoreError` if the newest snapshot is damaged, unless the caller repairs the store (`mending`).
        """
        objects = self.objects
        _found(objects)
        with leased(objects, self.root, self.mark, deadline):
            unread = pull.refresh(objects, self.root, self.mark)
            if not mending:
                pull.refuse(objects, self.root, unread)
            pull.tidy(self.root)
            yield

    def hold(self, at: int | str | None) -> tuple[StoredSnapshot, int]:
        """Return a snapshot after fetching what searches need. If a vacuum removes it meanwhile, return the next one.

        If the object store does not answer, return the mirror's snapshot if it is complete.
        """
        try:
            snapshot, handle = pull.take(self.objects, self.root, self.mark, at)
        except Transient as error:
            snapshot, handle = offline.take(self.root, self.mark, at, error)
        return StoredSnapshot(self, snapshot), handle

    def refresh(self) -> None:
        """Update the mirror's snapshots, candidate snapshots, tags and evaluations from its object store."""
        self.objects.knock()
        for key in pull.refresh(self.objects, self.root, self.mark):
            _log.warning("%s/%s is damaged and was not stored; see: docmill verify", self.mark.url, key)

    def refresh_if_possible(self) -> None:
        """Like `refresh`, but if the object store does not answer, only log this and the age of the mirror."""
        try:
            self.refresh()
        except Transient as error:
            offline.warn(self.root, self.mark, error)

    @property
    def synced(self) -> datetime | None:
        """When the mirror was last in sync with its object store, if recorded."""
        return offline.synced(self.root)

    def ensure(self, files: Sequence[FileRef]) -> None:
        """Fetch files of a snapshot; the caller holds the snapshot."""
        pull.ensure(self.objects, self.root, files)

    def complete(self, others: Iterable[Snapshot] = (), tables_of: Iterable[Snapshot] = ()) -> None:
        """Fetch all files of the newest snapshot and of `others`, and the tables of those in `tables_of`."""
        pull.complete(self.objects, self.root, others, tables_of)

    def commit(self, snapshot: Snapshot) -> None:
        """Upload the files of a snapshot, commit it by a conditional put, then write it into the mirror.

        If another writer was faster, the mirror does not get the snapshot, and the uploaded files are removed later.
        """
        settle()
        whole = self._sent(snapshot, vector_tag(snapshot.number))
        key = check.key_of_snapshot(self.root, snapshot.number)
        newer = [entry.key for entry in self.objects.listing(snapshots.FOLDER) if entry.key >= key]
        if newer or not self.objects.put_if_absent(key, snapshots.encode(whole)):
            raise Locked(f"{self.name}: snapshot {snapshot.number} was committed by another writer; run again")
        put_if_absent(self.root / key, snapshots.encode(whole))  # a reader may have fetched it meanwhile

    def _sent(self, snapshot: Snapshot, name: str) -> Snapshot:
        """Upload the missing files of a snapshot, and return it with its inventory."""
        whole = with_inventory(self.root, snapshot, snapshots.newest(self.root), name)
        send(self.objects, self.root, all_files(self.root, whole))
        confirm(self.objects, self.root)
        return whole

    def drop(self, numbers: Iterable[int]) -> list[int]:
        """Remove snapshots here and on the object store, where their files stay for the grace period."""
        gone = super().drop(numbers)
        garbage_collection.condemn(self.objects, self.root, gone)
        return gone

    def collect(self, grace_hours: float) -> int:
        """Remove the objects that no snapshot names."""
        return garbage_collection.collect(self.objects, self.root, grace_hours)

    def share_candidate(self, name: str, snapshot: Snapshot) -> Snapshot:
        """Upload a candidate snapshot, and return it as stored there, with its inventory."""
        whole = self._sent(snapshot, name)
        self.objects.put(f"{snapshots.CANDIDATES}/{name}.json", snapshots.encode(whole))
        return whole

    def share_tag(self, name: str, data: bytes) -> None:
        """Upload a tag unless the name is taken."""
        self.objects.put_if_absent(f"{tags.FOLDER}/{name}.json", data)

    def unshare(self, folder: str, name: str) -> None:
        """Delete a name from the object store."""
        self.objects.delete([f"{folder}/{name}.json"])

    def share(self, folder: str, path: Path) -> None:
        """Upload a new or rewritten file and replace the object with the same name."""
        shared_files.share(self.objects, folder, path)

    def share_own(self, folder: str, path: Path) -> None:
        """Upload a file that only this machine writes, and replace the object with the same name."""
        shared_files.share_own(self.objects, folder, path)

    def unshare_files(self, folder: str, names: Iterable[str]) -> None:
        """Delete the objects of shared files."""
        shared_files.unshare(self.objects, folder, names)

    def level(self, folder: str, own: str) -> None:
        """Fetch the objects in `folder`, and upload files that were never uploaded."""
        shared_files.level(self.objects, folder, self.root / own)

    def remote_faults(self, snapshot: Snapshot, deep: bool, read: bool) -> Iterator[tuple[str, str]]:
        """Yield the faults of a snapshot's objects after completing the mirror."""
        return check.remote_faults(self.objects, self.root, snapshot, deep, read)

    def remote_faults_of(self, files: Iterable[FileRef], read: bool) -> dict[FileRef, str]:
        """Return what is wrong with the objects of files."""
        return faults(self.objects, files, read)

    def remote_snapshot_faults(self, read: bool) -> list[tuple[int, str]]:
        """Return the damaged snapshots of the object store; without `read`, those undamaged here are skipped."""
        return check.snapshot_faults(self.objects, self.root, read)

    def give_up_snapshots(self, numbers: Iterable[int]) -> None:
        """Set damaged snapshots of the object store aside."""
        keys = [check.key_of_snapshot(self.root, number) for number in numbers]
        restore_objects.give_up(self.objects, keys)

    def restore(self) -> list[str]:
        """Exchange undamaged files between mirror and object store; set aside objects of which neither has one."""
        return [*check.restore_snapshots(self.objects, self.root), *check.restore(self.objects, self.root)]

    def give_up(self, files: Iterable[FileRef]) -> None:
        """Set damaged files and their objects aside."""
        given = list(files)
        super().give_up(given)
        wrong = faults(self.objects, given, read=True)
        restore_objects.give_up(self.objects, map(key_of_file, wrong))

    def set_aside(self) -> list[SetAside]:
        """Return the objects, and the files of the mirror, that repairs have set aside."""
        return [*restore_objects.listing(self.objects), *super().set_aside()]

    def expire_aside(self, days: float) -> None:
        """Remove what was set aside more than `days` ago."""
        super().expire_aside(days)
        restore_objects.expire(self.objects, self.root, days)
