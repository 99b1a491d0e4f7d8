"""PDF furniture: headers, footers and page numbers, known by being on most pages."""

import re
from collections import Counter, defaultdict

from docmill.tasks.parse.pdf.page_sheet import PageSheet
from docmill.tasks.parse.pdf.text.line import TextLine

_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_COUNT = re.compile(r"\s*(\d{1,4})\b|.*?\b(\d{1,4})\s*$")
_MARGIN = 0.16
_NARROW_MARGIN = 0.08
_LARGE = 1.12
_FEW = 6
_FEW_PAGES = 4

Key = tuple[bool, str]


def mark_furniture(sheets: list[PageSheet], body: float) -> None:
    """Mark what runs up a margin, and the margins' lines whose text, but for numbers, is on most pages.

    So are lines that count the pages, whatever else they say, as the running title of a chapter does.
    """
    written = sum(1 for sheet in sheets if sheet.items)
    found: list[tuple[Key, TextLine]] = []
    places: defaultdict[Key, set[int]] = defaultdict(set)
    for sheet in sheets:
        for line, top in _in_margins(sheet, _MARGIN if written > 2 else _NARROW_MARGIN):
            # Headings in the margin, "Chapter 2", differ by their number and are no furniture.
            text = line.text.lower()
            key = (top, text if line.size >= body * _LARGE else _DIGITS.sub("#", text))
            places[key].add(line.page)
            found.append((key, line))
    if written > 1:
        most = {key for key, pages in places.items() if _on_most(pages, written)}
        heights = {sheet.number: sheet.height for sheet in sheets}
        for key, line in found:
            # Of few pages that are alike, all must have what stands further in.
            inner = written <= _FEW_PAGES and _is_inner(line, heights[line.page])
            line.furniture |= len(places[key]) == written if inner else key in most
        _mark_counts([(top, line) for (top, _), line in found if line.size < body * _LARGE], written)


def _in_margins(sheet: PageSheet, margin: float) -> list[tuple[TextLine, bool]]:
    """Return the lines at the top, True, and at the bottom of a page."""
    upper, lower = sheet.height * margin, sheet.height * (1 - margin)
    found = []
    for line in sheet.items:
        if not isinstance(line, TextLine):
            continue
        left, top, right, bottom = line.box
        if bottom - top > 2 * (right - left) and len(line.text) >= _FEW:
            line.furniture = True
        elif bottom < upper or top > lower:
            found.append((line, bottom < upper))
    return found


def _is_inner(line: TextLine, height: float) -> bool:
    return line.box[3] > _NARROW_MARGIN * height and line.box[1] < (1 - _NARROW_MARGIN) * height


def _on_most(pages: set[int], written: int) -> bool:
    # Books print left and right pages differently, so most pages of one parity are enough.
    parity = max(sum(page % 2 == odd for page in pages) for odd in (0, 1))
    most = parity > 2 and parity > 0.6 * written / 2
    return most or len(pages) > 0.5 * written or (parity > 1 and parity >= written / 2)


def _mark_counts(lines: list[tuple[bool, TextLine]], written: int) -> None:
    """Mark lines that begin or end with a number which is the page's, less the same for most pages."""
    pages: defaultdict[tuple[bool, int], set[int]] = defaultdict(set)
    counting: list[tuple[tuple[bool, int], TextLine]] = []
    for top, line in lines:
        match = _COUNT.match(line.text)
        if match:
            key = (top, int(match[1] or match[2]) - line.page)
            pages[key].add(line.page)
            counting.append((key, line))
    most = {key for key, counted in pages.items() if len(counted) > 2 and _on_most(counted, written)}
    counts = {(line.page, round(line.box[3])) for key, line in counting if key in most}
    for _, line in lines:  # what stands beside the number of the page belongs to it
        line.furniture |= any((line.page, round(line.box[3]) + near) in counts for near in (-1, 0, 1))


def body_size(sheets: list[PageSheet], code: bool) -> float:
    """Return the font size that most letters of a document have; those of one width do not count if they are `code`."""
    weights: Counter[float] = Counter()
    for sheet in sheets:
        for line in sheet.items:
            if isinstance(line, TextLine) and not (code and line.font.mono):
                weights[line.size] = weights.get(line.size, 0) + len(line.text)
    return max(weights, key=lambda size: (weights[size], size), default=0.0)
