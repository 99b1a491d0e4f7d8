"""How many tables of PDFs have no names of columns, and how many chunks of their later rows lack some.

    python -m tests.bench.parsing.table_names --data FOLDER [--list]

A table without names has a first row that is empty, or of figures. A later chunk begins within a table; it names its
columns if its text or its context holds the letters of each name. Whether a page shows names that were not read, only a
look at it tells: `--list` prints each such table with its page, and each such chunk.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from docmill.flows.config.from_settings import recipe_of, space_of
from docmill.flows.config.settings import Settings
from docmill.storage.errors import Rejected
from docmill.storage.schema import Draft, Element
from docmill.tasks.work.document.preview import Reading, Splitting, read, split
from docmill.tasks.work.document.recipe import Recipe
from tests.bench.table import Figure, show

MOST_LACKING = 5.0  # in hundredths of the later chunks


def main() -> int:
    """Print the figures; return 1 if too many chunks lack names."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True, help="folder of PDFs")
    arguments.add_argument("--list", action="store_true", help="print the tables and the chunks without names")
    chosen = arguments.parse_args()
    settings = Settings()
    recipe = recipe_of(settings, space_of(settings))
    tables, unnamed, later, lacking = 0, 0, 0, 0
    for path in sorted(chosen.data.rglob("*.pdf")):
        for table, chunks in _tables(path, recipe):
            names = _names(table)
            short = [chunk for chunk in chunks if not names or not _says_all(chunk, names)]
            tables, unnamed, later, lacking = (
                tables + 1,
                unnamed + (not names),
                later + len(chunks),
                lacking + len(short),
            )
            if chosen.list:
                _tell(path, table, names, short)
    figures = [
        Figure("tables", tables, ""),
        Figure("tables without names of columns", unnamed, ""),
        Figure("later chunks", later, ""),
        Figure("later chunks that lack a name", 100 * lacking / max(later, 1), "%", MOST_LACKING),
    ]
    show("Names of the columns of tables", figures)
    return int(not all(figure.held for figure in figures))


def _tables(path: Path, recipe: Recipe) -> Iterator[tuple[Element, list[Draft]]]:
    """Yield the tables of a PDF, each with the chunks that begin within it; nothing of a PDF that is not read."""
    try:
        found = read(Reading(path, path.name, recipe.parse, recipe.max_file_bytes))
    except Rejected:
        return
    routed = tuple(recipe.routes.route_regions(path.name, found.regions, found.parsed.metadata))
    chunks, _ = split(Splitting(found.parsed, routed, recipe.tokenizer_dir, recipe.chunk))
    for table in found.parsed.elements:
        if table.kind == "table":
            yield table, [chunk for chunk in chunks if table.start_char < chunk.start_char < table.end_char]


def _names(table: Element) -> list[str]:
    """Return the letters of the names of a table's columns, each once; none if its header is empty or none is read."""
    rows = table.attributes["cells"][: table.attributes.get("header_rows", 1)]
    return list(filter(None, dict.fromkeys(_letters(cell) for row in rows for cell in row)))


def _says_all(chunk: Draft, names: list[str]) -> bool:
    said = _letters(chunk.text + chunk.context)
    return all(name in said for name in names)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _tell(path: Path, table: Element, names: list[str], short: list[Draft]) -> None:
    if not names:
        print(f"{path.name}: page {table.page}: no names: {table.attributes['cells'][:2]}")
    for chunk in short if names else ():
        print(f"{path.name}: page {table.page}: lacks {[name for name in names if not _says_all(chunk, [name])][:4]}")


if __name__ == "__main__":
    raise SystemExit(main())
