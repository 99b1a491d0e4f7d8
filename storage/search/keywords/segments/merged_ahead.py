"""Merged ahead: segments that a writer merges after its commit, for the next commit to use.

No snapshot names the merged files before the next commit. If they, or the note about them, are lost, only that merge
is lost. The note stays in the folder; for a store in a bucket, that is the mirror of the machine that committed.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.storage.errors import StoreError
from docmill.storage.files import FileRef, write_whole
from docmill.storage.keys import hash_bytes
from docmill.storage.search.keywords.segments.state import KeywordState, path_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class MergedAhead:
    """Two states of the same live chunks: that of a snapshot, and one with fewer segments, or the same state."""

    committed: KeywordState
    merged: KeywordState


@cache
def _adapter() -> "TypeAdapter[MergedAhead]":
    from pydantic import TypeAdapter

    return TypeAdapter(MergedAhead)


def _note(root: Path) -> Path:
    return root / "cache" / "merged-keywords.json"


def write(root: Path, made: MergedAhead) -> None:
    """Write the note about a merge whose files are already synced."""
    body = _adapter().dump_json(made)
    write_whole(_note(root), hash_bytes(body).encode() + b"\n" + body)


def clear(root: Path) -> None:
    """Remove the note; the next sweep removes the files that it names, unless a snapshot names them by now."""
    _note(root).unlink(missing_ok=True)


def taken(root: Path, committed: KeywordState) -> KeywordState:
    """Return the merged state of exactly this state if there is one, or else the state as it is."""
    found = _read(root)
    if found is None or found.committed != committed:
        return committed
    with suppress(StoreError):  # raised if a file is missing, because somebody has emptied the folder
        for file in found.merged.files():
            path_of(root, file)
        return found.merged
    return committed


def is_noted(root: Path, committed: KeywordState) -> bool:
    """Return whether the note is about exactly this state, even if its files are gone."""
    found = _read(root)
    return found is not None and found.committed == committed


def waiting_files(root: Path, kept: Collection[KeywordState]) -> Iterator[FileRef]:
    """Yield the files of a merge that a commit on top of one of the kept states may still take."""
    found = _read(root)
    if found and found.committed in kept:
        yield from found.merged.files()


def _read(root: Path) -> MergedAhead | None:
    """Return the note, or None if it is missing or damaged."""
    with suppress(OSError, ValueError):  # a newer docmill may have written it differently
        digest, _, body = _note(root).read_bytes().partition(b"\n")
        # Without this check, a wrong digit would become a wrong number of rows in the index.
        if digest == hash_bytes(body).encode():
            return _adapter().validate_json(body)
    return None
