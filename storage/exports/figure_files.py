"""Figure files: the pictures of exported chunks as files in a folder, by their keys."""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from docmill.storage.files import OWNER_ONLY, write_whole
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.history.folder import StoredSnapshot

_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
_OURS = re.compile(r"([0-9a-f]{32})\.(?:png|jpg|gif|webp)")
_AT_ONCE = 8
"""Pictures in memory together: one may have 20 MB."""


def put_figures(stored: StoredSnapshot, folder: Path, keys: Iterable[str]) -> None:
    """Write the pictures that a folder lacks; the folder is made for the first one."""
    lacking = sorted({*keys} - _held(folder).keys())
    packs = Packs(stored.ensure_packs("figures")) if lacking else Packs([])
    for first in range(0, len(lacking), _AT_ONCE):
        folder.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        for row in packs.take(lacking[first : first + _AT_ONCE]).to_pylist():
            write_whole(folder / f"{row['key']}{_SUFFIXES[row['media_type']]}", row["data"], closed=True)


def drop_figures(folder: Path, keys: Iterable[str]) -> None:
    """Remove the pictures of other keys, and the folder if nothing is left in it."""
    held = _held(folder)
    for key in held.keys() - {*keys}:
        held[key].unlink()
    if folder.is_dir():
        with suppress(OSError):  # it holds something
            folder.rmdir()


def _held(folder: Path) -> dict[str, Path]:
    """Return the pictures in a folder by their keys; other files are none of an export's."""
    names = ((path, _OURS.fullmatch(path.name)) for path in (folder.iterdir() if folder.is_dir() else ()))
    return {found[1]: path for path, found in names if found}
