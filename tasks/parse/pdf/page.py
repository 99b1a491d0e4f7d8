"""PDF pages: their text in lines, in the order of the content stream, with font, size and box.

A line that holds a wide gap comes in pieces: columns of a table or of a page that share a baseline.
"""

import re
from collections import deque
from dataclasses import dataclass
from itertools import chain, islice, repeat
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.parse.canvas import Box
from tasks.parse.pdf.calls import address, calls
from tasks.parse.pdf.fonts import PLAIN, Font, read_font

HYPHEN = "\x02"  # how pdfium marks a word cut at a line's end
RAISED, LOWERED = "\x0e", "\x0f"  # around superscript figures, until it is known what they are
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
_LINE = re.compile(r"[^\S\n]*([^\s\x02\ufffe][^\n\x02\ufffe]*[\x02\ufffe\u00ad]?)")
_WORDS = re.compile(r"[^\s\x02\ufffe]+")
_SUPERSCRIPT = re.compile(r"(?<=[^\W\d_])\d{1,3}(?![\w.])|(?<=[.,;:)\]”\"’])\d{1,3}(?![\w.])|^\d{1,3}(?=[^\W\d_])")
_DIGIT = re.compile("[0-9]")
_SOFT_ENDS = ("\u00ad", "\ufffe", HYPHEN)
_GAP = 1.2
_LOOSE = 1.25
_MOST_ADVANCE = 0.55
_LONG = 20
_FEW = 4
_FAR = 1e5
_MAX_BOUNDED = 500


@dataclass(slots=True)
class Line:
    """A line or a piece of one: text, font size in points, box from the page's top left, place in pdfium's text."""

    text: str
    size: float
    font: Font
    box: Box
    page: int
    first: int
    last: int
    level: int = 0
    furniture: bool = False

    @property
    def height(self) -> float:
        """Return the height of the line's box in points."""
        return self.box[3] - self.box[1]


class TextLayer:
    """The text of one page, while pdfium holds it."""

    def __init__(self, text_page: Any, place: tuple[float, ...], number: int) -> None:
        self._calls = calls()
        self._page = text_page
        self._raw = address(text_page)
        self._place = place
        self._number = number
        self._fonts: dict[int | None, Font] = {}
        self._four = np.zeros(4, np.float64)
        at = self._four.ctypes.data
        self._corner = (at, at + 8, at + 16, at + 24)
        self.text = self._read()

    def _read(self) -> str:
        import pypdfium2.raw as pdfium

        count = pdfium.FPDFText_CountChars(self._page)
        if count <= 0:
            return ""
        units = np.zeros(count + 1, np.uint16)
        written = self._calls["FPDFText_GetText"](self._raw, 0, count, units.ctypes.data)
        text = units[: max(written - 1, 0)].tobytes().decode("utf-16-le", "replace")
        return text if len(text) == count else self._by_character(count)

    def _by_character(self, count: int) -> str:
        codes = map(self._calls["FPDFText_GetUnicode"], repeat(self._raw), range(count))
        return "".join(chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd" for code in codes)

    def lines(self) -> list[Line]:
        """Return the page's lines in content order, those with wide gaps in pieces."""
        found = [(match[1], match.start(1)) for match in _LINE.finditer(self.text)]
        texts = [text.rstrip() for text, _ in found]
        firsts = [start for _, start in found]
        lasts = [start + len(text.rstrip("\x02\ufffe\u00ad")) - 1 for text, start in zip(texts, firsts, strict=True)]
        whole = self._made(texts, firsts, lasts)
        parts = self._pieces(whole, _usual_advance(whole) * _LOOSE)
        for part in parts:
            self._mark_superscripts(part)
        return parts

    def _made(self, texts: list[str], firsts: list[int], lasts: list[int]) -> list[Line]:
        """Return a line for each text between two characters of the page, but for blank ones."""
        boxes = self._boxes(firsts, lasts)
        middles = [(first + last) // 2 for first, last in zip(firsts, lasts, strict=True)]
        sizes = map(self._calls["FPDFText_GetFontSize"], repeat(self._raw), middles)
        objects = map(self._calls["FPDFText_GetTextObject"], repeat(self._raw), middles)
        pointers = map(self._calls["FPDFTextObj_GetFont"], objects)
        fonts, number = self._fonts, self._number
        lines = []
        for text, first, last, box, size, pointer in zip(texts, firsts, lasts, boxes, sizes, pointers, strict=True):
            font = fonts.get(pointer) or self._font(pointer)
            clean = text if text.isascii() and text.isprintable() and "  " not in text else _clean(text)
            if not clean or clean == HYPHEN:
                continue
            if font is not PLAIN:
                font = font.both(self._font_at(first)).both(self._font_at(last))
                if font.mono and "  " in text:
                    clean = text.translate(_CLEAN).replace("\r", "").expandtabs()
            lines.append(Line(clean, _true_size(size, box), font, box, number, first, last))
        return lines

    def _font_at(self, index: int) -> Font:
        return self._font(self._calls["FPDFTextObj_GetFont"](self._calls["FPDFText_GetTextObject"](self._raw, index)))

    def _font(self, pointer: int | None) -> Font:
        font = self._fonts.get(pointer)
        if font is None:
            font = self._fonts[pointer] = read_font(pointer)
        return font

    def _boxes(self, firsts: list[int], lasts: list[int]) -> list[Box]:
        """Return the boxes around pairs of characters."""
        corners = self._corners([*chain.from_iterable(zip(firsts, lasts, strict=True))])
        pairs = np.concatenate(
            (np.minimum(corners[::2, :2], corners[1::2, :2]), np.maximum(corners[::2, 2:], corners[1::2, 2:])), axis=1
        )
        return list(map(tuple, pairs.tolist()))

    def _corners(self, indices: list[int]) -> NDArray[np.float64]:
        """Return float64 (n, 4), the boxes of characters in points from the page's top left."""
        raw = np.zeros((len(indices), 4), np.float32)
        at = raw.ctypes.data
        find = self._calls["FPDFText_GetLooseCharBox"]
        deque(map(find, repeat(self._raw), indices, range(at, at + 16 * len(indices), 16)), maxlen=0)
        return placed(raw.astype(np.float64), self._place)

    def _pieces(self, lines: list[Line], advance: float) -> list[Line]:
        """Return lines, those with gaps wider than a letter in pieces; lines that advance less than usual have none."""
        gaps = self._gaps()
        wide = [index for index, line in enumerate(lines) if _is_loose(line, advance) or (gaps and _holds(line, gaps))]
        if not wide:
            return lines
        texts: list[str] = []
        firsts: list[int] = []
        lasts: list[int] = []
        counts: list[int] = []
        for line, words in zip([lines[index] for index in wide], self._words([lines[i] for i in wide]), strict=True):
            groups = _groups(words, _GAP * line.size)
            counts.append(len(groups))
            if len(groups) > 1:
                texts += [self.text[first : last + 1] for first, last in groups]
                texts[-1] += HYPHEN if line.text.endswith(HYPHEN) else ""
                firsts += [first for first, _ in groups]
                lasts += [last for _, last in groups]
        made = iter(self._made(texts, firsts, lasts) if texts else ())
        parts: dict[int, list[Line]] = {
            index: list(islice(made, count)) for index, count in zip(wide, counts, strict=True) if count > 1
        }
        return [*chain.from_iterable(parts.get(index, (line,)) for index, line in enumerate(lines))]

    def _gaps(self) -> dict[int, list[float]]:
        """Return where wide gaps between pieces of text on one baseline begin, by their height in whole points."""
        count = self._calls["FPDFText_CountRects"](self._raw, 0, -1)
        if count < 2:
            return {}
        raw = np.zeros((count, 4))
        at = raw.ctypes.data
        columns = [range(at + 8 * side, at + 8 * side + 32 * count, 32) for side in range(4)]
        deque(map(self._calls["FPDFText_GetRect"], repeat(self._raw), range(count), *columns), maxlen=0)
        left, top, right, bottom = placed(raw, self._place).T
        high = np.minimum((bottom - top)[1:], (bottom - top)[:-1])
        level = np.minimum(bottom[1:], bottom[:-1]) - np.maximum(top[1:], top[:-1]) > 0.4 * high
        found = np.flatnonzero(level & (left[1:] - right[:-1] > high))
        gaps: dict[int, list[float]] = {}
        for y, x in zip(((top + bottom)[found] / 2).tolist(), right[found].tolist(), strict=True):
            gaps.setdefault(int(y), []).append(x)
        return gaps

    def _words(self, lines: list[Line]) -> list[list[tuple[int, int, Box]]]:
        """Return the words of lines: first and last character, and box."""
        found = [
            [(match.start(), match.end() - 1) for match in _WORDS.finditer(self.text, line.first, line.last + 1)]
            for line in lines
        ]
        every = [*chain.from_iterable(found)]
        boxes = iter(self._boxes([first for first, _ in every], [last for _, last in every]))
        return [[(first, last, next(boxes)) for first, last in words] for words in found]

    def words(self, line: Line) -> list[tuple[str, Box]]:
        """Return the words of a line, each with its box."""
        return [(_clean(self.text[first : last + 1]), box) for first, last, box in self._words([line])[0]]

    def runs_up(self, line: Line) -> bool:
        """Return whether a line's end is above its beginning."""
        corners = self._corners([line.first, line.last])
        return bool(corners[1, 1] < corners[0, 1])

    def text_in(self, sides: tuple[float, float, float, float]) -> str:
        """Return the text in a box of the page's own coordinates, in one line."""
        units = np.zeros(_MAX_BOUNDED, np.uint16)
        left, top, right, bottom = sides
        written = self._calls["FPDFText_GetBoundedText"](
            self._raw, left, top, right, bottom, units.ctypes.data, _MAX_BOUNDED
        )
        text = units[: max(min(written, _MAX_BOUNDED), 0)].tobytes().decode("utf-16-le", "replace")
        return _clean(text.rstrip("\0"))

    def _mark_superscripts(self, line: Line) -> None:
        if not _DIGIT.search(line.text) or not _SUPERSCRIPT.search(line.text):
            return
        raw = self.text[line.first : line.last + 1]
        for match in reversed([*_SUPERSCRIPT.finditer(raw)]):
            start, end = line.first + match.start(), line.first + match.end()
            if self._is_raised(start, start - 1 if match.start() else end):
                raw = f"{raw[: match.start()]}{RAISED}{match.group()}{LOWERED}{raw[match.end() :]}"
        if RAISED in raw:
            ending = HYPHEN if line.text.endswith(HYPHEN) else ""
            line.text = LOWERED.join(map(_clean_raised, raw.split(LOWERED))) + ending

    def _is_raised(self, index: int, other: int) -> bool:
        """Return whether a character is smaller than another beside it and stands higher."""
        size = self._calls["FPDFText_GetFontSize"]
        if size(self._raw, index) < 0.9 * size(self._raw, other):
            return self._baseline(index) < self._baseline(other) - 0.5
        return False

    def _baseline(self, index: int) -> float:
        self._calls["FPDFText_GetCharOrigin"](self._raw, index, *self._corner[:2])
        return float(self._place[1] * self._four[0] + self._place[3] * self._four[1])


def _is_loose(line: Line, advance: float) -> bool:
    length = len(line.text)
    return length > _FEW and line.box[2] - line.box[0] > advance * line.size * length and " " in line.text


def _holds(line: Line, gaps: dict[int, list[float]]) -> bool:
    """Return whether one of the gaps is within a line."""
    left, top, right, bottom = line.box
    middle = int((top + bottom) / 2)
    near = chain.from_iterable(gaps[y] for y in (middle - 1, middle, middle + 1) if y in gaps)
    return any(left < x < right for x in near)


def _groups(words: list[tuple[int, int, Box]], gap: float) -> list[tuple[int, int]]:
    """Return the first and last characters of runs of words between gaps wider than `gap` points."""
    groups: list[tuple[int, int]] = []
    end = 0.0
    for first, last, box in words:
        if groups and -gap < box[0] - end <= gap:
            groups[-1] = (groups[-1][0], last)
        else:
            groups.append((first, last))
        end = box[2]
    return groups


def _usual_advance(lines: list[Line]) -> float:
    """Return how far a letter of a page's longer lines usually advances, in font sizes."""
    found = [(line.box[2] - line.box[0]) / (line.size * len(line.text)) for line in lines if len(line.text) > _LONG]
    return min(median(found), _MOST_ADVANCE) if found else _MOST_ADVANCE


def placed(boxes: NDArray[np.float64], place: tuple[float, ...]) -> NDArray[np.float64]:
    """Return boxes (left, top, right, bottom) mapped by (a, b, c, d, e, f), their sides in order again."""
    a, b, c, d, e, f = place
    x = boxes[:, 0::2] * a + boxes[:, 1::2] * c + e
    y = boxes[:, 0::2] * b + boxes[:, 1::2] * d + f
    sides = np.empty_like(boxes)
    np.minimum(x[:, 0], x[:, 1], out=sides[:, 0])
    np.minimum(y[:, 0], y[:, 1], out=sides[:, 1])
    np.maximum(x[:, 0], x[:, 1], out=sides[:, 2])
    np.maximum(y[:, 0], y[:, 1], out=sides[:, 3])
    if not np.abs(sides).max(initial=0) < _FAR:  # not a number, too
        sides = np.clip(np.nan_to_num(sides), -_FAR, _FAR)
    return sides


def _clean(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        soft = HYPHEN if text.endswith(_SOFT_ENDS) else ""
        text = text.translate(_CLEAN).rstrip(HYPHEN) + soft
    return " ".join(text.split())


def _clean_raised(text: str) -> str:
    return RAISED.join(part.translate(_CLEAN) for part in text.split(RAISED))


def _true_size(size: float, box: Box) -> float:
    """Return a font size; where the page scales a font of another nominal size, the line's height tells."""
    height = box[3] - box[1]
    return max(round(size if 0.5 * size <= height <= 2.5 * size and size > 2 else height * 0.85, 1), 0.1)
