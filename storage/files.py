"""Files: atomic writes, which leave a file whole or absent and never half-written under its final name."""

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
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
"""How many files are synced at the same time: a disk takes several syncs together, and more threads only wait."""
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
    """Turn the error of a full disk into a `Transient` that tells the state of the store and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        reason = os.strerror(error.errno)
        raise Transient(f"{root}: {reason}; what was committed is whole: make room and run again") from error


def hash_file(path: Path) -> str:
    """Return the content hash of a file, read in pieces of 1 MiB."""
    with path.open("rb") as file:
        return hash_pieces(iter(lambda: file.read(1 << 20), b""))


def hash_pieces(pieces: Iterable[bytes]) -> str:
    """Return the content hash of the pieces of a file, in their order."""
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
    """Sync a folder, so that the names in it survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
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

    A file of the same content that is already there is kept, so writing twice is free.
    If a file of the same content exists, it is kept: writing twice costs nothing.
    """
    with temporary(root / folder) as draft:
        with boundary(f"write {folder}"):
            write(draft)
        return adopt(root, folder, suffix, draft)


def adopt(root: Path, folder: str, suffix: str, file: Path) -> FileRef:
    """Move a finished file of the same file system into the store and name it by its content; call `settle` later."""
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
    """Sync the files that this process has moved into the store, many at a time, so that they survive a power cut.

    No snapshot may name a file before that. If a power cut damages one, it is swept or overwritten.
    """
    files = [_unsettled.pop() for _ in range(len(_unsettled))]
    folders = {file.parent for file in files}
    with boundary("settle"), ThreadPoolExecutor(_SYNCS_AT_ONCE) as pool:
        list(pool.map(_sync, filter(Path.exists, files)))
        list(pool.map(sync_folder, filter(Path.exists, folders)))


def write_whole(path: Path, data: bytes) -> None:
    """Replace the content of a file in one step."""
    with temporary(path.parent) as draft:
        with boundary(f"write {path.name}"):
            draft.write_bytes(data)
            _sync(draft)
        draft.chmod(0o644)
        with boundary(f"replace {path.name}"):
            draft.replace(path)
        sync_folder(path.parent)


def put_if_absent(path: Path, data: bytes) -> bool:
    """Write a file unless the name exists; return whether it was written.

    It uses `os.link`, which fails if the name exists, while a rename would overwrite the file.
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
    """Remove a file, a link or a whole folder if it exists."""
    with boundary("remove"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def disk_use(root: Path) -> int:
    """Return the bytes of all files below a folder; hard links count once, files that vanish meanwhile not at all."""
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
    """Hold the lock of a file, which is created with `mode` if missing; `how` is the operation for `fcntl.flock`."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, mode)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)
