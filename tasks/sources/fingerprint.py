"""Fingerprint: the content hash of every file, computed only if its size, its time or its inode has changed.

The fingerprints are cached in `cache/files.parquet`; losing the cache costs one reading of the files, and no parsing.
"""

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from operator import methodcaller
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.files import write_whole
from docmill.storage.keys import KEY_BYTES
from docmill.storage.tables.row_columns import RowColumns
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
_plain = methodcaller("as_py")
_NAMES_AT_ONCE = 1 << 16
"""Names to look up together: a table of so many is small, and built in a millisecond."""


HOLDERS = ("archive", "mail")
"""What a file may be that holds others."""


class Fingerprint(NamedTuple):
    """A content hash, and what the file may hold: one of `HOLDERS` or nothing."""

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
        self._fresh: dict[str, tuple[State, Fingerprint]] = {}

    def lacking(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        """Return the files that are new or changed.

        A rewritten object with the same entity tag counts as unchanged. A member that an archive lists as a source has
        the hash of its bytes for its version.
        """
        known = self._known(_columns(files)).column("hash").is_valid().to_pylist()
        return [file for file, held in zip(files, known, strict=True) if not (held or _version(file))]

    def taken(self, files: Sequence[SourceFile]) -> Sequence[SourceFile]:
        """Return files with their content hashes, and with what they hold; a file that cannot be read has none."""
        known = self._known(_columns(files))
        if not isinstance(files, RowColumns):
            held = zip(files, *(column.to_pylist() for column in known.columns), strict=True)
            return [self._filled(file, digest, holds) for file, digest, holds in held]
        lacking = pc.is_null(known.column("hash")).combine_chunks()
        fresh = [self._of(file) for file in files.of(np.flatnonzero(lacking))]
        table = files.table
        for place, name in enumerate(("content_hash", "holds")):
            new = pa.array([one[place] for one in fresh], pa.string())
            column = pc.replace_with_mask(known.column(place).combine_chunks(), lacking, new)
            table = table.append_column(name, column)
        return replace(files, table=table, others=tuple(self.taken(files.others)))

    def _filled(self, file: SourceFile, digest: str | None, holds: str | None) -> SourceFile:
        """Return a file with its hash; `digest` is the one that is remembered, if any."""
        if version := _version(file):
            digest, holds = version, ""
        taken = self._of(file) if digest is None else Fingerprint(digest, holds or "")
        return replace(file, content_hash=taken.hash, holds=taken.holds)

    def _of(self, file: SourceFile) -> Fingerprint:
        """Return the fingerprint of a file that is read now."""
        before = time.time_ns()
        try:
            taken = _take(Path(file.path))
        except OSError:  # the worker that reads it again reports the error
            return Fingerprint("", "")
        # A file written within the last tick may change again under the same time: look again next run.
        if file.origin or before - file.mtime_ns > SETTLED_NS:
            self._fresh[file.known_as] = (_state(file), taken)
        return taken

    def _known(self, files: pa.Table) -> pa.Table:
        """Return the hash of each of some files, and what it holds; null if the file is new or changed."""
        seen = _read(self._path)
        known = seen.drop_columns("path").take(_places(seen.column("path"), files.column("path")))
        same = pc.and_(
            pc.and_(pc.equal(known.column("size"), files.column("size")),
                    pc.equal(known.column("mtime_ns"), files.column("mtime_ns"))),
            pc.equal(known.column("inode"), files.column("inode")),
        )  # fmt: skip
        nothing = pa.scalar(None, pa.string())
        return pa.table({name: pc.if_else(same, known.column(name), nothing) for name in Fingerprint._fields})

    def save(self, present: Iterable[Sequence[SourceFile]], listed: tuple[str, ...] = ()) -> None:
        """Save the hashes; forget missing files, and missing objects below the addresses in `listed`."""
        # A run that read no file anew writes nothing, so a second run leaves the store as it is.
        if not self._fresh:
            return
        seen = _read(self._path)
        names = seen.column("path")
        kept = np.zeros(seen.num_rows, bool)
        for files in present:
            kept[_places(names, _columns(files).column("path")).drop_null().to_numpy()] = True
        # Files of sources that this run did not look at stay known, as long as they exist.
        for place in np.flatnonzero(~kept).tolist():
            name = names[place].as_py()
            kept[place] = not name.startswith(listed) if is_origin(name) else may_exist(name)
        kept[_places(names, pa.array(list(self._fresh), pa.large_string())).drop_null().to_numpy()] = False
        rows = [(path, *state, *taken) for path, (state, taken) in self._fresh.items()]
        fresh = [pa.array(column, one.type) for column, one in zip(zip(*rows, strict=True), seen.schema, strict=True)]
        merged = pa.concat_tables([seen.filter(pa.array(kept)), pa.table(fresh, schema=seen.schema)])
        _write(self._path, merged.sort_by("path"))


def _version(file: SourceFile) -> str:
    """Return the hash that an archive gives for a member of it, else ""."""
    return file.item.version if file.place and file.item else ""


def _columns(files: Sequence[SourceFile]) -> pa.Table:
    """Return the names by which files are remembered, and their states."""
    if isinstance(files, RowColumns):
        return files.table.select(["path", *State._fields])
    rows = [(file.known_as, *_state(file)) for file in files]
    return pa.table(
        [
            pa.array([row[place] for row in rows], pa.large_string() if one.name == "path" else one.type)
            for place, one in enumerate(list(_SCHEMA)[: 1 + len(State._fields)])
        ],
        names=["path", *State._fields],
    )


def _places(sorted_names: pa.ChunkedArray, names: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the rows of names in a sorted column, null for a name that is not there.

    Both are in nearly the same order, so that some names are looked up among few.
    """
    known = sorted_names.combine_chunks()
    found = [pa.array([], pa.int64())]
    for batch in pa.table([names], names=["name"]).to_batches(_NAMES_AT_ONCE):
        least, most = pc.min_max(batch.column(0)).values()
        first = bisect_left(known, least.as_py(), key=_plain)
        last = bisect_right(known, most.as_py(), lo=first, key=_plain)
        here = pc.index_in(batch.column(0), value_set=known.slice(first, last - first))
        found.append(pc.add(here.cast(pa.int64()), first))
    return pa.concat_arrays(found)


def known_hashes(store: Path) -> dict[str, str]:
    """Return the content hashes of the files on this machine that a store has fingerprints of, by path."""
    seen = _read(_path_of(store))
    names = zip(*(seen.column(name).to_pylist() for name in ("path", "hash")), strict=True)
    return {name: digest for name, digest in names if not is_origin(name)}


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


def _read(path: Path) -> pa.Table:
    """Return what the last runs have seen, sorted by path."""
    wide = _SCHEMA.set(0, _SCHEMA.field("path").with_type(pa.large_string()))
    try:
        table = pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowInvalid):
        return wide.empty_table()
    # Answers of an older `may_hold` are forgotten; the files are read once more.
    return table.cast(wide) if table.schema.equals(_SCHEMA, check_metadata=True) else wide.empty_table()


def _write(path: Path, seen: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, _SCHEMA) as writer:
        for batch in seen.to_batches(_NAMES_AT_ONCE):
            writer.write_batch(batch.cast(_SCHEMA))
    write_whole(path, sink.getvalue().to_pybytes())
