"""Files that are whole or absent: nothing here can leave half a file under a final name."""

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from stat import S_ISREG

from docmill.storage.errors import Transient
from docmill.storage.failpoints import boundary
from docmill.storage.keys import KEY_BYTES

TEMPORARY = ".tmp-"
_SYNCS_AT_ONCE = 16
"""Files that are synced at a time: a disk takes several syncs together. More threads only wait."""
_unsettled: set[Path] = set()
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True)
class FileRef:
    """An immutable file: `path` relative to the store, size in `bytes`, BLAKE2b-128 `hash` of its content."""

    path: str
    bytes: int
    hash: str


@contextmanager
def explain_full_disk(root: Path) -> Iterator[None]:
    """Say of a failed write what became of the store and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        reason = os.strerror(error.errno)
        raise Transient(f"{root}: {reason}; what was committed is whole: make room and run again") from error


def hash_file(path: Path) -> str:
    """Return the content hash of a file, read in pieces of 1 MiB."""
    digest = blake2b(digest_size=KEY_BYTES)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def fault(root: Path, file: FileRef, deep: bool = True) -> str:
    """Return what is wrong with a file, or nothing; without `deep` its content is not read."""
    path = root / file.path
    if not path.is_file():
        return f"{file.path} is missing"
    if path.stat().st_size != file.bytes:
        return f"{file.path} has {path.stat().st_size} bytes, not {file.bytes}"
    return f"{file.path} has another content than was written" if deep and hash_file(path) != file.hash else ""


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def temporary(folder: Path) -> Iterator[Path]:
    """Yield a file of a temporary name in a folder; it is gone afterwards unless it was renamed."""
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

    A file of the same content that is already there is kept, so writing twice is free.
    """
    with temporary(root / folder) as draft:
        with boundary(f"write {folder}"):
            write(draft)
        return adopt(root, folder, suffix, draft)


def adopt(root: Path, folder: str, suffix: str, file: Path) -> FileRef:
    """Move a finished file of the same file system into the store, under the name of its content; see `settle`."""
    digest = hash_file(file)
    final = root / folder / f"{digest}{suffix}"
    final.parent.mkdir(parents=True, exist_ok=True)
    ref = FileRef(f"{folder}/{final.name}", file.stat().st_size, digest)
    file.chmod(0o644)
    with boundary(f"rename {folder}"):
        file.replace(final)
    _unsettled.add(final)
    return ref


def settle() -> None:
    """Make the files that this process has moved into the store survive a power cut, many at a time.

    Until then no snapshot may name them. What a power cut leaves of one is swept, or written over.
    """
    files = [_unsettled.pop() for _ in range(len(_unsettled))]
    folders = {file.parent for file in files}
    with boundary("settle"), ThreadPoolExecutor(_SYNCS_AT_ONCE) as pool:
        list(pool.map(_sync, filter(Path.exists, files)))
        list(pool.map(sync_folder, filter(Path.exists, folders)))


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file by another content in one step."""
    with temporary(path.parent) as draft:
        with boundary(f"write {path.name}"):
            draft.write_bytes(data)
            _sync(draft)
        draft.chmod(0o644)
        with boundary(f"replace {path.name}"):
            draft.replace(path)
        sync_folder(path.parent)


def put_if_absent(path: Path, data: bytes) -> bool:
    """Write a file unless its name is taken; return whether it was written.

    `os.link` fails where the name exists, while a rename would overwrite it.
    """
    with temporary(path.parent) as draft:
        with boundary(f"write {path.parent.name}"):
            draft.write_bytes(data)
            draft.chmod(0o644)
            _sync(draft)
        try:
            with boundary(f"put {path.parent.name}"):
                os.link(draft, path)
        except FileExistsError:
            return False
        sync_folder(path.parent)
        return True


def link(source: str | Path, target: str | Path) -> None:
    """Give a file a second name; copy it where the file system has no hard links."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        shutil.copyfile(source, target)


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it is there."""
    with boundary("remove"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def disk_use(root: Path) -> int:
    """Return the bytes of all files below a folder, a file of several names once, without what goes meanwhile."""
    sizes = {}
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(FileNotFoundError):
                status = Path(folder, name).lstat()
                if S_ISREG(status.st_mode):
                    sizes[status.st_ino] = status.st_size
    return sum(sizes.values())


@contextmanager
def flocked(path: Path, how: int, mode: int = 0o644) -> Iterator[None]:
    """Hold the lock of a file, made with `mode` where it is missing; `how` is that of `fcntl.flock`."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, mode)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)
