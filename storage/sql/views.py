"""Views: the newest snapshot's tables for any DuckDB, from any working folder: `duckdb -init STORE/views.sql`."""

from pathlib import Path

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.first_format import both_schemas, either_sql
from docmill.storage.schema_evolution import blank_sql, sql_type
from docmill.storage.sql.document_warnings import WARNINGS

_AT = """\
CREATE OR REPLACE TEMP MACRO {name}_at(snapshot) AS TABLE
SELECT {columns}
FROM (
    FROM read_parquet({files}, union_by_name = true, hive_partitioning = false, filename = 'stored_in')
    UNION ALL BY NAME SELECT {nothing} WHERE false
)
WHERE parse_filename(stored_in) IN (
    SELECT unnest([parse_filename(piece.file.path) FOR piece IN tables['{name}']])
    FROM read_json({snapshots}, format = 'unstructured', columns = {{
        number: 'BIGINT', tables: 'MAP(VARCHAR, STRUCT(file STRUCT(path VARCHAR))[])'
    }}) WHERE number = snapshot
);
"""
_EVALUATIONS = """\
CREATE OR REPLACE TEMP VIEW evaluations AS SELECT * FROM read_parquet(
    {path}, union_by_name = true, hive_partitioning = false
) ORDER BY created;
"""
_SNAPSHOTS = """\
CREATE OR REPLACE TEMP VIEW snapshots AS
SELECT
    number AS snapshot, created, run_id,
{counts},
    vectors.version AS vector_version,
    len(keywords.segments) AS segments,
    coalesce(pending.chunks, 0) AS pending
FROM read_json({path}, format = 'unstructured', columns = {{
    number: 'BIGINT', created: 'VARCHAR', run_id: 'VARCHAR',
    tables: 'MAP(VARCHAR, STRUCT("rows" BIGINT)[])',
    vectors: 'STRUCT(version BIGINT)',
    keywords: 'STRUCT(segments JSON[])',
    pending: 'STRUCT(chunks BIGINT)'
}})
ORDER BY number;
"""

ROUTING = """\
SELECT
    uri, document_id, r.start_char AS start_char, r.end_char AS end_char,
    r.content_type AS content_type, r.score AS score,
    r.runner_up AS runner_up, r.runner_up_score AS runner_up_score, r.evidence AS evidence,
    r.strategy AS strategy, r.options AS options
FROM (SELECT uri, document_id, unnest(regions) AS r FROM documents)
ORDER BY uri, start_char
"""
"""One row for each region of each document: what it is, why, and how it was split."""


def views_sql(root: Path) -> str:
    """Return a script that creates views of the tables, `routing`, `warnings` and `snapshots` of the store at `root`.

    Paths are absolute and follow `current/`, so a view shows the newest snapshot when it is read. `chunks_at(41)` and
    `documents_at(41)` read a kept snapshot.
    """
    head = f"-- The tables of the newest snapshot: duckdb -init {root.resolve() / 'views.sql'}\n"
    tables = (
        f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM read_parquet(\n"
        f"    {_pattern(root, f'current/{name}/*.parquet')}, union_by_name = true, hive_partitioning = false\n);\n"
        for name in SCHEMAS
    )
    kept = _EVALUATIONS.format(path=_pattern(root, "evaluations/*.parquet"))
    past = (_table_at(root, name) for name in ("documents", "chunks"))
    routing = f"CREATE OR REPLACE TEMP VIEW routing AS\n{ROUTING};\n"
    first = head.replace("\n", " ").rstrip() + "\n"
    warnings = f"CREATE OR REPLACE TEMP VIEW warnings AS\n{WARNINGS};\n"
    return first + "".join(tables) + kept + routing + warnings + _snapshots(root) + "".join(past)


def _table_at(root: Path, name: str) -> str:
    """Return the macro of a table in a kept snapshot, whose files may be in format 1."""
    return _AT.format(
        name=name,
        columns=", ".join(f'{either_sql(field, blank_sql(field.type))} AS "{field.name}"' for field in SCHEMAS[name]),
        nothing=", ".join(f'NULL::{sql_type(field.type)} AS "{field.name}"' for field in both_schemas(SCHEMAS[name])),
        files=_pattern(root, f"*/{name}/*.parquet"),  # current/ always has one
        snapshots=_pattern(root, "snapshots/*.json"),
    )


def _snapshots(root: Path) -> str:
    counts = ",\n".join(
        f"    coalesce(list_sum([piece.rows FOR piece IN tables['{name}']]), 0)::BIGINT AS {name}"
        for name in ("documents", "chunks", "rejects")
    )
    return _SNAPSHOTS.format(counts=counts, path=_pattern(root, "snapshots/*.json"))


def _pattern(root: Path, tail: str) -> str:
    """Return `root` and a glob below it as an SQL string; the root's own characters match only themselves."""
    literal = "".join(f"[{c}]" if c in "*?[" else c for c in str(root.resolve()))
    return "'" + f"{literal}/{tail}".replace("'", "''") + "'"
