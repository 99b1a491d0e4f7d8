"""Fingerprint: the content hash of every file, computed only if its size, its time or its inode has changed.

The fingerprints are cached in `cache/files.parquet`; losing the cache costs one reading of the files, and no parsing.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.files import write_whole
from docmill.storage.keys import KEY_BYTES
from docmill.tasks.archive.kinds import HEAD_BYTES, may_hold
from docmill.tasks.sources.source import SourceFile, is_origin, may_exist

_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("mtime_ns", pa.int64()),
        ("inode", pa.uint64()),
        ("hash", pa.string()),
        ("holds", pa.string()),
    ],
    metadata={"docmill.version": "2"},  # raise it when the answers of `may_hold` change
)
SETTLED_NS = 2_000_000_000
"""Age of a file, by the coarsest clock of a file system in use, from which on its time tells of every change."""
_PIECE = 1 << 20
"""Bytes to read at a time: a large file is never in memory as a whole."""


class Fingerprint(NamedTuple):
    """A content hash, and what the file may hold: "archive", "mail" or nothing."""

    hash: str
    holds: str


class State(NamedTuple):
    """What tells one state of a file from another, as far as its folder knows it.

    A file that was moved here keeps its time, and files that are written together may have the same: only their inodes
    differ.
    """

    size: int
    mtime_ns: int
    inode: int


class Fingerprints:
    """Content hashes by path and state."""

    def __init__(self, store: Path) -> None:
        self._path = _path_of(store)
        self._seen = _read(self._path)
        self._fresh: dict[str, tuple[State, Fingerprint]] = {}

    def known(self, file: SourceFile) -> Fingerprint | None:
        """Return the fingerprint of an unchanged file.

        A rewritten object with the same entity tag counts as unchanged. A member that an archive lists as a source has
        the hash of its bytes for its version.
        """
        if file.place and file.item:
            return Fingerprint(file.item.version, "")
        known = self._fresh.get(file.known_as) or self._seen.get(file.known_as)
        return known[1] if known and known[0] == _state(file) else None

    def learn(
        self,
        files: Iterable[SourceFile],
        address_of: Callable[[str], str],
        ask: Callable[[Sequence[str]], Mapping[str, tuple[str, str]]],
    ) -> None:
        """Ask others for the fingerprints of new and changed objects, of which they are given the addresses."""
        lacking = {address: file for file in files if (address := address_of(file.path)) and not self.known(file)}
        for address, taken in ask([*lacking]).items():
            file = lacking[address]
            self._fresh[file.known_as] = (_state(file), Fingerprint(*taken))

    def of(self, file: SourceFile) -> Fingerprint:
        """Return the fingerprint of a file; raise OSError if it cannot be read."""
        if known := self.known(file):
            return known
        before = time.time_ns()
        taken = _take(Path(file.path))
        # A file written within the last tick may change again under the same time: look again next run.
        if file.origin or before - file.mtime_ns > SETTLED_NS:
            self._fresh[file.known_as] = (_state(file), taken)
        return taken

    def save(self, present: Iterable[SourceFile], listed: tuple[str, ...] = ()) -> None:
        """Save the hashes; forget missing files, and missing objects below the addresses in `listed`."""
        # A run that read no file anew writes nothing, so a second run leaves the store as it is.
        if not self._fresh:
            return
        here = {file.known_as for file in present}

        def stays(name: str) -> bool:
            return name in here or (not name.startswith(listed) if is_origin(name) else may_exist(name))

        # Files of sources that this run did not look at stay known, as long as they exist.
        kept = {name: known for name, known in self._seen.items() if stays(name)}
        merged = kept | self._fresh
        rows = [(path, *state, *taken) for path, (state, taken) in sorted(merged.items())]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _SCHEMA, strict=True)]
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns, schema=_SCHEMA), sink)
        write_whole(self._path, sink.getvalue().to_pybytes())


def known_hashes(store: Path) -> dict[str, str]:
    """Return the content hashes of the files on this machine that a store has fingerprints of, by path."""
    return {name: taken.hash for name, (_, taken) in _read(_path_of(store)).items() if not is_origin(name)}


def _path_of(store: Path) -> Path:
    return store / "cache" / "files.parquet"


def _take(path: Path) -> Fingerprint:
    digest = blake2b(digest_size=KEY_BYTES)
    with path.open("rb") as file:
        piece = head = file.read(_PIECE)
        while piece:
            digest.update(piece)
            piece = file.read(_PIECE)
    return Fingerprint(digest.hexdigest(), may_hold(path.name, head[:HEAD_BYTES]))


def _state(file: SourceFile) -> State:
    """Return the state of a file; an object with the same entity tag is the same, whenever it was put."""
    return State(file.size, 0 if file.origin else file.mtime_ns, file.inode)


def _read(path: Path) -> dict[str, tuple[State, Fingerprint]]:
    try:
        table = pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowInvalid):
        return {}
    # Answers of an older `may_hold` are forgotten; the files are read once more.
    if not table.schema.equals(_SCHEMA, check_metadata=True):
        return {}
    columns = [column.to_pylist() for column in table.columns]
    rows = zip(*columns, strict=True)
    return {name: (State(*state), Fingerprint(digest, holds)) for name, *state, digest, holds in rows}
