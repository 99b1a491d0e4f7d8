"""Garbage: find and remove the files that no snapshot names, such as those of a writer that died."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from docmill.storage.files import TEMPORARY, FileRef, remove
from docmill.storage.search.keywords.segments.merged_ahead import waiting_files
from docmill.storage.search.vectors import vectors
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.snapshots import Snapshot

_FOLDERS = ("tables", "artifacts", "keywords", "inventories")
_OTHERS = (snapshots.FOLDER, snapshots.CANDIDATES, "tags", "cache")


def named_files(snapshot: Snapshot) -> Iterator[tuple[str, FileRef]]:
    """Yield each file that a snapshot names with its kind: tables, a kind of artifact, keywords or vectors."""
    for pieces in snapshot.tables.values():
        yield from (("tables", piece.file) for piece in pieces)
    for kind, pieces in snapshot.artifacts.items():
        yield from ((kind, piece.file) for piece in pieces)
    yield from (("keywords", file) for file in snapshot.keywords.files())
    if snapshot.inventory:
        yield "vectors", snapshot.inventory


def sweep(root: Path) -> int:
    """Remove unnamed files and tables and return their number; the caller holds the writer's lock.

    If a snapshot or a candidate snapshot is damaged, the files that it names are unknown: then only unfinished files
    are removed.
    """
    states = snapshots.needed(root)
    known = snapshots.all_known(root)
    # A damaged snapshot may be restored from a copy, and then needs files that seem unnamed now.
    found = garbage(root, states) if known else []
    found += [path for folder in (root, *map(root.joinpath, _OTHERS)) for path in folder.glob(f"{TEMPORARY}*")]
    for path in found:
        remove(path)
    return len(found) + (len(vectors.sweep(root, [snapshot.vectors for snapshot in states])) if known else 0)


def garbage(root: Path, kept: Sequence[Snapshot]) -> list[Path]:
    """Return the files that no snapshot in `kept` names and that no next commit may take over."""
    named = {root / file.path for snapshot in kept for _, file in named_files(snapshot)}
    named |= {root / file.path for file in waiting_files(root, [snapshot.keywords for snapshot in kept])}
    return [path for folder in _FOLDERS for path in _files(root / folder) if path not in named]


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
