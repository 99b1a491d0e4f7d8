"""PDF page content: the content of one page, before it is known what repeats on others."""

import ctypes
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.passes.run_in_headings import is_lead
from docmill.tasks.parse.pdf.layout.cuts import cut_as_neighbours
from docmill.tasks.parse.pdf.layout.grid import may_hold_table, ruled_tables
from docmill.tasks.parse.pdf.layout.plots import Plot, is_named, plots, without_plots
from docmill.tasks.parse.pdf.layout.rows import Item
from docmill.tasks.parse.pdf.layout.text_columns import join_scripts
from docmill.tasks.parse.pdf.list_marks import may_hold_bullets, with_bullets, with_marks
from docmill.tasks.parse.pdf.text.annotations import Link, fields, link_annotations, page_links, with_fields
from docmill.tasks.parse.pdf.text.characters import NO_LETTER, clean, is_nonsense
from docmill.tasks.parse.pdf.text.line import Font, TextLine, drawn_once
from docmill.tasks.parse.pdf.text.pdfium_calls import OpenPage, Place, around, calls, is_upright, placed, tenths
from docmill.tasks.parse.pdf.text.right_to_left import may_be_right_to_left
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules, PageRules, page_rules
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_SCALE = 100  # device units a point: PageToDevice gives whole numbers
_REACH = 500.0
"""Points between the places that the page's map is taken from: far enough apart that a device unit lost to rounding is
a 50,000th of them, and no further than a common page is high."""
_MOSTLY = 0.4
"""Share of the characters without a known meaning that makes a page garbled. Formulas and logos keep a page far below
it; a page above it gives words that nobody can read, and OCR may read it."""
_UNKNOWN = re.compile("[\ufffd\ue000-\uf8ff]")
_MOST_UNKNOWN = 0.5  # share of a line's characters: with more, nobody reads it; formulas and names with signs have less
_FEW_READABLE = 25  # characters: fewer are a page number, or signs that garbled letters happen to have
_ACROSS = 1.5  # times as high as wide: a line that runs up or down the page; a drop capital is about as wide as high
_FEW = 4  # characters: shorter lines, such as "1" or "Ill", are high and level at once


@dataclass(slots=True)
class PageContent:
    """A page: its size in points, its lines and ruled tables in the order of the content, and its links.

    `level` holds its horizontal rules if it may hold a table. `paragraphs` holds the lines of a page read by an OCR
    that orders them. `turn` is 1 if the text runs up the page and -1 if it runs down; boxes are then those of the page
    turned upright. A `garbled` page has fonts that do not map glyphs to letters, or to false ones, and only the lines
    in other fonts; one with `unknown_lines` has lines in such fonts, which are left out; a `damaged` one cannot be
    loaded. The lines within `plots` are no items. A `scanned` one is a picture with hardly any text, and was not read
    by OCR; nor was a `pictured` one, which has an image beside it. OCR is `sure` of what it read from 0 to 1; `back`
    leads from boxes of such a page, made upright and level, to the page as displayed.
    """

    number: int
    width: float
    height: float
    items: list[Item] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    level: LevelRules = field(default_factory=LevelRules)
    paragraphs: list[list[TextLine]] = field(default_factory=list)
    turn: int = 0
    garbled: bool = False
    unknown_lines: bool = False
    damaged: bool = False
    scanned: bool = False
    pictured: bool = False
    back: Place | None = None
    sure: float | None = None

    @property
    def characters(self) -> int:
        """Return how many characters the page's lines hold."""
        items = sum([len(item.text) for item in self.items if isinstance(item, TextLine)])
        return items + sum(len(plot.words) for plot in self.plots)

    def has_characters(self, least: int) -> bool:
        """Return whether the page's lines hold at least so many characters; usually the first line decides."""
        first = self.items[0] if self.items else None
        return (isinstance(first, TextLine) and len(first.text) >= least) or self.characters >= least

    def said(self) -> str:
        """Return the text of the page's lines, in no order."""
        return " ".join(item.text for item in self.items if isinstance(item, TextLine))

    def box(self, box: Box) -> Box:
        """Return a box on the page as displayed, to a tenth of a point."""
        left, top, right, bottom = box
        if self.back:
            corners = placed([box, (left, bottom, right, top)], self.back)
            left, top, right, bottom = around(*corners)
        if self.turn > 0:
            left, top, right, bottom = top, self.width - right, bottom, self.width - left
        elif self.turn < 0:
            left, top, right, bottom = self.height - bottom, left, self.height - top, right
        return (tenths(left), tenths(top), tenths(right), tenths(bottom))


def read_sheet(page: OpenPage, document: int, number: int, form: int | None = None) -> PageContent:
    """Return a page with its text; without the lines whose characters have no known meaning if those are most."""
    text_page = calls()["FPDFText_LoadPage"](page.address)
    try:
        return _read(page, text_page, number, document, form)
    finally:
        calls()["FPDFText_ClosePage"](text_page)


def _read(page: OpenPage, text_page: int, number: int, document: int, form: int | None) -> PageContent:
    at = page.address
    width, height = (calls()[name](at) for name in ("FPDF_GetPageWidthF", "FPDF_GetPageHeightF"))
    sheet = PageContent(number, width, height)
    place = transform(at, width, height)
    layer = TextLayer(text_page, place, number)
    nonsense = is_nonsense(layer.text)
    sheet.garbled = nonsense or _is_garbled(layer.text)
    lines = [] if nonsense else _shown(layer.lines(), sheet)
    lines = _readable(lines, sheet)
    sheet.turn = _turn(lines, layer)
    if sheet.turn:
        place = _turned(place, sheet)
        sheet.width, sheet.height = height, width
        layer = TextLayer(text_page, place, number)
        lines = _readable(_shown(layer.lines(), sheet), sheet)
    mark_leads(lines, layer)
    annotations = calls()["FPDFPage_GetAnnotCount"](at)
    links = link_annotations(at) if annotations else []
    filled = fields(at, form, place, number) if annotations > len(links) else []
    lines = with_fields(lines, filled) if filled else lines
    _lay_out(sheet, lines, layer, page, place)
    sheet.links = page_links(links, document, text_page, place)
    return sheet


def _lay_out(sheet: PageContent, lines: list[TextLine], layer: TextLayer, page: OpenPage, place: Place) -> None:
    """Give a page its lines, those between rules as tables, its plots, and the level rules of other tables."""
    tables = may_hold_table(lines)
    drawn = tables or any(map(is_named, lines))
    # Rules decide nothing on a page of plain text, and to find them is to look at every object that it draws.
    rules = page_rules(page, place, not drawn) if drawn or may_hold_bullets(lines) else PageRules()
    if is_upright(place) and not sheet.turn:
        sheet.plots = plots(lines, rules, (sheet.width, sheet.height))
        lines, rules = without_plots(lines, rules, sheet.plots)
    with_bullets(lines, [dot for dot in rules.dots if dot[0] >= 0])  # a drawing may begin beside the page
    if not tables:
        sheet.items = with_marks([*lines])
        return
    sheet.level = LevelRules(rules.level, rules.edges)
    pieces = cut_as_neighbours(join_scripts(lines), layer)
    sheet.items = with_marks(ruled_tables(pieces, rules, layer))


def _shown(lines: list[TextLine], sheet: PageContent) -> list[TextLine]:
    """Return the lines that a page shows; all if it shows none: then it states false sides.

    Both pages of a spread hold the text of the two, and Qt draws the rest of a row below the end of a page.
    """
    shown = [line for line in lines if _is_shown(line.box, sheet)]
    return drawn_once(shown or lines)


def _is_shown(box: Box, sheet: PageContent) -> bool:
    left, top, right, bottom = box
    return right >= 0 and bottom >= 0 and left <= sheet.width and top <= sheet.height


def _is_garbled(text: str) -> bool:
    """Return whether so many characters have no known meaning that a page's text is none."""
    if "\ufffd" not in text and NO_LETTER.search(text) is None:  # as nearly all pages
        return False
    odd = [row for row in text.split("\n") if not row.strip().isprintable()]
    unknown = text.count("\ufffd") + sum(len(NO_LETTER.findall(row)) for row in odd)
    return unknown > 0 and unknown > _MOSTLY * len("".join(text.split()))


def _readable(lines: list[TextLine], sheet: PageContent) -> list[TextLine]:
    """Return the lines of a page that can be read.

    Of a garbled page these are captions or tables in other fonts, and none if they are few; of others all but those of
    which most letters have no known meaning, which make the page one with unknown lines.
    """
    if not sheet.garbled:
        found = [line for line in lines if "\ufffd" not in line.text or _is_mostly_known(line.text)]
        sheet.unknown_lines = len(found) < len(lines)
        return found
    found = [line for line in lines if _UNKNOWN.search(line.text) is None]
    return found if _characters(found) >= _FEW_READABLE else []


def _is_mostly_known(text: str) -> bool:
    return text.count("\ufffd") < _MOST_UNKNOWN * len("".join(text.split()))


def _turn(lines: list[TextLine], layer: TextLayer) -> int:
    """Return 1 where most text runs up the page, -1 where it runs down, else 0."""
    across = [line for line in lines if _is_across(line)]
    if not across or 2 * _characters(across) <= _characters(lines):
        return 0
    longest = max(across, key=lambda line: len(line.text))
    return 1 if layer.runs_up(longest) else -1


def _is_across(line: TextLine) -> bool:
    left, top, right, bottom = line.box
    return bottom - top > _ACROSS * (right - left) and len(line.text) >= _FEW


def _characters(lines: list[TextLine]) -> int:
    return sum([len(line.text) for line in lines])


def _turned(place: Place, sheet: PageContent) -> Place:
    """Return the map to points from the top left of a page that is turned so that its text stands upright."""
    a, b, c, d, e, f = place
    return (-b, a, -d, c, sheet.height - f, e) if sheet.turn > 0 else (b, -a, d, -c, f, sheet.width - e)


def transform(page: int, width: float, height: float) -> Place:
    """Return the map from the page's own coordinates to points from its top left."""
    x, y = ctypes.c_int(), ctypes.c_int()
    known = (page, 0, 0, int(width * _SCALE), int(height * _SCALE), 0)
    found = (ctypes.addressof(x), ctypes.addressof(y))
    places = []
    # The map is affine: where the origin and a place on each axis lie tells all of it.
    for left, up in ((0, 0), (_REACH, 0), (0, _REACH)):
        calls()["FPDF_PageToDevice"](*known, left, up, *found)
        places.append((x.value / _SCALE, y.value / _SCALE))
    (e, f), right, above = places
    return (right[0] - e) / _REACH, (right[1] - f) / _REACH, (above[0] - e) / _REACH, (above[1] - f) / _REACH, e, f


_SIGN = re.compile(r"[.:](?=\s)|\s?[\u2013\u2014]")
_FAR = 120  # characters of a line in which its lead ends: nine words


def mark_leads(lines: Iterable[TextLine], layer: TextLayer) -> None:
    """Note of each line how many of its letters stand out at its beginning and may name its paragraph."""
    for line in lines:
        text = line.text
        # Hot: fonts are asked for where a sign says that there may be a lead, which few lines have.
        if text[:1].isupper() and not line.font.bold and line.first >= 0 and _has_sign(text):
            lead = _lead(line, layer)
            line.lead = len(lead) if lead and text.startswith(lead) else 0


def _has_sign(text: str) -> bool:
    may_have = ". " in text or ": " in text or not text.isascii()  # quicker than the pattern
    return may_have and _SIGN.search(text, 1, _FAR) is not None


def _lead(line: TextLine, layer: TextLayer) -> str:
    """Return the words of a line that stand out from those behind them, with the sign that ends them, or ""."""
    raw = layer.text[line.first : line.last + 1]
    strong = layer.font_at(line.first)
    if not (strong.bold or strong.italic) or may_be_right_to_left(raw):
        return ""
    for sign in _SIGN.finditer(raw, 1, _FAR):
        if not _is_alike(strong, layer.font_at(line.first + sign.start() - 1)):
            return ""
        rest = raw[sign.end() :]
        behind = sign.end() + len(rest) - len(rest.lstrip())
        if behind < len(raw) and not _is_alike(strong, layer.font_at(line.first + behind)):
            lead = clean(raw[: sign.end()])
            return lead if is_lead(lead) else ""
    return ""


def _is_alike(strong: Font, font: Font) -> bool:
    """Return whether a font is as bold, or as slanted, as that of a lead."""
    return font.bold if strong.bold else font.italic
