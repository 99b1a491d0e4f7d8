"""PDF page content: what one page holds, before repeated headers and footers are recognised."""

import ctypes
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.passes.run_in_headings import is_lead
from docmill.tasks.parse.pdf.layout.cuts import cut_as_neighbours
from docmill.tasks.parse.pdf.layout.grid import may_hold_table, ruled_tables
from docmill.tasks.parse.pdf.layout.plots import Plot, is_named, plots, without_plots
from docmill.tasks.parse.pdf.layout.rows import Item, lines_in
from docmill.tasks.parse.pdf.layout.text_columns import join_scripts
from docmill.tasks.parse.pdf.list_marks import with_bullets, with_marks
from docmill.tasks.parse.pdf.text.annotations import Link, fields, link_annotations, page_links, with_fields
from docmill.tasks.parse.pdf.text.characters import NO_LETTER, clean, is_nonsense
from docmill.tasks.parse.pdf.text.line import Font, TextLine, drawn_once
from docmill.tasks.parse.pdf.text.pdfium_calls import OpenPage, Place, around, calls, is_upright, placed, tenths
from docmill.tasks.parse.pdf.text.right_to_left import may_be_right_to_left
from docmill.tasks.parse.pdf.text.ruling_lines import LevelRules, page_rules
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_SCALE = 100  # device units a point: PageToDevice returns whole numbers
_REACH = 500.0
"""Points between the positions from which the page's map is computed: far enough that a device unit lost to rounding is
a 50,000th of them, and no more than the height of a common page."""
_MOSTLY = 0.4
"""A page is garbled if more than this share of its characters have no known meaning. Pages with formulas and logos stay
far below; a page above it has words that nobody can read, but OCR may."""
_UNKNOWN = re.compile("[\ufffd\ue000-\uf8ff]")
_ONE_RUN = re.compile("([^\ufffd]*)\ufffd+([^\ufffd]*)")
_WORD = re.compile(r"[^\W\d_]{3}")  # letters that show that a line has words besides its unknown signs
_MOST_UNKNOWN = 0.5  # share of a line's characters: with more it is unreadable; formulas and names with signs have less
_FEW_READABLE = 25  # characters: fewer are a page number, or garbled letters that happen to be known signs
_ACROSS = 1.5  # height by width of a line that runs up or down the page; a drop capital is about as wide as high
_FEW = 4  # characters: shorter lines, such as "1" or "Ill", are higher than wide although level


@dataclass(slots=True)
class PageContent:
    """A page: its size in points, its lines and ruled tables in the order of the content, and its links.

    - `level`: its horizontal rules, if it may hold a table.
    - `plots`: its plots; lines within them are not in `items`.
    - `paragraphs`: its lines, if it was read by an OCR engine that orders them.
    - `turn`: 1 if the text runs up the page, -1 if it runs down; boxes are then those of the page turned upright.
    - `garbled`: its fonts map glyphs to no letters or to wrong ones; only lines in other fonts are kept.
    - `unknown_lines`: some lines in such fonts were left out.
    - `damaged`: it cannot be loaded.
    - `scanned`: it is a picture with hardly any text, and OCR has not read it.
    - `pictured`: OCR might find text on it, usually in an image, but has not read it.
    - `sure`: how sure OCR is of its text, from 0 to 1.
    - `back`: maps the boxes of a page that OCR made upright and level to the page as displayed.
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
    def lines(self) -> list[TextLine]:
        """Return the lines among its items."""
        return lines_in(self.items)

    @property
    def characters(self) -> int:
        """Return the number of characters in the page's lines and plots."""
        return _characters(self.lines) + sum(len(plot.words) for plot in self.plots)

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
    """Return a page with its text, without unreadable lines."""
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
    unmark_inline_code(lines, layer)
    mark_leads(lines, layer)
    annotations = calls()["FPDFPage_GetAnnotCount"](at)
    links = link_annotations(at) if annotations else []
    filled = fields(at, form, place, number) if annotations > len(links) else []
    lines = with_fields(lines, filled) if filled else lines
    _lay_out(sheet, lines, layer, page, place)
    sheet.links = page_links(links, document, text_page, place)
    return sheet


def _lay_out(sheet: PageContent, lines: list[TextLine], layer: TextLayer, page: OpenPage, place: Place) -> None:
    """Set a page's plots, its lines and ruled tables, and the horizontal rules for other tables."""
    tables = may_hold_table(lines)
    drawn = tables or any(map(is_named, lines))
    rules = page_rules(page, place, only_dots=not drawn)  # rules do not matter on a page of plain text
    if is_upright(place) and not sheet.turn:
        sheet.plots = plots(lines, rules, (sheet.width, sheet.height))
        lines, rules = without_plots(lines, rules, sheet.plots)
    with_bullets(lines, [dot for dot in rules.dots if dot[0] >= 0])  # a drawing may begin outside the page
    if not tables:
        sheet.items = with_marks([*lines])
        return
    sheet.level = LevelRules(rules.level, rules.edges)
    pieces = cut_as_neighbours(join_scripts(lines), layer)
    sheet.items = with_marks(ruled_tables(pieces, rules, layer))


def _shown(lines: list[TextLine], sheet: PageContent) -> list[TextLine]:
    """Return the lines that a page shows; all if it shows none, because then its stated size is wrong.

    Each page of a spread may hold the text of both, and Qt draws the rest of a row below the end of a page.
    """
    shown = [line for line in lines if _is_shown(line.box, sheet)]
    return drawn_once(shown or lines)


def _is_shown(box: Box, sheet: PageContent) -> bool:
    left, top, right, bottom = box
    return right >= 0 and bottom >= 0 and left <= sheet.width and top <= sheet.height


def _is_garbled(text: str) -> bool:
    """Return whether too many characters of a page's text have no known meaning."""
    if "\ufffd" not in text and NO_LETTER.search(text) is None:  # nearly all pages
        return False
    odd = [row for row in text.split("\n") if not row.strip().isprintable()]
    unknown = text.count("\ufffd") + sum(len(NO_LETTER.findall(row)) for row in odd)
    return unknown > 0 and unknown > _MOSTLY * len("".join(text.split()))


def _readable(lines: list[TextLine], sheet: PageContent) -> list[TextLine]:
    """Return the readable lines of a page.

    A garbled page keeps captions or tables in other fonts, unless they are few. Other pages keep all lines but those
    in which most letters have no known meaning; these set `unknown_lines`.
    """
    if not sheet.garbled:
        return [line for line in lines if "\ufffd" not in line.text or _keeps_words(line, sheet)]
    found = [line for line in lines if _UNKNOWN.search(line.text) is None]
    return found if _characters(found) >= _FEW_READABLE else []


def _keeps_words(line: TextLine, sheet: PageContent) -> bool:
    """Return whether a line is readable, if need be without its run of unknown signs, such as a rule drawn by signs."""
    text = line.text
    if text.count("\ufffd") < _MOST_UNKNOWN * len("".join(text.split())):
        return True
    sheet.unknown_lines = True
    words = _ONE_RUN.fullmatch(text)
    if words is None or _WORD.search(text) is None:
        return False
    line.text = f"{words[1]} {words[2]}".strip()
    return True


def _turn(lines: list[TextLine], layer: TextLayer) -> int:
    """Return 1 if most text runs up the page, -1 if it runs down, else 0."""
    across = [line for line in lines if _is_across(line.box) and len(line.text) >= _FEW]
    if not across or 2 * _characters(across) <= _characters(lines):
        return 0
    longest = max(across, key=lambda line: len(line.text))
    return 1 if layer.runs_up(longest) else -1


def _is_across(box: Box) -> bool:
    left, top, right, bottom = box
    return bottom - top > _ACROSS * (right - left)


def _characters(lines: list[TextLine]) -> int:
    return sum([len(line.text) for line in lines])


def _turned(place: Place, sheet: PageContent) -> Place:
    """Return the map to points from the top left of a page that is turned so that its text is upright."""
    a, b, c, d, e, f = place
    return (-b, a, -d, c, sheet.height - f, e) if sheet.turn > 0 else (b, -a, d, -c, f, sheet.width - e)


def transform(page: int, width: float, height: float) -> Place:
    """Return the map from the page's own coordinates to points from its top left."""
    x, y = ctypes.c_int(), ctypes.c_int()
    known = (page, 0, 0, int(width * _SCALE), int(height * _SCALE), 0)
    found = (ctypes.addressof(x), ctypes.addressof(y))
    places = []
    # The map is affine: the images of the origin and of one point on each axis determine it.
    for left, up in ((0, 0), (_REACH, 0), (0, _REACH)):
        calls()["FPDF_PageToDevice"](*known, left, up, *found)
        places.append((x.value / _SCALE, y.value / _SCALE))
    (e, f), right, above = places
    return (right[0] - e) / _REACH, (right[1] - f) / _REACH, (above[0] - e) / _REACH, (above[1] - f) / _REACH, e, f


_CLOSE = 0.6  # font sizes between two lines of one paragraph
_HANGING = 3.0  # font sizes between the left edges of two lines of one paragraph or item
_AROUND = 12  # lines above and below that show where their column ends


def unmark_inline_code(lines: list[TextLine], layer: TextLayer) -> None:
    """Set code that fills a whole line of a paragraph as the text around it; else it would be a listing.

    The line above is full, and it ends in code or the line below continues the text.
    """
    for at, (above, line) in enumerate(pairwise(lines)):
        if not line.font.mono or above.font.mono or not _is_next_line(above, line):
            continue
        is_full = _has_no_room(above, line, lines[max(at - _AROUND, 0) : at + _AROUND])
        if is_full and (layer.font_at(above.last).mono or _is_text_next(line, lines[at + 2 : at + 3])):
            line.font, line.size = replace(line.font, mono=False), above.size


def _has_no_room(above: TextLine, line: TextLine, around: list[TextLine]) -> bool:
    """Return whether the first word of a line does not fit at the end of the line above it."""
    word = len(line.text.partition(" ")[0]) * (line.right - line.left) / len(line.text)
    return above.right + word > max(one.right for one in around if one.left < above.right)


def _is_text_next(line: TextLine, following: list[TextLine]) -> bool:
    """Return whether text that is no code directly follows a line."""
    return any(not below.font.mono and _is_next_line(line, below) for below in following)


def _is_next_line(above: TextLine, line: TextLine) -> bool:
    """Return whether a line is directly below another and begins about where it begins."""
    is_close = -above.size < line.box[1] - above.box[3] < _CLOSE * above.size
    return is_close and abs(line.left - above.left) < _HANGING * above.size


_SIGN = re.compile(r"[.:](?=\s)|\s?[\u2013\u2014]")
_FAR = 120  # characters of a line within which its lead ends: nine words


def mark_leads(lines: Iterable[TextLine], layer: TextLayer) -> None:
    """Set each line's `lead`: how many letters at its beginning are emphasised and may name its paragraph."""
    for line in lines:
        text = line.text
        # Hot: read fonts only where a sign hints at a lead, as in few lines.
        if text[:1].isupper() and not line.font.bold and line.first >= 0 and _has_sign(text):
            lead = _lead(line, layer)
            line.lead = len(lead) if lead and text.startswith(lead) else 0


def _has_sign(text: str) -> bool:
    may_have = ". " in text or ": " in text or not text.isascii()  # quicker than the pattern
    return may_have and _SIGN.search(text, 1, _FAR) is not None


def _lead(line: TextLine, layer: TextLayer) -> str:
    """Return the emphasised words at the beginning of a line with the sign that ends them, or ""."""
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
    """Return whether a font is bold if that of a lead is, else whether it is italic."""
    return font.bold if strong.bold else font.italic
