"""Merged ahead: the state that a writer has made of a committed one by merging segments, for the next commit to take.

Only the next commit names the merged files. To lose them, or the note about them, costs that merge and nothing else.
The note stays in the folder: of a store in a bucket, it is in the mirror of the machine that has committed.
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
    """Two states of the same living chunks: that of a snapshot, and one of fewer segments, or the same."""

    committed: KeywordState
    merged: KeywordState


@cache
def _adapter() -> "TypeAdapter[MergedAhead]":
    from pydantic import TypeAdapter

    return TypeAdapter(MergedAhead)


def _note(root: Path) -> Path:
    return root / "cache" / "merged-keywords.json"


def write(root: Path, made: MergedAhead) -> None:
    """Note a merge whose files are written and synced."""
    body = _adapter().dump_json(made)
    write_whole(_note(root), hash_bytes(body).encode() + b"\n" + body)


def clear(root: Path) -> None:
    """Remove the note; the next sweep removes its files, unless a snapshot names them by now."""
    _note(root).unlink(missing_ok=True)


def taken(root: Path, committed: KeywordState) -> KeywordState:
    """Return the merged state if there is one of this very state, or else the state as it is."""
    found = _read(root)
    if found is None or found.committed != committed:
        return committed
    with suppress(StoreError):  # a file is missing: somebody has emptied the folder
        for file in found.merged.files():
            path_of(root, file)
        return found.merged
    return committed


def is_noted(root: Path, committed: KeywordState) -> bool:
    """Return whether there is a note of this very state, whatever has become of its files."""
    found = _read(root)
    return found is not None and found.committed == committed


def waiting_files(root: Path, kept: Collection[KeywordState]) -> Iterator[FileRef]:
    """Yield the files of a merge that a commit on top of one of the kept states may still take."""
    found = _read(root)
    if found and found.committed in kept:
        yield from found.merged.files()


def _read(root: Path) -> MergedAhead | None:
    """Return what is noted, or None if nothing is, or nothing that can be relied on."""
    with suppress(OSError, ValueError):  # a newer docmill may have noted something else
        digest, _, body = _note(root).read_bytes().partition(b"\n")
        # A wrong digit in it would be a wrong number of rows in the index.
        if digest == hash_bytes(body).encode():
            return _adapter().validate_json(body)
    return None
