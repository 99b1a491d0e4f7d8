"""Views: a script for other DuckDBs to read the newest snapshot from any folder: `duckdb -init STORE/views.sql`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa

from docmill.storage.arrow_schema import SCHEMAS
from docmill.storage.schema_evolution import blank_sql, sql_type
from docmill.storage.sql.derived_views import EMBEDDINGS, NEIGHBOURS, OF_QUERIES, OF_ROWS, OF_VECTORS
from docmill.storage.sql.document_warnings import with_derived
from docmill.storage.stated_metadata import COLUMN
from docmill.storage.timestamps import STATED

_LATE = (*STATED, COLUMN, "metadata_warnings", "figures")
"""The columns of documents that views need and that an older docmill did not write."""
_AT = """\
CREATE OR REPLACE TEMP MACRO {name}_at(snapshot) AS TABLE
{select};
"""
_ROWS_AT = """\
SELECT {columns}
FROM (
    FROM read_parquet({files}, union_by_name = true, hive_partitioning = false, filename = 'stored_in')
    UNION ALL BY NAME SELECT {nothing} WHERE false
)
WHERE parse_filename(stored_in) IN (
    SELECT unnest([parse_filename(piece.file.path) FOR piece IN coalesce(
        tables, error('no snapshot ' || snapshot || ' to read {name} from; FROM snapshots lists the kept ones')
    )['{name}']])
    FROM (SELECT any_value(tables) AS tables FROM read_json({snapshots}, format = 'unstructured', columns = {{
        number: 'BIGINT', tables: 'MAP(VARCHAR, STRUCT(file STRUCT(path VARCHAR))[])'
    }}) WHERE number::VARCHAR = snapshot::VARCHAR)
)"""
_EVALUATIONS = """\
CREATE OR REPLACE TEMP VIEW evaluations AS
SELECT * EXCLUDE (asked) REPLACE (coalesce(asking, '') AS asking, TRY_CAST(created AS TIMESTAMPTZ) AS created)
FROM read_parquet({path}, union_by_name = true, hive_partitioning = false) ORDER BY created;
CREATE OR REPLACE TEMP VIEW asked_questions AS SELECT
    TRY_CAST(created AS TIMESTAMPTZ) AS created, snapshot, candidate, subject, subject_hash, settings, asking,
    unnest(asked, max_depth := 2)
FROM read_parquet({path}, union_by_name = true, hive_partitioning = false) ORDER BY created;
"""
_JUDGEMENTS = """\
CREATE OR REPLACE TEMP VIEW judgements AS
SELECT * REPLACE (TRY_CAST(created AS TIMESTAMPTZ) AS created) FROM (
    FROM read_parquet({path}, union_by_name = true, hive_partitioning = false)
    QUALIFY row_number() OVER (PARTITION BY judgement_id ORDER BY created DESC, verdict DESC) = 1
)
WHERE verdict NOT IN ('withdrawn', 'erased') ORDER BY created;
"""
_QUERIES = """\
CREATE OR REPLACE TEMP VIEW queries AS
WITH logged AS (FROM read_parquet({path}, union_by_name = true, hive_partitioning = false))
SELECT * REPLACE (TRY_CAST(created AS TIMESTAMPTZ) AS created) FROM logged
WHERE mode <> 'cleared' AND created > coalesce((SELECT max(created) FROM logged WHERE mode = 'cleared'), '')
ORDER BY created;
"""
_LEARNED = """\
CREATE OR REPLACE TEMP VIEW learned AS
SELECT * REPLACE (TRY_CAST(created AS TIMESTAMPTZ) AS created) FROM (
    FROM read_parquet({path}, union_by_name = true, hive_partitioning = false)
    QUALIFY row_number() OVER (PARTITION BY change_id ORDER BY created DESC) = 1
)
ORDER BY created;
"""
_SNAPSHOTS = """\
CREATE OR REPLACE TEMP VIEW snapshots AS
SELECT
    number AS snapshot, created, run_id,
{counts},
    vectors.version AS vector_version,
    len(keywords.segments) AS segments,
    coalesce(pending.chunks, 0) AS pending,
    space.token_limit AS token_limit
FROM read_json({path}, format = 'unstructured', columns = {{
    number: 'BIGINT', created: 'TIMESTAMPTZ', run_id: 'VARCHAR',
    tables: 'MAP(VARCHAR, STRUCT("rows" BIGINT)[])',
    vectors: 'STRUCT(version BIGINT)',
    keywords: 'STRUCT(segments JSON[])',
    pending: 'STRUCT(chunks BIGINT)',
    space: 'STRUCT(token_limit BIGINT)'
}})
ORDER BY number;
"""

_HEAD = """\
-- The tables of the newest snapshot, for DuckDB 1.4 or newer: duckdb -init {script}
-- The store is the folder of the variable docmill_store if it is set, else the working folder if it is this store, else
-- the folder in which this script was written: docmill writes it again after a move.
SET VARIABLE docmill_root = (SELECT regexp_replace(CASE
    WHEN getvariable('docmill_store') IS NOT NULL THEN getvariable('docmill_store')
    WHEN EXISTS (FROM glob({marker})) THEN '.'
    WHEN EXISTS (FROM glob({marked})) THEN {root}
    ELSE error({lost})
END, '([*?\\[])', '[\\1]', 'g'));
SET TimeZone = 'UTC';  -- so that a time without an offset means the same as in docmill sql
"""
_LOST = (
    "no store at {root}: it was moved. Start in its folder, or say before this script where it is: "
    "SET VARIABLE docmill_store = 'FOLDER'; docmill status --store FOLDER writes the script again"
)
_EMBEDDINGS = """\
SELECT key, CASE WHEN len(vector) = {dimension} THEN vector::FLOAT[{dimension}] END AS vector
FROM read_parquet({files}, hive_partitioning = false, filename = 'pack', file_row_number = true) JOIN (
    SELECT key, min((pack, file_row_number)) AS place
    FROM read_parquet({files}, hive_partitioning = false, filename = 'pack', file_row_number = true) GROUP BY key
) USING (key)
WHERE place[1] = pack AND place[2] = file_row_number AND len(vector) = {dimension}
"""
"""The vectors of all kept snapshots, with each key once. Keys of different models differ."""


@dataclass(frozen=True, slots=True)
class ViewedStore:
    """What `views.sql` needs to know about a store.

    `marker` is the path below `root` of a file that only this store and its copies have. `dimension` is the dimension
    of the newest snapshot's vectors, and `keys` are its keys of [metadata] with their types.
    """

    root: Path
    marker: str
    dimension: int
    keys: Mapping[str, str]


def views_sql(shown: ViewedStore) -> str:
    """Return a script that creates views of a store's tables, and the views derived from them.

    Views read `current/`, so they always show the newest snapshot. `chunks_at(41)` and `documents_at(41)` read another
    kept snapshot.
    """
    tables = (
        f"CREATE OR REPLACE TEMP VIEW {name} AS\n{with_derived(name, _current(name), shown.keys)};\n"
        for name in SCHEMAS
    )
    kept = _EVALUATIONS.format(path=_below("evaluations/*.parquet"))
    kept += _JUDGEMENTS.format(path=_below("judgements/*.parquet"))
    kept += _QUERIES.format(path=_below("queries/*.parquet"))
    kept += _LEARNED.format(path=_below("learned/*.parquet"))
    past = (_table_at(name, (*shown.keys.items(),)) for name in ("documents", "chunks"))
    derived = {**OF_ROWS, **OF_QUERIES, EMBEDDINGS: _embeddings(shown), **OF_VECTORS}
    views = (f"CREATE OR REPLACE TEMP VIEW {name} AS\n{select};\n" for name, select in derived.items())
    macro = f"CREATE OR REPLACE TEMP {NEIGHBOURS};\n"
    return "".join([_head(shown), *tables, kept, *views, macro, _snapshots(), *past])


def _current(name: str) -> str:
    files = _below(f"current/{name}/*.parquet")
    rows = f"SELECT * FROM read_parquet(\n    {files}, union_by_name = true, hive_partitioning = false\n)"
    # The view names these columns, but files of an older docmill lack them until the next commit.
    late = [f"NULL::{sql_type(SCHEMAS[name].field(one).type)} AS {one}" for one in _LATE if one in SCHEMAS[name].names]
    return f"{rows} UNION ALL BY NAME SELECT {', '.join(late)} WHERE false" if late else rows


def _head(shown: ViewedStore) -> str:
    root = shown.root.resolve()
    return _HEAD.format(
        script=str(root / "views.sql").replace("\n", " "),
        marker=_text(shown.marker),
        marked=_text(f"{''.join(f'[{c}]' if c in '*?[' else c for c in str(root))}/{shown.marker}"),
        root=_text(str(root)),
        lost=_text(_LOST.format(root=root)),
    )


def _embeddings(shown: ViewedStore) -> str:
    if not any((shown.root / "artifacts" / EMBEDDINGS).glob("*.parquet")):
        return f"SELECT NULL::VARCHAR AS key, NULL::FLOAT[{shown.dimension}] AS vector WHERE false"
    return _EMBEDDINGS.format(dimension=shown.dimension, files=_below(f"artifacts/{EMBEDDINGS}/*.parquet"))


@cache
def _table_at(name: str, keys: tuple[tuple[str, str], ...]) -> str:
    """Return the macro that reads a table of a kept snapshot, whose files may lack newer columns."""
    rows = _ROWS_AT.format(
        name=name,
        columns=", ".join(f'{_filled(field)} AS "{field.name}"' for field in SCHEMAS[name]),
        nothing=", ".join(f'NULL::{sql_type(field.type)} AS "{field.name}"' for field in SCHEMAS[name]),
        files=_below(f"*/{name}/*.parquet"),  # current/ always has one
        snapshots=_below("snapshots/*.json"),
    )
    return _AT.format(name=name, select=with_derived(name, rows, dict(keys)))


def _filled(field: pa.Field) -> str:
    """Return the SQL of a column that is blank, not null, in files that lack it; only a page may be null."""
    return '"page"' if field.name == "page" else f'coalesce("{field.name}", {blank_sql(field)})'


def _snapshots() -> str:
    counts = ",\n".join(
        f"    coalesce(list_sum([piece.rows FOR piece IN tables['{name}']]), 0)::BIGINT AS {name}"
        for name in ("documents", "chunks", "rejects")
    )
    return _SNAPSHOTS.format(counts=counts, path=_below("snapshots/*.json"))


def _below(tail: str) -> str:
    """Return SQL for a glob below the store; wildcards in the store's path itself are escaped."""
    return f"getvariable('docmill_root') || {_text(f'/{tail}')}"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
