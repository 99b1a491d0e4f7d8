"""The page on tables and views: every column that SQL sees."""

from docmill.storage.sql.column_descriptions import TABLES
from tests.kit.making.reference.markdown import code, codes, page, prose, table

HEAD = """\
What [`docmill sql`](commands.md#docmill-sql), `Store.sql`, `store/views.sql` and, for the tables, the Parquet files
below `store/current/` show. `docmill sql --tables` prints the same. In the Parquet files, the columns `created` and
`modified` of documents are the stated texts, and `created_at` and `modified_at` the times in UTC.

Earlier snapshots have tables, too: `chunks_at(41)` by the number of a snapshot and, in `docmill sql`,
`documents_at('before-move')` by its tag. [Earlier snapshots](../sql.md#earlier-snapshots) says which ones."""


ALIKE = {"deleted": "documents", "deleted_chunks": "chunks"}
"""Tables with the columns of another, which are described there."""


def made() -> str:
    """Return the page."""
    return page("Tables and views", HEAD, *map(_section, TABLES))


def _section(name: str) -> str:
    about, columns = TABLES[name]
    like = ALIKE.get(name, "")
    known = TABLES[like][1] if like else {}
    rows = [(code(column), prose(meaning)) for column, meaning in columns.items() if known.get(column) != meaning]
    parts = [f"## {code(name)}", prose(about), _alike(like, [one for one in known if one not in columns])]
    return "\n\n".join(filter(None, [*parts, table(("column", "meaning"), rows)]))


def _alike(like: str, lacking: list[str]) -> str:
    """Return which table has the same columns, and which of them are missing here."""
    without = f" except {codes(lacking)}" if lacking else ""
    return f"It has the columns of [{code(like)}](#{like}){without}." if like else ""
