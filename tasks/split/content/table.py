"""Table: groups of whole rows; the context of each group says the table's header.

As chonkie's TableChunker and the row groups of Parquet. A row is cut, between cells first, only if it alone is
too long.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from docmill.tasks.split.general.structure import Structure, small_sections, structure_pieces
from docmill.tasks.split.parts.blocks import Block, announces, blocks, is_caption
from docmill.tasks.split.parts.options import Options, check_whole
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.spans.line_cuts import rows_and_header, table_rows
from docmill.tasks.split.spans.merge_pieces import Allow, merge
from docmill.tasks.split.spans.pieces import BARRIER, GLUE, LEAD, LINE, WORD, Piece, cut, fit
from docmill.tasks.split.spans.prose import prose_cuts
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span

_MOST_ROWS = 10_000
_SMALL = Structure().small
_CELL = re.compile(r"(?<!\\)\|[ \t]*")


@dataclass(frozen=True, slots=True)
class Rows(Options):
    """`size` in tokens; a group has at most `rows` rows, 0 is as many as fit. What is no table goes by `structure`."""

    rows: int = 0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        check_whole("rows", self.rows, 0, _MOST_ROWS)


def split_rows(part: Part, options: Rows) -> list[Span]:
    """Return spans of at most `options.size` tokens; a table shares one only with its headings and its caption."""
    room = Room(part.tokens, options.size)
    pieces = list(_pieces(part, room, options.rows))
    return merge(part.text, pieces, room, _small_sections(part, pieces))


def _small_sections(part: Part, pieces: Sequence[Piece]) -> Allow:
    small = small_sections(pieces, part.outline, Room(part.tokens, _SMALL))
    tables, titles = ({e.start for e in part.elements if e.kind == kind} for kind in ("table", "title"))

    def allow(left: int, middle: int, right: int) -> bool:
        holds_table = any(piece.start in tables for piece in pieces[middle : right + 1])
        only_titles = all(piece.start in titles for piece in pieces[left:middle])
        return (only_titles or not holds_table) and small(left, middle, right)

    return allow


def _pieces(part: Part, room: Room, most: int) -> Iterator[Piece]:
    start, before, barred = part.start, Block("", 0, 0), False
    for block in blocks(part):
        if block.kind == "table":
            pieces = _barred(list(structure_pieces(part.within(start, block.start), room)), barred)
            named = _named(part.text, pieces, before, room)
            yield from pieces
            yield from _rows(part.text, block, room, most, named)
            start, barred = block.end, True
        elif before.kind == "table" and is_caption(part.text[block.start : block.end]) and room.fits(*block[1:3]):
            yield Piece(block.start, block.end, LEAD)
            start = block.end
        before = block
    yield from _barred(list(structure_pieces(part.within(start, part.end), room)), barred)


def _barred(pieces: list[Piece], barred: bool) -> list[Piece]:
    return [pieces[0]._replace(seam=BARRIER), *pieces[1:]] if pieces and barred else pieces


def _named(text: str, pieces: list[Piece], before: Block, room: Room) -> Piece | None:
    """Return the headings and the caption above a table as one piece, which they become in `pieces`, or None."""
    if not pieces or before.kind not in ("title", "paragraph", "text"):
        return None
    if before.kind != "title" and (pieces[-1].start != before.start or not announces(text[before.start : before.end])):
        return None
    first = len(pieces) - 1
    while first and pieces[first].seam == GLUE and room.fits(pieces[first - 1].start, before.end):
        first -= 1
    seam = pieces[first].seam if before.kind == "title" or first < len(pieces) - 1 else BARRIER
    pieces[first:] = [Piece(pieces[first].start, before.end, seam)]
    return pieces[-1]


def _rows(text: str, table: Block, room: Room, most: int, named: Piece | None) -> Iterator[Piece]:
    span, cuts, rows = Span(table.start, table.end), list[tuple[int, int]](), 1
    for place, weight in table_rows(text, span):
        rows += weight > GLUE
        cuts.append((place, BARRIER if weight > GLUE and most and rows > most else weight))
        rows = 1 if cuts[-1][1] == BARRIER else rows
    for row in _whole_rows(text, span, named, cuts, room):
        yield from fit(text, row, room, (_cells, prose_cuts))


def _whole_rows(text: str, span: Span, named: Piece | None, cuts: list[tuple[int, int]], room: Room) -> Iterator[Piece]:
    """Yield the rows, the first with the header that it hangs on if both fit beside what names the table."""
    first = next((place for place, weight in cuts if weight > GLUE), span.end)
    rows = [(place, weight) for place, weight in cuts if weight > GLUE]
    if named and not room.fits(named.start, first):
        below = next((place for place, weight in rows_and_header(text, span) if weight == GLUE), first)
        cuts = [(below, LEAD), *rows] if below < first and room.fits(span.start, below) else cuts
    elif room.fits(span.start, first):
        cuts = rows
    yield from cut(text, span, GLUE if named else BARRIER, cuts)


def _cells(text: str, span: Span) -> list[tuple[int, int]]:
    return [(match.end(), WORD if match.end() < span.end else LINE) for match in _CELL.finditer(text, *span)]
