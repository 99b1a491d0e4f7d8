"""Compare the tables that are read from PDFs with marked ones, by the neighbours of their cells.

    python -m tests.bench.parsing.true_tables --data FOLDER [--list]

`FOLDER` has PDFs as those of the ICDAR 2013 table competition: beside `NAME.pdf` is `NAME-str.xml` with the cells of
its tables. A relation is a cell and the next filled one to its right or below, compared without spaces, signs and case.
Recall and precision are means over documents; F1 is that of these means.
Source: Goebel et al., ICDAR 2013 Table Competition.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from lxml import etree

from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from tests.bench.table import Figure, show

Relations = Counter[tuple[str, str, bool]]
"""How often a text has another one next to it; True to its right, False below."""

_MARKUP = re.compile(r"<br>|[\W_]+")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell by its first and last row and column, counted from 0, and its text."""

    rows: tuple[int, int]
    columns: tuple[int, int]
    text: str


def main() -> None:
    """Print recall, precision and F1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--list", action="store_true", help="print each document, worst first")
    chosen = parser.parse_args()
    scores = [
        (*_score(_marked(marked), _read(pdf)), pdf.name)
        for pdf in sorted(chosen.data.rglob("*.pdf"))
        for marked in sorted(pdf.parent.glob(f"{pdf.stem}*str.xml"))[:1]
    ]
    if not scores:
        raise SystemExit(f"no PDF with a file -str.xml beside it in {chosen.data}")
    for recall, precision, name in sorted(scores) if chosen.list else ():
        print(f"{recall:.2f} {precision:.2f} {name}")
    recall, precision = (sum(one[place] for one in scores) / len(scores) for place in (0, 1))
    show(
        f"Tables of {len(scores)} PDFs",
        [
            Figure("relations that are not found", 1 - recall, ""),
            Figure("relations that are not there", 1 - precision, ""),
            Figure("F1", 2 * recall * precision / max(1e-9, recall + precision), ""),
        ],
    )


def _score(marked: Relations, read: Relations) -> tuple[float, float]:
    """Return recall and precision."""
    both = (marked & read).total()
    return both / max(1, marked.total()), both / max(1, read.total())


def _marked(path: Path) -> Relations:
    found: Relations = Counter()
    for region in etree.parse(str(path)).iter("region"):
        found += relations(map(_cell, region.iter("cell")))
    return found


def _cell(marked: etree._Element) -> Cell:
    first = [int(marked.get(f"start-{side}", 0)) for side in ("row", "col")]
    last = [int(marked.get(f"end-{side}", start)) for side, start in zip(("row", "col"), first, strict=True)]
    return Cell((first[0], last[0]), (first[1], last[1]), marked.findtext("content") or "")


def _read(path: Path) -> Relations:
    data = path.read_bytes()
    found: Relations = Counter()
    for element in parse(data, detect_file_type(path.name, data), ParseOptions()).elements:
        rows = element.attributes.get("cells", ()) if element.kind == "table" else ()
        found += relations(
            Cell((row, row), (column, column), text or "")
            for row, texts in enumerate(rows)
            for column, text in enumerate(texts)
        )
    return found


def relations(cells: Iterable[Cell]) -> Relations:
    """Return the relations of the cells of one table."""
    places: dict[tuple[int, int], Cell] = {}
    for cell in cells:
        if _plain(cell.text):
            for row in range(cell.rows[0], cell.rows[1] + 1):
                places |= {(row, column): cell for column in range(cell.columns[0], cell.columns[1] + 1)}
    pairs = {(id(one), id(other), right): (one, other) for one, other, right in _neighbours(places)}
    return Counter((_plain(one.text), _plain(other.text), right) for (_, _, right), (one, other) in pairs.items())


def _neighbours(places: dict[tuple[int, int], Cell]) -> Iterator[tuple[Cell, Cell, bool]]:
    for right in (True, False):
        order = sorted(places, key=lambda place: place if right else place[::-1])
        for one, other in pairwise(order):
            if one[0 if right else 1] == other[0 if right else 1] and places[one] is not places[other]:
                yield places[one], places[other], right


def _plain(text: str) -> str:
    return _MARKUP.sub("", text).lower()


if __name__ == "__main__":
    main()
