"""Write the tables of `docs/sql.md`: `python -m tests.kit.making.make_sql_page`."""

import re
from pathlib import Path

from docmill.storage.sql.column_descriptions import TABLES

PAGE = Path(__file__).parents[3] / "docs" / "sql.md"
_MARKED = re.compile(r"(?<=<!-- tables -->\n).*(?=<!-- /tables -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """Return the page with today's tables."""
    parts = []
    for name, (said, columns) in TABLES.items():
        rows = (f"| `{column}` | {meaning} |" for column, meaning in columns.items())
        parts.append("\n".join([f"### `{name}`", "", said, "", "| column | meaning |", "|---|---|", *rows, ""]))
    return _MARKED.sub(lambda _: "\n".join(parts), page)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
