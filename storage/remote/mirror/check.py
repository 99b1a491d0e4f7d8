"""Check: compare the objects of a snapshot on the object store with its mirror, and exchange undamaged files."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from docmill.storage.files import FileRef, fault
from docmill.storage.name_grammar import is_listed, placed
from docmill.storage.remote.mirror import restore_objects
from docmill.storage.remote.mirror.inventory import vector_files
from docmill.storage.remote.objects.bucket import Objects, Vanished
from docmill.storage.remote.objects.transfer import faults, fetch_possible, is_here, key_of_file, send_again
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.garbage import named_files
from docmill.storage.snapshots.history.quarantine import FOLDER as ASIDE
from docmill.storage.snapshots.history.snapshots import Snapshot

_TRUTH = ("tables/", "artifacts/texts/", "artifacts/figures/")
"""The folders of files that a repair cannot rebuild: it gives up their objects only if the loss is accepted."""


@dataclass(slots=True)
class _Completed:
    """The files that were fetched and so compared with their hash, and the reasons why others could not be fetched."""

    fetched: set[FileRef] = field(default_factory=set)
    failed: dict[FileRef, str] = field(default_factory=dict)


def remote_faults(
    objects: Objects, root: Path, snapshot: Snapshot, deep: bool, read: bool
) -> Iterator[tuple[str, str]]:
    """Yield the faults of a snapshot's objects, each as its kind and a message.

    The mirror is completed first; with `deep`, damaged files of the mirror are fetched again. With `read`, the objects
    of files that were in the mirror before are read and hashed, too.
    """
    done = _complete(objects, root, snapshot, deep)
    kinds = {file: kind for kind, file in _kinds(root, snapshot)}
    wrong = done.failed | faults(objects, [file for file in kinds if file not in done.fetched], read)
    for file in filter(wrong.__contains__, kinds):
        whole = "" if fault(root, file) else ", but this machine has it whole"
        yield kinds[file], f"{wrong[file]}{whole}"


def restore(objects: Objects, root: Path) -> list[str]:
    """Exchange undamaged files between mirror and object store; return what was done, one line each.

    A damaged object whose file is damaged or missing in this mirror, too, is set aside, which asks other machines for
    it. If it can be rebuilt, it is deleted, so that a repair can upload it again. Otherwise it stays in its place.
    """
    done = _complete(objects, root, snapshots.read(root), deep=True)
    files = dict.fromkeys(file for state in snapshots.needed(root) for _, file in _kinds(root, state))
    wrong = faults(objects, [file for file in files if file not in done.fetched], read=True)
    whole = [file for file in wrong if not fault(root, file)]
    send_again(objects, root, whole)
    lost = {key_of_file(file) for file in wrong} - {key_of_file(file) for file in whole}
    restore_objects.fulfil(objects, {key_of_file(file) for file in files} - lost)
    said = [f"sent {len(whole)} objects again to {objects.url}"] if whole else []
    return said + _set_aside(objects, sorted(lost))


def _set_aside(objects: Objects, lost: list[str]) -> list[str]:
    """Set damaged objects aside, and delete objects that can be rebuilt; return what was done."""
    asked = restore_objects.ask(objects, lost)
    if rebuilt := [key for key in lost if not key.startswith(_TRUTH)]:
        objects.delete(rebuilt)
    return [f"set aside {len(asked)} damaged or missing objects below {objects.url}/{ASIDE}/"] if asked else []


def _complete(objects: Objects, root: Path, snapshot: Snapshot, deep: bool) -> _Completed:
    """Fetch the files of a snapshot that a mirror lacks, with `deep` also damaged ones.

    A damaged file of the mirror stays until an undamaged one replaces it.
    """
    done = _Completed()
    # Twice, because the files in the inventory are known only after it is fetched.
    for _ in ("what it names", "what its inventory names"):
        files = dict.fromkeys(file for _, file in _kinds(root, snapshot))
        wanted = [file for file in files if file not in done.failed and file not in done.fetched]
        lacking = [file for file in wanted if _lacks(root, file, deep)]
        done.failed |= fetch_possible(objects, root, lacking)
        done.fetched |= set(lacking) - set(done.failed)
    return done


def _lacks(root: Path, file: FileRef, deep: bool) -> bool:
    """Return whether a mirror has to fetch a file; raise `UnsafeName` if a link leads it out of the mirror."""
    # A symbolic link in a mirror, created by anyone, must not make this write elsewhere.
    placed(root, file.path)
    return bool(fault(root, file)) if deep else not is_here(root, file)


def _kinds(root: Path, snapshot: Snapshot) -> Iterator[tuple[str, FileRef]]:
    """Yield the files of a snapshot with their kind, those of its vectors only if its inventory is intact."""
    yield from named_files(snapshot)
    if snapshot.inventory and not fault(root, snapshot.inventory):
        yield from (("vectors", file) for file in vector_files(root, snapshot))


def key_of_snapshot(root: Path, number: int) -> str:
    """Return the key of a snapshot's object."""
    return snapshots.path_of(root, number).relative_to(root).as_posix()


def snapshot_faults(objects: Objects, root: Path, read: bool) -> list[tuple[int, str]]:
    """Return the damaged snapshots of the object store, each with its number and a message.

    Without `read`, the objects of snapshots that are undamaged in the mirror are only compared by size.
    """
    found = []
    for entry in sorted(objects.listing(snapshots.FOLDER), key=lambda entry: entry.key):
        path = root / snapshots.FOLDER / Path(entry.key).name
        if not is_listed(entry.key, snapshots.FOLDER):
            continue
        if (read or not _is_here(path, entry.bytes)) and _is_damaged(objects, entry.key):
            found.append((int(path.stem), f"{objects.url}/{entry.key} is damaged"))
    return found


def _is_here(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size and snapshots.is_sound(path.read_bytes())


def _is_damaged(objects: Objects, key: str) -> bool:
    try:
        return bool(snapshots.fault_of(objects.read(key)))
    except Vanished:  # removed since it was listed
        return False


def restore_snapshots(objects: Objects, root: Path) -> list[str]:
    """Replace damaged objects by undamaged snapshots of the mirror, or set them aside; return what was done."""
    done, lost = [], []
    for number, _ in snapshot_faults(objects, root, read=True):
        path = snapshots.path_of(root, number)
        if path.is_file() and snapshots.is_sound(path.read_bytes()):
            objects.put(key_of_snapshot(root, number), path.read_bytes())
            done.append(f"sent {key_of_snapshot(root, number)} again to {objects.url}")
        else:
            lost.append(key_of_snapshot(root, number))
    whole = [
        key_of_snapshot(root, number) for number in snapshots.numbers(root) if key_of_snapshot(root, number) not in lost
    ]
    restore_objects.fulfil(objects, whole)
    asked = restore_objects.ask(objects, lost)
    return [*done, *(f"set aside {key} of {objects.url}, which is damaged" for key in asked)]
