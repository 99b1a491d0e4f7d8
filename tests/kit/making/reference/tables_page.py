"""The page on tables and views: every column that SQL sees."""

from docmill.storage.sql.column_descriptions import TABLES
from tests.kit.making.reference.markdown import code, page, prose, table

HEAD = """\
What [`docmill sql`](commands.md#docmill-sql), `Store.sql`, `store/views.sql` and, for the tables, the Parquet files
below `store/current/` show. `docmill sql --tables` prints the same. In the Parquet files, the columns `created` and
`modified` of documents are the stated texts, and `created_at` and `modified_at` the times in UTC.

Earlier snapshots have tables, too: `chunks_at(41)` by the number of a snapshot and, in `docmill sql`,
`documents_at('before-move')` by its tag. [Earlier snapshots](../sql.md#earlier-snapshots) says which ones."""


def made() -> str:
    """Return the page."""
    return page("Tables and views", HEAD, *map(_section, TABLES))


def _section(name: str) -> str:
    about, columns = TABLES[name]
    rows = [(code(column), prose(meaning)) for column, meaning in columns.items()]
    return "\n\n".join([f"## {code(name)}", prose(about), table(("column", "meaning"), rows)])
