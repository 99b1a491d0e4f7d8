"""PDF pages: their text in lines, in the order of the content stream, with font sizes and boxes."""

import ctypes
import re
from dataclasses import dataclass
from typing import Any

from tasks.parse.canvas import Box

_SCALE = 100  # device units a point: PageToDevice gives whole numbers
_REACH = 500.0
HYPHEN = "\x02"  # how pdfium marks a word cut at a line's end
_CLEAN: dict[int, str | None] = {code: "\ufffd" for code in range(1, 32) if chr(code) not in "\t\n\r\x02"}
_CLEAN |= str.maketrans(
    {
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "st",
        "ﬆ": "st",
        "\0": None,
        "\u00ad": None,
        "\ufffe": HYPHEN,
    }
)
_LINE = re.compile(r"[^\S\n]*[^\s\x02\ufffe][^\n\x02\ufffe]*[\x02\ufffe]?")
_BOLD_WEIGHT = 600
_BOLD_NAME = re.compile(rb"bold|black|heavy|cmbx|medi|-bd", re.IGNORECASE)
_NAME_BYTES = 128
_SHORT = 160
_FEW = 6


@dataclass(slots=True)
class Line:
    """A line of a page: its text, font size in points, whether it is bold, and its box from the top left."""

    text: str
    size: float
    bold: bool
    box: Box
    page: int
    level: int = 0
    furniture: bool = False

    @property
    def upright(self) -> bool:
        """Return whether the line runs from side to side, and not up a margin."""
        return len(self.text) < _FEW or self.box[2] - self.box[0] > 0.5 * self.height

    @property
    def height(self) -> float:
        """Return the height of the line's box in points."""
        return self.box[3] - self.box[1]


def page_lines(page: Any, number: int) -> list[Line]:
    """Return a page's lines of text; pieces that pdfium cut from one line are joined again."""
    text_page = page.get_textpage()
    try:
        reader = _Reader(page, text_page.raw)
        lines = [reader.line(text, start, number) for text, start in _raw_lines(text_page)]
    finally:
        text_page.close()
    return _joined([line for line in lines if line is not None])


def _raw_lines(text_page: Any) -> list[tuple[str, int]]:
    """Return each line's text and the index of its first character on the page."""
    count = text_page.count_chars()
    text = text_page.get_text_range(errors="replace") if count > 0 else ""
    if len(text) != count:
        text = _by_character(text_page.raw, count)
    return [(match.group().rstrip(), match.start()) for match in _LINE.finditer(text)]


def _by_character(text_page: Any, count: int) -> str:
    import pypdfium2.raw as pdfium

    codes = (pdfium.FPDFText_GetUnicode(text_page, index) for index in range(count))
    return "".join(chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd" for code in codes)


class _Reader:
    """Asks pdfium about characters of one page."""

    def __init__(self, page: Any, text_page: Any) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium = pdfium
        self._text = text_page
        self._rectangle = pdfium.FS_RECTF()
        self._reference = ctypes.byref(self._rectangle)
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.byref(ctypes.c_int())
        self._place = _transform(page)

    def line(self, text: str, start: int, number: int) -> Line | None:
        """Return a line of text that begins at a character of the page, None where it is blank."""
        clean = " ".join(text.translate(_CLEAN).split())
        if not clean.strip(HYPHEN):
            return None
        first = start + len(text) - len(text.lstrip())
        last = start + len(text.rstrip("\x02\ufffe")) - 1
        box = self._box(first, last)
        size = _true_size(self._pdfium.FPDFText_GetFontSize(self._text, (first + last) // 2), box)
        bold = len(clean) < _SHORT and self._is_bold(first) and (last - first < 2 or self._is_bold((first + last) // 2))
        return Line(clean, size, bold, box, number)

    def _is_bold(self, index: int) -> bool:
        if self._pdfium.FPDFText_GetFontWeight(self._text, index) >= _BOLD_WEIGHT:
            return True
        length = self._pdfium.FPDFText_GetFontInfo(self._text, index, self._name, _NAME_BYTES, self._flags)
        return 0 < length <= _NAME_BYTES and _BOLD_NAME.search(self._name.value) is not None

    def _box(self, first: int, last: int) -> Box:
        one, find = self._rectangle, self._pdfium.FPDFText_GetLooseCharBox
        find(self._text, first, self._reference)
        left, top, right, bottom = one.left, one.top, one.right, one.bottom
        if last > first:
            find(self._text, last, self._reference)
            left, right = min(left, one.left), max(right, one.right)
            top, bottom = max(top, one.top), min(bottom, one.bottom)
        a, b, c, d, e, f = self._place
        x0, x1 = a * left + c * top + e, a * right + c * bottom + e
        y0, y1 = b * left + d * top + f, b * right + d * bottom + f
        return (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


def _transform(page: Any) -> tuple[float, float, float, float, float, float]:
    """Return the affine map (a, b, c, d, e, f) from the page's own coordinates to points from its top left."""
    import pypdfium2.raw as pdfium

    width, height = page.get_size()
    x, y = ctypes.c_int(), ctypes.c_int()

    def place(left: float, up: float) -> tuple[float, float]:
        size = (int(width * _SCALE), int(height * _SCALE))
        pdfium.FPDF_PageToDevice(page, 0, 0, *size, 0, left, up, ctypes.byref(x), ctypes.byref(y))
        return x.value / _SCALE, y.value / _SCALE

    origin, right, above = place(0, 0), place(_REACH, 0), place(0, _REACH)
    a, b = ((right[0] - origin[0]) / _REACH, (right[1] - origin[1]) / _REACH)
    c, d = ((above[0] - origin[0]) / _REACH, (above[1] - origin[1]) / _REACH)
    return a, b, c, d, *origin


def _true_size(size: float, box: Box) -> float:
    """Return a font size; where the page scales a font of another nominal size, the line's height tells."""
    height = box[3] - box[1]
    return round(size if 0.5 * size <= height <= 2.5 * size and size > 2 else height * 0.85, 1)


def _joined(lines: list[Line]) -> list[Line]:
    """Join successive pieces that stand side by side on one baseline, closer than two of their heights."""
    whole: list[Line] = []
    for line in lines:
        before = whole[-1] if whole else None
        if before is not None and _beside(before, line):
            glue = "" if line.box[0] - before.box[2] < 0.15 * line.size else " "
            before.text += glue + line.text
            before.bold = before.bold and line.bold
            before.size = max(before.size, line.size)
            before.box = union(before.box, line.box)
        else:
            whole.append(line)
    return whole


def _beside(one: Line, other: Line) -> bool:
    overlap = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
    gap = other.box[0] - one.box[2]
    smaller = max(min(one.height, other.height), 0.1)
    # What stands much higher or lower, a superscript, must touch.
    reach = 2 * max(one.size, other.size) if overlap > 0.5 * smaller else 0.3 * one.size
    return overlap > 0.25 * smaller and -0.5 * one.size < gap < reach and not one.text.endswith(HYPHEN)


def union(one: Box, other: Box) -> Box:
    """Return the smallest box around two."""
    return (min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3]))
