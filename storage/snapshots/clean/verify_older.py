"""Verify older: report damage in older snapshots, in candidate snapshots, in tags, and in files that only they need."""

from collections.abc import Iterator
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, fault
from docmill.storage.snapshots.history import snapshots, tags
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.garbage import named_files

_MEND = "restore it from a copy of the store; only older snapshots need it, and it is removed with them"


def faults(newest: StoredSnapshot, deep: bool, read: bool) -> Iterator[tuple[str, str]]:
    """Yield each fault and its remedy, which is "" if `docmill repair` fixes it.

    `deep` also reads the files. `read` also reads the objects of files that are on this machine.
    """
    root = newest.root
    lost = [snapshots.path_of(root, number) for number in snapshots.damaged(root)]
    lost += [snapshots.candidate_path(root, name) for name in snapshots.damaged_candidates(root)]
    for path in lost:
        yield f"{path} is damaged", "restore it from a copy, or remove it; until then no file of another one is removed"
    try:
        tags.check(root)
    except StoreError as error:
        yield str(error), "until then no snapshot is removed"
    for file, said in _damaged(newest, deep):
        yield said, "" if _holds_postings(file) else _MEND
    yield from ((said, "") for said in _damaged_objects(newest, read))


def damaged_postings(newest: StoredSnapshot) -> list[FileRef]:
    """Return damaged keyword index files of older snapshots; a search of such a snapshot rebuilds them."""
    return [file for file, _ in _damaged(newest, deep=True) if _holds_postings(file)]


def _damaged(newest: StoredSnapshot, deep: bool) -> Iterator[tuple[FileRef, str]]:
    """Yield the damaged files of older snapshots with their faults."""
    root, files = newest.root, _files(newest)
    absent = _absent(newest, [file for file in files if not (root / file.path).exists()])
    for file in files:
        if file not in absent and (said := fault(root, file, deep)):
            yield from ((file, named) for named in _named(said, files[file]))


def _absent(newest: StoredSnapshot, missing: list[FileRef]) -> set[FileRef]:
    """Return the files whose absence is no fault: searches rebuild postings, and a mirror fetches what it lacks."""
    far = newest.folder.remote_faults_of(missing, read=False)
    lost = set(missing if far is None else far)
    return {file for file in missing if _holds_postings(file) or file not in lost}


def _damaged_objects(newest: StoredSnapshot, read: bool) -> Iterator[str]:
    """Yield the faults of objects of older snapshots; without `read`, only of those whose files are on this machine."""
    files = _files(newest)
    missing = [file for file in files if not (newest.root / file.path).exists()]
    skipped = set(missing) - (_absent(newest, missing) if read else set())
    found = newest.folder.remote_faults_of([file for file in files if file not in skipped], read) or {}
    for file, said in found.items():
        yield from _named(said, files[file])


def _named(said: str, states: list[Path]) -> Iterator[str]:
    """Yield a fault with the snapshots concerned, if any still exists: another process may have removed them."""
    if any(map(Path.exists, states)):
        yield f"{said}, named by {', '.join(path.stem for path in states)}"


def _files(newest: StoredSnapshot) -> dict[FileRef, list[Path]]:
    """Return the files that only other snapshots name, and for each the files of those snapshots."""
    root, own = newest.root, {file for _, file in named_files(newest.snapshot)}
    states = [(snapshots.path_of(root, state.number), state) for state in snapshots.each(root)]
    states += [(snapshots.candidate_path(root, name), state) for name, state in snapshots.held_back(root).items()]
    found: dict[FileRef, list[Path]] = {}
    for path, state in states:
        for _, file in named_files(state):
            if file not in own:
                found.setdefault(file, []).append(path)
    return found


def _holds_postings(file: FileRef) -> bool:
    return file.path.startswith("keywords/")
