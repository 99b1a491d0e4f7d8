"""Folder swap: replace a folder by another one, in one step if the file system can."""

import ctypes
import os
from pathlib import Path

from docmill.storage.failpoints import boundary
from docmill.storage.files import OWNER_ONLY, UNSUPPORTED, remove, sync_folder

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of `renameat2`, from linux/fcntl.h and linux/fs.h


def draft_of(folder: Path) -> Path:
    """Return the path where a new folder is prepared, without what a killed export left there."""
    draft = folder.with_name(f".{folder.name}.draft")
    remove(draft)
    draft.mkdir(OWNER_ONLY)
    return draft


def settle_swap(folder: Path) -> None:
    """Finish the swap of a process that died between its two steps."""
    before = _before(folder)
    if before.exists() and not folder.exists():
        before.rename(folder)
    remove(before)


def swap(draft: Path, folder: Path) -> None:
    """Put a folder in the place of another one, which is removed.

    A reader that lists the folder sees either all of the old or all of the new one. On a file system that cannot
    exchange names, this takes two steps, between which there is no folder.
    """
    with boundary("export swap"):
        if not folder.exists():
            draft.rename(folder)
        elif not _exchanged(draft, folder):
            folder.rename(_before(folder))
            draft.rename(folder)
    sync_folder(folder.parent)
    remove(draft)
    remove(_before(folder))


def _before(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.before")


def _exchanged(one: Path, other: Path) -> bool:
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # Linux has it, `os` does not
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))
