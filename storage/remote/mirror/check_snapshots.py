"""Check snapshots: compare the snapshots on the object store with those of the mirror, and restore damaged ones."""

from pathlib import Path

from docmill.storage.name_grammar import is_listed
from docmill.storage.remote.mirror import restore_objects
from docmill.storage.remote.objects.bucket import Objects, Vanished
from docmill.storage.snapshots.history import snapshots


def key_of(root: Path, number: int) -> str:
    """Return the key of a snapshot's object."""
    return snapshots.path_of(root, number).relative_to(root).as_posix()


def faults(objects: Objects, root: Path, read: bool) -> list[tuple[int, str]]:
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


def restore(objects: Objects, root: Path) -> list[str]:
    """Replace damaged objects by undamaged snapshots of the mirror, or set them aside; return what was done."""
    done, lost = [], []
    for number, _ in faults(objects, root, read=True):
        path = snapshots.path_of(root, number)
        if path.is_file() and snapshots.is_sound(path.read_bytes()):
            objects.put(key_of(root, number), path.read_bytes())
            done.append(f"sent {key_of(root, number)} again to {objects.url}")
        else:
            lost.append(key_of(root, number))
    whole = [key_of(root, number) for number in snapshots.numbers(root) if key_of(root, number) not in lost]
    restore_objects.fulfil(objects, whole)
    asked = restore_objects.ask(objects, lost)
    return [*done, *(f"set aside {key} of {objects.url}, which is damaged" for key in asked)]
