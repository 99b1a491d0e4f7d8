"""MySQL: rows of a SELECT in a server of MySQL or MariaDB, read in a transaction that cannot write."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from docmill.storage.errors import ConfigError, SourceError, Transient
from docmill.storage.process.extras import extra

if TYPE_CHECKING:
    from pymysql.connections import Connection  # type: ignore[import-untyped]

MYSQL = ("mysql://", "mariadb://")
_CONNECT_S = 10
"""Seconds to wait for a connection; a server that is there takes less than one."""
_ROWS_AT_ONCE = 1_000
_HERE = ("127.0.0.1", "::1", "localhost")
_UNENCRYPTED = "SSL is required"
_HINTS = {
    1044: (ConfigError, "; correct `database`, or the rights of the user"),
    1045: (ConfigError, "; set `password`, or correct the user in `database`"),
    1049: (ConfigError, "; correct `database`"),
    1698: (ConfigError, "; set `password`, or correct the user in `database`"),
}
"""What to do about some errors of the server, by their numbers."""
_LATER = {1040, 1203, 1205, 1213, 2003, 2006, 2013}
"""The numbers of errors that pass: too many connections, locks, and a server that does not answer or breaks off."""


class Mysql:
    """A database at `mysql://USER@HOST/NAME`. Only a server on this machine may answer without encryption."""

    parameter, quote = "%s", "`"

    def __init__(self, address: str, password: str, timeout_s: float) -> None:
        self._address, self._password, self._timeout_s = urlsplit(address), password, timeout_s

    def mark(self, sql: str) -> None:
        """Return None: only a statement tells of changes."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[dict[str, Any]]:
        """Yield the rows by their columns."""
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
            raise _explained(error) from None

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


def _explained(error: Exception) -> Exception:
    """Return a failure in one line, with what to set."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    said = " ".join(str(error.args[-1] if error.args else error).split())
    if _UNENCRYPTED in said:
        return ConfigError(f"MySQL: {said}; write ?tls=off behind `database` to do without")
    kind, hint = _HINTS.get(number, (Transient if number in _LATER else SourceError, ""))
    return kind(f"MySQL: {said}{hint}")
