"""PDF pages: their text in lines, in the order of the content stream, with font sizes and boxes."""

import ctypes
from dataclasses import dataclass
from typing import Any

from tasks.parse.canvas import Box

_SCALE = 10  # device units a point: PageToDevice gives whole numbers
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\0": None, "\u00ad": None}
)
HYPHEN = "\x02"  # how pdfium marks a word cut at a line's end
_BOLD_WEIGHT = 600
_SHORT = 160


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
    def height(self) -> float:
        """Return the height of the line's box in points."""
        return self.box[3] - self.box[1]


def page_lines(page: Any, number: int) -> list[Line]:
    """Return a page's lines of text; pieces that pdfium cut from one line are joined again."""
    text_page = page.get_textpage()
    try:
        lines = [_line(page, text_page, text, start, number) for text, start in _raw_lines(text_page)]
    finally:
        text_page.close()
    return _joined([line for line in lines if line is not None])


def _raw_lines(text_page: Any) -> list[tuple[str, int]]:
    """Return each line's text and the index of its first character on the page."""
    count = text_page.count_chars()
    text = text_page.get_text_range(errors="replace") if count > 0 else ""
    if len(text) != count:
        text = _by_character(text_page, count)
    lines, start = [], 0
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped:
            lines.append((line.rstrip(), start))
        start += len(line) + 1
    return lines


def _by_character(text_page: Any, count: int) -> str:
    import pypdfium2.raw as pdfium

    codes = (pdfium.FPDFText_GetUnicode(text_page, index) for index in range(count))
    return "".join(chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd" for code in codes)


def _line(page: Any, text_page: Any, text: str, start: int, number: int) -> Line | None:
    import pypdfium2.raw as pdfium

    lead = len(text) - len(text.lstrip())
    first, last = start + lead, start + len(text) - 1
    clean = " ".join(text.translate(_LIGATURES).replace("\ufffe", HYPHEN).split())
    if not clean.strip(HYPHEN):
        return None
    middle = (first + last) // 2
    size = max(pdfium.FPDFText_GetFontSize(text_page, index) for index in (first, middle))
    bold = len(clean) < _SHORT and all(
        pdfium.FPDFText_GetFontWeight(text_page, index) >= _BOLD_WEIGHT or _is_bold_font(text_page, index)
        for index in (first, middle)
    )
    box = _box(page, text_page, first, last)
    return Line(clean, _true_size(size, box), bold, box, number)


def _true_size(size: float, box: Box) -> float:
    """Return a font size; where the page scales a font of nominal size 1, the line's height tells."""
    height = box[3] - box[1]
    return round(size if 0.5 * size <= height <= 2.5 * size and size > 2 else height * 0.85, 1)


def _is_bold_font(text_page: Any, index: int) -> bool:
    import pypdfium2.raw as pdfium

    buffer = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    length = pdfium.FPDFText_GetFontInfo(text_page, index, buffer, 128, ctypes.byref(flags))
    name = buffer.value.lower() if 0 < length <= 128 else b""
    return any(word in name for word in (b"bold", b"black", b"heavy", b"cmbx", b"medi", b"-bd"))


def _box(page: Any, text_page: Any, first: int, last: int) -> Box:
    import pypdfium2.raw as pdfium

    corners: list[tuple[float, float]] = []
    rectangle = pdfium.FS_RECTF()
    width, height = page.get_size()
    x, y = ctypes.c_int(), ctypes.c_int()
    for index in (first, last):
        pdfium.FPDFText_GetLooseCharBox(text_page, index, rectangle)
        for left, top in ((rectangle.left, rectangle.top), (rectangle.right, rectangle.bottom)):
            size = (int(width * _SCALE), int(height * _SCALE))
            pdfium.FPDF_PageToDevice(page, 0, 0, *size, 0, left, top, ctypes.byref(x), ctypes.byref(y))
            corners.append((x.value / _SCALE, y.value / _SCALE))
    xs, ys = zip(*corners, strict=True)
    return (min(xs), min(ys), max(xs), max(ys))


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
    return overlap > 0.5 * smaller and -0.5 * one.size < gap < 2 * max(one.size, other.size)


def union(one: Box, other: Box) -> Box:
    """Return the smallest box around two."""
    return (min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3]))
