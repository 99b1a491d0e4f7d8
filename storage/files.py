"""Files: atomic writes, which leave a file complete or absent and never half-written under its final name."""

import ctypes
import errno
import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from stat import S_ISREG

from docmill.storage.errors import StoreError, Transient
from docmill.storage.failpoints import boundary
from docmill.storage.keys import KEY_BYTES, hash_bytes
from docmill.storage.name_grammar import check_file

TEMPORARY = ".tmp-"
OWNER_ONLY = 0o700
"""The mode of a folder with user data that docmill creates. To share the folder, create it beforehand or change it."""
_SYNCS_AT_ONCE = 16
"""Number of files synced at the same time. A disk handles several syncs together, and more threads would only wait."""
_unsettled: set[Path] = set()
_AT_FDCWD, _RENAME_NOREPLACE = -100, 1  # of `renameat2`, from linux/fcntl.h and linux/fs.h
_ROOM_BYTES = 1 << 18
"""Free space required before a run begins. The smallest commit, a document with one chunk, takes 170 kB."""
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
UNSUPPORTED = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENOLCK})
"""Errors of calls that a file system does not support: EPERM for links on FAT, ENOLCK for locks on NFS without its lock
service, EINVAL for the sync of a folder on SMB."""


@dataclass(frozen=True, slots=True)
class FileRef:
    """An immutable file: `path` relative to the store, size in `bytes`, BLAKE2b-128 `hash` of its content.

    Raises `UnsafeName` for a path or hash that no file of a store has, because it may come from a bucket.
    """

    path: str
    bytes: int
    hash: str

    def __post_init__(self) -> None:
        check_file(self.path, self.hash)


@contextmanager
def explain_full_disk(root: Path) -> Iterator[None]:
    """Convert the error of a full disk into a `Transient` with the state of the store and advice."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        reason = os.strerror(error.errno)
        raise Transient(f"{root}: {reason}; everything committed is intact: free some space and run again") from error


def unwritable(path: Path, error: OSError) -> StoreError:
    """Return the error for a file or folder that cannot be created; `error` may name a path unknown to the user."""
    is_below_file = isinstance(error, FileExistsError | NotADirectoryError)
    reason = "a folder above it is a file" if is_below_file else os.strerror(error.errno or errno.EIO)
    return StoreError(f"{path} cannot be written: {reason}; name another folder")


def check_room(root: Path) -> None:
    """Raise `OSError` with the errno of a full disk unless the minimal data of a run fits into the store."""
    with temporary(root) as draft, draft.open("wb") as file:
        file.write(os.urandom(_ROOM_BYTES))  # zeros would be compressed or not stored at all
        file.flush()
        os.fsync(file.fileno())


def hash_file(path: Path) -> str:
    """Return the content hash of a file, read in pieces of 1 MiB."""
    with path.open("rb") as file:
        return hash_pieces(iter(lambda: file.read(1 << 20), b""))


def hash_pieces(pieces: Iterable[bytes]) -> str:
    """Return the content hash of the pieces of a file in order."""
    digest = blake2b(digest_size=KEY_BYTES)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def fault(root: Path, file: FileRef, deep: bool = True) -> str:
    """Return what is wrong with a file, or "" for a good one; without `deep`, its content is not read."""
    path = root / file.path
    if not path.is_file():
        return f"{file.path} is missing"
    if path.stat().st_size != file.bytes:
        return f"{file.path} has {path.stat().st_size} bytes, not {file.bytes}"
    return f"{file.path} does not have the content that was written" if deep and hash_file(path) != file.hash else ""


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the names in it survive a power cut.

    Some file systems, such as SMB, cannot sync a folder; there the server decides when a name is safe.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(handle)


@contextmanager
def temporary(folder: Path) -> Iterator[Path]:
    """Yield the path of a temporary file in a folder; the file is removed afterwards unless it was renamed."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=TEMPORARY, dir=folder)
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def write_immutable(root: Path, folder: str, suffix: str, write: Callable[[Path], None]) -> FileRef:
    """Write a file named by its content: `write` fills a temporary file, which then takes its final name.

    If a file with the same content exists, it is kept, so writing twice costs nothing.
    """
    with temporary(root / folder) as draft:
        with boundary(f"write {folder}"):
            write(draft)
        return adopt(root, folder, suffix, draft)


def put_immutable(root: Path, folder: str, suffix: str, data: bytes) -> FileRef:
    """Write `data` like `write_immutable`, but faster for small data, because its name is known before."""
    digest = hash_bytes(data)
    final = root / folder / f"{digest}{suffix}"
    # Threads may write the same content at the same time.
    draft = final.with_name(f"{TEMPORARY}{digest}-{threading.get_ident()}")
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        with boundary(f"write {folder}"):
            draft.write_bytes(data)
        _name(draft, final, folder)
    finally:
        draft.unlink(missing_ok=True)
    return FileRef(f"{folder}/{final.name}", len(data), digest)


def _name(draft: Path, final: Path, folder: str) -> None:
    """Give a finished file its final name; `settle` syncs it later."""
    open_to_readers(draft)
    with boundary(f"rename {folder}"):
        draft.replace(final)
    _unsettled.add(final)


def adopt(root: Path, folder: str, suffix: str, file: Path) -> FileRef:
    """Move a finished file on the same file system into the store, named by its content; call `settle` later."""
    digest = hash_file(file)
    final = root / folder / f"{digest}{suffix}"
    final.parent.mkdir(parents=True, exist_ok=True)
    ref = FileRef(f"{folder}/{final.name}", file.stat().st_size, digest)
    _name(file, final, folder)
    return ref


def settle() -> None:
    """Sync the files that this process has moved into the store, many at a time, so that they survive a power cut.

    No snapshot may name a file before that. If a power cut damages one, it is removed or overwritten.
    """
    files = [_unsettled.pop() for _ in range(len(_unsettled))]
    folders = {file.parent for file in files}
    with boundary("settle"), ThreadPoolExecutor(_SYNCS_AT_ONCE) as pool:
        list(pool.map(_sync, filter(Path.exists, files)))
        list(pool.map(sync_folder, filter(Path.exists, folders)))


def forget_unsettled(folder: Path) -> None:
    """Skip the sync of what was written below a folder that will be removed and is no store."""
    for file in list(_unsettled):
        if file.is_relative_to(folder):
            _unsettled.discard(file)


def open_to_readers(file: Path) -> None:
    """Let other users read a file of a store if they can enter the store."""
    _set_mode(file, 0o644)


def close_to_others(draft: Path, final: Path, new: int = 0o600) -> None:
    """Give a draft the mode of the file or folder that it replaces; without one, let only its owner read it.

    `new` is the mode of a file that replaces none; for a folder use `OWNER_ONLY`.
    """
    _set_mode(draft, final.stat().st_mode & 0o777 if final.exists() else new)


def _set_mode(file: Path, mode: int) -> None:
    """Set the mode of a file, unless its file system has no modes, such as FAT."""
    try:
        file.chmod(mode)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise


def write_whole(path: Path, data: bytes, closed: bool = False) -> None:
    """Replace the content of a file in one step; if `closed`, for a file outside a store, use `close_to_others`."""
    with temporary(path.parent) as draft:
        with boundary(f"write {path.name}"):
            draft.write_bytes(data)
            _sync(draft)
        if closed:
            close_to_others(draft, path)
        else:
            open_to_readers(draft)
        with boundary(f"replace {path.name}"):
            draft.replace(path)
        sync_folder(path.parent)


def put_if_absent(path: Path, data: bytes) -> bool:
    """Write a file unless the name exists; return whether it was written.

    Raises `StoreError` if the file system has no atomic operation that takes only a free name.
    """
    with temporary(path.parent) as draft:
        with boundary(f"write {path.parent.name}"):
            draft.write_bytes(data)
            open_to_readers(draft)
            _sync(draft)
        try:
            with boundary(f"put {path.parent.name}"):
                _take_name(draft, path)
        except FileExistsError:
            return False
        sync_folder(path.parent)
        return True


def _take_name(draft: Path, path: Path) -> None:
    """Give a file a name that must be free, by a hard link or, without links, by a rename that replaces nothing."""
    try:
        os.link(draft, path)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        _rename_to_free(draft, path)


def _rename_to_free(draft: Path, path: Path) -> None:
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # Linux has it, `os` does not
    names = _AT_FDCWD, os.fsencode(draft), _AT_FDCWD, os.fsencode(path)
    if rename is not None and rename(*names, _RENAME_NOREPLACE) == 0:
        return
    number = ctypes.get_errno() if rename is not None else errno.ENOSYS
    if number in UNSUPPORTED:
        raise StoreError(
            f"{path.parent} cannot be written: its file system has neither hard links nor a rename that replaces no"
            " other file; choose a folder on another disk"
        )
    raise OSError(number, os.strerror(number), str(path))


def link(source: str | Path, target: str | Path) -> None:
    """Give a file a second name; copy it if the file system has no hard links."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        shutil.copyfile(source, target)


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder if it exists."""
    with boundary("remove"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def disk_use(root: Path) -> int:
    """Return the bytes of all files below a folder; hard links count once, and vanished files not at all."""
    sizes = {}
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(FileNotFoundError):
                status = Path(folder, name).lstat()
                if S_ISREG(status.st_mode):
                    sizes[status.st_ino] = status.st_size
    return sum(sizes.values())


def take_lock(handle: int, how: int, path: Path) -> None:
    """Lock the open file of a path as `fcntl.flock` does; raise `StoreError` if the file system has no locks.

    A lock file is no replacement, because nobody knows whether a process on another machine that created it is alive.
    """
    try:
        fcntl.flock(handle, how)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        raise StoreError(
            f"{path} cannot be locked: {os.strerror(error.errno)}; locks (flock) keep writers apart and the files of"
            " readers in place: mount the file system with locks, or move the store to one that has them"
        ) from error


def open_to_lock(path: Path) -> int:
    """Open a file for an exclusive lock: for writing, as NFS and SMB require, or for reading if it is read-only."""
    try:
        return os.open(path, os.O_RDWR)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return os.open(path, os.O_RDONLY)


@contextmanager
def flocked(path: Path, how: int, mode: int = 0o644) -> Iterator[None]:
    """Hold the lock of a file, which is created with `mode` if missing; `how` is the operation for `fcntl.flock`."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, mode)
    try:
        take_lock(handle, how, path)
        yield
    finally:
        os.close(handle)
