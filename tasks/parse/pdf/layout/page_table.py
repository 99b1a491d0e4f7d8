"""PDF page tables: a table of a page as one of its items, and the thresholds that tell tables by their places."""

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


@dataclass(slots=True)
class Layout:
    """Thresholds of tables: shares, numbers of rows, lines and columns, and distances in sizes or heights of a line."""

    # Levels and rows within the cells of a grid.
    level: float = 0.5  # of a line's height, by which middles on one level are closer; those of the next line are not
    breaks: float = 0.8  # share of a band's line breaks beside a figure or with room above, where its lines are rows
    even_lines: int = 3  # lines in each cell that make rows without a figure; two are a name and what it means
    beside_tall: float = 0.7  # share of the rows beside a tall cell on whose levels its lines stand, as names of rows
    margin: float = 1.5  # font sizes of a cell's room that its inner margins may take

    # What stands outside of a table's rules or figures.
    off_row: float = 0.35  # of a line's height, by which the name of a row may be off the middle of the row
    rows_named: float = 0.8  # share of the rows below a header that have a name beside them
    apart: float = 0.5  # font sizes between words over two columns: no space within a sentence is as wide
    other_size: float = 0.25  # of the font size, by which the letters of a row outside may differ
    reach: float = 1.3  # heights of a line, within which the next row outside stands; twice as far if it is `full`
    full: float = 0.8  # share of the columns that no caption fills
    filled: float = 0.5  # share of the columns that a row outside fills; a caption or a note fills one
    close: float = 0.8  # heights of a line, within which names of several columns stand above the header
    leading: float = 0.3  # heights of a line between the lines of one name of a column
    off_centre: float = 0.7  # font sizes, by which such a name may be off the middle of its columns
    shared: float = 0.2  # of its height, which a line of a header shares with the lines beside it
    stray: float = 4.0  # points by which text may stand over the sides of its table, as letters do over their box

    # Tables of figures.
    figures: int = 2  # figures of a row, and columns of them: a date and a page number make no table
    rows: int = 3  # such rows; two stand below one another by chance
    next_row: float = 2.2  # times the usual step of the rows: further down another table begins
    between: int = 2  # levels without figures in succession: names of parts, names of several lines
    name_letters: int = 45  # of the names of rows on average: with more they are lines of a text beside the table
    named: float = 0.4  # share of the rows that have something in a column of names
    mixed: float = 0.3  # share of the rows that may have words where the others have figures, as a header has
    off_figures: float = 1.2  # heights of a line, by which a line of a row's name may be above or below its figures
    unit: int = 6  # letters of a unit of measure behind a figure


LAYOUT = Layout()


def had_room(one: TextLine, other: TextLine, room: float) -> bool:
    """Return whether the first word of a line had room behind the line above, in a cell `room` points wide."""
    first = (other.right - other.left) * len(other.text.split(" ", 1)[0]) / max(len(other.text), 1)
    return one.right - one.left + first < room - LAYOUT.margin * one.size


def is_value(text: str) -> bool:
    """Return whether a text is a figure or a sign that stands for one, and no word."""
    if text[:1].isalpha() and text[-1:].isalpha() and len(text) > 1:  # as most words, and no figure with its unit
        return False
    letters = sum(map(str.isalpha, text))
    return letters <= 1 or 2 * letters < sum(map(str.isdigit, text))
