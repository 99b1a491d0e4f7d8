"""Check: compare the objects of a snapshot on the object store with its mirror, and exchange undamaged files."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from docmill.storage.files import FileRef, fault
from docmill.storage.name_grammar import placed
from docmill.storage.remote.mirror import restore_objects
from docmill.storage.remote.mirror.inventory import vector_files
from docmill.storage.remote.objects.bucket import Objects
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
