"""PDF continued tables: rows at the top of a page that go on the table at the end of the page before."""

from itertools import chain

from docmill.tasks.parse.pdf.layout.cell_columns import Row, Span, in_cells, places_over, span_of
from docmill.tasks.parse.pdf.layout.page_table import Item, PageTable
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.right_to_left import is_right_to_left

_LEAST_CELLS = 2  # of a header: one word alone may be the page's
_MOST_REST = 12  # lines of the rest of a row; more are a text below the table
_CLOSE = 0.6  # of a line's height, by which the lines of a cell are closer; as wide a gap parts rows
_LOWER_START = "([{\"'\u201e\u201c\u2018\u00ab\u2013\u2014-,;.:%&/+"
"""Signs, besides small letters, that the rest of a cell may begin with; a new cell begins with a letter or a figure."""


def release_header(items: list[Item], table: PageTable) -> None:
    """Take the header of a table, repeated at the top of the next page, out of that page's furniture."""
    header = " ".join(table.cells[0])
    lines = [item for item in items if isinstance(item, TextLine) and item.text in header]
    held = [line for line in lines if line.furniture]
    if _count_level(lines, held) >= _LEAST_CELLS:
        for line in held:
            line.furniture = False


def _count_level(lines: list[TextLine], held: list[TextLine]) -> int:
    """Return how many lines stand on the level of the first of some."""
    return sum(_are_level(line, held[0]) for line in lines) if held else 0


def _are_level(one: TextLine, other: TextLine) -> bool:
    return one.box[1] < other.box[3] and other.box[1] < one.box[3]


def with_header_apart(rows: list[list[Item]], table: PageTable) -> list[list[Item]]:
    """Return the rows of a page, the header of a table that is repeated there apart from the rest of a row below it."""
    header = [cell for cell in table.cells[0] if cell]
    first = rows[0]
    count = len(header)
    if not _LEAST_CELLS <= count < len(first):
        return rows
    said = [item.text for item in first[:count] if isinstance(item, TextLine)]
    return [first[:count], first[count:], *rows[1:]] if said == header else rows


def repeats_header(row: list[Item], table: PageTable) -> bool:
    """Return whether a row says what the header of a table does, perhaps in other pieces."""
    header = [cell for cell in table.cells[0] if cell]
    said = " ".join(item.text for item in row if isinstance(item, TextLine))
    return len(header) >= _LEAST_CELLS and said.split() == " ".join(header).split()


def rest_of_row(rows: list[list[Item]], spans: list[Span]) -> list[Item]:
    """Return the lines below a header that go on the row that the end of the page before cut: single ones in a column.

    A row of its own has several cells.
    """
    rest: list[Item] = []
    for row in rows[:_MOST_REST]:
        line = row[0]
        near = not rest or line.box[1] - rest[-1].box[3] < _CLOSE * (line.box[3] - line.box[1])
        if len(row) > 1 or not isinstance(line, TextLine) or not near or len(places_over([line], spans)) != 1:
            break
        rest.append(line)
    return rest


def fitting_rows(rows: list[list[Item]], spans: list[Span], headed: bool = False) -> list[Row]:
    """Return the cells of the first rows whose cells stand each in one of some columns; none unless one row has two.

    Below a header that is repeated, `headed`, one of several cells may stand over several columns.
    """
    found: list[Row] = []
    for row in rows:
        cells = in_cells(row)
        places = [places_over(cell, spans) for cell in cells]
        if not cells or not (_are_beside(places) if headed and len(cells) > 1 else _are_apart(places)):
            break
        found.append(cells)
    while found and len(found[-1]) < 2:
        found.pop()
    return found


def _are_apart(places: list[list[int]]) -> bool:
    """Return whether cells, by the columns that each stands over, stand in one each and in different ones."""
    return all(len(over) == 1 for over in places) and len({*chain(*places)}) == len(places)


def _are_beside(places: list[list[int]]) -> bool:
    """Return whether the first columns of cells are different ones, and most cells stand in one each."""
    single = sum(len(over) == 1 for over in places)
    return all(places) and 2 * single > len(places) and len({over[0] for over in places}) == len(places)


def widened(spans: list[Span], rows: list[Row]) -> list[Span]:
    """Return columns with the cells of more rows that stand in one each."""
    wide = [*spans]
    for cell in chain.from_iterable(rows):
        place, *more = places_over(cell, spans)
        if not more:
            left, right = span_of(cell)
            wide[place] = min(wide[place][0], left), max(wide[place][1], right)
    return wide


def with_header(table: PageTable, row: Row) -> list[Span]:
    """Return the columns of a table with its header as the next page repeats it."""
    places = [place for place, cell in enumerate(table.cells[0]) if cell]
    wide = [*table.columns]
    for place, cell in zip(places, row, strict=False) if len(places) == len(row) else ():
        left, right = span_of(cell)
        wide[place] = min(wide[place][0], left), max(wide[place][1], right)
    return wide


def append_table(table: PageTable, more: PageTable) -> bool:
    """Append a table at the top of a page to the one at the end of the page before; return whether it goes on it.

    It does if its columns are the same. Its header stands once, and a row that the end of the page cuts is one.
    """
    if more.page != table.end_page + 1 or not _are_alike(table.columns, more.columns):
        return False
    header = table.cells[: table.header_rows]
    repeated = len(header) if header == more.cells[: len(header)] else 0
    rows = more.cells[repeated:]
    shift = len(table.cells) - repeated
    if rows and not _is_right_to_left(rows[0]) and (more.cut or _is_rest(table.cells[-1], rows[0])):
        table.cells[-1] = [f"{one} {other}".strip() for one, other in zip(table.cells[-1], rows.pop(0), strict=True)]
        shift -= 1
    table.cells += rows
    table.spans += [(row + shift, *rest) for row, *rest in more.spans if row >= repeated]  # type: ignore[misc]
    table.end_page = more.page
    return True


def _is_right_to_left(row: list[str]) -> bool:
    return is_right_to_left(" ".join(row))


def _are_alike(one: list[Span], other: list[Span]) -> bool:
    """Return whether columns are the same: each overlaps its counterpart and no other."""
    if not one or len(one) != len(other):
        return False
    return all(_over(span, other) == [place] for place, span in enumerate(one))


def _over(span: Span, spans: list[Span]) -> list[int]:
    return [place for place, (left, right) in enumerate(spans) if span[0] < right and span[1] > left]


def _is_rest(above: list[str], row: list[str]) -> bool:
    """Return whether a row goes on the one above it: beside its name, within sentences that have begun there.

    What the end of the page left no room for stands below what is empty there.
    """
    filled = [(one, other) for one, other in zip(above, row, strict=True) if other]
    if row[0] or not filled:
        return False
    return all(not one or other[0].islower() or other[0] in _LOWER_START for one, other in filled)
