"""Rows: each row of a SELECT is a document, and is read again only if its time or its content has changed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from pydantic import Field, field_validator

from docmill.storage.errors import ConfigError, Rejected, SourceError
from docmill.storage.keys import hash_bytes
from docmill.storage.plugins.secret import Secret
from docmill.tasks.sources.connectors.contract import OwnConnector, SourceItem, SourceListing, SourceReader
from docmill.tasks.sources.connectors.source_settings import SourceSettings
from docmill.tasks.sources.connectors.spool import Spool
from docmill.tasks.sources.connectors.text_entries import (
    SUFFIXES,
    Entry,
    Format,
    Names,
    TextReader,
    document_of,
    principals_in,
    told_of,
)
from docmill.tasks.sources.databases.databases import Database, Row, open_database

_UNTIMED = str(None)
"""The version of a row without a time until its content has been read."""
_BATCH = 500
"""Rows that one statement reads by id: databases accept some thousand parameters."""


class RowsSettings(SourceSettings):
    """A SELECT; each row is a document. docmill only reads."""

    database: str = Field(
        description="A file of SQLite or DuckDB, postgresql://USER@HOST/NAME, mysql://USER@HOST/NAME, or a folder,"
        " whose Parquet, CSV and JSON files the query names: FROM 'tickets.csv'."
    )
    password: Secret | None = Field(default=None, description="The password for PostgreSQL or MySQL.")
    query: str = Field(description="The SELECT, without a semicolon.")
    id: str = Field(default="id", description="Column that identifies a row; it names the document.")
    text: str = Field(default="text", description="Column with the text.")
    title: str = Field(default="", description="Column with the title.")
    updated_at: str = Field(
        default="",
        description="Column that changes with the row, such as a time or a number: only changed rows are read. Without"
        " it, every run reads all rows and compares them.",
    )
    link: str = Field(default="", description="Column with the URL where a person opens the row.")
    access: str = Field(
        default="",
        description="Column with the principals who may see the row: a list, a JSON list, or names between commas; NULL"
        " leaves it to [access].",
    )
    metadata: tuple[str, ...] = Field(default=(), description="Columns to keep as metadata; empty keeps all others.")
    format: Format = Field(
        default="markdown",
        description="Format of the texts: markdown, text or html. Only markdown keeps title and metadata.",
    )
    timeout_s: float = Field(default=300.0, gt=0, description="Seconds that a server may take for a statement.")

    @field_validator("query")
    @classmethod
    def _check_query(cls, query: str) -> str:
        return query.strip().removesuffix(";")


class ChangedRows:
    """Reads rows that have a time of change: a listing selects only ids and times, and changed rows are read by id.

    Rows without a time, which many tables have until the first change, are read by each listing and compared.
    """

    def __init__(self, settings: RowsSettings) -> None:
        self._settings = settings
        self._names = Names(SUFFIXES[settings.format])
        self._spool = Spool()
        self._links: dict[str, str] = {}
        self._ids: dict[str, Any] = {}
        self._due: list[str] = []
        self._lock = Lock()

    def list(self, checkpoint: str) -> SourceListing:
        """Return all rows by id and time. The checkpoint is the newest time; rows after it are read in batches."""
        settings, known = self._settings, json.loads(checkpoint)["newest"] if checkpoint else None
        columns = [settings.id, settings.updated_at, *filter(None, (settings.link, settings.access))]
        database = _database(settings)
        names = ", ".join(_quoted(column, database) for column in columns)
        sql = f"SELECT {names} FROM ({settings.query}\n) AS your_query"
        items, newest = dict[str, SourceItem](), known
        self._ids, self._due, self._links = {}, [], {}
        for row in database.rows(sql):
            name, time = self._named(row, items), _time(row, settings)
            items[name] = SourceItem(name, str(time), metadata=told_of(_access(row, settings)))
            self._ids[name] = row[settings.id]
            self._links[name] = str(row.get(settings.link) or "")
            if time is not None and _is_after(time, known):
                self._due.append(name)
                newest = time if _is_after(time, newest) else newest
        if any(item.version == _UNTIMED for item in items.values()):
            items |= self._untimed(database, items)
        return SourceListing(items.values(), json.dumps({"newest": newest}))

    def _untimed(self, database: Database, items: Mapping[str, SourceItem]) -> dict[str, SourceItem]:
        """Return the rows without a time, identified by content; the content is kept."""
        settings, found = self._settings, dict[str, SourceItem]()
        null = f"{_quoted(settings.updated_at, database)} IS NULL"
        for row in database.rows(f"SELECT * FROM ({settings.query}\n) AS your_query WHERE {null}"):
            name = self._names.of(_id(row, settings))
            data = document_of(_entry(row, settings), settings.format)
            if name in items:
                self._spool.put(name, data)
                found[name] = replace(items[name], version=hash_bytes(data))
        return found

    def fetch(self, item: SourceItem) -> bytes:
        """Return the document of a row, reading it together with others that are likely to be fetched next."""
        if item.name not in self._ids:
            raise Rejected("unreadable", "the query did not list it")
        with self._lock:  # one batch at a time: the next thread then finds its row
            data = self._spool.get(item.name)
            if data is None:
                self._read([item.name, *(name for name in self._due if name != item.name)][:_BATCH])
                data = self._spool.get(item.name)
        if data is None:
            raise Rejected("unreadable", "the row was removed after it was listed")
        return data

    def link(self, item: SourceItem) -> str:
        """Return the link from the row."""
        return self._links.get(item.name, "")

    def mark(self) -> str | None:
        """Return a text that changes with the database's files, else the number of rows and the newest time.

        Return None for a server with rows without a time: only a listing can show changes in them.
        """
        settings, database = self._settings, _database(self._settings)
        if told := database.mark(settings.query):
            return told
        time = _quoted(settings.updated_at, database)
        sql = f"SELECT count(*) AS held, count({time}) AS timed, max({time}) AS newest"
        (row,) = database.rows(f"{sql} FROM ({settings.query}\n) AS your_query")
        return f"{row['held']} {row['newest']}" if row["held"] == row["timed"] else None

    def _named(self, row: Row, items: Mapping[str, SourceItem]) -> str:
        name = self._names.of(_id(row, self._settings))
        if name in items:
            raise SourceError(f"the query gives the {self._settings.id} {row[self._settings.id]!r} twice")
        return name

    def _read(self, names: Sequence[str]) -> None:
        settings, database = self._settings, _database(self._settings)
        marks = ", ".join([database.parameter] * len(names))
        query = settings.query.replace("%", "%%") if database.parameter == "%s" else settings.query
        sql = f"SELECT * FROM ({query}\n) AS your_query WHERE {_quoted(settings.id, database)} IN ({marks})"
        for row in database.rows(sql, [self._ids[name] for name in names]):
            name = self._names.of(_id(row, settings))
            self._spool.put(name, document_of(_entry(row, settings), settings.format))
        taken = {*names}
        self._due = [name for name in self._due if name not in taken]


def _reader(settings: RowsSettings) -> SourceReader:
    if not settings.updated_at:
        return TextReader(lambda: _all(settings), settings.format, lambda: _database(settings).mark(settings.query))
    return ChangedRows(settings)


def _database(settings: RowsSettings) -> Database:
    password = settings.password.read() if settings.password else ""
    return open_database(settings.database, password, settings.timeout_s)


def _all(settings: RowsSettings) -> Iterator[Entry]:
    seen = set[str]()
    for row in _database(settings).rows(f"SELECT * FROM ({settings.query}\n) AS your_query"):
        entry = _entry(row, settings)
        if entry.id in seen:
            raise SourceError(f"the query gives the {settings.id} {row[settings.id]!r} twice")
        seen.add(entry.id)
        yield entry


def _entry(row: Row, settings: RowsSettings) -> Entry:
    """Return a row as a text with metadata; raise `ConfigError` if a configured column is missing."""
    for key in ("text", "title", "link", "access"):
        _check_column(row, key, getattr(settings, key))
    link = str(row.get(settings.link) or "")
    return Entry(_text(row[settings.text]), _metadata(row, settings), _id(row, settings), link, _access(row, settings))


def _text(value: Any) -> str:
    """Return a value as the text of a document; bytes are decoded as UTF-8."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    return "" if value is None else str(value)


def _access(row: Row, settings: RowsSettings) -> frozenset[str] | None:
    return principals_in(row.get(settings.access)) if settings.access else None


def _metadata(row: Row, settings: RowsSettings) -> dict[str, Any]:
    for column in settings.metadata:
        _check_column(row, "metadata", column)
    used = {settings.id, settings.updated_at, settings.text, settings.title, settings.link, settings.access}
    kept = settings.metadata or [column for column in row if column not in used]
    title = {"title": row[settings.title]} if settings.title else {}
    return {column: row[column] for column in kept} | title


def _id(row: Row, settings: RowsSettings) -> str:
    _check_column(row, "id", settings.id)
    if row[settings.id] in (None, ""):
        raise SourceError(f"the query gives a row without {settings.id}, which must identify it")
    return str(row[settings.id])


def _check_column(row: Row, key: str, column: str) -> None:
    if column and column not in row:
        raise ConfigError(f"the query gives no column {column!r} ({key}); it gives {', '.join(row)}")


def _time(row: Row, settings: RowsSettings) -> int | str | None:
    value = row[settings.updated_at]
    return value if value is None or isinstance(value, int) else str(value)


def _is_after(time: int | str, known: int | str | None) -> bool:
    """Return whether a row changed after the newest known one; if they cannot be compared, assume that it did."""
    if isinstance(time, int) and isinstance(known, int):
        return time > known
    return not (isinstance(time, str) and isinstance(known, str)) or time > known


def _quoted(column: str, database: Database) -> str:
    # Qualified by the table's name, because SQLite takes an unknown quoted column for a string.
    quote = database.quote
    return f"your_query.{quote}{column.replace(quote, 2 * quote)}{quote}"


CONNECTOR = OwnConnector(RowsSettings, _reader)
