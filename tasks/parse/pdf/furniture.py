"""PDF furniture: headers, footers and page numbers, recognised because they repeat on most pages."""

import re
from collections import Counter, defaultdict

from docmill.tasks.parse.pdf.page_content import PageContent
from docmill.tasks.parse.pdf.text.line import TextLine

_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_COUNT = re.compile(r"\s*(\d{1,4})\b|.*?\b(\d{1,4})\s*$")
# Of the page's height. A wider margin holds text of the page, which few pages do not tell from what repeats.
_MARGIN, _NARROW_MARGIN = 0.16, 0.08
_LARGE = 1.12  # of the body's font size: text this large in a margin may be a heading
_FEW = 6  # letters: fewer than these that run up a page are a label of a drawing
_UPRIGHT = 2  # times as high as it is wide: text that runs up the page
_FEW_PAGES = 4  # of so few, most may have the same text by chance

# Text on most pages is furniture. Lower shares take what a few pages say alike for furniture; higher ones lose
# headers that the first pages of chapters lack.
_MOST = 0.5  # of the pages with text
_MOST_OF_PARITY, _LEAST_OF_PARITY = 0.6, 3  # of the left or of the right ones, and how many of them
_LEAST_COUNTED = 3  # pages that a number counts: on two it may do so by chance

Key = tuple[bool, str]  # at the top or the bottom, and its text without numbers
Offset = tuple[bool, int]  # at the top or the bottom, and how far a number is from the page's


def mark_furniture(sheets: list[PageContent], body: float) -> None:
    """Mark text that runs up a margin, and lines in a margin whose text, apart from numbers, is on most pages.

    Lines with page numbers are marked, too, whatever else they say: the running title of a chapter is one.
    """
    written = sum(bool(sheet.items) for sheet in sheets)
    found = _marginal(sheets, body, _MARGIN if written > 2 else _NARROW_MARGIN)
    if written > 1:
        _mark_repeated(found, {sheet.number: sheet.height for sheet in sheets}, written)
        _mark_counts([(top, line) for (top, _), line in found if line.size < body * _LARGE], written)


def _marginal(sheets: list[PageContent], body: float, margin: float) -> list[tuple[Key, TextLine]]:
    return [(_key(line, top, body), line) for sheet in sheets for line, top in _in_margins(sheet, margin)]


def _key(line: TextLine, top: bool, body: float) -> Key:
    """Return the key of a line in a margin, which is equal for its repetitions on other pages."""
    text = line.text.lower()
    # Headings in the margin, "Chapter 2", differ by their number and are no furniture.
    return (top, text if line.size >= body * _LARGE else _DIGITS.sub("#", text))


def _in_margins(sheet: PageContent, margin: float) -> list[tuple[TextLine, bool]]:
    """Mark what runs up a page; return the other lines at its top, True, and at its bottom."""
    upper, lower = sheet.height * margin, sheet.height * (1 - margin)
    found = []
    for line in sheet.items:
        if not isinstance(line, TextLine):
            continue
        left, top, right, bottom = line.box
        if bottom - top > _UPRIGHT * (right - left) and len(line.text) >= _FEW:
            line.furniture = True
        elif bottom < upper or top > lower:
            found.append((line, bottom < upper))
    return found


def _mark_repeated(found: list[tuple[Key, TextLine]], heights: dict[int, float], written: int) -> None:
    """Mark lines that are on most of the pages with text; of few pages, those further in must be on all."""
    places: defaultdict[Key, set[int]] = defaultdict(set)
    for key, line in found:
        places[key].add(line.page)
    most = {key for key, pages in places.items() if _on_most(pages, written)}
    for key, line in found:
        if written <= _FEW_PAGES and _is_inner(line, heights[line.page]):
            line.furniture |= len(places[key]) == written
        else:
            line.furniture |= key in most


def _is_inner(line: TextLine, height: float) -> bool:
    return line.box[3] > _NARROW_MARGIN * height and line.box[1] < (1 - _NARROW_MARGIN) * height


def _on_most(pages: set[int], written: int) -> bool:
    """Return whether some of the pages with text are most of them, or most of the left or right ones."""
    if len(pages) > _MOST * written:
        return True
    # Books print left and right pages differently, so most pages of one parity are enough.
    parity = max(sum(page % 2 == odd for page in pages) for odd in (0, 1))
    if parity >= _LEAST_OF_PARITY and parity > _MOST_OF_PARITY * written / 2:
        return True
    return parity > 1 and parity >= written / 2


def _mark_counts(lines: list[tuple[bool, TextLine]], written: int) -> None:
    """Mark lines with a page number, and the text beside them."""
    counting = _counting(lines)
    most = _usual_offsets(counting, written)
    counts = {(line.page, round(line.box[3])) for offset, line in counting if offset in most}
    for _, line in lines:  # what stands beside the number of the page belongs to it
        line.furniture |= any((line.page, round(line.box[3]) + near) in counts for near in (-1, 0, 1))


def _usual_offsets(counting: list[tuple[Offset, TextLine]], written: int) -> set[Offset]:
    """Return the offsets that numbers have on most pages."""
    pages: defaultdict[Offset, set[int]] = defaultdict(set)
    for offset, line in counting:
        pages[offset].add(line.page)
    return {offset for offset, on in pages.items() if len(on) >= _LEAST_COUNTED and _on_most(on, written)}


def _counting(lines: list[tuple[bool, TextLine]]) -> list[tuple[Offset, TextLine]]:
    """Return lines that begin or end with a number, each with what it is more than the number of its page."""
    matches = [(top, line, _COUNT.match(line.text)) for top, line in lines]
    return [((top, int(match[1] or match[2]) - line.page), line) for top, line, match in matches if match]


def body_size(sheets: list[PageContent], code: bool) -> float:
    """Return the font size of most letters of a document; letters of one width do not count if they are `code`."""
    weights: Counter[float] = Counter()
    for sheet in sheets:
        for line in sheet.items:
            if isinstance(line, TextLine) and not (code and line.font.mono):
                weights[line.size] = weights.get(line.size, 0) + len(line.text)
    return max(weights, key=lambda size: (weights[size], size), default=0.0)
