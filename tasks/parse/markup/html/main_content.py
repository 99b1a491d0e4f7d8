"""Main content: the part of a page that holds its prose; what is beside it is furniture.

Related links, share bars, lists of tags and newsletters are in boxes of their own: beside the box of the article, which
its prose tells, or within it, where their names and first words tell them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

from docmill.tasks.parse.markup.html.beside_names import (
    is_beside,
    is_column,
    is_label,
    lists_pages,
    opens_pages,
    says_rights,
)
from docmill.tasks.parse.passes.drawn_block import DrawnBlock
from docmill.tasks.parse.titles.untitled import is_prose

_TOLD = frozenset(("paragraph", "quote", "list_item"))
_BOXES = frozenset(("div", "section", "aside", "article", "ul", "ol", "header", "footer", "form"))
_WHOLE = frozenset(("html", "body", "main"))  # what a class of these says is about the page
_STATED = ("main", "article")
_SHORT = 24  # characters of the shortest prose in any script; most blocks of a page have fewer
_APART = frozenset(("nav", "footer", "form", "aside", "a"))  # a link around a block makes a card of it
_SHARE = 0.95
"""Least share of a page's prose in its main content. With .85, introductions that stand in a box of their own are lost;
with all of it, the teaser of one other article makes the whole page the main content."""
_MAIN, _ARTICLE = 0.3, 0.5
"""Least share of the prose in an element that is the main content, or an article, by its tag: others are teasers."""
_NAMED, _COLUMN, _FORM = 0.65, 0.5, 0.1
"""Shares of the prose above which a box is not beside it, whatever its names or words say: a forum's comments are its
content, some layouts name a column for what is beside it, and some pages are one form."""
_LEAST = 400  # characters of prose on a page that has a main content: others are lists, forms and start pages
_LINKED = 0.5  # share of a paragraph in links above which it is a teaser
_DATA = ("th", "pre", "math")


class _PlacedBlocks:
    """The blocks of a page, the range of them in each node, and the characters before each: of text, and of prose."""

    def __init__(self, blocks: Sequence[DrawnBlock], places: Sequence[Any]) -> None:
        self.blocks, self.places = blocks, places
        self.spans = _spans(places)
        told = [len(block.text) if _is_told(block) else 0 for block in blocks]
        self.scant = sum(told) < _LEAST
        self.prose = _sums((len(block.text) for block in blocks) if self.scant else told)
        self.stated = any(box.tag in _STATED for box in self.spans)
        tops = (number for number, block in enumerate(blocks) if block.kind == "title" and block.level == 1)
        self.top = next(tops, -1)

    def may_go(self, box: Any, most: float) -> bool:
        """Return whether a box holds no title of the page, data or notes, and at most a share of the prose."""
        span = self.spans[box]
        if box.tag in _WHOLE or self.top in span or _share(self.prose, span) > most:
            return False
        if any("footnote" in self.blocks[number].attributes for number in span):
            return False
        return _is_column(box) or next(box.iter(*_DATA), None) is None


def mark_beside(blocks: Sequence[DrawnBlock], places: Sequence[Any]) -> None:
    """Make furniture of the blocks beside the main content; `places` are the nodes in which they are.

    Boxes that hold the title of the page, a table, a listing or notes of the text are kept.
    """
    page = _PlacedBlocks(blocks, places)
    beside = {number for spans in (_named(page), _opened(page), _rights(page)) for span in spans for number in span}
    if not page.scant:
        beside.update(number for span in _around(page, beside) for number in span)
    for number in beside:
        if blocks[number].kind != "toc":
            blocks[number].kind, blocks[number].level = "furniture", 0


def _named(page: _PlacedBlocks) -> Iterator[range]:
    """Yield boxes whose names or tags say that they are beside the main content."""
    for box, span in page.spans.items():
        if is_beside(box):
            most = _NAMED
        elif page.stated and _is_column(box) and next(box.iterancestors(*_STATED), None) is None:
            most = _COLUMN
        else:
            most = _FORM if box.tag == "form" else -1
        if most > 0 and page.may_go(box, most):
            yield span


def _opened(page: _PlacedBlocks) -> Iterator[range]:
    """Yield boxes that begin with words above other pages, and such words with the box below them."""
    for number, block in enumerate(page.blocks):
        words = block.attributes.get("text", block.text) if block.kind in ("title", *_TOLD) else ""
        sure = opens_pages(words)
        if sure or is_label(words):
            box = _begun(page, number)
            if (end := page.spans[box].stop) == number + 1 < len(page.blocks):
                box = _begun(page, end)
                end = page.spans[box].stop
            if end == number + 1 or (page.may_go(box, _COLUMN) and lists_pages(box, sure)):
                yield range(number, end)


def _begun(page: _PlacedBlocks, number: int) -> Any:
    """Return the widest box that begins with a block."""
    place = page.places[number]
    boxes = [box for box in (place, *place.iterancestors()) if page.spans[box].start == number]
    return (boxes or [place])[-1]


def _rights(page: _PlacedBlocks) -> Iterator[range]:
    for number, block in enumerate(page.blocks):
        if block.kind in _TOLD and says_rights(block.text):
            yield range(number, number + 1)


def _around(page: _PlacedBlocks, beside: set[int]) -> Iterator[range]:
    """Yield the boxes beside the innermost one that holds nearly all prose; what is known to be beside it is none."""
    sums = _main_prose(page, beside)
    around = {box for box, span in page.spans.items() if _share(sums, span) >= _SHARE}
    for box, span in page.spans.items():
        if box not in around and _is_in(box.getparent(), around) and _may_be_beside(page, box):
            yield span


def _main_prose(page: _PlacedBlocks, beside: set[int]) -> list[int]:
    """Return the characters of prose before each block, without columns and what is outside of the main element."""
    apart = [span for box, span in page.spans.items() if _is_apart(box) and _share(page.prose, span) <= _COLUMN]
    sums = _without(page.prose, beside.union(*apart))
    main = [span for box, span in page.spans.items() if _share(sums, span) >= _least(box)]
    if not main:
        return sums
    return _without(sums, {*range(len(page.blocks))}.difference(*main))


def _is_in(parent: Any, around: set[Any]) -> bool:
    """Return whether a box is around the main content, and not the innermost one."""
    return parent in around and not around.isdisjoint(parent)


def _may_be_beside(page: _PlacedBlocks, box: Any) -> bool:
    """Return whether a box beside the one of the prose holds nothing of a text: no title, data, terms or notes."""
    return box.tag in _BOXES and page.may_go(box, 1) and (_is_apart(box) or next(box.iter("dl"), None) is None)


def _least(box: Any) -> float:
    """Return the least share of the prose that a box must hold to be what it says it is; 2 if it says nothing."""
    if box.tag == "main" or box.get("role") == "main":
        return _MAIN
    return _ARTICLE if box.tag == "article" or box.get("itemprop") == "articleBody" else 2.0


def _is_apart(box: Any) -> bool:
    return box.tag in _APART or _is_column(box)


def _is_column(box: Any) -> bool:
    return box.tag == "aside" or box.get("role") == "complementary" or is_column(box)


def _spans(places: Sequence[Any]) -> dict[Any, range]:
    """Return the numbers of the blocks in each node around a block."""
    firsts, ends = dict[Any, int](), dict[Any, int]()
    for number, place in enumerate(places):
        for box in (place, *place.iterancestors()):
            firsts.setdefault(box, number)
            ends[box] = number + 1
    return {box: range(first, ends[box]) for box, first in firsts.items()}


def _sums(lengths: Iterable[int]) -> list[int]:
    return list(accumulate(lengths, initial=0))


def _without(sums: Sequence[int], left: set[int]) -> list[int]:
    """Return sums over all blocks but those left out."""
    return _sums(0 if number in left else end - start for number, (start, end) in enumerate(pairwise(sums)))


def _share(sums: Sequence[int], span: range) -> float:
    return (sums[span.stop] - sums[span.start]) / max(1, sums[-1])


def _is_told(block: DrawnBlock) -> bool:
    """Return whether a block is prose, and not mostly links."""
    if block.kind not in _TOLD or len(block.text) < _SHORT or not is_prose(block.text):
        return False
    return sum(len(link["text"]) for link in block.attributes.get("links", ())) <= _LINKED * len(block.text)
