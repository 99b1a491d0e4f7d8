"""Code splitting: between the functions, classes and methods that tree-sitter finds, then between statements.

After cAST (Zhang et al. 2025), which splits large nodes of the syntax tree and merges small siblings. In addition,
comments and decorators stay with what they describe, and the end of a definition never joins what follows it.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from docmill.tasks.split.general.recursive import split_recursive
from docmill.tasks.split.parts.blocks import Block, blocks
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.usual_options import Code, Recursive
from docmill.tasks.split.spans.cut_places import code_lines
from docmill.tasks.split.spans.heading_leads import with_leads
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK, GLUE, HEADING, ITEM, LEAD, Piece, cut, fit, merge
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.syntax.definitions import code_within, definitions_of
from docmill.tasks.split.syntax.grammars import Syntax, syntax_of

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 8
"""Up to this depth, shallower definitions have looser seams, so that methods are joined before classes.

`HEADING` plus this must stay below `BARRIER`.
"""
_SHALLOW = 4
"""Up to this depth, shallower statements have looser seams.

Two seams per level, with and without an empty line, just fit between `ITEM` and `BLOCK`.
"""
_MOST_NESTED = 40
"""The maximum depth to which a syntax tree is followed; deeper code is cut between lines.

It limits recursion on hostile code.
"""
_BLANK_LINE = re.compile(r"(?:\n|\r)[ \t]*\r?\n[ \t]*\Z")
_LOOK_BACK = 200  # characters before a node, besides its indentation, that are searched for an empty line
_CONTINUES = re.compile(r"(?:end|fi|done|esac|else|elif|elsif|rescue|ensure|except|finally|catch)\b|[)\]}]")
_LEADING_KINDS = """
    attribute_item inner_attribute_item attribute_list attribute decorator annotation marker_annotation haddock
    signature access_specifier unary_operator pragma
"""
_LEADING = frozenset(_LEADING_KINDS.split())


class Item(NamedTuple):
    """A node that begins its line: the node, its start, and the seam before it."""

    node: "Node"
    start: int
    seam: int


def split_code(part: Part, options: Code) -> list[Span]:
    """Return spans of at most `options.size` tokens; code in an unknown language is split by `recursive`."""
    room = Room(part.tokens, options.size)
    pieces = list(with_leads(part.text, _pieces(part, room), part.headings, room))

    def whole(left: int, middle: int, right: int) -> bool:
        """Return whether both sides consist of whole definitions."""
        seam = pieces[middle].seam
        ends = right + 1 == len(pieces) or pieces[right + 1].seam >= seam
        return ends and (left == 0 or pieces[left].seam >= seam)

    return merge(part.text, pieces, room, whole)


def _pieces(part: Part, room: Room) -> Iterator[Piece]:
    seam = BARRIER
    for block in blocks(part):
        if block.kind != "front_matter":
            yield from _code(part, block, seam, room) if block.kind == "code" else _other(part, block, seam, room)
        seam = {"front_matter": BARRIER, "title": GLUE}.get(block.kind, BLOCK)


def _other(part: Part, block: Block, seam: int, room: Room) -> Iterator[Piece]:
    for span in split_recursive(part.within(block.start, block.end), Recursive(room.tokens)):
        yield Piece(span.start, span.end, seam)
        seam = BLOCK


def _code(part: Part, block: Block, seam: int, room: Room) -> Iterator[Piece]:
    element = next(part.index.outer.within(block.start, block.end))
    code = code_within(part.text, element)
    language = str(element.attributes.get("language", ""))
    # Without the fence of a listing, which no grammar can parse.
    syntax = syntax_of(part.text[slice(*code)], language)
    definitions = definitions_of(part.text[slice(*code)], language)
    if syntax is None or definitions is None or room.fits(block.start, block.end):
        yield from _other(part, block, seam, room)
        return
    reader = _Reader(part.text, code.start, syntax, frozenset(definitions.starts), room)
    yield from _clipped(reader.pieces(syntax.root, Span(element.start_char, element.end_char), seam, 0), block)


def _clipped(pieces: Iterator[Piece], block: Block) -> Iterator[Piece]:
    for piece in pieces:
        if piece.end > block.start and piece.start < block.end:
            yield Piece(max(piece.start, block.start), min(piece.end, block.end), piece.seam)


class _Reader:
    """Splits the syntax tree of one piece of code; `origin` is the start of its text in the document."""

    def __init__(self, text: str, origin: int, syntax: Syntax, starts: frozenset[int], room: Room) -> None:
        self.text = text
        self.room = room
        self._origin = origin
        self._syntax = syntax
        self._starts = starts

    def pieces(self, node: "Node", span: Span, seam: int, depth: int) -> Iterator[Piece]:
        """Yield the pieces of a node that is too long; `span` extends to the start of the next node."""
        items = self._items(node, depth) if depth < _MOST_NESTED else []
        starts = [*(item.start for item in items), span.end]
        for head in cut(self.text, Span(span.start, starts[0]), seam, ()):
            yield from fit(self.text, head, self.room, (code_lines,))
        glued = span.start
        for item, end in zip(items, starts[1:], strict=True):
            glued = glued if item.seam == GLUE else item.start
            if self.room.fits(glued, end):
                yield from cut(self.text, Span(item.start, end), item.seam, ())
            else:
                yield from self.pieces(item.node, Span(item.start, end), item.seam, depth + 1)

    def _items(self, node: "Node", depth: int) -> list[Item]:
        body = node.child_by_field_name("body")
        found = self._lines(node)
        while len(found) == 1 and found[0].end_byte == node.end_byte:
            node = found[0]
            body = body or node.child_by_field_name("body")
            found = self._lines(node)
        head = body.start_byte if body and body.start_byte > node.start_byte else node.start_byte
        return list(self._seams(found, head, depth))

    def _lines(self, node: "Node") -> list["Node"]:
        """Return the outermost descendants that begin a line, without any that begins at the node's own start."""
        found: list[Node] = []
        open_ = list(reversed(node.children))
        while open_:
            child = open_.pop()
            if child.start_byte > node.start_byte and child.is_named and self._begins_line(child):
                found.append(child)
            # Only a node of several lines can contain a node that begins one.
            elif child.end_point.row > child.start_point.row:
                open_ += reversed(child.children)
        return found

    def _begins_line(self, node: "Node") -> bool:
        start = self._place(node)
        line = max(self.text.rfind("\n", 0, start), self.text.rfind("\r", 0, start)) + 1
        return not self.text[line:start].strip()

    def _place(self, node: "Node") -> int:
        return self._origin + self._syntax.place(node.start_byte)

    def _seams(self, nodes: list["Node"], head: int, depth: int) -> Iterator[Item]:
        """Yield nodes with the seams before them; `head` is the byte at which the body begins, or else the node."""
        led = after_definition = False
        inside = depth == 0
        for number, node in enumerate(nodes):
            start, leads = self._place(node), self._leads(node, nodes, number)
            defines = self._defines(nodes, number)
            if node.start_byte < head or led or _CONTINUES.match(self.text, start):
                seam = GLUE
            elif not inside:
                seam = LEAD if defines else GLUE
            elif defines or after_definition:
                seam = HEADING + max(0, _DEEPEST - depth)
            else:
                seam = ITEM + 2 * max(0, _SHALLOW - depth) + bool(self._blank_before(start))
            yield Item(node, start, seam)
            inside |= node.start_byte >= head
            led, after_definition = leads, defines and not leads

    def _blank_before(self, start: int) -> bool:
        return _BLANK_LINE.search(self.text, max(0, start - _LOOK_BACK), start) is not None

    def _leads(self, node: "Node", nodes: list["Node"], number: int) -> bool:
        """Return whether a node is a comment, decorator or the like that belongs to the next node."""
        if number + 1 == len(nodes) or not (node.type in _LEADING or "comment" in node.type):
            return False
        # A comment followed by an empty line is about what is above it, or about the file.
        return node.type == "access_specifier" or not self._blank_before(self._place(nodes[number + 1]))

    def _defines(self, nodes: list["Node"], number: int) -> bool:
        """Return whether a node is a definition or leads to one."""
        # A comment above a definition counts as its beginning.
        while self._leads(nodes[number], nodes, number):
            number += 1
        node = nodes[number]
        return node.type == "decorated_definition" or self._place(node) - self._origin in self._starts
