"""SQLite: the tables and views of a database, each with its columns and its first rows.

The file is opened from memory and is only read: no trigger runs, no other file is attached, and a statement that takes
too long is stopped.
"""

import sqlite3
from contextlib import closing
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.datasets.data_table import MAX_ROWS, draw_table
from docmill.tasks.parse.format import ParseOptions

_STEPS = 1_000  # of SQLite's machine between two looks at the budget
_MAX_LOOKS = 20_000  # some two seconds of work: to read 10,000 rows takes a tenth, a view may take any time
_OWN = "sqlite_%"  # names of tables that SQLite keeps for itself
_SHADOWS = ("_content", "_docsize", "_data", "_idx", "_config", "_segments", "_segdir", "_stat", "_node", "_rowid")
_WRITTEN = slice(18, 20)
_JOURNAL, _ROLLBACK = b"\x02\x02", b"\x01\x01"
"""The write and read version of a database in write-ahead mode (file format, 1.3), and of any other: an image in memory
has no log beside it, and is read as it was last checkpointed."""


def parse_sqlite(data: bytes, options: ParseOptions) -> Parsed:
    """Return the tables and views of a database, in the order in which they were made."""
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
    """Let a database be read and nothing else, for a bounded time."""
    database.execute("PRAGMA query_only = 1")
    database.execute("PRAGMA trusted_schema = 0")
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    looks = iter(range(_MAX_LOOKS))
    database.set_progress_handler(lambda: int(next(looks, None) is None), _STEPS)


def _tables(database: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return the names and kinds of tables and views, without those in which an index of words keeps its data."""
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
        # A view may take as long as it likes to count.
        total = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0] if kind == "table" else -1
        rows = _within(database.execute(f"SELECT * FROM {quoted} LIMIT {MAX_ROWS}"), options.max_characters)
    except sqlite3.DatabaseError as error:  # a damaged table, or a virtual one whose module is missing
        canvas.heading(name, 2)
        canvas.paragraph(f"This {kind} cannot be read: {error}")
        return
    draw_table(canvas, name, columns, rows, total)


def _within(rows: sqlite3.Cursor, characters: int) -> list[Any]:
    """Return rows; raise Rejected if they hold more characters than a document may."""
    kept, size = [], 0
    for row in rows:
        size += sum(len(value) for value in row if isinstance(value, str))
        if size > characters:
            raise Rejected("too_large", f"a table holds more characters than the limit, {characters}")
        kept.append(row)
    return kept
