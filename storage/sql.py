"""SQL over one snapshot: DuckDB in memory, in a sandbox that holds the snapshot's files and nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from storage.errors import QueryError
from storage.schema import SCHEMAS
from storage.views import quote


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """What a statement may use: megabytes of memory and seconds of wall clock."""

    memory_mb: int = 1024
    seconds: float = 60.0


def query(
    files: Mapping[str, Sequence[Path]],
    extra: Mapping[str, pa.Table],
    sql: str,
    limits: SqlLimits = SqlLimits(),  # noqa: B008  frozen
) -> pa.Table:
    """Run one SELECT over views of Parquet files and Arrow tables; raise `QueryError` for anything else."""
    with _sandbox(files, extra, limits) as connection, _explained():
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type.name != "SELECT":
            raise QueryError("give exactly one SELECT; the store is read-only")
        return connection.sql(sql).to_arrow_table()


def select_ids(chunks: Sequence[Path], documents: Sequence[Path], where: str) -> pa.Array:
    """Return the ids of the chunks for which a predicate over the columns of chunks and documents holds."""
    own = set(SCHEMAS["chunks"].names)
    columns = ", ".join(["c.*", *(f"d.{quote_name(name)}" for name in SCHEMAS["documents"].names if name not in own)])
    statement = (
        f"SELECT chunk_id FROM (SELECT {columns} FROM chunks c JOIN documents d ON c.document_id = d.document_id) "
        f"WHERE ({where}\n)"
    )
    try:
        found = query({"chunks": chunks, "documents": documents}, {}, statement)
    except QueryError as error:
        raise QueryError(f"where {where!r}: {error}") from error
    return found.column(0).combine_chunks()


def quote_name(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _sandbox(files: Mapping[str, Sequence[Path]], extra: Mapping[str, pa.Table], limits: SqlLimits) -> Iterator[Any]:
    import duckdb

    with duckdb.connect(":memory:") as connection:
        paths = [str(path.resolve()) for some in files.values() for path in some]
        for name, some in files.items():
            if some:
                listed = ", ".join(quote(str(path.resolve())) for path in some)
                source = f"read_parquet([{listed}], union_by_name = true)"
                connection.execute(f"CREATE VIEW {quote_name(name)} AS SELECT * FROM {source}")
            else:
                connection.register(name, SCHEMAS[name].empty_table())
        for name, table in extra.items():
            connection.register(name, table)
        for setting in _settings(paths, limits):
            connection.execute(f"SET {setting}")
        yield connection


def _settings(paths: Sequence[str], limits: SqlLimits) -> list[str]:
    return [
        f"allowed_paths = [{', '.join(map(quote, paths))}]",
        "python_enable_replacements = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "allow_community_extensions = false",
        "allow_persistent_secrets = false",
        f"memory_limit = '{limits.memory_mb}MB'",
        f"max_execution_time = {int(limits.seconds * 1000)}",
        "temp_directory = ''",
        "enable_external_access = false",
        "lock_configuration = true",
    ]


@contextmanager
def _explained() -> Iterator[None]:
    """Turn what DuckDB raises into one kind of error, with its own hint."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise QueryError(" ".join(str(error).split("\n\nLINE")[0].split())) from error
