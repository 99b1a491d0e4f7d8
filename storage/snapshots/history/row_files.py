"""Row files: rows of one kind in small Parquet files of a folder next to the snapshots, which machines share."""

import io
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.errors import StoreError, Transient
from docmill.storage.files import explain_full_disk, write_whole
from docmill.storage.name_grammar import NOTHING
from docmill.storage.snapshots.history.folder import StoreFolder

LOG = logging.getLogger("docmill.remote")
_NOTHING = f"{NOTHING}.parquet"
MOST_FILES = 20_000
"""Files whose rows are kept in memory: as many as a store may have judgements, because each is one file."""

R = TypeVar("R")


def schema_of(row: type[Any], **types: pa.DataType) -> pa.Schema:
    """Return the columns of a dataclass: those in `types` with that type, and all others as text."""
    return pa.schema([(one.name, types.get(one.name, pa.string())) for one in fields(row)])


class RowFiles(Generic[R]):
    """The files with rows of one kind: their folder below a store, the class of a row, and its columns."""

    def __init__(self, folder: str, row: type[R], **types: pa.DataType) -> None:
        self.folder, self.row, self.schema = folder, row, schema_of(row, **types)

    def paths(self, root: Path) -> list[Path]:
        """Return the files of a store, sorted by name, without the empty one."""
        return in_folder(root, self.folder)

    def rows_in(self, path: Path) -> tuple[R, ...] | None:
        """Return the rows of a file, cached in memory; None if the file is damaged or gone."""
        try:
            status = path.stat()
            return _parsed(self, path, status.st_mtime_ns, status.st_ino)
        except (OSError, pa.ArrowException, ValueError, TypeError):
            return None

    def damaged(self, root: Path) -> list[Path]:
        """Return the files that cannot be read."""
        return [path for path in self.paths(root) if self.rows_in(path) is None and path.exists()]

    def as_table(self, rows: Iterable[R]) -> pa.Table:
        """Return rows as a table."""
        return pa.Table.from_pylist([asdict(cast(Any, one)) for one in rows], schema=self.schema)


@lru_cache(MOST_FILES)
def _parsed(files: RowFiles[R], path: Path, _written: int, _file: int) -> tuple[R, ...]:
    """Return the rows of a file, cached by path, modification time and inode."""
    return tuple(files.row(**row) for row in _stored_rows(path, files.schema))


def encoded(table: pa.Table, **writing: Any) -> bytes:
    """Return a table as a Parquet file; `writing` are options of `pyarrow.parquet.write_table`."""
    data = io.BytesIO()
    pq.write_table(table, data, **{"compression": "zstd"} | writing)
    return data.getvalue()


def _stored_rows(path: Path, schema: pa.Schema) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a file, without columns that only a newer docmill knows."""
    for row in pq.ParquetFile(path).read().to_pylist():
        yield {name: value for name, value in row.items() if name in schema.names}


def in_folder(root: Path, folder: str) -> list[Path]:
    """Return the files of a folder of a store, sorted by name, without the empty one."""
    return sorted(path for path in (root / folder).glob("[!.]*.parquet") if path.name != _NOTHING)


def prepare(root: Path, folder: str, schema: pa.Schema) -> None:
    """Create an empty file with all columns, so that a view over the folder works before the first row."""
    path = root / folder / _NOTHING
    if not _has_all_columns(path, schema):  # an older docmill may have written it
        write_whole(path, encoded(schema.empty_table()))


def _has_all_columns(path: Path, schema: pa.Schema) -> bool:
    try:
        return bool(pq.read_schema(path).names == schema.names)
    except (OSError, pa.ArrowException):
        return False


def keep(folder: StoreFolder, path: Path, data: bytes, what: str) -> None:
    """Write a file of rows and share it with all machines; raise `StoreError`, naming `what`, if it cannot be kept."""
    try:
        with explain_full_disk(folder.root):
            write_whole(path, data)
    except OSError as error:  # a served store may be read-only for the server
        raise StoreError(f"{what} cannot be kept in {path.parent}: {error.strerror}") from error
    with kept_if_unshared(path):
        folder.share(path.parent.name, path)


@contextmanager
def kept_if_unshared(path: Path) -> Iterator[None]:
    """Keep a file even if the block cannot share it now: the next refresh shares what only this machine has."""
    try:
        yield
    except Transient as error:
        LOG.warning("%s: kept here, and not shared yet: %s", path, error)
