"""The page on tables and views: every column that SQL sees."""

from docmill.storage.sql.column_descriptions import TABLES
from tests.kit.making.reference.markdown import code, codes, entries, page, prose

HEAD = """\
The tables and views of [`docmill sql`](commands.md#docmill-sql), `Store.sql` and `store/views.sql`; `docmill sql
--tables` prints the same. [SQL and DuckDB](../sql.md) says how Parquet files differ, and how to query [earlier
snapshots](../sql.md#earlier-snapshots)."""
ALIKE = {"deleted": "documents", "deleted_chunks": "chunks"}
"""Tables with the columns of another, which are described there."""
PARTLY_ALIKE = {"asked_questions": "evaluations"}
"""Tables with some columns of another, which are described there."""


def made() -> str:
    """Return the page."""
    return page("Tables and views", HEAD, *map(_section, TABLES))


def _section(name: str) -> str:
    about, columns = TABLES[name]
    like = ALIKE.get(name) or PARTLY_ALIKE.get(name, "")
    known = TABLES[like][1] if like else {}
    rows = [(code(column), prose(meaning)) for column, meaning in columns.items() if known.get(column) != meaning]
    return "\n\n".join(filter(None, [f"## {code(name)}", prose(about), _alike(name, like), entries(rows)]))


def _alike(name: str, like: str) -> str:
    """Return which other table describes columns of a table, and which of them those are."""
    if not like:
        return ""
    columns, known = TABLES[name][1], TABLES[like][1]
    same = [one for one in known if columns.get(one) == known[one]]
    lacking = [one for one in known if one not in columns]
    without = f" except {codes(lacking)}" if lacking else ""
    those = codes(same) if name in PARTLY_ALIKE else f"the columns{without}"
    return f"It has {those} of [{code(like)}](#{like})."
