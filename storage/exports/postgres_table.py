"""Postgres table: an export in a table of PostgreSQL with pgvector. Each export is one transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from docmill.storage.errors import ConfigError, Locked, StoreError, Transient
from docmill.storage.exports.columns import HELD
from docmill.storage.exports.last_export import Revision, Stamp, read_stamp
from docmill.storage.failpoints import boundary
from docmill.storage.process.extras import extra

if TYPE_CHECKING:
    import psycopg

_TYPES = {pa.string(): "text", pa.int32(): "int4", pa.int64(): "int8", pa.list_(pa.string()): "text[]"}
_ROWS_AT_ONCE = 50_000
_NO_NULL = str.maketrans({"\0": "�"})  # PostgreSQL's texts cannot contain NUL; a replacement keeps the offsets


@dataclass(slots=True)
class PostgresTable:
    """A table whose comment is the stamp. Readers see all of an export or nothing of it.

    User, password and whatever else the address leaves out come from the variables of libpq, such as PGPASSWORD.
    """

    address: str
    table: str
    takes_deltas = False
    figures = None
    _connection: "psycopg.Connection[Any] | None" = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The address of the database and the table."""
        return f"{self.address} {self.table}"

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Connect, and lock the table against other exports until the transaction ends."""
        with extra("postgres", "an export to PostgreSQL"):
            import pgvector.psycopg
            import psycopg
        with self._explained(), psycopg.connect(self.address, connect_timeout=10) as connection:
            self._connection = connection
            if not self._value("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", f"docmill {self.table}"):
                raise Locked(f"another export writes to {self.name}; wait until it has ended")
            _require_vectors(connection)
            pgvector.psycopg.register_vector(connection)
            yield
        self._connection = None

    def stamp(self) -> Stamp | None:
        """Return what the table was exported with."""
        quoted = f'"{self.table}"'
        if self._value("SELECT to_regclass(%s)", quoted) is None:
            return None
        stamp = read_stamp(self._value("SELECT obj_description(to_regclass(%s), 'pg_class')", quoted))
        if stamp is None:
            raise StoreError(f"{self.name} is a table that no export wrote; name another one with --table")
        return stamp

    def held(self) -> pa.Table:
        """Return the chunk ids and digests in the table."""
        found = [HELD.empty_table()]
        with self._open.cursor("docmill_held") as cursor:
            cursor.execute(f'SELECT chunk_id, digest FROM "{self.table}"')
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                found.append(pa.table(list(map(list, zip(*rows, strict=True))), schema=HELD))
        return pa.concat_tables(found)

    def apply(self, revision: Revision, rows: Iterator[pa.Table]) -> None:
        """Apply a change; the end of `claimed` commits it."""
        schema = revision.stamp.schema
        with boundary("export postgres"):
            if revision.anew:
                self._run(f'DROP TABLE IF EXISTS "{self.table}"')
                self._run(f'CREATE TABLE "{self.table}" ({_columns(schema)}, PRIMARY KEY (chunk_id))')
            self._run(f'DELETE FROM "{self.table}" WHERE chunk_id = ANY(%s)', list(revision.gone))
            self._run(f"CREATE TEMP TABLE docmill_rows ({_columns(schema)}) ON COMMIT DROP")
            self._copy(schema, rows)
            self._run(
                f'INSERT INTO "{self.table}" ({", ".join(schema.names)}) SELECT {", ".join(schema.names)}'
                f" FROM docmill_rows ON CONFLICT (chunk_id) DO UPDATE SET {_taken_over(schema)}"
            )
        revision.check(self.name, int(self._value(f'SELECT count(*) FROM "{self.table}"')))
        from psycopg import sql

        self._run(sql.SQL(f'COMMENT ON TABLE "{self.table}" IS {{}}').format(sql.Literal(revision.stamp.as_json())))

    def _copy(self, schema: pa.Schema, rows: Iterator[pa.Table]) -> None:
        types = [*(_TYPES[one.type] for one in schema if one.name != "vector"), "vector"]
        with self._open.cursor() as cursor, cursor.copy("COPY docmill_rows FROM STDIN WITH (FORMAT BINARY)") as copy:
            copy.set_types(types)
            for table in rows:
                for row in _values(table):
                    copy.write_row(row)

    @property
    def _open(self) -> Any:
        assert self._connection is not None, "called within the block of `claimed`"
        return self._connection

    def _run(self, statement: Any, *values: Any) -> None:
        self._open.execute(statement, values or None)

    def _value(self, statement: str, *values: Any) -> Any:
        return self._open.execute(statement, values or None).fetchone()[0]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Convert every error of PostgreSQL into one that names the table; nothing is changed then."""
        import psycopg

        try:
            yield
        except psycopg.OperationalError as error:
            raise Transient(f"{self.name}: {_said(error)}; nothing in it has changed") from error
        except psycopg.Error as error:
            raise StoreError(f"{self.name}: {_said(error)}; nothing in it has changed") from error


def _said(error: Exception) -> str:
    return " ".join(str(error).split())


def _require_vectors(connection: Any) -> None:
    """Create the extension `vector` if the database lacks it."""
    import psycopg

    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
        return
    try:
        with connection.transaction():
            connection.execute("CREATE EXTENSION vector")
    except psycopg.Error as error:
        raise ConfigError(
            f"the database lacks pgvector, and this user cannot add it ({_said(error)}); install it on the server, and"
            " have an administrator type: CREATE EXTENSION vector"
        ) from error


def _columns(schema: pa.Schema) -> str:
    """Return the columns of a table with their types, with the vector last."""
    kinds = (_TYPES.get(one.type) or f"vector({one.type.list_size})" for one in schema)
    return ", ".join(f"{name} {kind}" for name, kind in zip(schema.names, kinds, strict=True))


def _taken_over(schema: pa.Schema) -> str:
    return ", ".join(f"{name} = EXCLUDED.{name}" for name in schema.names if name != "chunk_id")


def _values(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield the values of rows, in order, with the vector as float32 (dim,)."""
    vectors = table.column("vector").combine_chunks()
    matrix = vectors.flatten().to_numpy().reshape(-1, vectors.type.list_size)
    columns = [[_clean(value) for value in column.to_pylist()] for column in table.drop_columns(["vector"]).columns]
    yield from zip(*columns, matrix, strict=True)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.translate(_NO_NULL) if "\0" in value else value
    return [_clean(one) for one in value] if isinstance(value, list) else value
