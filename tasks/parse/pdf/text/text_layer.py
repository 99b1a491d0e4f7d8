"""PDF pages: their text in lines, in the order of the content stream, with font, size and box.

A line that holds a wide gap comes in pieces: columns of a table or of a page that share a baseline.
"""

import ctypes
import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat
from math import hypot

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.fonts import PLAIN, Font, read_font
from docmill.tasks.parse.pdf.text.gaps import GAP, gapped
from docmill.tasks.parse.pdf.text.letters import (
    HYPHEN,
    LOWERED,
    NO_LETTER,
    RAISED,
    RIGHT_TO_LEFT,
    SIGNS,
    SOFT,
    clean,
    clean_raised,
)
from docmill.tasks.parse.pdf.text.line import Line
from docmill.tasks.parse.pdf.text.pdfium_calls import boxes_from, calls, numbers_from, reference
from docmill.tasks.parse.pdf.text.place import Place, around_pairs, placed, tenths

_LINE = re.compile(r"[^\S\n]*([^\s\x02\ufffe][^\n\x02\ufffe]*[\x02\ufffe\u00ad]?)")
_WORDS = re.compile(r"[^\s\x02\ufffe]+")
_BEHIND = "|".join(rf"(?<=(?:[^\W\d_]|[.,;:)\]”\"’]){digits})" for digits in (r"\d", r"\d\d", r"\d\d\d"))
_SUPERSCRIPT = re.compile(rf"[0-9][0-9]{{0,2}}+(?:(?![\w.])(?:{_BEHIND})|(?P<before>(?=\s?[^\W\d_])))")
_MAX_BOUNDED = 500
_PRECISE = 20  # steps a point
_SURROGATES = range(0xD800, 0xE000)


class TextLayer:
    """The text of one page, while pdfium holds it."""

    def __init__(self, text_page: int, place: Place, number: int) -> None:
        self._calls = calls()
        self._raw = text_page
        self._reference = reference(text_page)
        self._place = place
        self._number = number
        self._fonts: dict[int | None, Font] = {}
        self._sizes: dict[float, float] = {}
        self._scaled: dict[tuple[int | None, float, int], float] = {}
        self.text = self._read()
        self.unknown = self.text.count("\ufffd")  # characters without a known meaning, once the lines are read

    def _read(self) -> str:
        count = self._calls["FPDFText_CountChars"](self._raw)
        if count <= 0:
            return ""
        buffer = bytearray(2 * (count + 1))
        written = self._calls["FPDFText_GetText"](self._raw, 0, count, _start(buffer))
        text = buffer[: 2 * max(written - 1, 0)].decode("utf-16-le", "replace")
        return text if len(text) == count else self._by_character(count)

    def _by_character(self, count: int) -> str:
        codes = [*map(self._calls["FPDFText_GetUnicode"], repeat(self._reference), range(count))]
        if max(codes) >= _SURROGATES[0]:
            codes = [0xFFFD if code > sys.maxunicode or code in _SURROGATES else code for code in codes]
        return "".join(map(chr, codes))

    def lines(self) -> list[Line]:
        """Return the page's lines in content order, those with wide gaps in pieces."""
        texts: list[str] = []
        firsts: list[int] = []
        lasts: list[int] = []
        start = 0
        for row in self.text.split("\n"):
            text = row.strip()
            if text.isprintable():  # nor cut by a hyphen
                if text:
                    first = start + row.index(text[0])
                    texts.append(text)
                    firsts.append(first)
                    lasts.append(first + len(text) - 1)
            else:
                self.unknown += len(NO_LETTER.findall(row))
                for match in _LINE.finditer(self.text, start, start + len(row)):
                    text, first = match[1].rstrip(), match.start(1)
                    texts.append(text)
                    firsts.append(first)
                    lasts.append(first + len(text.rstrip(SOFT)) - 1)
            start += len(row) + 1
        parts = self._pieces(self._made(texts, firsts, lasts))
        self._mark_superscripts(parts)
        return parts

    def _made(self, texts: list[str], firsts: list[int], lasts: list[int]) -> list[Line]:
        """Return a line for each text between two characters of the page, but for blank ones."""
        middles = [(first + last) // 2 for first, last in zip(firsts, lasts, strict=True)]
        middles = [middle + (self.text[middle] == " ") for middle in middles]  # spaces that pdfium adds have no font
        objects = map(self._calls["FPDFText_GetTextObject"], repeat(self._reference), middles)
        pointers = [*map(self._calls["FPDFTextObj_GetFont"], objects)]
        boxes = self._boxes(firsts, lasts)
        sizes = self._sizes_of(middles, pointers, boxes)
        fonts, number, rounded = self._fonts, self._number, self._sizes
        lines = []
        for text, first, last, box, size, pointer in zip(texts, firsts, lasts, boxes, sizes, pointers, strict=True):
            font = fonts.get(pointer) or self._font(pointer)
            if text.isascii():
                plain = text if text.isprintable() and "  " not in text else clean(text)
            else:
                plain = clean(self._logical(text, first) if RIGHT_TO_LEFT.search(text) else text)
            if not plain or plain == HYPHEN:
                continue
            if font is not PLAIN:
                begins, ends = self._font_at(first), self._font_at(last)
                if font.mono and not (begins.mono and ends.mono):  # a name set as code within text
                    size = self._real_sizes([last if begins.mono else first])[0]
                font = font.both(begins).both(ends)
                if font.mono and "  " in text:
                    plain = text.translate(SIGNS).replace("\r", "").expandtabs()
            height = box[3] - box[1]
            if not 0.5 * size <= height <= 2.5 * size:
                size = 0.85 * height  # the font's own units are others than a font's should be
            lines.append(Line(plain, rounded.get(size) or _rounded(size, rounded), font, box, number, first, last))
        return lines

    def _logical(self, text: str, first: int) -> str:
        """Return text with its words from right to left in the order of reading; pdfium gives some as they stand."""
        runs = [*RIGHT_TO_LEFT.finditer(text)]
        begins, ends = [first + run.start() for run in runs], [first + run.end() - 1 for run in runs]
        for run, one, other in zip(runs, self._boxes(begins, begins), self._boxes(ends, ends), strict=True):
            word = run[0][::-1] if one[0] < other[0] else run[0]
            text = text[: run.start()] + word + text[run.end() :]
        return text

    def _sizes_of(self, indexes: list[int], pointers: list[int | None], boxes: list[Box]) -> list[float]:
        """Return the font sizes of characters in points; those of one font, nominal size and height have the same."""
        nominal = map(self._calls["FPDFText_GetFontSize"], repeat(self._reference), indexes)
        keys = [
            (pointer, size, int(_PRECISE * (box[3] - box[1])))
            for pointer, size, box in zip(pointers, nominal, boxes, strict=True)
        ]
        known = self._scaled
        new = {key: index for key, index in zip(keys, indexes, strict=True) if key not in known}
        known.update(zip(new, self._real_sizes([*new.values()]), strict=True))
        return [known[key] for key in keys]

    def _real_sizes(self, indexes: list[int]) -> list[float]:
        """Return the font sizes of characters in points, as the page scales them."""
        nominal = map(self._calls["FPDFText_GetFontSize"], repeat(self._reference), indexes)
        matrices = numbers_from("FPDFText_GetMatrix", indexes, self._reference)
        return [
            size * (hypot(c, d) if c else abs(d))
            for size, c, d in zip(nominal, matrices[2::6], matrices[3::6], strict=True)
        ]

    def _font_at(self, index: int) -> Font:
        return self._font(
            self._calls["FPDFTextObj_GetFont"](self._calls["FPDFText_GetTextObject"](self._reference, index))
        )

    def _font(self, pointer: int | None) -> Font:
        font = self._fonts.get(pointer)
        if font is None:
            font = self._fonts[pointer] = read_font(pointer)
        return font

    def _boxes(self, firsts: list[int], lasts: list[int]) -> list[Box]:
        """Return the boxes around pairs of characters."""
        pairs = [*chain.from_iterable(zip(firsts, lasts, strict=True))]
        return around_pairs(numbers_from("FPDFText_GetLooseCharBox", pairs, self._reference), self._place)

    def _pieces(self, lines: list[Line]) -> list[Line]:
        """Return lines, those with gaps wider than a letter in pieces."""
        wide = gapped(lines, self._reference, self._place)
        if not wide:
            return lines
        texts: list[str] = []
        firsts: list[int] = []
        lasts: list[int] = []
        counts: list[int] = []
        for index, words in zip(wide, self._words([lines[index] for index in wide]), strict=True):
            line = lines[index]
            groups = _groups(words, GAP * line.size)
            counts.append(len(groups))
            if len(groups) > 1:
                texts += self._texts(line, groups)
                firsts += [first for first, _ in groups]
                lasts += [last for _, last in groups]
        made = iter(self._made(texts, firsts, lasts) if texts else ())
        parts: dict[int, list[Line]] = {
            index: list(islice(made, count)) for index, count in zip(wide, counts, strict=True) if count > 1
        }
        return [*chain.from_iterable(parts.get(index, (line,)) for index, line in enumerate(lines))]

    def _texts(self, line: Line, groups: Iterable[tuple[int, int]]) -> list[str]:
        """Return the texts of a line's groups of words, the last with the hyphen that ends the line."""
        texts = [self.text[first : last + 1] for first, last in groups]
        texts[-1] += HYPHEN if line.text.endswith(HYPHEN) else ""
        return texts

    def _words(self, lines: list[Line]) -> list[list[tuple[int, int, Box]]]:
        """Return the words of lines: first and last character, and box."""
        found = [
            [(match.start(), match.end() - 1) for match in _WORDS.finditer(self.text, line.first, line.last + 1)]
            for line in lines
        ]
        every = [*chain.from_iterable(found)]
        boxes = iter(self._boxes([first for first, _ in every], [last for _, last in every]))
        return [[(first, last, next(boxes)) for first, last in words] for words in found]

    def parted(self, line: Line, places: Sequence[float]) -> list[Line]:
        """Return a line in pieces, cut between the words where any of the places, from the left, is passed."""
        groups: dict[int, tuple[int, int]] = {}
        for first, last, box in self._words([line])[0]:
            side = bisect_right(places, (box[0] + box[2]) / 2)
            groups[side] = (groups.get(side, (first, last))[0], last)
        if len(groups) < 2:
            return [line]
        firsts, lasts = zip(*groups.values(), strict=True)
        made = self._made(self._texts(line, groups.values()), [*firsts], [*lasts])
        self._mark_superscripts(made)
        for piece in made[:-1]:
            piece.ruled = True
        return made

    def words(self, line: Line) -> list[tuple[str, Box]]:
        """Return the words of a line, each with its box; one that is no part of the page's content is one."""
        if line.first < 0:
            return [(line.text, line.box)]
        return [(clean(self.text[first : last + 1]), box) for first, last, box in self._words([line])[0]]

    def runs_up(self, line: Line) -> bool:
        """Return whether a line's end is above its beginning."""
        ends = boxes_from("FPDFText_GetLooseCharBox", [line.first, line.last], self._reference)
        first, last = placed(ends, self._place)
        return last[1] < first[1]

    def text_in(self, sides: tuple[float, float, float, float]) -> str:
        """Return the text in a box of the page's own coordinates, in one line."""
        buffer = bytearray(2 * _MAX_BOUNDED)
        left, top, right, bottom = sides
        written = self._calls["FPDFText_GetBoundedText"](
            self._raw, left, top, right, bottom, _start(buffer), _MAX_BOUNDED
        )
        text = buffer[: 2 * max(min(written, _MAX_BOUNDED), 0)].decode("utf-16-le", "replace")
        return clean(text.rstrip("\0"))

    def _mark_superscripts(self, lines: list[Line]) -> None:
        """Put marks around the figures of lines that are raised."""
        found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        firsts = [line.first for line in lines]
        for match in _SUPERSCRIPT.finditer(self.text):
            start, end = match.span()
            index = bisect_right(firsts, start) - 1
            if index < 0 or end > lines[index].last + 1:
                continue
            begins = start == firsts[index]
            beside = end + self.text[end].isspace() if begins else start - 1
            if begins == (match.lastgroup == "before") and self._is_raised(start, beside):
                found[index].append((start, end))
        for index, places in found.items():
            self._mark(lines[index], places)

    def _mark(self, line: Line, places: list[tuple[int, int]]) -> None:
        raw = self.text[line.first : line.last + 1]
        for start, end in reversed(places):
            start, end = start - line.first, end - line.first
            raw = f"{raw[:start]}{RAISED}{raw[start:end]}{LOWERED}{raw[end:]}"
        ending = HYPHEN if line.text.endswith(HYPHEN) else ""
        line.text = LOWERED.join(map(clean_raised, raw.split(LOWERED))) + ending

    def _is_raised(self, index: int, other: int) -> bool:
        """Return whether a character is smaller than another beside it and stands higher."""
        if self._baseline(index) < self._baseline(other) - 0.5:
            size, beside = self._real_sizes([index, other])
            return size < 0.9 * beside
        return False

    def _baseline(self, index: int) -> float:
        x, y = ctypes.c_double(), ctypes.c_double()
        self._calls["FPDFText_GetCharOrigin"](self._raw, index, ctypes.addressof(x), ctypes.addressof(y))
        return self._place[1] * x.value + self._place[3] * y.value


def _start(buffer: bytearray) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def _rounded(size: float, known: dict[float, float]) -> float:
    """Return a font size to a tenth of a point, and keep it among those known."""
    return known.setdefault(size, max(tenths(size), 0.1))


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
