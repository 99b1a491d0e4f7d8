"""Sandbox: run SQL over a snapshot's tables in DuckDB, without access to anything else; the only importer of `duckdb`.

The tables are passed as Arrow datasets, and DuckDB may not open any path. `allowed_paths` would not be enough: it also
allows writing, and a SELECT can write (`WITH x AS (COPY ... TO ...)`, also in `json_execute_serialized_sql`).
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS, SCHEMAS
from docmill.storage.errors import QueryError, StoreError
from docmill.storage.process.child_process import address_space
from docmill.storage.schema_evolution import blank_sql, lacking, schema_of
from docmill.storage.sql.column_descriptions import TABLES
from docmill.storage.sql.derived_views import EMBEDDINGS, NEIGHBOURS, OF_QUERIES, OF_ROWS, OF_VECTORS
from docmill.storage.sql.document_warnings import with_derived
from docmill.storage.sql.error_message import AskedStatement, first_line, message_of
from docmill.storage.sql.statement import Files, SqlLimits, Statement, too_large, too_long
from docmill.storage.stated_metadata import COLUMN
from docmill.storage.timestamps import STATED

if TYPE_CHECKING:
    import duckdb


_SANDBOX = {
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "temp_directory": "''",
    "TimeZone": "'UTC'",
    "enable_external_access": "false",
    "errors_as_json": "true",
    "lock_configuration": "true",
}

_OF_DOCUMENTS = [
    *(name for name in DOCUMENTS.names if name not in STATED),
    *(f"{name}_stated" for name in STATED.values()),
    "warnings",
]
"""The columns of documents in SQL."""

Rows = tuple[pa.Schema, Iterator[pa.RecordBatch]]
"""The columns of a result, and a stream of its rows."""

_ROWS_AT_ONCE = 10_000  # rows between two checks of the memory limit
_KEPT_DATASETS = 2 * len(SCHEMAS)
"""Tables whose footers stay in memory: those of two snapshots, because each statement names all tables of one. Reading
the footers of 256 files again takes as long as a sum over one of their columns."""
_KEPT_CONNECTIONS = 2
"""Connections that a process keeps, a few MB each: a program that filters searches and runs statements needs two."""
_CATALOG = ("duckdb_", "information_schema", "pg_", "sqlite_", "pragma", "show", "describe", "summarize")
"""Words that may list the tables; some are only the beginnings of names."""
_ON_VECTORS = (EMBEDDINGS, *OF_VECTORS, "neighbours")
_SHOW_TABLES = re.compile(r"\s*SHOW\s+TABLES\s*;?\s*", re.IGNORECASE)
_MACRO = """
CREATE MACRO {name}_at(named) AS TABLE FROM query_table('"{name}_at_' || hex(encode(named::VARCHAR)) || '"')
"""


def load() -> int | None:
    """Load the libraries for statements; return the address space in use, in bytes, or None if unknown."""
    import duckdb
    import pyarrow.dataset  # noqa: F401

    with ExitStack() as open_:
        for _ in range(_KEPT_CONNECTIONS + 1):
            open_.enter_context(closing(duckdb.connect(":memory:")))  # starts its threads
        return address_space()


@contextmanager
def answered(statement: Statement, extra: Mapping[str, pa.Table], kept: "KeptConnections") -> Iterator[Rows]:
    """Run a statement over its tables and those of `extra`; yield the columns and the batches of its rows.

    `kept` are the connections of earlier statements. Raises `QueryError` unless the statement is one valid SELECT or
    predicate and stays within its limits.
    """
    import duckdb

    limits = statement.limits
    with kept.connection(statement, extra) as views:
        connection = views.connection
        source = _where(statement) if statement.is_predicate else _only_select(connection, statement.sql)
        try:
            with views.relation(source.ran).to_arrow_reader(_ROWS_AT_ONCE) as reader:
                yield reader.schema, _bounded(_first(reader, limits.rows), limits)
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            raise QueryError(_explain(_placed(connection, error, source), limits, connection, source)) from None
        except (duckdb.Error, pa.ArrowException, OSError) as error:  # failures during the stream come through Arrow
            raise QueryError(_explain(error, limits, connection, source)) from None


class TableViews:
    """The views of a statement's tables on one connection, made as soon as a statement may name them.

    Making all of them takes 50 ms of CPU time, ten times as long as most statements.
    """

    def __init__(self, connection: "duckdb.DuckDBPyConnection", statement: Statement) -> None:
        self.connection = connection
        self._files, self._past, self._keys = statement.files, statement.past, statement.keys
        self._made: set[str] = set()

    def make_named(self, statement: Statement) -> None:
        """Make the views whose names are in a statement, or all if the statement may list them."""
        text = statement.sql.lower()
        if statement.is_predicate:
            self._make_stored({"documents", "chunks"})
        everything = any(word in text for word in _CATALOG)
        self._make(lambda name: everything or name in text)

    def relation(self, sql: str) -> "duckdb.DuckDBPyRelation":
        """Return the rows of a SELECT; if binding fails, make all views and try again, as the name may be computed."""
        import duckdb

        try:
            return self.connection.sql(sql)
        except (duckdb.BinderException, duckdb.CatalogException):
            self._make(lambda _: True)
            return self.connection.sql(sql)

    def _make(self, wanted: Callable[[str], bool]) -> None:
        self._make_stored({*filter(wanted, self._files)})
        if wanted("_at") and self._is_new("_at"):
            _register_past(self.connection, self._files, self._past, self._keys)
        if self._files.keys() >= {"documents", "chunks"}:
            self._derive_rows({*filter(wanted, OF_ROWS)})
        if EMBEDDINGS in self._files and any(map(wanted, _ON_VECTORS)):
            self._derive_vectors()

    def _derive_rows(self, names: Collection[str]) -> None:
        self._make_stored({"documents", "chunks"} if names else ())
        _derive(self.connection, {name: OF_ROWS[name] for name in sorted(names) if self._is_new(name)})

    def _derive_vectors(self) -> None:
        if self._is_new(EMBEDDINGS):
            self._make_stored({"documents", "chunks"})
            _register_embeddings(self.connection, self._files[EMBEDDINGS])
            _derive(self.connection, OF_VECTORS)
            self.connection.execute(f"CREATE {NEIGHBOURS}")

    def _make_stored(self, names: Collection[str]) -> None:
        for name in sorted(SCHEMAS.keys() & self._files.keys() & {*names}):
            if self._is_new(name):
                _register(self.connection, name, name, self._files[name], self._keys)

    def _is_new(self, name: str) -> bool:
        """Return whether a view has not been made yet, and record that it is being made."""
        known = name in self._made
        self._made.add(name)
        return not known


class KeptConnections:
    """Keeps connections with their views for later statements, because making views takes longer than a statement.

    A statement gets the connection of an earlier one only if both have the same files, keys and limits.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], TableViews] = {}

    @contextmanager
    def connection(self, statement: Statement, extra: Mapping[str, pa.Table]) -> Iterator[TableViews]:
        """Yield the views of one statement on a connection, which is kept unless the statement fails."""
        key = _key(statement, extra)
        for files in (statement.files, *statement.past.values()):
            for paths in files.values():
                _check_present(paths)
        with ExitStack() as failing:
            views = (self._kept.pop(key) if key in self._kept else None) or _connected(statement)
            connection = failing.enter_context(closing(views.connection))
            views.make_named(statement)
            for name, table in extra.items():
                connection.register(f"stored_{name}", table)
                stored = with_derived(name, f"FROM stored_{name}", {})
                connection.execute(f"CREATE OR REPLACE VIEW {name} AS {stored}")
            if "queries" in extra:
                _derive(connection, OF_QUERIES)
            yield views
            failing.pop_all()
        self._kept[key] = views
        while len(self._kept) > _KEPT_CONNECTIONS:
            self._kept.pop(next(iter(self._kept))).connection.close()


def _key(statement: Statement, extra: Mapping[str, pa.Table]) -> tuple[object, ...]:
    """Return a key that is equal for statements that can share a connection."""
    return (*map(str, (statement.files, statement.past, statement.keys, statement.limits)), *sorted(extra))


def _connected(statement: Statement) -> TableViews:
    """Return a new connection with a statement's limits, on which no view is made yet."""
    import duckdb

    limits = statement.limits
    with ExitStack() as failing:
        connection = failing.enter_context(closing(duckdb.connect(":memory:")))
        bounds = {"memory_limit": f"'{limits.memory_mb}MiB'", "max_execution_time": str(int(limits.seconds * 1000))}
        for option, value in {**bounds, **_SANDBOX}.items():
            connection.execute(f"SET {option} = {value}")
        failing.pop_all()
    return TableViews(connection, statement)


def _register_past(
    connection: "duckdb.DuckDBPyConnection", files: Files, past: Mapping[str, Files], keys: Mapping[str, str]
) -> None:
    """Create the views of other snapshots, and for each table a macro that chooses one of them."""
    for name in files.keys() & SCHEMAS.keys():
        connection.execute(_MACRO.format(name=name))
    for at, tables in past.items():
        for name, paths in tables.items():  # tags in hex, because SQL ignores case, but A and a are different tags
            _register(connection, f"{name}_at_{at.encode().hex()}", name, paths, keys)


def _register(
    connection: "duckdb.DuckDBPyConnection", view: str, name: str, paths: Sequence[Path], keys: Mapping[str, str]
) -> None:
    """Create a view over the files of a table; columns that older files lack are blank, not null."""
    stored, schema = f"stored_{view}", SCHEMAS[name]
    connection.register(stored, _dataset(tuple(map(str, paths)), schema) if paths else schema.empty_table())
    absent = lacking(paths, schema)
    columns = [
        f'coalesce("{field.name}", {blank_sql(field)}) AS "{field.name}"' if field.name in absent else f'"{field.name}"'
        for field in schema
    ]
    selected = f'SELECT {", ".join(columns)} FROM "{stored}"'
    connection.execute(f'CREATE VIEW "{view}" AS {with_derived(name, selected, keys)}')


def _derive(connection: "duckdb.DuckDBPyConnection", views: Mapping[str, str]) -> None:
    for name, select in views.items():
        connection.execute(f"CREATE OR REPLACE VIEW {name} AS {select}")


def _register_embeddings(connection: "duckdb.DuckDBPyConnection", packs: Sequence[Path]) -> None:
    """Create a view of the vectors in packs of one dimension, as float32, with each key once."""
    import pyarrow.dataset as ds

    size = schema_of(packs[0]).field("vector").type.list_size if packs else 1
    schema = pa.schema([("key", pa.string()), ("vector", pa.list_(pa.float32(), size))])
    held = ds.dataset([str(path) for path in packs], schema=schema, format="parquet") if packs else schema.empty_table()
    connection.register("stored_embeddings", held)
    once = "" if len(packs) < 2 or _keys_are_unique(held) else "DISTINCT ON (key)"  # takes 5 s for 100,000 keys
    connection.execute(f"CREATE VIEW {EMBEDDINGS} AS SELECT {once} key, vector FROM stored_embeddings")


def _keys_are_unique(packs: Any) -> bool:
    keys = packs.to_table(columns=["key"]).column("key")
    return len(pc.unique(keys)) == len(keys)


@lru_cache(_KEPT_DATASETS)
def _dataset(paths: tuple[str, ...], schema: pa.Schema) -> Any:
    """Return files as one dataset, cached: a file never changes under its name, so its footer stays valid."""
    import pyarrow.dataset as ds

    # Without `pre_buffer`: it is meant for object storage, and on a disk it takes a fifth of a statement's CPU time.
    plainly = ds.ParquetFileFormat(default_fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=False))
    return ds.dataset(list(paths), schema=schema, format=plainly)


def _check_present(paths: Sequence[Path]) -> None:
    for path in paths:
        if not path.is_file():
            raise StoreError(f"{path} is missing; to find everything that is: docmill verify")


def _only_select(connection: "duckdb.DuckDBPyConnection", sql: str) -> AskedStatement:
    import duckdb

    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryError(message_of(error, AskedStatement(sql, sql, 0), _reserved(connection))) from None
    if len(statements) != 1:
        raise QueryError(f"give exactly one SELECT statement, got {len(statements)} statements")
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = str(statements[0].type).rsplit(".", 1)[-1]
        hint = "; name the values of a PIVOT: PIVOT t ON column IN ('a', 'b')" if kind == "MULTI" else ""
        raise QueryError(f"only SELECT is allowed here, got {kind}{hint}")
    if _SHOW_TABLES.fullmatch(sql):
        return AskedStatement(sql, _tables_sql(), 0)
    ran = str(statements[0].query)
    return AskedStatement(sql, in_struct(ran), -max(0, sql.find(ran)))


def in_struct(sql: str) -> str:
    """Return SQL with `declared.KEY` instead of `metadata.KEY`, because the column `metadata` itself is JSON text."""
    import duckdb

    data = bytearray(sql.encode())  # DuckDB counts bytes
    for start, following in pairwise(start for start, _ in duckdb.tokenize(sql)):
        if data[start:following].lower() == b"metadata" and data.startswith(b".", following):
            # Both names have the same length, so that the places in messages stay right.
            data[start:following] = COLUMN.encode()
    return data.decode()


def _tables_sql() -> str:
    """Return a SELECT of the names that a statement may use; DuckDB's own list has internal names and lacks others."""
    names = sorted(name for name in TABLES if name.isidentifier())  # `neighbours(…)` is not a table
    return f"SELECT unnest({names!r}) AS name"


def _reserved(connection: "duckdb.DuckDBPyConnection") -> frozenset[str]:
    found = connection.execute("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'")
    return frozenset(name for (name,) in found.fetchall())


def _placed(connection: "duckdb.DuckDBPyConnection", error: Exception, source: AskedStatement) -> Exception:
    """Return a binding error with its place, which `execute` reports, but `sql` does not."""
    import duckdb

    try:
        connection.execute(source.ran)
    except duckdb.Error as again:
        return again
    return error


def check_predicate(where: str) -> None:
    """Raise `QueryError` unless a text is one SQL expression, which can safely be put into parentheses."""
    import duckdb

    try:
        duckdb.SQLExpression(where)
    except duckdb.Error as error:
        message = f"where must be one SQL predicate such as content_type = 'code', got {where!r}: {first_line(error)}"
        raise QueryError(message) from None


def _where(statement: Statement) -> AskedStatement:
    """Return the SELECT of the ids of chunks for which a predicate is true, or of documents if there are no chunks."""
    where = statement.sql
    check_predicate(where)
    of_chunks = f"SELECT chunk_id FROM ({_chunks_with_documents()}) AS chunks WHERE (\n"
    head = of_chunks if "chunks" in statement.files else "SELECT document_id FROM documents WHERE (\n"
    return AskedStatement(where, f"{head}{in_struct(where)}\n)", len(head))


def _chunks_with_documents() -> str:
    own = [name for name in _OF_DOCUMENTS if name not in CHUNKS.names]
    shared = [name for name in DOCUMENTS.names if name in CHUNKS.names and name != "document_id"]
    columns = [f"d.{name}" for name in own] + [f"d.{name} AS document_{name}" for name in shared]
    return f"SELECT c.*, {', '.join(columns)} FROM chunks AS c LEFT JOIN documents AS d USING (document_id)"


def _first(batches: Iterable[pa.RecordBatch], rows: int | None) -> Iterator[pa.RecordBatch]:
    """Yield the first `rows` rows; later rows are not computed."""
    left = rows
    for batch in batches:
        if left is None:
            yield batch
        elif left:
            yield batch.slice(0, left)
            left -= min(left, batch.num_rows)
        if left == 0:
            break


def _bounded(batches: Iterable[pa.RecordBatch], limits: SqlLimits) -> Iterator[pa.RecordBatch]:
    """Yield batches up to the memory limit, which DuckDB does not apply to its result."""
    size = 0
    for batch in batches:
        size += batch.nbytes
        if size > limits.memory_mb << 20:
            raise QueryError(f"the result has more than {limits.memory_mb} MB; ask for fewer rows or columns")
        yield batch


def _explain(
    error: Exception, limits: SqlLimits, connection: "duckdb.DuckDBPyConnection", source: AskedStatement
) -> str:
    import duckdb

    said = str(error)
    if isinstance(error, duckdb.InterruptException) or said.startswith("INTERRUPT"):
        return too_long(limits)
    if isinstance(error, duckdb.OutOfMemoryException) or said.startswith("Out of Memory"):
        return too_large(limits)
    if isinstance(error, duckdb.PermissionException):
        return f"SQL sees this store's tables only, no files and no network: {first_line(error)}"
    if missing := re.search(r"Table with name (\w+)_at_((?:[\dA-F]{2})*) does not exist", said):
        table, at = missing[1], bytes.fromhex(missing[2]).decode("utf-8", "replace")
        return f"no snapshot {at} to read {table} from; give the number or tag of a kept one: {table}_at(41)"
    return message_of(error, source, _reserved(connection))
