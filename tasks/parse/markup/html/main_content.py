"""Main content: the part of a page that holds its prose; what stands beside it is furniture.

Related links, share bars, lists of tags and newsletters stand in boxes of their own beside the box of the article. The
prose tells which box that is, whatever its name.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from docmill.tasks.parse.passes.drawn_block import DrawnBlock
from docmill.tasks.parse.titles.untitled import is_prose

_TOLD = frozenset(("paragraph", "quote", "list_item"))
_BOXES = frozenset(("div", "section", "aside", "article", "ul", "ol", "header", "footer", "form"))
_SHORT = 24  # characters of the shortest prose in any script; most blocks of a page have fewer
_APART = ("nav", "footer", "form", "aside")
_SHARE = 0.95
"""Least share of a page's prose in its main content. With .85, introductions that stand in a box of their own are lost;
with all of it, the teaser of one other article makes the whole page the main content."""
_LEAST = 400  # characters of prose on a page that has a main content: others are lists, forms and start pages
_LINKED = 0.5  # share of a paragraph in links above which it is a teaser
_CONTENT = ("h1", "th", "pre", "dl", "math")


def mark_beside(blocks: Sequence[DrawnBlock], places: Sequence[Any]) -> None:
    """Make furniture of the blocks beside the main content; `places` are the nodes in which they stand.

    Boxes that hold a heading of the page, a table, a listing or notes of the text are kept.
    """
    around = _around_main(blocks, places)
    if not around:
        return
    known = {place: _box(place, around) for place in {*places}}
    boxes = [known[place] for place in places]
    kept = _kept(blocks, boxes)
    for block, box in zip(blocks, boxes, strict=True):
        if box is not None and box not in kept:
            block.kind, block.level = "furniture", 0


def _kept(blocks: Sequence[DrawnBlock], boxes: Sequence[Any]) -> set[Any]:
    """Return the boxes that hold notes of the text, or what only the main content has."""
    noted = {box for box, block in zip(boxes, blocks, strict=True) if "footnote" in block.attributes}
    return noted | {box for box in {*boxes} - noted - {None} if next(box.iter(*_CONTENT), None) is not None}


def _around_main(blocks: Sequence[DrawnBlock], places: Sequence[Any]) -> set[Any]:
    """Return the innermost box that holds nearly all prose and those around it; nothing if there is little prose."""
    held: dict[Any, int] = {}
    whole = 0
    for place, length in _told(blocks, places):
        whole += length
        for box in (place, *place.iterancestors()):
            held[box] = held.get(box, 0) + length
    return {box for box, length in held.items() if length >= _SHARE * whole} if whole >= _LEAST else set()


def _told(blocks: Sequence[DrawnBlock], places: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """Yield the places of blocks of prose, and how many characters these have."""
    for block, place in zip(blocks, places, strict=True):
        told = block.kind in _TOLD and len(block.text) >= _SHORT and is_prose(block.text)
        if told and next(place.iterancestors(*_APART), None) is None:
            linked = sum(len(link["text"]) for link in block.attributes.get("links", ()))
            if linked <= _LINKED * len(block.text):
                yield place, len(block.text)


def _box(place: Any, around: set[Any]) -> Any | None:
    """Return the box beside the main content in which a place is; None if it is in the main content or in no box."""
    inner = None
    while place is not None and place not in around:
        inner, place = place, place.getparent()
    beside = inner is not None and place is not None and inner.tag in _BOXES and not around.isdisjoint(place)
    return inner if beside else None
