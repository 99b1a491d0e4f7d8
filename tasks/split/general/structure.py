"""Structure-aware splitting: along a document's headings, blocks, list items, rows and lines of code.

A chunk stays in one section, with two exceptions: small sections under the same heading may share a chunk, and an empty
heading goes with the next one. A table is cut only between rows; code that fits stays whole.
"""

from collections.abc import Iterator, Sequence

from docmill.tasks.split.parts.blocks import Block, announces, blocks
from docmill.tasks.split.parts.outline import Outline
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.usual_options import Structure
from docmill.tasks.split.spans.cut_places import code_lines, prose_cuts, table_rows
from docmill.tasks.split.spans.heading_leads import led
from docmill.tasks.split.spans.pieces import (
    BARRIER,
    BLOCK,
    GLUE,
    HEADING,
    ITEM,
    LEAD,
    NESTED,
    Allow,
    Cutter,
    Piece,
    cut,
    fit_all,
    merge,
)
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span

_DEEPEST = 8
"""The deepest level of headings and items with its own seam; deeper ones share it.

With fewer levels, deep lists lose their order; with more than nine, item seams would reach those of blocks.
"""


def split_structure(part: Part, options: Structure) -> list[Span]:
    """Return spans of at most `options.size` tokens."""
    room = Room(part.tokens, options.size)
    pieces = list(structure_pieces(part, room))
    small = small_sections(pieces, part.outline, Room(part.tokens, options.small))
    return merge(part.text, pieces, room, small)


def structure_pieces(part: Part, room: Room) -> Iterator[Piece]:
    """Yield a part's blocks as pieces; blocks that are too long are cut into smaller pieces."""
    text = part.text
    before, in_list, glued, barred = Block("front_matter", 0, 0), False, 0, False
    for block in blocks(part):
        # A paragraph or code block below an item belongs to that item, not to what follows the list.
        nested = in_list and block.kind != "title" and _is_indented(text, block.start)
        joined = block.start in part.captions.joined
        seam = BARRIER if barred and not joined else _seam(part, before, block, in_list, nested)
        in_list = block.kind == "list_item" or nested
        before = block
        if block.kind == "front_matter":  # not part of the text, and nothing may be joined across it
            barred = True
            continue
        barred = barred and joined
        glued = glued if seam == GLUE else block.start
        if room.fits(glued, block.end):
            yield Piece(block.start, block.end, seam)
        else:
            # The rest of a table that was cut would join the next block without its header.
            barred = block.kind == "table"
            yield from _parts(text, block, seam, glued, room)


def _parts(text: str, block: Block, seam: int, lead: int, room: Room) -> Iterator[Piece]:
    """Yield the pieces of a block that is too long, alone or together with its heading at `lead`."""
    if lead < block.start:
        yield from led(text, _cut(text, block, seam, room), lead, room)
    elif block.kind == "code" and room.fits(block.start, block.end):
        yield Piece(block.start, block.end, seam)
    else:
        yield from _cut(text, block, seam, room)


def _cut(text: str, block: Block, seam: int, room: Room) -> Iterator[Piece]:
    cutters = _CUTTERS.get(block.kind, _PROSE)
    span = Span(block.start, block.end)
    yield from fit_all(text, cut(text, span, seam, cutters[0](text, span)), room, cutters[1:])


_PROSE: tuple[Cutter, ...] = (prose_cuts,)
_CUTTERS: dict[str, tuple[Cutter, ...]] = {"code": (code_lines,), "table": (table_rows,)}


def _seam(part: Part, before: Block, block: Block, in_list: bool, nested: bool) -> int:
    """Return the seam between two blocks: the higher a heading or item, the looser."""
    if before.kind == "title" or (before.kind, block.kind) == ("question", "answer"):
        return GLUE
    if block.kind == "title":
        return HEADING + max(0, _DEEPEST - block.level)
    if in_list and block.kind == "list_item":
        return ITEM + max(0, _DEEPEST - block.level)
    if nested:
        return NESTED
    return LEAD if _leads(part, before) or block.start in part.captions.joined else BLOCK


def _leads(part: Part, block: Block) -> bool:
    """Return whether a paragraph introduces what follows and so stays with it."""
    prose = block.kind in ("paragraph", "text") and block.start not in part.captions.below
    return prose and announces(part.text[block.start : block.end])


def _is_indented(text: str, start: int) -> bool:
    return text[max(0, start - 2) : start] in ("  ", "\t", " \t", "\n\t")


def small_sections(pieces: Sequence[Piece], outline: Outline, small: Room) -> Allow:
    """Return a function that says which sections may share a chunk: small, whole siblings, or parent and child.

    The last part of a section joins no other section, because its context would no longer name its section.
    """

    def begins(i: int) -> bool:
        return i == 0 or pieces[i].seam >= HEADING

    def allow(left: int, middle: int, right: int) -> bool:
        whole = begins(left) and (right + 1 == len(pieces) or begins(right + 1))
        # Otherwise the end of a long section would join the next one, which has other headings.
        if not whole or not small.fits(pieces[left].start, pieces[middle - 1].end):
            return False
        if not small.fits(pieces[middle].start, pieces[right].end):
            return False
        first, other = outline.at(pieces[left].start), outline.at(pieces[middle].start)
        above = outline.headings[first].parent if first >= 0 else -1
        return above == outline.headings[other].parent or first in outline.path(other)

    return allow
