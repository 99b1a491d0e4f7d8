"""Databases: rows of a SELECT from a server, SQLite or DuckDB, or over files in a folder; nothing is ever written.

MySQL and MariaDB servers are read in a transaction that cannot write.
"""

import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from docmill.storage.errors import ConfigError, SourceError, Transient
from docmill.storage.keys import key_of
from docmill.storage.process.extras import extra

if TYPE_CHECKING:
    import duckdb
    from pymysql.connections import Connection  # type: ignore[import-untyped]

Row = dict[str, Any]

_ROWS_AT_ONCE = 1_000
"""Rows fetched at a time: few enough for rows of a megabyte, and so many that the network delay does not matter."""
_CONNECT_S = 10
"""Seconds to wait for a connection; a reachable server takes less than one."""
_POSTGRES = ("postgresql://", "postgres://")
_PASSWORD = re.compile(r"//[^/@]*:[^/@]*@|[?&](?:ssl)?password=", re.IGNORECASE)
_SQLITE = b"SQLite format 3\0"
_HEADER = 100
"""Bytes of the header of a SQLite file, which contains its change counter; the header of its log has 32."""
_FILE = re.compile(r"'([^'/][^']*\.(?:parquet|csv|tsv|json|jsonl|ndjson)(?:\.gz)?)'")
"""A file in a query, by its path in the folder."""
_SEALED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "TimeZone": "'UTC'",
}
"""Settings of DuckDB: no extension is downloaded, no variable of this program is read, and all times are UTC."""


class Database(ABC):
    """Where a SELECT runs. `parameter` is the placeholder in its SQL, and `quote` encloses column names."""

    parameter, quote = "?", '"'

    @abstractmethod
    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Yield the rows as dicts; raise `SourceError` for wrong SQL, `Transient` if the database does not answer."""

    def mark(self, sql: str) -> str | None:  # noqa: ARG002
        """Return a text that changes whenever files that a SELECT reads change; None for a server."""
        return None


def open_database(where: str, password: str, timeout_s: float) -> Database:
    """Return the database at a path or an address, without connecting; raise `ConfigError` if there is none."""
    if "://" in where and _PASSWORD.search(where):
        raise ConfigError("leave the password out of `database`, and set `password` instead")
    if where.startswith(_POSTGRES):
        return _Postgres(where, password, timeout_s)
    if where.startswith(_MYSQL):
        return _Mysql(where, password, timeout_s)
    if "://" in where:
        raise ConfigError(
            f"database {where.partition('://')[0]}:// is not read; give postgresql://…, mysql://…, a file or a folder"
        )
    path = Path(where)
    if not path.exists():
        raise SourceError(f"database {where} does not exist")
    if path.is_dir():
        return _Duck(None, path)
    with path.open("rb") as file:
        return _Sqlite(path) if file.read(len(_SQLITE)) == _SQLITE else _Duck(path, None)


class _Sqlite(Database):
    def __init__(self, path: Path) -> None:
        self._path = path

    def mark(self, sql: str) -> str:  # noqa: ARG002
        # Writes within one clock tick have the same time, but the counters in the headers of the file and its log
        # differ.
        log = self._path.with_name(f"{self._path.name}-wal")
        return key_of(*map(_state, (self._path, log)), *map(_header, (self._path, log)))

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        try:
            with closing(sqlite3.connect(f"file:{quote(str(self._path))}?mode=ro", uri=True)) as connection:
                connection.text_factory = lambda data: data.decode("utf-8", "replace")  # one row must not stop all
                cursor = connection.execute(sql, tuple(values))
                names = [column[0] for column in cursor.description]
                while found := cursor.fetchmany(_ROWS_AT_ONCE):
                    yield from (dict(zip(names, row, strict=True)) for row in found)
        except sqlite3.Error as error:
            locked = getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
            raise (Transient if locked else SourceError)(f"{self._path.name}: {error}") from None


class _Duck(Database):
    def __init__(self, path: Path | None, folder: Path | None) -> None:
        self._path, self._folder = path, folder

    def mark(self, sql: str) -> str:
        if self._path:
            return key_of(*map(_state, (self._path, self._path.with_name(f"{self._path.name}.wal"))))
        folder = self._folder or Path()
        found = {path for name in _FILE.findall(sql) for path in folder.glob(name)}
        return key_of(*(f"{path.name} {_state(path)}" for path in sorted(found)))

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        import duckdb

        try:
            with closing(duckdb.connect(str(self._path or ":memory:"), read_only=bool(self._path))) as connection:
                self._prepare(connection, sql)
                cursor = connection.execute(sql, list(values))
                names = [column[0] for column in cursor.description or ()]
                while found := cursor.fetchmany(_ROWS_AT_ONCE):
                    yield from (dict(zip(names, row, strict=True)) for row in found)
        except duckdb.Error as error:
            said = str(error).partition("\n")[0]
            locked = isinstance(error, duckdb.IOException) and "lock" in said.lower()
            raise (Transient if locked else SourceError)(
                f"{(self._path or self._folder or Path()).name}: {said}"
            ) from None

    def _prepare(self, connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
        """Deny a statement access to all but the files of the folder, each of which is a table of the same name."""
        for name, value in _SEALED.items():
            connection.execute(f"SET {name} = {value}")
        if self._folder is None:
            connection.execute("SET enable_external_access = false")
            return
        folder = str(self._folder.resolve()).replace("'", "''")
        connection.execute(f"SET allowed_directories = ['{folder}/']")
        connection.execute("SET enable_external_access = false")
        for name in {*_FILE.findall(sql)}:
            quoted = name.replace('"', '""')
            connection.execute(f"CREATE VIEW \"{quoted}\" AS SELECT * FROM '{folder}/{name}'")


class _Postgres(Database):
    parameter = "%s"

    def __init__(self, address: str, password: str, timeout_s: float) -> None:
        self._address, self._password, self._timeout_s = address, password, timeout_s

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        with extra("postgres", "a source in PostgreSQL"):
            import psycopg
            from psycopg.rows import dict_row
        more: dict[str, Any] = {"password": self._password} if self._password else {}
        try:
            with psycopg.connect(self._address, connect_timeout=_CONNECT_S, row_factory=dict_row, **more) as connection:
                connection.read_only = True
                connection.execute(f"SET statement_timeout = {int(self._timeout_s * 1000)}")
                connection.execute("SET TIME ZONE 'UTC'")
                with connection.cursor("docmill") as cursor:
                    cursor.itersize = _ROWS_AT_ONCE
                    yield from cursor.execute(sql.encode(), tuple(values) or None)
        except psycopg.Error as error:
            raise _explained(error, isinstance(error, psycopg.OperationalError)) from None


def _state(path: Path) -> str:
    """Return the size and the time of a file, "" if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_size} {found.st_mtime_ns}"


def _header(path: Path) -> str:
    """Return the header of a SQLite file, which contains its change counter; "" if the file does not exist."""
    try:
        with path.open("rb") as file:
            return file.read(_HEADER).hex()
    except OSError:
        return ""


_WORDS = (
    (re.compile(r"no password supplied|password authentication failed"), ConfigError, "; set `password`"),
    (re.compile(r"database \S+ does not exist|role \S+ does not exist|no pg_hba"), ConfigError, "; correct `database`"),
    (re.compile(r"statement timeout"), Transient, "; raise `timeout_s`, or ask for less"),
)


def _explained(error: Exception, is_unreached: bool) -> Exception:
    """Return a failure of PostgreSQL in one line, with a hint at what to set."""
    said = " ".join(str(error).partition("\nLINE")[0].split())
    for pattern, kind, hint in _WORDS:
        if pattern.search(said):
            return kind(f"PostgreSQL: {said}{hint}")
    return (Transient if is_unreached else SourceError)(f"PostgreSQL: {said}")


_MYSQL = ("mysql://", "mariadb://")
_HERE = ("127.0.0.1", "::1", "localhost")
_UNENCRYPTED = "SSL is required"
_MYSQL_HINTS = {
    1044: (ConfigError, "; correct `database`, or the rights of the user"),
    1045: (ConfigError, "; set `password`, or correct the user in `database`"),
    1049: (ConfigError, "; correct `database`"),
    1698: (ConfigError, "; set `password`, or correct the user in `database`"),
}
"""What to do about some server errors, by number."""
_MYSQL_LATER = {1040, 1203, 1205, 1213, 2003, 2006, 2013}
"""The numbers of temporary errors: too many connections, locks, and a server that does not answer or hangs up."""


class _Mysql(Database):
    """A database at `mysql://USER@HOST/NAME`. Only a server on this machine may be used without encryption."""

    parameter, quote = "%s", "`"

    def __init__(self, address: str, password: str, timeout_s: float) -> None:
        self._address, self._password, self._timeout_s = urlsplit(address), password, timeout_s

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        with extra("mysql", "a source in MySQL"):
            import pymysql  # type: ignore[import-untyped]
        try:
            with closing(self._connected()) as connection, connection.cursor() as cursor:
                cursor.execute("SET SESSION TRANSACTION READ ONLY")
                cursor.execute("SET time_zone = '+00:00'")
                cursor.execute("START TRANSACTION")
                cursor.execute(sql, tuple(values) or None)
                while found := cursor.fetchmany(_ROWS_AT_ONCE):
                    yield from found
        except pymysql.Error as error:
            raise _explained_mysql(error) from None

    def _connected(self) -> "Connection[Any]":
        import ssl

        import pymysql
        from pymysql.cursors import SSDictCursor  # type: ignore[import-untyped]

        at = self._address
        return pymysql.connect(
            host=at.hostname or "localhost", port=at.port or 3306, user=unquote(at.username or "") or None,
            password=self._password, database=unquote(at.path.strip("/")), charset="utf8mb4",
            connect_timeout=_CONNECT_S, read_timeout=self._timeout_s, write_timeout=self._timeout_s,
            cursorclass=SSDictCursor, ssl=None if self._is_here() else ssl.create_default_context(),
        )  # fmt: skip

    def _is_here(self) -> bool:
        return self._address.hostname in _HERE or parse_qs(self._address.query).get("tls") == ["off"]


def _explained_mysql(error: Exception) -> Exception:
    """Return a failure in one line, with a hint at what to set."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    said = " ".join(str(error.args[-1] if error.args else error).split())
    if _UNENCRYPTED in said:
        return ConfigError(f"MySQL: {said}; write ?tls=off behind `database` to do without")
    kind, hint = _MYSQL_HINTS.get(number, (Transient if number in _MYSQL_LATER else SourceError, ""))
    return kind(f"MySQL: {said}{hint}")
