"""Data files: tables of SQLite, Parquet, Arrow and dBase, each as its columns with their types, then its first rows.

A SQLite database is opened from memory and only read: no trigger runs, no other file is attached, and a statement that
takes too long is stopped.
"""

import io
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.hypertext import plain_words

MAX_ROWS = 10_000
"""Maximum rows of a table that are read. With fewer, small tables are cut; with many more, the rows of a data warehouse
would become chunks that nobody searches for. The schema gives the number of rows."""
_MAX_CELL = 2_000  # characters of a value: longer values are documents, and each would be a row of its own
_STREAM = b"\xff\xff\xff\xff"  # the continuation marker before the first message
_BATCH = 1_000  # rows in memory at once
_MAX_COLUMNS = 2_000  # tables with more are measurements, whose rows are not text
_HEADER = struct.Struct("<BBBBIHH")  # version, year, month, day, records, bytes of the header and of a record
_FIELDS = 32  # the offset of the field descriptors, and the length of each
_LANGUAGE = 29  # the byte of the header with the code page
_END_OF_FIELDS = 0x0D
_DELETED = b"*"
_KINDS = {
    "C": "text", "N": "number", "F": "number", "D": "date", "L": "yes or no", "M": "memo", "I": "integer",
    "B": "number", "T": "time", "Y": "money", "G": "object", "V": "text", "O": "number", "+": "integer",
}  # fmt: skip
_CODE_PAGES = {
    0x01: "cp437", 0x02: "cp850", 0x03: "cp1252", 0x57: "cp1252", 0x64: "cp852", 0xC8: "cp1250", 0xC9: "cp1251",
}  # fmt: skip
_YEARS = 1900  # added to a two-digit year
_STEPS = 1_000  # SQLite virtual machine steps between two checks of the budget
_MAX_LOOKS = 20_000  # about two seconds of work: reading 10,000 rows takes a tenth of that, a view may take any time
_OWN = "sqlite_%"  # names of tables that SQLite keeps for itself
_SHADOWS = ("_content", "_docsize", "_data", "_idx", "_config", "_segments", "_segdir", "_stat", "_node", "_rowid")
_WRITTEN = slice(18, 20)
_JOURNAL, _ROLLBACK = b"\x02\x02", b"\x01\x01"
"""The write and read version of a database in write-ahead mode (file format, 1.3), and of any other: an image in memory
has no log beside it, and is read as of its last checkpoint."""


def draw_table(canvas: Canvas, name: str, columns: Sequence[tuple[str, str]], rows: Iterable[Any], total: int) -> None:
    """Draw one table: a heading, its columns and types as items, and its first rows.

    `rows` are sequences of values; `total` is their number, or -1 if unknown.
    """
    canvas.heading(name, 2)
    for column, kind in columns:
        canvas.item(f"{column}: {kind}" if kind else column, 1)
    shown = [[as_text(value) for value in row] for row in islice(rows, MAX_ROWS)]
    if total > len(shown):
        canvas.paragraph(f"The first {len(shown)} of {total} rows.")
    canvas.table([[column for column, _ in columns], *shown], 1)


def as_text(value: Any) -> str:
    """Return a value as text, with only the words of HTML; binary values are given by their length."""
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        return f"({len(value)} bytes)"
    if isinstance(value, float):
        return f"{value:.15g}"  # the number of digits that a double reliably has
    text = plain_words(str(value))
    return text if len(text) <= _MAX_CELL else text[:_MAX_CELL] + "…"


def parse_parquet(data: bytes, options: ParseOptions) -> Parsed:
    """Return the columns of a Parquet file and its first rows."""
    import pyarrow.parquet as parquet

    file = parquet.ParquetFile(io.BytesIO(data))
    unpacked = sum(file.metadata.row_group(number).total_byte_size for number in range(file.metadata.num_row_groups))
    _check(unpacked, file.schema_arrow, options)
    batches = file.iter_batches(batch_size=_BATCH)
    return _drawn(file.schema_arrow, (row for batch in batches for row in _rows(batch)), file.metadata.num_rows)


def parse_arrow(data: bytes, options: ParseOptions) -> Parsed:
    """Return the columns of an Arrow file or stream (IPC, or Feather version 2) and its first rows."""
    import pyarrow

    if data.startswith(_STREAM):
        return _parse_stream(data, options)
    file = pyarrow.ipc.open_file(io.BytesIO(data))
    _check(len(data), file.schema, options)
    batches, first = list[Any](), 0
    while len(batches) < file.num_record_batches and first < MAX_ROWS:
        batches.append(file.get_batch(len(batches)))
        first += batches[-1].num_rows
    total = first if len(batches) == file.num_record_batches else -1
    return _drawn(file.schema, (row for batch in batches for row in _rows(batch)), total)


def _parse_stream(data: bytes, options: ParseOptions) -> Parsed:
    import pyarrow

    stream = pyarrow.ipc.open_stream(io.BytesIO(data))
    _check(len(data), stream.schema, options)
    return _drawn(stream.schema, islice((row for batch in stream for row in _rows(batch)), MAX_ROWS + 1), -1)


def _check(size: int, schema: Any, options: ParseOptions) -> None:
    if size > options.max_unpacked_bytes:
        raise Rejected("too_large", f"the table unpacks to {size} bytes, the limit is {options.max_unpacked_bytes}")
    if len(schema) > _MAX_COLUMNS:
        raise Rejected("too_large", f"{len(schema)} columns, the limit is {_MAX_COLUMNS}")


def _rows(batch: Any) -> Iterator[tuple[Any, ...]]:
    yield from zip(*(column.to_pylist() for column in batch.slice(0, MAX_ROWS).columns), strict=True)


def _drawn(schema: Any, rows: Iterator[tuple[Any, ...]], total: int) -> Parsed:
    canvas = Canvas()
    draw_table(canvas, "Columns", [(field.name, str(field.type)) for field in schema], rows, total)
    facts = {"columns": len(schema)} | ({"rows": total} if total >= 0 else {})
    return canvas.parsed("", facts)


class DbaseField(NamedTuple):
    """A field: its name, its type's letter, and its length in bytes."""

    name: str
    kind: str
    length: int


def parse_dbf(data: bytes, _: ParseOptions) -> Parsed:
    """Return a table of the records that are not deleted; memos, which are in another file, are left out."""
    if len(data) < _FIELDS:
        raise Rejected("corrupt", f"{len(data)} bytes are less than a dbf file's header")
    _, year, month, day, count, begin, length = _HEADER.unpack_from(data)
    fields = _fields(data[_FIELDS:begin])
    if not fields or length <= sum(field.length for field in fields):
        raise Rejected("corrupt", "the dbf file's header states no fields, or records that are too short for them")
    records = min(count, max(len(data) - begin, 0) // length)
    held = data[begin : begin + records * length]
    encoding = _CODE_PAGES.get(data[_LANGUAGE]) or _guessed(held)
    rows = [*_records(held, length, fields, encoding)]
    canvas = Canvas()
    draw_table(canvas, "Columns", [(field.name, _KINDS.get(field.kind, "")) for field in fields], rows, len(rows))
    facts = {"rows": len(rows), "modified": f"{_YEARS + year:04}-{month:02}-{day:02}"}
    return canvas.parsed("", facts | ({"missing_rows": count - records} if records < count else {}))


def _guessed(data: bytes) -> str:
    """Return the encoding of a file that does not state it."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _fields(described: bytes) -> list[DbaseField]:
    fields = []
    for at in range(0, len(described) - _FIELDS + 1, _FIELDS):
        if described[at] == _END_OF_FIELDS:
            break
        name = described[at : at + 11].partition(b"\0")[0].decode("ascii", "replace").strip()
        fields.append(DbaseField(name, chr(described[at + 11]), described[at + 16]))
    return fields


def _records(data: bytes, length: int, fields: list[DbaseField], encoding: str) -> Iterator[list[str]]:
    for at in range(0, len(data), length):
        if data[at : at + 1] == _DELETED:
            continue
        row, begin = [], at + 1
        for field in fields:
            row.append(_value(data[begin : begin + field.length], field.kind, encoding))
            begin += field.length
        yield row


def _value(raw: bytes, kind: str, encoding: str) -> str:
    if kind in "I+" and len(raw) == 4:
        return str(int.from_bytes(raw, "little", signed=True))
    if kind in "BOTYGM":
        return ""  # binary, or the number of a block in another file
    text = raw.decode(encoding, "replace").strip(" \0")
    return f"{text[:4]}-{text[4:6]}-{text[6:]}" if kind == "D" and len(text) == 8 else text


def parse_sqlite(data: bytes, options: ParseOptions) -> Parsed:
    """Return the tables and views of a database in the order of their creation."""
    if data[_WRITTEN] == _JOURNAL:
        data = data[: _WRITTEN.start] + _ROLLBACK + data[_WRITTEN.stop :]
    canvas = Canvas()
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.deserialize(data)
            _guard(database)
            tables = _tables(database)
        except sqlite3.Error as error:
            raise Rejected("corrupt", f"cannot be read as sqlite: {error}") from error
        for name, kind in tables:
            _draw(canvas, database, name, kind, options)
    return canvas.parsed("", {"tables": len(tables)})


def _guard(database: sqlite3.Connection) -> None:
    """Restrict a database to reading, for a limited time."""
    database.execute("PRAGMA query_only = 1")
    database.execute("PRAGMA trusted_schema = 0")
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    looks = iter(range(_MAX_LOOKS))
    database.set_progress_handler(lambda: int(next(looks, None) is None), _STEPS)


def _tables(database: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return the names and kinds of tables and views, without tables in which a full-text index stores its data."""
    found = database.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE ? ORDER BY rowid",
        (_OWN,),
    ).fetchall()
    names = {name for name, _ in found}
    return [(name, kind) for name, kind in found if not _is_shadow(name, names)]


def _is_shadow(name: str, names: set[str]) -> bool:
    return any(name.endswith(end) and name.removesuffix(end) in names for end in _SHADOWS)


def _draw(canvas: Canvas, database: sqlite3.Connection, name: str, kind: str, options: ParseOptions) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    try:
        columns = [(str(row[1]), str(row[2]).lower()) for row in database.execute(f"PRAGMA table_info({quoted})")]
        # Counting may take a view any amount of time.
        total = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0] if kind == "table" else -1
        rows = _within(database.execute(f"SELECT * FROM {quoted} LIMIT {MAX_ROWS}"), options.max_characters)
    except sqlite3.DatabaseError as error:  # a damaged table, or a virtual one whose module is missing
        canvas.heading(name, 2)
        canvas.paragraph(f"This {kind} cannot be read: {error}")
        return
    draw_table(canvas, name, columns, rows, total)


def _within(rows: sqlite3.Cursor, characters: int) -> list[Any]:
    """Return rows; raise Rejected if they have more characters than a document may have."""
    kept, size = [], 0
    for row in rows:
        size += sum(len(value) for value in row if isinstance(value, str))
        if size > characters:
            raise Rejected("too_large", f"a table holds more characters than the limit, {characters}")
        kept.append(row)
    return kept
