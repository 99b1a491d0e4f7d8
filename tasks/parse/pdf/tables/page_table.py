"""PDF page tables: what is found between rules, by columns, or in figures, as one item of a page."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.line import TextLine

Span = tuple[int, int, int, int]


@dataclass(slots=True)
class PageTable:
    """A table of a page: its rows of cells, how many of them are its header, and its box.

    `spans` are the cells of several rows or columns, whose text stands in the first: row, column, rows, columns.
    `columns` are where each begins and ends; `end_page` is the page that the table ends on. The first row below the
    header of one that is `cut` is the rest of the last one on the page before.
    """

    cells: list[list[str]]
    header_rows: int
    box: Box
    page: int
    furniture: bool = False
    contents: bool = False  # it is a list of contents
    spans: list[Span] = field(default_factory=list)
    columns: list[tuple[float, float]] = field(default_factory=list)
    cut: bool = False
    end_page: int = field(init=False)

    def __post_init__(self) -> None:
        self.end_page = self.page

    @property
    def kind(self) -> str:
        """Return the kind of its element."""
        return "toc" if self.contents else "table"


Item = TextLine | PageTable


def replaced(items: list[Item], lines: Sequence[Item], table: PageTable, first: Item) -> list[Item]:
    """Return items with a table in the place of some lines, where the `first` of them stands."""
    gone = {*map(id, lines)}
    return [table if item is first else item for item in items if item is first or id(item) not in gone]
