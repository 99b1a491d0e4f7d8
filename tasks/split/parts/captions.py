"""Captions: which table or figure each caption belongs to, above or below it, decided over the whole document."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.caption_labels import LONGEST, is_caption, names_table

_PROSE = ("paragraph", "text", "quote")
_CAPTIONED = ("table", "figure")
_APART = frozenset({"title", "front_matter", "toc"})  # a caption belongs to nothing across these
_REACH = 2
"""Blocks from a caption to its table: one line with units or the source may be between them. With more, the caption of
a picture that was dropped would take a table that comes a paragraph or two later."""


class Captions(NamedTuple):
    """The captions of a document's tables and figures; `of` maps the start of a table or figure to its caption.

    `below` has the starts of captions below their tables. `joined` has the starts of all blocks that stay with the
    previous block, because they are between a caption and its table, or are the latter of the two.
    """

    of: dict[int, Element]
    below: frozenset[int]
    joined: frozenset[int]


def bound_captions(parsed: Parsed) -> Captions:
    """Return the captions of tables and figures; if as many would have one above as below, captions are above.

    Figures come first: a caption that belongs to a figure, by the file's own markup or by its words, belongs to no
    table.
    """
    blocks = [one for one in parsed.elements if one.kind != "furniture"]
    named = [number for number, one in enumerate(blocks) if _names(parsed.text, one)]
    of_figures = [at for at in named if not names_table(parsed.text[blocks[at].start_char : blocks[at].end_char])]
    found = _found(blocks, of_figures, "figure", _stated(parsed.text, blocks))
    found = _found(blocks, named, "table", found)
    of = {blocks[table].start_char: blocks[number] for table, number in found.items()}
    below = frozenset(one.start_char for table, one in of.items() if one.start_char > table)
    return Captions(of, below, frozenset(_joined(blocks, found)))


def _stated(text: str, blocks: Sequence[Element]) -> dict[int, int]:
    """Return the captions that files state, by their table or figure, both as block numbers."""
    found = dict[int, int]()
    for number, one in enumerate(blocks):
        caption = one.attributes.get("caption") if one.kind in _CAPTIONED else None
        for at in _beside(number, one.kind) if caption else ():
            if 0 <= at < len(blocks) and text[blocks[at].start_char : blocks[at].end_char] == caption:
                found[number] = at
                break
    return found


def _beside(number: int, kind: str) -> Iterator[int]:
    """Yield the numbers of the blocks that may be the caption of a block, the likeliest first."""
    sides = (1, -1) if kind == "figure" else (-1, 1)  # a table's caption is usually above it
    yield from (number + step * side for step in range(1, _REACH + 1) for side in sides)


def _found(blocks: Sequence[Element], named: Sequence[int], kind: str, known: dict[int, int]) -> dict[int, int]:
    """Return the caption of each table or figure, both as block numbers, from the side on which more have one.

    `known` captions are kept and are not assigned to anything else.
    """
    left = [number for number in named if number not in known.values()]
    first, other = sorted((_bound(blocks, left, step, kind) for step in (1, -1)), key=_sum, reverse=True)
    taken = {*first.values()}
    return {table: number for table, number in other.items() if number not in taken} | first | known


def _joined(blocks: Sequence[Element], found: dict[int, int]) -> Iterator[int]:
    for ends in found.items():
        yield from (blocks[at].start_char for at in range(min(ends) + 1, max(ends) + 1))


def _names(text: str, element: Element) -> bool:
    long = element.end_char - element.start_char > LONGEST
    return element.kind in _PROSE and not long and is_caption(text[element.start_char : element.end_char])


def _bound(blocks: Sequence[Element], named: Sequence[int], step: int, wanted: str) -> dict[int, int]:
    """Return the caption of each block of a kind, both as numbers, if captions are above (1) or below (-1)."""
    found = dict[int, int]()
    for number in named:
        for at in range(number + step, number + step * (_REACH + 1), step):
            kind = blocks[at].kind if 0 <= at < len(blocks) and at not in named else "title"
            if kind == wanted:
                found.setdefault(at, number)
            if kind in _CAPTIONED or kind in _APART:
                break
    return found


def _sum(bound: dict[int, int]) -> float:
    """Return how many tables or figures have a caption; one with a block in between counts less."""
    return sum(1 / abs(table - number) for table, number in bound.items())
