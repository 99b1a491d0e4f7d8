"""PDF sheets: one page as it is read, before it is known what repeats on others."""

import ctypes
from dataclasses import dataclass, field

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.blocks.bullets import may_hold_bullets, with_bullets
from docmill.tasks.parse.pdf.layout.cuts import cut_as_neighbours
from docmill.tasks.parse.pdf.layout.grid import PageTable, may_hold_table, ruled_tables
from docmill.tasks.parse.pdf.text.fields import fields, with_fields
from docmill.tasks.parse.pdf.text.line import Line
from docmill.tasks.parse.pdf.text.links import Link, page_links
from docmill.tasks.parse.pdf.text.pdfium_calls import calls
from docmill.tasks.parse.pdf.text.place import Place, tenths
from docmill.tasks.parse.pdf.text.rules import Level, Rules, page_rules
from docmill.tasks.parse.pdf.text.text_layer import TextLayer

_SCALE = 100  # device units a point: PageToDevice gives whole numbers
_REACH = 500.0
_MOSTLY = 0.4
_FEW = 4


@dataclass(slots=True)
class Sheet:
    """A page: its size in points, its lines and ruled tables in the order of the content, and its links.

    `level` holds its level rules where it may hold a table.
    `paragraphs` holds the lines of a page that OCR has read, in its order. `turn` is 1 where the text
    runs up the page and -1 where it runs down: boxes are of the page turned upright.
    """

    number: int
    width: float
    height: float
    items: list[Line | PageTable] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    level: Level = field(default_factory=Level)
    paragraphs: list[list[Line]] = field(default_factory=list)
    turn: int = 0
    garbled: bool = False
    damaged: bool = False

    @property
    def characters(self) -> int:
        """Return how many characters the page's lines hold."""
        return sum(len(item.text) for item in self.items if isinstance(item, Line))

    def box(self, box: Box) -> Box:
        """Return a box as it stands on the page as shown, to a tenth of a point."""
        left, top, right, bottom = box
        if self.turn > 0:
            left, top, right, bottom = top, self.width - right, bottom, self.width - left
        elif self.turn < 0:
            left, top, right, bottom = self.height - bottom, left, self.height - top, right
        return (tenths(left), tenths(top), tenths(right), tenths(bottom))


def read_sheet(page: int, document: int, number: int, form: int | None = None) -> Sheet:
    """Return what stands on a page; nothing where most of its characters have no known meaning."""
    width, height = (calls()[name](page) for name in ("FPDF_GetPageWidthF", "FPDF_GetPageHeightF"))
    sheet = Sheet(number, width, height)
    place = _transform(page, width, height)
    text_page = calls()["FPDFText_LoadPage"](page)
    try:
        layer = TextLayer(text_page, place, number)
        lines = layer.lines()
        if _is_garbled(layer):
            sheet.garbled = True
            return sheet
        sheet.turn = _turn(lines, layer)
        if sheet.turn:
            place = _turned(place, sheet)
            sheet.width, sheet.height = height, width
            layer = TextLayer(text_page, place, number)
            lines = layer.lines()
        filled = fields(page, form, place, number)
        lines = with_fields(lines, filled) if filled else lines
        tables = may_hold_table(lines)
        rules = page_rules(page, place) if tables or may_hold_bullets(lines) else Rules()
        with_bullets(lines, rules.dots)
        sheet.level = Level(rules.level if tables else ())
        sheet.items = ruled_tables(cut_as_neighbours(lines, sheet.level, layer), rules, layer) if tables else [*lines]
        sheet.links = page_links(page, document, layer, place)
    finally:
        calls()["FPDFText_ClosePage"](text_page)
    return sheet


def _is_garbled(layer: TextLayer) -> bool:
    return layer.unknown > 0 and layer.unknown > _MOSTLY * len("".join(layer.text.split()))


def _turn(lines: list[Line], layer: TextLayer) -> int:
    """Return 1 where most text runs up the page, -1 where it runs down, else 0."""
    across = [line for line in lines if len(line.text) >= _FEW and line.height > 1.5 * (line.box[2] - line.box[0])]
    if not across or 2 * sum(len(line.text) for line in across) <= sum(len(line.text) for line in lines):
        return 0
    longest = max(across, key=lambda line: len(line.text))
    return 1 if layer.runs_up(longest) else -1


def _turned(place: Place, sheet: Sheet) -> Place:
    """Return the map to points from the top left of a page that is turned so that its text stands upright."""
    a, b, c, d, e, f = place
    return (-b, a, -d, c, sheet.height - f, e) if sheet.turn > 0 else (b, -a, d, -c, f, sheet.width - e)


def _transform(page: int, width: float, height: float) -> Place:
    """Return the map from the page's own coordinates to points from its top left."""
    x, y = ctypes.c_int(), ctypes.c_int()
    known = (page, 0, 0, int(width * _SCALE), int(height * _SCALE), 0)
    found = (ctypes.addressof(x), ctypes.addressof(y))
    places = []
    for left, up in ((0, 0), (_REACH, 0), (0, _REACH)):
        calls()["FPDF_PageToDevice"](*known, left, up, *found)
        places.append((x.value / _SCALE, y.value / _SCALE))
    (e, f), right, above = places
    return (right[0] - e) / _REACH, (right[1] - f) / _REACH, (above[0] - e) / _REACH, (above[1] - f) / _REACH, e, f
