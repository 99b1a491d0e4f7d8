"""Current folder: the newest snapshot's tables as plain files, for any Parquet reader: `current/chunks/*.parquet`.

`current` is a symbolic link that is swapped in one step. The previous folder stays until the next commit, so that a
reader that has listed its files can still open them. The folder before that is reused as the next one, because most
files of a large store have not changed and keep their names. On a file system without symbolic links, `current` is the
folder itself, which is swapped in two steps and is missing for a moment between them; a reader that has listed its
files just before may take it for empty.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow.parquet as pq

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.errors import Locked, StoreError
from docmill.storage.failpoints import boundary
from docmill.storage.files import UNSUPPORTED, link, remove, sync_folder, write_whole
from docmill.storage.snapshots.history import (
    judgements,
    learned_settings,
    measurements,
    query_log,
    row_files,
    snapshots,
)
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.sql.views import ViewedStore, views_sql

LINK = "current"
FOLDER = ".current"
_NUMBER = ".snapshot"
"""The file in a folder that has the number of its snapshot. If `current` is a link, its target has the number."""


def publish(shown: StoredSnapshot) -> None:
    """Make `current/` and `views.sql` show a snapshot."""
    lay(shown)
    show(shown)


def lay(coming: StoredSnapshot) -> None:
    """Make the folder that will show a snapshot. This is done before the commit, so that little is left to do after."""
    root = coming.root
    folder = _folder(root, coming.number)
    _begin(folder, _folder(root, published(root) or 0))
    for name in SCHEMAS:
        _link_table(coming, name, folder / name)


def show(shown: StoredSnapshot) -> None:
    """Make `current/` and `views.sql` show a snapshot whose folder exists already."""
    root = shown.root
    folder, before = _folder(root, shown.number), _folder(root, published(root) or 0)
    _swap(root, folder)
    write_views(shown)
    for old in sorted((root / FOLDER).iterdir()):
        if old not in (folder, before):
            remove(old)


def remove_former(root: Path) -> None:
    """Remove the folders of former snapshots, which were kept for readers that had listed their files."""
    shown = published(root)
    for old in sorted((root / FOLDER).glob("*")):
        if shown is None or old != _folder(root, shown):
            remove(old)


def _begin(folder: Path, before: Path) -> None:
    """Clear the place of a new folder, and move a folder there that is no longer shown, if there is one."""
    remove(folder)
    spare = sorted(old for old in folder.parent.glob("[0-9]*") if old != before)
    if spare:
        with boundary("reuse current"):
            spare[-1].replace(folder)


def _folder(root: Path, number: int) -> Path:
    return root / FOLDER / f"{number:06d}"


def prepare_folders(root: Path) -> None:
    """Create an empty file in each folder next to the snapshots that views read."""
    row_files.prepare(root, measurements.FOLDER, measurements.STORED)
    for kind in (judgements, query_log, learned_settings):
        row_files.prepare(root, kind.FILES.folder, kind.FILES.schema)


def write_views(shown: StoredSnapshot) -> None:
    """Write `views.sql` with the current path of the store, unless it is up to date."""
    prepare_folders(shown.root)
    path, script = shown.root / "views.sql", _script(shown)
    if not _holds(path, script):
        write_whole(path, script)


def _script(shown: StoredSnapshot) -> bytes:
    # The file of runs is unique to this store. If a repair lost it, any other file has to do.
    files = [piece.file.path for name in ("runs", *SCHEMAS) for piece in shown.pieces(name)]
    marker = files[0] if files else f"snapshots/{shown.number:06d}.json"
    return views_sql(ViewedStore(shown.root, marker, shown.snapshot.space.dimension, shown.snapshot.keys)).encode()


def _has_views(shown: StoredSnapshot) -> bool:
    return _holds(shown.root / "views.sql", _script(shown))


def _holds(path: Path, script: bytes) -> bool:
    return path.is_file() and path.read_bytes() == script


@contextmanager
def writing(store: StoreFolder, wait_s: float = 0.0) -> Iterator[None]:
    """Lock a store for writing as `StoreFolder.lock` does, and make `current/` show the newest snapshot.

    A killed writer may have left it one behind, and a command that finds nothing to do makes no commit to correct it.
    """
    with store.lock(wait_s):
        if store.always_shows_newest:
            with suppress(StoreError, OSError):  # of a damaged store; the command reports it or does not need it
                catch_up(store)
        yield


def catch_up(store: StoreFolder) -> None:
    """Show the newest snapshot if the run that committed it died too early, or if the store was moved since then."""
    newest = store.newest()
    if newest is None:
        return
    if published(store.root) == newest.number:
        write_views(newest)
    else:
        publish(newest)


def follow(store: StoreFolder) -> bool:
    """Call `catch_up` if it is needed and no writer is active; return whether it was called.

    Raises `StoreError` if it is needed and the store cannot be written. A mirror is left to its writers. So is the
    store of another user, who could not replace files that this user has made.
    """
    mine = store.always_shows_newest and store.root.is_dir() and store.root.stat().st_uid == os.geteuid()
    newest = store.newest() if mine else None
    if newest is None or (published(store.root) == newest.number and _has_views(newest)):
        return False
    try:
        with store.lock():
            catch_up(store)
    except Locked:
        return False
    return True


def follow_if_behind(store: StoreFolder) -> None:
    """Call `follow` if `current/` does not show the newest snapshot; ignore errors.

    A killed writer may have left it so. The next docmill process that opens the store corrects it.
    """
    numbers = snapshots.numbers(store.root)
    with suppress(StoreError, OSError):
        if numbers and published(store.root) != numbers[-1]:
            follow(store)


def published(root: Path) -> int | None:
    """Return the number of the snapshot that `current/` shows."""
    shown = root / LINK
    if shown.is_symlink():
        return int(shown.readlink().name) if shown.exists() else None
    number = (shown / _NUMBER).read_text() if (shown / _NUMBER).is_file() else ""
    return int(number) if number.isdecimal() else None  # a power cut may have emptied the file


def _link_table(shown: StoredSnapshot, name: str, folder: Path) -> None:
    """Make a folder contain exactly the files of a table; names that are already right stay."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = shown.pieces(name)
    wanted = {f"part-{piece.bucket:05d}.parquet": piece.file.path for piece in pieces}
    with boundary(f"link {name}"):
        for part in wanted.keys() - _clear(folder, wanted, shown.root / "tables" / name):
            link(shown.root / wanted[part], folder / part)
    if not pieces:
        pq.write_table(SCHEMAS[name].empty_table(), folder / "part-00000.parquet")


def _clear(folder: Path, wanted: Mapping[str, str], files: Path) -> set[str]:
    """Remove each name in `folder` that does not link to its `wanted` file; return the names that stay.

    The files are in the folder `files`.
    """
    numbers = _numbers(files) if _tells_numbers(files, folder) else {}
    right = set[str]()
    for part, number in _numbers(folder).items():
        if part in wanted and numbers.get(wanted[part].rpartition("/")[2]) == number:
            right.add(part)
        else:
            remove(folder / part)
    return right


def _numbers(folder: Path) -> dict[str, int]:
    """Return the inode number of each name in a folder.

    The listing includes them; calling `stat` for thousands of names in each commit would take many times as long.
    """
    with os.scandir(folder) as entries:
        return {entry.name: entry.inode() for entry in entries}


def _tells_numbers(files: Path, folder: Path) -> bool:
    """Return whether listings of `files` have true inode numbers that can be compared with those in `folder`.

    On some FUSE and overlay file systems, they do not.
    """
    with suppress(FileNotFoundError), os.scandir(files) as entries:
        for entry in entries:
            known = entry.stat(follow_symlinks=False)
            return (entry.inode(), folder.stat().st_dev) == (known.st_ino, known.st_dev)
    return False


def _swap(root: Path, folder: Path) -> None:
    fresh = root / FOLDER / "next"
    remove(fresh)
    try:
        fresh.symlink_to(folder.relative_to(root))
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        _swap_folder(root, folder)
    else:
        _swap_link(root, fresh)
    sync_folder(root)


def _swap_link(root: Path, fresh: Path) -> None:
    if not (root / LINK).is_symlink():  # a folder, if the store was copied without links
        remove(root / LINK)
    with boundary("swap current"):
        fresh.replace(root / LINK)


def _swap_folder(root: Path, folder: Path) -> None:
    """Move the folder that is `current` back to its place, and move `folder` to `current`.

    A process that dies between the two steps leaves no `current`; the next writer publishes it again.
    """
    (folder / _NUMBER).write_text(f"{int(folder.name)}")
    shown = root / LINK
    if shown.exists() or shown.is_symlink():
        aside = _place(root, folder)
        remove(aside)
        with boundary("move current"):
            shown.replace(aside)
    with boundary("swap current"):
        folder.replace(shown)


def _place(root: Path, coming: Path) -> Path:
    """Return where to move the folder that is now `current`: to its number, or to a name that `publish` clears."""
    number = published(root)
    if number is None or (root / LINK).is_symlink() or _folder(root, number) == coming:
        return root / FOLDER / "old"
    return _folder(root, number)
