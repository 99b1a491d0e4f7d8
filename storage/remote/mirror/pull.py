"""Pull: fetch the list of snapshots and the files of used snapshots from the object store into the mirror."""

import fcntl
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from docmill.storage.address import MirrorMark, belong, mark_of
from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, flocked, put_if_absent, remove, write_whole
from docmill.storage.name_grammar import is_listed, shown
from docmill.storage.remote.mirror import offline
from docmill.storage.remote.mirror.inventory import FOLDER as INVENTORIES
from docmill.storage.remote.mirror.inventory import all_files, vector_files
from docmill.storage.remote.mirror.restore_objects import answer
from docmill.storage.remote.objects.bucket import Objects, Vanished
from docmill.storage.remote.objects.shared_files import level, level_own
from docmill.storage.remote.objects.transfer import INCOMING, VECTORS, fetch, is_here
from docmill.storage.snapshots.history import learned_settings, query_log, snapshots, tags
from docmill.storage.snapshots.history.garbage import garbage
from docmill.storage.snapshots.history.judgements import FOLDER as JUDGEMENTS
from docmill.storage.snapshots.history.measurements import FOLDER as EVALUATIONS
from docmill.storage.snapshots.history.retention import forget, hold, lock_is_held
from docmill.storage.snapshots.history.snapshots import Snapshot

IDENTITY = "store.json"
_log = logging.getLogger("docmill.remote")
_MIRRORED = (
    snapshots.FOLDER,
    snapshots.CANDIDATES,
    tags.FOLDER,
    "tables",
    "artifacts",
    "keywords",
    INVENTORIES,
    VECTORS,
    INCOMING,
    EVALUATIONS,
    JUDGEMENTS,
    query_log.FOLDER,
    learned_settings.FOLDER,
)
_TRIES = 20
"""Tries of `take`. A try fails only if a vacuum removes the snapshot while it is fetched; the next one uses a newer
snapshot. If all fail, the object store lists objects that it does not have."""


def take(objects: Objects, root: Path, mark: MirrorMark, at: int | str | None) -> tuple[Snapshot, int]:
    """Return a searchable snapshot of a mirror, and the open file that keeps it.

    The mirror is updated first. If a vacuum removes the newest snapshot meanwhile, the next one is used.
    """
    for _ in range(_TRIES):
        objects.knock()
        unread = refresh(objects, root, mark)
        # A request by number may return an older snapshot even if the newest is damaged.
        if at is None or not snapshots.numbers(root):
            refuse(objects, root, unread)
        with _fetching(root):
            # Held before its files are fetched, so that a vacuum on this machine does not remove it.
            snapshot, handle = hold(root, at, mark.url)
            try:
                _fetch_searched(objects, root, snapshot)
            except BaseException as error:
                os.close(handle)
                if not isinstance(error, Vanished):
                    raise
                lost = str(error)
            else:
                return snapshot, handle
        # Another try would use the same snapshot, which is gone; without a number, it uses a newer one.
        if at is not None:
            break
    what = f"snapshot {snapshot.number} of {mark.url} has just been removed, or an object is lost"
    raise StoreError(f"{what}: {lost}; open another one, or see: docmill verify --store {mark.url}")


def _fetch_searched(objects: Objects, root: Path, snapshot: Snapshot) -> None:
    fetch(objects, root, [*snapshot.table_files(), *snapshot.keywords.files(), *_inventory(snapshot)])
    fetch(objects, root, vector_files(root, snapshot))


def _inventory(snapshot: Snapshot) -> list[FileRef]:
    return [snapshot.inventory] if snapshot.inventory else []


def ensure(objects: Objects, root: Path, files: Sequence[FileRef]) -> None:
    """Fetch files of a snapshot; the caller holds the snapshot."""
    with _fetching(root):
        # Only if files are missing: complete data can be read without the object store.
        if any(not is_here(root, file) for file in files):
            objects.knock()
        fetch(objects, root, files)


def complete(objects: Objects, root: Path, others: Iterable[Snapshot], tables_of: Iterable[Snapshot]) -> None:
    """Fetch all files of the newest snapshot and of `others` into a mirror, and the tables of those in `tables_of`."""
    if not snapshots.numbers(root):
        return
    with _fetching(root):
        states = [snapshots.read(root), *others]
        # Inventories first, because they name the files of the vectors, which `all_files` returns.
        fetch(objects, root, chain.from_iterable(map(_inventory, states)))
        files = [file for state in states for file in all_files(root, state)]
        fetch(objects, root, [*files, *chain.from_iterable(map(Snapshot.table_files, tables_of))])


def refresh(objects: Objects, root: Path, mark: MirrorMark) -> dict[str, str]:
    """Update the mirror's snapshots, candidates and tags from its object store, and upload files that others request.

    A damaged snapshot is not stored, and one that is damaged in the mirror is fetched again. Return the keys of the
    snapshots that are damaged in both places with what is wrong, oldest first.
    """
    _recognise(objects, root, mark_of(root) or mark)  # another refresh may have recorded the store meanwhile
    answer(objects, root)  # before removing snapshots here that other machines request
    listed = _listed(objects, snapshots.FOLDER)
    here = {snapshots.path_of(root, number).name for number in snapshots.numbers(root)}
    unread = _fetch_snapshots(objects, root, sorted(listed - set(_whole(root))))
    # Snapshots that a reader has open stay until the next refresh.
    gone = [name for name in here - listed if forget(root / snapshots.FOLDER / name)]
    for folder in (tags.FOLDER, snapshots.CANDIDATES):
        _refresh_names(objects, root, folder)
    for folder in (EVALUATIONS, JUDGEMENTS, learned_settings.FOLDER):
        level(objects, folder, root / folder)
    level_own(objects, query_log.FOLDER, root / query_log.FOLDER, query_log.machine_of(root))
    if gone:
        # An active writer on this mirror cleans up itself, and needs files that no snapshot names yet.
        with suppress(BlockingIOError), flocked(root / "lock", fcntl.LOCK_EX | fcntl.LOCK_NB):
            tidy(root)
    offline.record(root)
    return unread


def _listed(objects: Objects, folder: str) -> set[str]:
    """Return the names of the objects in a folder, ignoring names that docmill would not give."""
    keys = {entry.key for entry in objects.listing(folder)} - {folder}  # web consoles create an object for a folder
    own = {key for key in keys if is_listed(key, folder)}
    if strange := sorted(keys - own):
        what = "%s: %d objects have names that docmill does not give, such as %s; they are left there"
        _log.warning(what, objects.url, len(strange), shown(strange[0]))
    return {Path(key).name for key in own}


def _fetch_snapshots(objects: Objects, root: Path, names: Sequence[str]) -> dict[str, str]:
    """Fetch snapshots; return the keys of damaged ones with what is wrong."""
    with ThreadPoolExecutor() as pool:
        faults = list(pool.map(lambda name: _fetch_snapshot(objects, root, name), names))
    return {f"{snapshots.FOLDER}/{name}": fault for name, fault in zip(names, faults, strict=True) if fault}


def refuse(objects: Objects, root: Path, unread: Mapping[str, str]) -> None:
    """Raise `StoreError` if one of these unreadable snapshots is newer than all readable ones."""
    newer = [key for key in unread if Path(key).name > max(_whole(root), default="")]
    if newer:
        what = f"{objects.url}/{newer[-1]} is damaged ({unread[newer[-1]]}), and it is the newest snapshot"
        mend = f"on a machine whose mirror has it whole run: docmill repair --store {objects.url}"
        raise StoreError(f"{what}; {mend}. Earlier ones can be opened by number: --at N")


def _whole(root: Path) -> Iterator[str]:
    """Yield the file names of the undamaged snapshots of the mirror."""
    for number in snapshots.numbers(root):
        path = snapshots.path_of(root, number)
        with suppress(FileNotFoundError):  # removed since it was listed
            if snapshots.is_sound(path.read_bytes()):
                yield path.name


def _fetch_snapshot(objects: Objects, root: Path, name: str) -> str:
    """Fetch a snapshot, and replace a damaged one of the mirror; return what is wrong with the object, or ""."""
    key = f"{snapshots.FOLDER}/{name}"
    try:
        data = objects.read(key)
    except Vanished:  # removed since it was listed
        return ""
    if fault := snapshots.fault_of(data):
        return fault
    # A snapshot with a given number never changes, so an undamaged one here is right.
    if not put_if_absent(root / key, data) and not snapshots.is_sound((root / key).read_bytes()):
        write_whole(root / key, data)
        _log.warning("%s was damaged; it has been fetched again from %s", root / key, objects.url)
    return ""


def _refresh_names(objects: Objects, root: Path, folder: str) -> None:
    """Update files that may appear, change and vanish under one name. A file that a reader has open stays for now."""
    listed = _listed(objects, folder)
    for path in (root / folder).glob("*.json"):
        if path.name not in listed and not lock_is_held(path):
            remove(path)
    for name in listed:
        path = root / folder / name
        with suppress(Vanished):
            data = objects.read(f"{folder}/{name}")
            if not path.exists() or (_is_other(path, data) and not lock_is_held(path)):
                write_whole(path, data)


def _is_other(path: Path, data: bytes) -> bool:
    """Return whether an object has changed. A damaged candidate does not count, as the mirror's may be undamaged."""
    damaged = path.parent.name == snapshots.CANDIDATES and not snapshots.is_sound(data)
    return not damaged and path.read_bytes() != data


def _recognise(objects: Objects, root: Path, mark: MirrorMark) -> None:
    """Empty a mirror that follows an earlier store at this address."""
    try:
        identity = objects.read(IDENTITY).decode()
    except Vanished:
        identity = ""
    if identity != mark.store:
        # Staging and replies of language models stay: they are found by content, whatever the store.
        for name in _MIRRORED if mark.store and not _holds_ours(objects, root) else ():
            remove(root / name)
        belong(root, mark, identity)


def _holds_ours(objects: Objects, root: Path) -> bool:
    """Return whether a snapshot of the mirror is on the object store; then only the store's identity was damaged."""
    return any(_is_same(objects, root, number) for number in reversed(snapshots.numbers(root)))


def _is_same(objects: Objects, root: Path, number: int) -> bool:
    path = snapshots.path_of(root, number)
    with suppress(Vanished):
        return objects.read(f"{snapshots.FOLDER}/{path.name}") == path.read_bytes()
    return False


@contextmanager
def _fetching(root: Path) -> Iterator[None]:
    """Keep `tidy` from removing fetched files that no snapshot in the mirror names yet."""
    with flocked(root / "fetching", fcntl.LOCK_SH):
        yield


def tidy(root: Path) -> None:
    """Remove files that no snapshot in the mirror names, unless a fetch runs; the caller has the mirror's lock."""
    with suppress(BlockingIOError), flocked(root / "fetching", fcntl.LOCK_EX | fcntl.LOCK_NB):
        # While this lock is held, no files of other snapshots are fetched.
        states = snapshots.needed(root)
        for path in (*garbage(root, states), *_unnamed_vectors(root, states)):
            remove(path)


def _unnamed_vectors(root: Path, states: Sequence[Snapshot]) -> list[Path]:
    """Return the vector files that no inventory in the mirror names."""
    known = [state for state in states if state.inventory and (root / state.inventory.path).exists()]
    named = {root / file.path for state in known for file in vector_files(root, state)}
    files = filter(Path.is_file, (root / VECTORS).rglob("*"))
    return [path for path in files if path not in named]
