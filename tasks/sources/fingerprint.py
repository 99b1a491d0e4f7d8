"""Fingerprint: the content hash of every file, computed only if its size or time has changed.

The fingerprints are cached in `cache/files.parquet`; losing the cache costs one reading of the files, and no parsing.
"""

import time
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.address import is_address
from docmill.storage.files import write_whole
from docmill.storage.keys import KEY_BYTES
from docmill.tasks.archive.kinds import HEAD_BYTES, may_hold
from docmill.tasks.sources.source import SourceFile, may_exist

_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("mtime_ns", pa.int64()),
        ("hash", pa.string()),
        ("holds", pa.string()),
    ],
    metadata={"docmill.version": "1"},  # raise it when the answers of `may_hold` change
)
_SETTLED_NS = 2_000_000_000  # the coarsest clock of a file system in use
_PIECE = 1 << 20
"""Bytes to read at a time: a large file is never in memory as a whole."""


class Fingerprint(NamedTuple):
    """A content hash, and what the file may hold: "archive", "mail" or nothing."""

    hash: str
    holds: str


class Fingerprints:
    """Content hashes by path, size and modification time."""

    def __init__(self, store: Path) -> None:
        self._path = _path_of(store)
        self._seen = _read(self._path)
        self._fresh: dict[str, tuple[int, int, Fingerprint]] = {}

    def known(self, file: SourceFile) -> Fingerprint | None:
        """Return the fingerprint of an unchanged file.

        A rewritten object with the same entity tag counts as unchanged.
        """
        size, mtime_ns, taken = self._seen.get(file.known_as, (-1, -1, None))
        return taken if size == file.size and (file.origin or mtime_ns == file.mtime_ns) else None

    def of(self, file: SourceFile) -> Fingerprint:
        """Return the fingerprint of a file; raise OSError if it cannot be read."""
        if known := self.known(file):
            return known
        before = time.time_ns()
        taken = _take(Path(file.path))
        # A file written within the last tick may change again under the same time: look again next run.
        if file.origin or before - file.mtime_ns > _SETTLED_NS:
            self._fresh[file.known_as] = (file.size, file.mtime_ns, taken)
        return taken

    def save(self, present: Iterable[SourceFile], listed: tuple[str, ...] = ()) -> None:
        """Save the hashes; forget missing files, and missing objects below the addresses in `listed`."""
        if not self._fresh:
            return
        here = {file.known_as for file in present}

        def stays(name: str) -> bool:
            return name in here or (not name.startswith(listed) if is_address(name) else may_exist(name))

        kept = {name: known for name, known in self._seen.items() if stays(name)}
        merged = kept | self._fresh
        rows = [(path, size, mtime, *taken) for path, (size, mtime, taken) in sorted(merged.items())]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _SCHEMA, strict=True)]
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns, schema=_SCHEMA), sink)
        write_whole(self._path, sink.getvalue().to_pybytes())


def known_hashes(store: Path) -> dict[str, str]:
    """Return the content hashes of the files on this machine that a store has fingerprints of, by path."""
    return {name: taken.hash for name, (_, _, taken) in _read(_path_of(store)).items() if not is_address(name)}


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


def _read(path: Path) -> dict[str, tuple[int, int, Fingerprint]]:
    try:
        table = pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowInvalid):
        return {}
    if not table.schema.equals(_SCHEMA, check_metadata=True):
        return {}
    columns = [column.to_pylist() for column in table.columns]
    rows = zip(*columns, strict=True)
    return {name: (size, mtime, Fingerprint(digest, holds)) for name, size, mtime, digest, holds in rows}
