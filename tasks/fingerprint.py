"""Fingerprint: the content hash of every file, read only where size or time say that it may differ.

What was seen last is remembered beside the store's truth, in `cache/files.parquet`; losing it costs
one reading of the files, and no parsing.
"""

import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from storage.files import hash_file, write_whole
from tasks.discover import Found, readable

_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("mtime_ns", pa.int64()), ("hash", pa.string())])
_SETTLED_NS = 2_000_000_000  # the coarsest clock of a file system in use


class Fingerprints:
    """Content hashes by path, size and modification time."""

    def __init__(self, store: Path) -> None:
        self._path = store / "cache" / "files.parquet"
        self._seen = _read(self._path)
        self._fresh: dict[str, tuple[int, int, str]] = {}

    def of(self, file: Found) -> str:
        """Return the content hash of a file; raise OSError where it cannot be read."""
        known = self._seen.get(readable(file.path))
        if known is not None and known[:2] == (file.size, file.mtime_ns):
            return known[2]
        before = time.time_ns()
        digest = hash_file(Path(file.path))
        # A file written within the last tick may change again under the same time: look again next run.
        if before - file.mtime_ns > _SETTLED_NS:
            self._fresh[readable(file.path)] = (file.size, file.mtime_ns, digest)
        return digest

    def save(self, present: Iterable[str]) -> None:
        """Remember what was hashed; forget files that are no longer there."""
        if not self._fresh:
            return
        here = {readable(path) for path in present}
        kept = {path: known for path, known in self._seen.items() if path in here or Path(path).exists()}
        merged = kept | self._fresh
        rows = [(path, *known) for path, known in sorted(merged.items())]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _SCHEMA, strict=True)]
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns, schema=_SCHEMA), sink)
        write_whole(self._path, sink.getvalue().to_pybytes())


def _read(path: Path) -> dict[str, tuple[int, int, str]]:
    try:
        columns = [column.to_pylist() for column in pq.read_table(path, partitioning=None).columns]
    except (OSError, pa.ArrowInvalid):
        return {}
    return {name: (size, mtime, digest) for name, size, mtime, digest in zip(*columns, strict=True)}
