"""Table: groups of whole rows; the context of each group repeats the table's header.

Like chonkie's TableChunker and the row groups of Parquet. A row is cut, first between cells, only if it is too long by
itself.
"""

import re
from collections.abc import Iterator, Sequence

from docmill.tasks.parse.passes.table_rows import column_names
from docmill.tasks.split.general.structure import small_sections, structure_pieces
from docmill.tasks.split.parts.blocks import Block, announces, blocks
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.usual_options import Rows, Structure
from docmill.tasks.split.spans.cut_places import prose_cuts, rows_and_header, table_rows
from docmill.tasks.split.spans.pieces import BARRIER, GLUE, LEAD, LINE, WORD, Allow, Piece, cut, fit, merge
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span

_SMALL = Structure().small
WIDEST_HEADER = 128
"""The longest header, in tokens, that contexts repeat although it exceeds their usual length: half of a small model's
limit. With less, the rows of wide tables lose their column names; with more, the names outweigh the rows."""
_USUAL_HEADER, _BESIDE_HEADER = 44, 30
"""Tokens of a header above which rows get less room, so that both fit the model, and how many of them are free."""
_CELL = re.compile(r"(?<!\\)\|[ \t]*")


def split_rows(part: Part, options: Rows) -> list[Span]:
    """Return spans of at most `options.size` tokens; a table shares a chunk only with its headings and caption."""
    room = Room(part.tokens, options.size)
    pieces = list(_pieces(part, room, options.rows))
    return merge(part.text, pieces, room, _small_sections(part, pieces))


def _small_sections(part: Part, pieces: Sequence[Piece]) -> Allow:
    small = small_sections(pieces, part.outline, Room(part.tokens, _SMALL))
    tables, titles = ({e.start_char for e in part.elements if e.kind == kind} for kind in ("table", "title"))

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
            named = _named(part, pieces, before, block, room)
            yield from pieces
            beside = _beside_header(part, block, room)
            rows = _rows(part.text, block, beside, most, named)
            yield from rows if beside is room else _filled(part.text, list(rows), beside)
            start, barred = block.end, True
        elif before.kind == "table" and block.start in part.captions.below and room.fits(block.start, block.end):
            yield Piece(block.start, block.end, LEAD)
            start = block.end
        before = block
    yield from _barred(list(structure_pieces(part.within(start, part.end), room)), barred)


def _beside_header(part: Part, table: Block, room: Room) -> Room:
    """Return the room for the rows of a table: less if their contexts will contain a long header."""
    (element,) = part.index.outer.within(table.start, table.start + 1)
    names = column_names(element.attributes.get("cells") or [[]], element.attributes.get("header_rows", 1))
    needed = part.tokens.counter.count(in_line(names))
    if not _USUAL_HEADER < needed <= WIDEST_HEADER:
        return room
    return Room(room.measure, max(room.tokens // 2, room.tokens - needed + _BESIDE_HEADER))


def in_line(names: Sequence[str]) -> str:
    """Return column names in one line, as contexts show them."""
    # A bar within a cell would look like a column border.
    return " | ".join(" ".join(str(name).replace("|", "/").split()) for name in names if str(name).strip())


def _filled(text: str, rows: Sequence[Piece], room: Room) -> Iterator[Piece]:
    """Yield groups of rows that fill a room smaller than that of other text; no two of them are joined."""
    for number, span in enumerate(merge(text, rows, room)):
        yield Piece(*span, BARRIER if number else rows[0].seam)


def _barred(pieces: list[Piece], barred: bool) -> list[Piece]:
    return [pieces[0]._replace(seam=BARRIER), *pieces[1:]] if pieces and barred else pieces


def _named(part: Part, pieces: list[Piece], before: Block, table: Block, room: Room) -> Piece | None:
    """Return the headings and the caption above a table as one piece, or None; it replaces the last of `pieces`."""
    if not (pieces and _is_name(part, before, table, pieces[-1])):
        return None
    first = last = len(pieces) - 1
    while first and _goes_with_above(part, pieces[first]) and room.fits(pieces[first - 1].start, before.end):
        first -= 1
    seam = pieces[first].seam if before.kind == "title" or first < last else BARRIER
    pieces[first:] = [Piece(pieces[first].start, before.end, seam)]
    return pieces[-1]


def _goes_with_above(part: Part, piece: Piece) -> bool:
    return piece.seam == GLUE or piece.start in part.captions.joined


def _is_name(part: Part, block: Block, table: Block, last: Piece) -> bool:
    """Return whether a block is a heading, or a whole paragraph that introduces what follows."""
    if block.kind == "title":
        return True
    whole = block.kind in ("paragraph", "text") and last.start == block.start
    if whole and table.start in part.captions.joined:
        return True
    return whole and block.start not in part.captions.joined and announces(part.text[block.start : block.end])


def _rows(text: str, table: Block, room: Room, most: int, named: Piece | None) -> Iterator[Piece]:
    span = Span(table.start, table.end)
    cuts = table_rows(text, span)
    for row in _whole_rows(text, span, named, _grouped(cuts, most) if most else cuts, room):
        yield from fit(text, row, room, (_cells, prose_cuts))


def _grouped(cuts: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """Return the starts of rows; after each `most` rows, the seam is a barrier."""
    found, rows = list[tuple[int, int]](), 1
    for place, seam in cuts:
        rows += seam > GLUE
        full = rows > most
        found.append((place, BARRIER if full else seam))
        rows = 1 if full else rows
    return found


def _whole_rows(text: str, span: Span, named: Piece | None, cuts: list[tuple[int, int]], room: Room) -> Iterator[Piece]:
    """Yield the rows; the first one includes the header if both fit together with the table's headings and caption.

    Otherwise the header stays whole if it fits by itself, and the first row may join it.
    """
    rows = [(place, weight) for place, weight in cuts if weight > GLUE]
    first = rows[0][0] if rows else span.end
    if room.fits(named.start if named else span.start, first):
        cuts = rows
    elif named:
        below = _below_header(text, span, first)
        cuts = [(below, LEAD), *rows] if below < first and room.fits(span.start, below) else cuts
    return cut(text, span, GLUE if named else BARRIER, cuts)


def _below_header(text: str, table: Span, otherwise: int) -> int:
    """Return the start of the first row below a header."""
    return next((place for place, weight in rows_and_header(text, table) if weight == GLUE), otherwise)


def _cells(text: str, span: Span) -> list[tuple[int, int]]:
    return [(match.end(), WORD if match.end() < span.end else LINE) for match in _CELL.finditer(text, *span)]
