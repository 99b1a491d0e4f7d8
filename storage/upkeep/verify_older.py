"""Verify older: report damage outside the newest snapshot, in older snapshots, candidate snapshots, tags and files."""

from collections.abc import Iterator
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, fault
from docmill.storage.history import snapshots, tags
from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.history.garbage import named_files

_MEND = "restore it from a copy of the store; only older snapshots need it, and it is removed with them"


def faults(newest: StoredSnapshot, deep: bool) -> Iterator[tuple[str, str]]:
    """Yield each fault and its remedy, without faults that a repair mends; `deep` also reads the files."""
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


def damaged_postings(newest: StoredSnapshot) -> list[FileRef]:
    """Return damaged files of the keyword indexes of older snapshots; their searches rebuild these."""
    return [file for file, _ in _damaged(newest, deep=True) if _holds_postings(file)]


def _damaged(newest: StoredSnapshot, deep: bool) -> Iterator[tuple[FileRef, str]]:
    """Yield damaged files of older snapshots with their faults, without files that nobody needs."""
    root, far = newest.root, newest.folder.far_sizes()
    for file, states in _files(newest).items():
        missing = not (root / file.path).exists()
        if missing and (_holds_postings(file) or far.get(file.path) == file.bytes):
            continue  # searches rebuild them; a mirror fetches missing files
        said = fault(root, file, deep)
        if said and any(map(Path.exists, states)):  # the snapshots still exist: others may remove them meanwhile
            yield file, f"{said}, named by {', '.join(path.stem for path in states)}"


def _files(newest: StoredSnapshot) -> dict[FileRef, list[Path]]:
    """Return the files that only other snapshots name, with the files of these snapshots."""
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
