"""`views.sql`: the newest snapshot as views, for DuckDB's own command line from any working directory."""

from pathlib import Path

from storage.schema import SCHEMAS

_HEAD = "-- Views over the newest snapshot; written by docmill, rewritten when the store has moved and is written to.\n"


def views_sql(root: Path) -> str:
    """Return a script with a view for each table and one of the snapshots; paths are absolute."""
    folder = root.resolve()
    views = [f"read_parquet({quote(f'{folder}/current/{name}/*.parquet')}, union_by_name = true)" for name in SCHEMAS]
    statements = [
        f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {source};" for name, source in zip(SCHEMAS, views, strict=True)
    ]
    return _HEAD + "\n".join([*statements, _snapshots(folder)]) + "\n"


def _snapshots(folder: Path) -> str:
    files = quote(f"{folder}/snapshots/*.json")
    return (
        "CREATE OR REPLACE VIEW snapshots AS SELECT number AS snapshot, created, run_id, buckets "
        f"FROM read_json({files}, columns = {{number: 'BIGINT', created: 'VARCHAR', run_id: 'VARCHAR', "
        "buckets: 'BIGINT'}) ORDER BY number;"
    )


def quote(text: str) -> str:
    """Return text as an SQL string; brackets and stars in a folder's name stand for themselves."""
    return "'" + text.replace("'", "''") + "'"
