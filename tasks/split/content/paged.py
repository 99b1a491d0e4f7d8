"""Pages and slides: one chunk each if it fits; small ones can be merged, and large ones are cut by their structure.

One page a chunk did best in NVIDIA's comparison of chunking strategies ("Finding the Best Chunking Strategy", 2025).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from docmill.tasks.split.general.structure import structure_pieces
from docmill.tasks.split.parts.lines import lines
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.usual_options import Page, Slides
from docmill.tasks.split.spans.pieces import BARRIER, HEADING, Allow, Piece, merge
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span

_FEED = re.compile("\f")
_RULE = re.compile(r"[ \t]{0,3}(?:-{3,}|\*{3,}|_{3,})[ \t]*$")


def split_pages(part: Part, options: Page) -> list[Span]:
    """Return spans of at most `options.size` tokens; only small pages share one."""
    return _split(part, page_starts(part), options)


def split_slides(part: Part, options: Slides) -> list[Span]:
    """Return spans of at most `options.size` tokens; only small slides share one."""
    return _split(part, slide_starts(part), options)


def page_starts(part: Part) -> list[int]:
    """Return the starts of pages: those set by the parser, else its page breaks, else form feeds."""
    return _numbered_pages(part) or _after_breaks(part) or _after_feeds(part)


def _numbered_pages(part: Part) -> list[int]:
    """Return the start of the first element on each page, except the first page."""
    paged = [element for element in part.elements if element.page]
    return [element.start_char for before, element in pairwise(paged) if element.page != before.page]


def _after_breaks(part: Part) -> list[int]:
    return [element.end_char for element in part.elements if element.kind == "page_break"]


def _after_feeds(part: Part) -> list[int]:
    return [match.end() for match in _FEED.finditer(part.text, part.start, part.end)]


def slide_starts(part: Part) -> list[int]:
    """Return the starts of slides: pages, else texts after rules, else the highest heading level that has two."""
    return page_starts(part) or _after_furniture(part) or _at_rules(part) or _at_headings(part)


def _after_furniture(part: Part) -> list[int]:
    """Return the ends of the rules that the parser marked as furniture."""
    return [
        e.end_char
        for e in part.elements
        if e.kind == "furniture" and _RULE.fullmatch(part.text, e.start_char, e.end_char)
    ]


def _at_rules(part: Part) -> list[int]:
    return [start for start, line in lines(part) if _RULE.match(line)]


def _at_headings(part: Part) -> list[int]:
    """Return the starts of the headings of the highest level that has two; a single one above is the talk's title."""
    titles = [element for element in part.elements if element.kind == "title"]
    levels = sorted(element.level for element in titles)
    level = next((a for a, b in pairwise(levels) if a == b), 0)
    return [element.start_char for element in titles if element.level == level]


def _split(part: Part, starts: Sequence[int], options: Page) -> list[Span]:
    room = Room(part.tokens, options.size)
    # Two breaks in a row are one, and a break at either end of the part divides nothing.
    places = sorted({place for place in starts if part.start < place < part.end})
    pieces = list(_pieces(part, [part.start, *places, part.end], room))
    return merge(part.text, pieces, room, _small_pages(pieces, places, Room(part.tokens, options.small)))


def _pieces(part: Part, bounds: Sequence[int], room: Room) -> Iterator[Piece]:
    """Yield the pieces of each page; only the first piece of a page has the seam of a heading."""
    for start, end in pairwise(bounds):
        for number, piece in enumerate(structure_pieces(part.within(start, end), room)):
            # A heading within a page must not look like the start of a page.
            inner = min(piece.seam, HEADING - 1) if piece.seam < BARRIER else BARRIER
            yield piece._replace(seam=inner if number else HEADING)


def _small_pages(pieces: Sequence[Piece], places: Sequence[int], small: Room) -> Allow:
    starts = [piece.start for piece in pieces]

    def page(i: int) -> tuple[int, int]:
        """Return the first and the last piece on the same page as a piece."""
        number = bisect_right(places, starts[i])
        first = bisect_left(starts, places[number - 1]) if number else 0
        last = bisect_left(starts, places[number]) - 1 if number < len(places) else len(pieces) - 1
        return first, last

    def allow(left: int, middle: int, right: int) -> bool:
        whole = page(left)[0] == left and page(right)[1] == right
        before, after = page(middle - 1)[0], page(middle)[1]
        return (
            whole
            and small.fits(pieces[before].start, pieces[middle - 1].end)
            and small.fits(pieces[middle].start, pieces[after].end)
        )

    return allow
