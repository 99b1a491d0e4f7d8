"""Fingerprint: the content hash of every file, computed only if its size, time or inode has changed.

Fingerprints are cached in `cache/files.parquet`; losing the cache costs reading the files once, but no parsing.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.files import write_whole
from docmill.storage.keys import KEY_BYTES
from docmill.storage.snapshots.tables.row_columns import RowColumns
from docmill.tasks.archive.archive_kinds import head_bytes, held_by
from docmill.tasks.paths.local_file import LocalFile
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
    metadata={"docmill.version": "5"},  # raise it when the results of `held_by` change
)
_WIDE = _SCHEMA.set(0, _SCHEMA.field("path").with_type(pa.large_string()))
"""The same columns in memory, where the paths of millions of files may exceed 2 GB."""
_PRINTS = pa.schema([("hash", pa.string()), ("holds", pa.string())])
SETTLED_NS = 2_000_000_000
"""Age of a file from which its time shows every later change, by the coarsest file-system clock in use."""
_PIECE = 1 << 20
"""Bytes to read at a time, so that a large file is never in memory as a whole."""
_NAMES_AT_ONCE = 1 << 14
"""Names to look up together, and in a piece of the file: such a table takes 3 MB and a millisecond."""
_PIECES = 4
"""Pieces of the file in memory. The files of a folder are looked up in nearly the order in which they were written."""
_LAST = chr(0x10FFFF)  # no path begins with it


HOLDERS = ("archive", "mail", "document")
"""Kinds of files that may contain others."""


class Fingerprint(NamedTuple):
    """A content hash, and what the file may contain: one of `HOLDERS`, or another result of `held_by`."""

    hash: str
    holds: str


class State(NamedTuple):
    """What distinguishes two states of a file, as far as its folder knows.

    A file that was moved here keeps its time, and files written together may have the same time: then only their inodes
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

        A rewritten object with the same entity tag counts as unchanged. The version of a member that an archive lists
        as a source is the hash of its bytes.
        """
        known = self._known(_columns(files)).column("hash").is_valid().to_pylist()
        unseen = (file for file, held in zip(files, known, strict=True) if not held)
        return [file for file in unseen if not (_version(file) or self._learned(file))]

    def learn(
        self,
        files: Sequence[SourceFile],
        address_of: Callable[[str], str],
        ask: Callable[[Sequence[str]], Mapping[str, tuple[str, str]]],
    ) -> None:
        """Ask others for the fingerprints of new and changed objects; `ask` gets their addresses."""
        addressed = {address: file for file in files if (address := address_of(file.path))}
        if not addressed:
            return
        lacking = {address_of(file.path): file for file in self.lacking([*addressed.values()])}
        for address, taken in ask([*lacking]).items():
            file = lacking[address]
            self._fresh[file.known_as] = (_state(file), Fingerprint(*taken))

    def _learned(self, file: SourceFile) -> Fingerprint | None:
        """Return the fingerprint of a file that this run has read, in this process or another."""
        state, taken = self._fresh.get(file.known_as, (None, None))
        return taken if state == _state(file) else None

    def taken(self, files: Sequence[SourceFile]) -> Sequence[SourceFile]:
        """Return files with their content hashes and what they contain; an unreadable file has no hash."""
        known = self._known(_columns(files))
        if not isinstance(files, RowColumns):
            held = zip(files, *(column.to_pylist() for column in known.columns), strict=True)
            return [self._filled(file, digest, holds) for file, digest, holds in held]
        lacking = pc.is_null(known.column("hash")).combine_chunks()
        fresh = [self._of(file) for file in files.of(np.flatnonzero(lacking))]
        table = files.table
        for place, name in enumerate(("content_hash", "holds")):
            column = known.column(place)
            if fresh:  # otherwise nothing is copied
                new = pa.array([one[place] for one in fresh], pa.string())
                column = pc.replace_with_mask(column.combine_chunks(), lacking, new)
            table = table.append_column(name, column)
        return replace(files, table=table, others=tuple(self.taken(files.others)))

    def _filled(self, file: SourceFile, digest: str | None, holds: str | None) -> SourceFile:
        """Return a file with its hash; `digest` is the remembered one, if any."""
        if version := _version(file):
            digest, holds = version, ""
        known = self._learned(file) if digest is None else Fingerprint(digest, holds or "")
        taken = known or self._of(file)
        return replace(file, content_hash=taken.hash, holds=taken.holds)

    def _of(self, file: SourceFile) -> Fingerprint:
        """Read a file now and return its fingerprint."""
        before = time.time_ns()
        try:
            taken = _take(file.local)
        except OSError:  # the worker that reads it again reports the error
            return Fingerprint("", "")
        # A file written within the last clock tick may change again without a new time: the next run looks again.
        if file.origin or before - file.mtime_ns > SETTLED_NS:
            self._fresh[file.known_as] = (_state(file), taken)
        return taken

    def _known(self, files: pa.Table) -> pa.Table:
        """Return the hash of each file, and what it contains; null if the file is new or changed."""
        seen = _RememberedFiles(self._path)
        return pa.concat_tables([_PRINTS.empty_table(), *map(seen.prints, files.to_batches(_NAMES_AT_ONCE))])

    def save(self, present: Iterable[Sequence[SourceFile]], listed: tuple[str, ...] = ()) -> None:
        """Save the hashes; forget missing files, and missing objects below the addresses in `listed`."""
        # A run that read no file writes nothing, so that a second run leaves the store as it is.
        if not self._fresh:
            return
        seen = _read(self._path)
        names = seen.column("path")
        kept = np.zeros(seen.num_rows, bool)
        for files in present:
            kept[_places(names, _columns(files).column("path"))] = True
        # Files of sources that this run did not list stay known as long as they exist.
        for place in np.flatnonzero(~kept).tolist():
            name = names[place].as_py()
            kept[place] = not name.startswith(listed) if is_origin(name) else may_exist(name)
        kept[_places(names, pa.array(list(self._fresh), pa.large_string()))] = False
        rows = [(path, *state, *taken) for path, (state, taken) in self._fresh.items()]
        fresh = [pa.array(column, one.type) for column, one in zip(zip(*rows, strict=True), seen.schema, strict=True)]
        merged = pa.concat_tables([seen.filter(pa.array(kept)), pa.table(fresh, schema=seen.schema)])
        _write(self._path, merged.sort_by("path"))


def _version(file: SourceFile) -> str:
    """Return the hash that an archive gives for its member, else ""."""
    return file.item.version if file.place and file.item else ""


def _columns(files: Sequence[SourceFile]) -> pa.Table:
    """Return the names under which files are remembered, and their states."""
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


class _RememberedFiles:
    """What the last runs have seen, in a file sorted by path that is read piece by piece on demand."""

    def __init__(self, path: Path) -> None:
        self._file = _opened(path)
        found = [self._file.metadata.row_group(i).column(0).statistics for i in range(self._file.num_row_groups)]
        # A piece without statistics may contain any name.
        self._spans = [(one.min, one.max) if one and one.has_min_max else ("", _LAST) for one in found]
        self._piece = lru_cache(_PIECES)(self._read)

    def prints(self, files: pa.RecordBatch) -> pa.Table:
        """Return the `_PRINTS` rows of files whose names are close together."""
        least, most = (one.as_py() for one in pc.min_max(files.column("path")).values())
        near = [self._piece(i) for i, (low, high) in enumerate(self._spans) if low <= most and least <= high]
        known = pa.concat_tables([_WIDE.empty_table(), *near]).combine_chunks()
        places = pc.index_in(files.column("path"), value_set=known.column("path").combine_chunks())
        known = known.drop_columns("path").take(places)
        same = pc.is_valid(places)
        for name in State._fields:
            same = pc.and_(same, pc.fill_null(pc.equal(known.column(name), files.column(name)), False))
        nothing = pa.scalar(None, pa.string())
        return pa.table([pc.if_else(same, known.column(one.name), nothing) for one in _PRINTS], _PRINTS)

    def _read(self, piece: int) -> pa.Table:
        return self._file.read_row_group(piece).cast(_WIDE)


def _places(sorted_names: pa.ChunkedArray, names: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return the rows of the names that are in a column."""
    places = pc.index_in(sorted_names, value_set=pc.unique(names))
    return np.flatnonzero(places.is_valid().to_numpy())


def known_hashes(store: Path, ending: str = "") -> dict[str, str]:
    """Return the content hashes of the files on this machine for which a store has fingerprints, by path.

    With an `ending`, only those whose path ends with it.
    """
    seen = _read(_path_of(store))
    seen = seen.filter(pc.ends_with(seen.column("path"), ending)) if ending else seen
    names = zip(*(seen.column(name).to_pylist() for name in ("path", "hash")), strict=True)
    return {name: digest for name, digest in names if not is_origin(name)}


def forget(store: Path, uris: Iterable[str]) -> None:
    """Remove the fingerprints of all files with the names of some documents; they are then read once more."""
    names = {uri.rpartition("/")[2] for uri in uris}
    seen = _read(_path_of(store))
    kept = [name.rpartition("/")[2] not in names for name in seen.column("path").to_pylist()]
    if not all(kept):
        _write(_path_of(store), seen.filter(pa.array(kept)))


def _path_of(store: Path) -> Path:
    return store / "cache" / "files.parquet"


def _take(local: LocalFile) -> Fingerprint:
    digest = blake2b(digest_size=KEY_BYTES)
    with local.open() as file:
        piece = head = file.read(max(head_bytes(local.name), _PIECE))
        while piece:
            digest.update(piece)
            piece = file.read(_PIECE)
    return Fingerprint(digest.hexdigest(), held_by(local.name, head))


def _state(file: SourceFile) -> State:
    """Return the state of a file; an object with the same entity tag is the same, whenever it was written."""
    return State(file.size, 0 if file.origin else file.mtime_ns, file.inode)


def _opened(path: Path) -> pq.ParquetFile:
    """Open the file of fingerprints; open an empty one if it is missing or from an older docmill."""
    with suppress(OSError, pa.ArrowInvalid):
        file = pq.ParquetFile(path, memory_map=True)
        if file.schema_arrow.equals(_SCHEMA, check_metadata=True):
            return file
    sink = pa.BufferOutputStream()
    pq.write_table(_SCHEMA.empty_table(), sink)
    return pq.ParquetFile(sink.getvalue())


def _read(path: Path) -> pa.Table:
    """Return what the last runs have seen, sorted by path."""
    return _opened(path).read().cast(_WIDE)


def _write(path: Path, seen: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, _SCHEMA) as writer:
        for batch in seen.to_batches(_NAMES_AT_ONCE):
            writer.write_batch(batch.cast(_SCHEMA))
    write_whole(path, sink.getvalue().to_pybytes())
