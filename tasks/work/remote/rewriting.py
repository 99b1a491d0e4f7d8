"""Rewriting: send buckets of a table to a worker and take them back; the worker runs the driver's own function."""

from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.errors import DocmillError, Transient
from docmill.storage.files import fault, forget_unsettled, put_immutable
from docmill.storage.remote.objects.bucket import connect
from docmill.storage.remote.objects.transfer import fetch
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.tables.rewrite_buckets import BucketChange, Exchanged, TableChange, rewrite_here
from docmill.tasks.work.pool.plain_json import Readers, decode, encode

_ORDER, _NEW = "rewrite.json", "new.arrow"
"""Members of the archive that is sent, next to the old files: what to do, and the new rows of all buckets."""
_MADE, _LEFT, _WHOLE = "made.json", "left.arrow", "whole.arrow"
"""Members of the archive that comes back, next to the new files."""


@dataclass(frozen=True, slots=True)
class SentBucket:
    """A bucket to rewrite; its new rows are the next `rows` of the parcel's, and there may be none."""

    bucket: int
    old: StoredFile | None
    gone: tuple[str, ...]
    whole: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class RewriteOrder:
    """What a worker has to rewrite: `store` is the address that has the old files, "" if they are sent.

    `arrow` is the version of pyarrow: another one would write the same rows as other bytes.
    """

    arrow: str
    store: str
    table: str
    columns: tuple[str, ...]
    buckets: tuple[SentBucket, ...]


def pack_change(root: Path, change: TableChange, store: str, target: Path) -> None:
    """Write what a worker needs to rewrite buckets; if `store` is given, it reads the old files from there."""
    new = [one.new for one in change.buckets if one.new is not None]
    buckets = [SentBucket(one.bucket, one.old, one.gone, one.whole, _new_rows(one)) for one in change.buckets]
    order = RewriteOrder(pa.__version__, store, change.name, change.columns, tuple(buckets))
    with ZipFile(target, "w") as archive:  # Parquet is compressed already
        archive.writestr(_ORDER, encode(order))
        _put_rows(archive, _NEW, pa.concat_tables([SCHEMAS[change.name].empty_table(), *new]))
        for path in () if store else (one.old.file.path for one in order.buckets if one.old):
            archive.writestr(path, (root / path).read_bytes())  # in one piece: twice as fast as in small parts


@dataclass(frozen=True, slots=True)
class MadeBuckets:
    """The file that a worker has made, and the number of buckets in it."""

    path: Path
    buckets: int


def rewrite_sent(sent: Path, folder: Path) -> MadeBuckets | None:
    """Rewrite the buckets that were sent and write the result; return None if the store cannot be read from here."""
    with ZipFile(sent) as archive:
        archive.extractall(folder)
    order: RewriteOrder = decode((folder / _ORDER).read_bytes(), Readers().of(RewriteOrder))
    if order.arrow != pa.__version__:
        raise Transient(f"pyarrow: {pa.__version__} there, {order.arrow} here")
    if order.store and not _fetched(order, folder):
        return None
    if wrong := next(filter(None, (fault(folder, one.old.file) for one in order.buckets if one.old)), ""):
        raise Transient(wrong)
    made = folder / "made"
    try:
        _write_made(made, folder, rewrite_here(folder, _change_of(order, folder)))
    finally:
        forget_unsettled(folder)
    return MadeBuckets(made, len(order.buckets))


def take_made(root: Path, change: TableChange, made: Path) -> Exchanged:
    """Put the files that a worker has made into the store; raise if they are not what was requested.

    Each file is named by the hash of the bytes received, so the name of a file always matches its content.
    """
    with ZipFile(made) as archive:
        told: tuple[StoredFile, ...] = decode(archive.read(_MADE), Readers().of(tuple[StoredFile, ...]))
        schema = SCHEMAS[change.name]
        left = _rows_in(archive.read(_LEFT), pa.schema([schema.field(name) for name in change.columns]))
        done = Exchanged(told, left, _rows_in(archive.read(_WHOLE), schema))
        _check(change, done)
        for piece in told:
            _put(root, change.name, piece, archive.read(piece.file.path))
    return done


def _fetched(order: RewriteOrder, folder: Path) -> bool:
    """Fetch the old files into a folder; return whether the store can be reached."""
    objects = connect(order.store)
    try:
        objects.knock()  # a transfer from an unreachable store would be retried for many minutes
        fetch(objects, folder, [one.old.file for one in order.buckets if one.old])
    except DocmillError:
        return False
    return True


def _change_of(order: RewriteOrder, folder: Path) -> TableChange:
    new = _rows_in((folder / _NEW).read_bytes(), SCHEMAS[order.table])
    ends = np.cumsum([0, *(one.rows for one in order.buckets)]).tolist()
    buckets = [
        BucketChange(one.bucket, one.old, one.gone, one.whole, new.slice(first, last - first) if one.rows else None)
        for one, (first, last) in zip(order.buckets, pairwise(ends), strict=True)
    ]
    return TableChange(order.table, order.columns, tuple(buckets))


def _write_made(target: Path, folder: Path, done: Exchanged) -> None:
    with ZipFile(target, "w") as archive:
        archive.writestr(_MADE, encode(done.pieces))
        _put_rows(archive, _LEFT, done.left)
        _put_rows(archive, _WHOLE, done.whole)
        for piece in done.pieces:
            archive.writestr(piece.file.path, (folder / piece.file.path).read_bytes())


def _check(change: TableChange, done: Exchanged) -> None:
    """Raise `Transient` unless the files are of the requested buckets and have the expected numbers of rows."""
    asked, came = [one.bucket for one in change.buckets], [piece.bucket for piece in done.pieces]
    if came != sorted({*came} & {*asked}):
        raise Transient(f"the buckets {came} came back for {asked}")
    before = sum(one.old.rows for one in change.buckets if one.old)
    entering = sum(map(_new_rows, change.buckets))
    rows = sum(piece.rows for piece in done.pieces)
    _check_count("rows", rows, before - done.left.num_rows + entering)
    whole = pa.array(chain.from_iterable(one.whole for one in change.buckets), pa.string())
    deleted = pc.sum(pc.is_in(done.left.column("document_id"), whole)).as_py() or 0
    _check_count("rows of deleted documents", done.whole.num_rows, deleted)


def _check_count(what: str, came: int, wanted: int) -> None:
    if came != wanted:
        raise Transient(f"{came} {what} came back, not {wanted}")


def _new_rows(change: BucketChange) -> int:
    return change.new.num_rows if change.new is not None else 0


def _put(root: Path, name: str, piece: StoredFile, data: bytes) -> None:
    found = pq.read_metadata(pa.BufferReader(data)).num_rows
    if found != piece.rows:
        raise Transient(f"{piece.file.path} has {found} rows, not {piece.rows}")
    file = put_immutable(root, f"tables/{name}", ".parquet", data)
    if file != piece.file:
        raise Transient(f"{piece.file.path} came back as {file.path}")


def _put_rows(archive: ZipFile, name: str, rows: pa.Table) -> None:
    with archive.open(name, "w") as file, pa.ipc.new_stream(file, rows.schema) as writer:
        writer.write_table(rows)


def _rows_in(data: bytes, schema: pa.Schema) -> pa.Table:
    with pa.ipc.open_stream(pa.BufferReader(data)) as reader:
        rows = reader.read_all()
    if rows.schema != schema:
        raise Transient(f"the columns {rows.schema.names} came, not {schema.names}")
    return rows
