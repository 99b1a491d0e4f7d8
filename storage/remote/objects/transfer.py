"""Transfer: copy files between a mirror and its object store, many at a time, with progress in the log."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.failpoints import boundary
from docmill.storage.files import FileRef, hash_file, hash_pieces, open_to_readers, temporary
from docmill.storage.name_grammar import placed
from docmill.storage.remote.objects.bucket import Objects, Vanished

INCOMING = "incoming"
VECTORS = "vectors"
_AT_ONCE = 16  # files in transfer at a time; a small file mostly waits
_SAID_EVERY_S = 5.0  # seconds between two log lines
_RENAMED_BY_CONTENT = ("_versions", "_refs")
_SEE = "; see: docmill verify"
_log = logging.getLogger("docmill.remote")


def key_of_file(file: FileRef) -> str:
    """Return the key of a file's object: its path, or its hash for a LanceDB file, whose name may be reused."""
    return f"{VECTORS}/{file.hash}" if file.path.startswith(f"{VECTORS}/") else file.path


def is_here(root: Path, file: FileRef) -> bool:
    """Return whether a mirror has a file. One that is not named by its content is read and hashed."""
    path = root / file.path
    if not path.is_file() or path.stat().st_size != file.bytes:
        return False
    return not set(_RENAMED_BY_CONTENT) & set(Path(file.path).parts) or hash_file(path) == file.hash


def fetch(objects: Objects, root: Path, files: Iterable[FileRef]) -> None:
    """Fetch the files that a mirror lacks, each atomically.

    Raises `Vanished` if an object no longer exists, and `StoreError` if its content is not what was uploaded.
    """
    lacking = [file for file in dict.fromkeys(files) if not is_here(root, file)]
    if not lacking:
        return
    _each(lacking, lambda file: _fetch(objects, root, file), f"fetched from {objects.url}")
    _forget_latest(root, lacking)


def fetch_possible(objects: Objects, root: Path, files: Sequence[FileRef]) -> dict[FileRef, str]:
    """Fetch files and replace those in the mirror; return the ones that cannot be fetched, with the reason.

    A file that cannot be fetched does not change.
    """
    failed: dict[FileRef, str] = {}

    def fetch_one(file: FileRef) -> None:
        try:
            _fetch(objects, root, file)
        except StoreError as error:
            failed[file] = str(error).removesuffix(_SEE)

    _each(list(files), fetch_one, f"fetched from {objects.url}")
    _forget_latest(root, files)
    return failed


def _forget_latest(root: Path, fetched: Sequence[FileRef]) -> None:
    """Remove LanceDB's record of its latest version, which is older than the fetched files."""
    for folder in {(root / file.path).parent for file in fetched if "_versions" in file.path}:
        (folder / "latest_version_hint.json").unlink(missing_ok=True)


def _fetch(objects: Objects, root: Path, file: FileRef) -> None:
    final = placed(root, file.path)
    with temporary(root / INCOMING) as path:
        key = key_of_file(file)
        objects.download(key, path)
        if hash_file(path) != file.hash:
            raise StoreError(f"{objects.url}/{key} does not have the content that was written{_SEE}")
        open_to_readers(path)
        final.parent.mkdir(parents=True, exist_ok=True)
        with boundary("remote fetch"):
            path.replace(final)


def send(objects: Objects, root: Path, files: Iterable[FileRef]) -> None:
    """Upload the files that have no object yet, so that an interrupted upload resumes."""
    there = objects.sizes()
    send_again(objects, root, [file for file in dict.fromkeys(files) if there.get(key_of_file(file)) != file.bytes])


def send_again(objects: Objects, root: Path, files: Sequence[FileRef]) -> None:
    """Upload files, and overwrite their objects."""
    what = f"sent to {objects.url}"
    _each(list(files), lambda file: objects.upload(root / file.path, key_of_file(file)), what)


def faults(objects: Objects, files: Iterable[FileRef], read: bool) -> dict[FileRef, str]:
    """Return what is wrong with the objects of files; with `read`, every object is read and hashed.

    An entity tag proves nothing here, because an object store may keep it although the stored content has changed.
    """
    there, wanted = objects.sizes(), dict.fromkeys(files)
    found = {file: said for file in wanted if (said := _misfit(objects, file, there))}
    if read:
        rest = [file for file in wanted if file not in found]
        read_wrong: dict[FileRef, str] = {}
        _each(rest, lambda file: _compare(objects, file, read_wrong), f"compared with {objects.url}")
        found |= read_wrong
    return found


def _misfit(objects: Objects, file: FileRef, there: dict[str, int]) -> str:
    key = key_of_file(file)
    if key not in there:
        return f"{objects.url}/{key} is missing"
    return "" if there[key] == file.bytes else f"{objects.url}/{key} has {there[key]} bytes, not {file.bytes}"


def _compare(objects: Objects, file: FileRef, wrong: dict[FileRef, str]) -> None:
    """Read an object, and add its fault to `wrong` if its content is not that of the file."""
    key = key_of_file(file)
    try:
        if hash_pieces(objects.pieces(key)) != file.hash:
            wrong[file] = f"{objects.url}/{key} does not have the content that was written"
    except Vanished:  # since it was listed
        wrong[file] = f"{objects.url}/{key} is missing"


def _each(files: list[FileRef], work: Callable[[FileRef], None], what: str) -> None:
    count = _Count(files, what)
    pool = ThreadPoolExecutor(_AT_ONCE, "docmill-transfer")
    try:
        for file, done in [(file, pool.submit(work, file)) for file in files]:
            done.result()
            count.add(file)
    finally:
        pool.shutdown(cancel_futures=True)
    count.end()


class _Count:
    """Logs the transferred bytes regularly and at the end."""

    def __init__(self, files: Sequence[FileRef], what: str) -> None:
        self._what = what
        self._files = len(files)
        self._bytes = sum(file.bytes for file in files)
        self._done = 0
        self._said = time.monotonic()

    def add(self, file: FileRef) -> None:
        self._done += file.bytes
        if time.monotonic() - self._said > _SAID_EVERY_S:
            self._said = time.monotonic()
            _log.info("%s so far: %s of %s", self._what, sized(self._done), sized(self._bytes))

    def end(self) -> None:
        if self._files:
            _log.info("%s: %d files, %s", self._what, self._files, sized(self._bytes))


def sized(count: int) -> str:
    """Return a number of bytes in a readable form."""
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"
