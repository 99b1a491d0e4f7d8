"""PDF lines: contiguous text on one level of a page, and its font: bold, slanted or monospaced."""

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.characters import ACCENTS, CUT
from docmill.tasks.parse.pdf.text.pdfium_calls import calls, tenths
from docmill.tasks.parse.pdf.text.right_to_left import is_right_to_left

# LaTeX's names: CMBX10, SFBX1000, ECSX1000 and cmssbx10 are bold; CMTI10, SFSL1000 and ECIT1000 slant; SFBI is both.
_TEX = r"(?:^|\+)(?:cm|sf|ec|lm|la|cs)"
_BOLD = re.compile(
    rf"bold|black|heavy|medi|demi|-bd|{_TEX}(?:(?:ss)?bx|bi|bl|b|rb|sx|so|xc)(?:ti|sl)?\d", re.IGNORECASE
)
_ITALIC = re.compile(
    rf"italic|(?-i:Ital)|obli|slant|kursiv|inclined|-(?:bold|medium|light)?it$|{_TEX}(?:bx|ss)?(?:ti|sl|bi|bl|si|so|it|st)\d",
    re.IGNORECASE,
)
_MONO = re.compile(
    r"mono|courier|consol|menlo|monaco|typewriter|inconsolata|(?:source|fira) ?code|fixed|nimbusmon"
    r"|(?:letter|book ?master) ?gothic|(?:cm|sf|l|x)tt",
    re.IGNORECASE,
)
_NOT_BOLD = re.compile(r"-(?:regular|roman|book|light)", re.IGNORECASE)  # though typewriter fonts have wide stems
_BOLD_WEIGHT = 560
"""The weight that pdfium makes of a font's stem, five times its width; text is set in 400, seldom in 500. The bold of
Computer Modern has 570, those of other families 600 and more."""
# Flags in a PDF's font descriptor (PDF 1.7, table 123).
_FIXED_PITCH, _SLANTED, _FORCE_BOLD = 1, 1 << 6, 1 << 18
_NUMBER = re.compile(r"(?:\d[\d.]*[.)]?|[IVX]+\.) +")  # of a heading
_NUMBERING = frozenset("0123456789IVX")
_NAME_BYTES = 128  # longer than the names of real fonts; nothing is made of a name that does not fit
_NAME = ctypes.c_char * _NAME_BYTES
_HIGH = 1.4  # of its size: a line that is higher may begin with a larger letter
_CAPITALS = (1.15, 1.6)
"""Times small capitals, which browsers draw at 0.7 of the size, typesetters at 0.75 to 0.85; drop capitals: larger."""
_KNOWN_NAMES = 4_096  # kept by a worker over its documents, which share most of them

_LEAST_FIT, _MOST_FIT = 0.5, 2.5
"""Heights of a line in sizes of its font. A line is about 1.2 sizes high; outside of these the size cannot be true,
since some fonts count in units of their own. Closer limits would change the sizes of fonts with tall or flat boxes."""
_OF_HEIGHT = 0.85  # the size of a font by the height of its line, the inverse of those 1.2
LEAST_SIZE = 0.1  # points, what sizes are rounded to; others divide by them

_FLAT = -0.1
"""Sizes below the baseline that a font reaches at least. LibreOffice states none for its fonts; all others that were
looked at, of eight programs, state between 0.17 and 0.32."""
_ABOVE, _BELOW = 0.9, 0.21  # sizes above and below its baseline that a line takes, as with the metrics of Liberation
_ALONG = 1.6  # sizes: a higher line holds two, or runs up the page


@dataclass(frozen=True, slots=True)
class Font:
    """The properties of a font: bold, monospaced, as for code, and slanted."""

    bold: bool = False
    mono: bool = False
    italic: bool = False

    def both(self, other: "Font") -> "Font":
        """Return the properties that both fonts share."""
        if self is other:
            return self
        return _font(self.bold and other.bold, self.mono and other.mono, self.italic and other.italic)


PLAIN = Font()


def read_font(pointer: int | None) -> Font:
    """Return what pdfium says of a font by its address."""
    if pointer is None:
        return PLAIN
    ask = calls()
    name = _NAME()
    length = ask["FPDFFont_GetBaseFontName"](pointer, ctypes.addressof(name), _NAME_BYTES)
    bold, mono, italic = _named(name.value if 0 < length <= _NAME_BYTES else b"")
    flags = max(ask["FPDFFont_GetFlags"](pointer), 0)  # -1 where it has none
    if not bold:
        heavy = bold is None and ask["FPDFFont_GetWeight"](pointer) >= _BOLD_WEIGHT
        bold = heavy or bool(flags & _FORCE_BOLD)
    return _font(bold, mono or bool(flags & _FIXED_PITCH), italic or bool(flags & _SLANTED))


def _font(bold: bool, mono: bool, italic: bool) -> Font:
    return Font(bold, mono, italic) if bold or mono or italic else PLAIN


@lru_cache(maxsize=_KNOWN_NAMES)
def _named(name: bytes) -> tuple[bool | None, bool, bool]:
    """Return whether a font is bold, None if its name does not say, whether it is monospaced, and whether it slants."""
    text = name.decode("latin-1")
    bold = True if _BOLD.search(text) else False if _NOT_BOLD.search(text) else None
    return bold, _MONO.search(text) is not None, _ITALIC.search(text) is not None


def is_flat(pointer: int | None) -> bool:
    """Return whether a font states no depth: the boxes of its letters are no higher than what is drawn of them."""
    descent = ctypes.c_float()
    asked = pointer is not None and calls()["FPDFFont_GetDescent"](pointer, 1.0, ctypes.addressof(descent))
    return bool(asked) and descent.value > _FLAT


def line_box(box: Box, size: float, baseline: float) -> Box:
    """Return the box of a line in a flat font as high as lines in other fonts are; of one line of letters alone."""
    left, top, right, bottom = box
    if bottom - top > _ALONG * size:
        return box
    return (left, min(top, baseline - _ABOVE * size), right, max(bottom, baseline + _BELOW * size))


def fits(size: float, height: float) -> bool:
    """Return whether a line in a font of this size may be so high."""
    return _LEAST_FIT * size <= height <= _MOST_FIT * size


def is_usual(text: str, size: float, box: Box) -> bool:
    """Return whether a line is as high as its font, as nearly all are, so that it has neither capitals of several
    sizes nor an initial.
    """
    return _LEAST_FIT * size <= box[3] - box[1] <= _HIGH * size and not text.isupper()


def fitting_size(size: float, height: float) -> float:
    """Return a font's size in tenths of a point if it fits the height of its line, else one by that height."""
    found = tenths(size if fits(size, height) else _OF_HEIGHT * height)
    return found if found > LEAST_SIZE else LEAST_SIZE


def is_by_height(size: float, height: float) -> bool:
    """Return whether a line's size may have been taken from its height."""
    return size == max(tenths(_OF_HEIGHT * height), LEAST_SIZE)


def _second_letter(text: str) -> int:
    """Return the place of the second letter of a text, behind a first word such as "A"."""
    return 2 if text[1:2] == " " else 1


def line_size(text: str, size: float, box: Box, begins: int, sizes: Callable[[list[int]], list[float]]) -> float:
    """Return the size of a line from that of the letter in its middle; in small capitals, the size of its first letter.

    `begins` is the place of its first letter; `sizes` gives the sizes of the letters at some places.
    """
    height = box[3] - box[1]
    if (
        height <= _HIGH * size and not text.isupper()
    ):  # as nearly all; the boxes of some fonts are as high as small letters
        return fitting_size(size, height)
    number = _NUMBER.match(text) if text[:1] in _NUMBERING else None
    if number is not None:
        text, begins = text[number.end() :], begins + number.end()
    if text[:1].isupper() and text[_second_letter(text) :][:1].isalpha():
        first, second = sizes([begins, begins + _second_letter(text)])
        if _CAPITALS[0] * size < first < _CAPITALS[1] * size and second < _CAPITALS[0] * size:
            size = first
    return fitting_size(size, height)


def after_initial(text: str, size: float, box: Box, begins: int, sizes: Callable[[list[int]], list[float]]) -> int:
    """Return how many characters a line begins with that are an initial, several lines high, and the space behind it.

    The arguments are those of `line_size`.
    """
    if box[3] - box[1] <= _HIGH * size or not text[:1].isupper() or text.isupper():  # as nearly all
        return 0
    second = _second_letter(text)
    if not text[second:][:1].isalpha():
        return 0
    initial, other = sizes([begins, begins + second])
    return second if initial >= _CAPITALS[1] * size and other < _CAPITALS[1] * size else 0


NOWHERE = -1  # the place in pdfium's text of what is no part of a page's content: filled in, or laid over it


@dataclass(slots=True)
class TextLine:
    """A line or a piece of one: text, font size in points, box from the page's top left.

    `first` and `last` are its characters in pdfium's text of the page, 0 after OCR. `gap` is the widest gap between the
    pieces that it was joined from, in font sizes.
    """

    text: str
    size: float
    font: Font
    box: Box
    page: int
    first: int
    last: int
    level: int = 0
    furniture: bool = False
    ruled: bool = False  # there is a vertical rule behind it
    gap: float = 0.0
    contents: bool = False  # it belongs to a list of contents
    cut: bool = False  # within a word, where its script has no hyphens, if the line is full
    lead: int = 0  # letters at its beginning that stand out and may name its paragraph

    @property
    def height(self) -> float:
        """Return the height of the line's box in points."""
        _, top, _, bottom = self.box
        return bottom - top

    @property
    def middle(self) -> float:
        """Return the height halfway down the line."""
        _, top, _, bottom = self.box
        return (top + bottom) / 2

    @property
    def left(self) -> float:
        """Return where the line begins, in points."""
        return self.box[0]

    @property
    def right(self) -> float:
        """Return where the line ends, in points."""
        return self.box[2]


def from_the_left(pieces: list[TextLine]) -> list[TextLine]:
    """Return pieces of a line as rows of tables are looked for: those read from the right come the other way round."""
    is_leftward = is_right_to_left("".join(piece.text for piece in pieces))
    return sorted(pieces, key=lambda piece: piece.box[0]) if is_leftward else pieces


_SHIFT = 0.3
"""Of its height, by which a line that is drawn again is off the first: shadows and false bold are off by less, the next
line of a text by three times as much."""
_OFF = 3  # letters by which the place of a word in a line, told by its width, may be wrong


def drawn_once(lines: list[TextLine]) -> list[TextLine]:
    """Return lines without those that say again, at the same place, what another does: shadows, text laid over text."""
    gone = set[int]()
    ordered = sorted(lines, key=lambda line: line.box[1])
    for at, line in enumerate(ordered):
        reach = line.box[1] + _SHIFT * line.height
        for after in range(at + 1, len(ordered)):
            other = ordered[after]
            if other.box[1] > reach:
                break
            if other.box[0] < line.box[2] and line.box[0] < other.box[2]:  # as few are
                one, whole = sorted((other, line), key=_letters)
                if _is_in(one, whole):
                    gone.add(id(one))
    return [line for line in lines if id(line) not in gone] if gone else lines


def _letters(line: TextLine) -> int:
    return len(line.text) - line.text.count(" ")


def _is_in(one: TextLine, whole: TextLine) -> bool:
    """Return whether the letters of a line are, in their order, those of another one at its place."""
    near = _SHIFT * one.height
    (left, _, right, bottom), (start, _, end, lower) = one.box, whole.box
    is_over = left > start - near and right < end + near and abs(bottom - lower) < near
    if not is_over or one.text in ACCENTS:  # which are drawn over a letter
        return False
    share = len(whole.text) / max(end - start, near)
    first, last = int((left - start) * share), int((right - start) * share)
    there = iter(whole.text[max(first - _OFF, 0) : last + 1 + _OFF])
    return all(sign in there for sign in one.text if not sign.isspace())


def texts_to_join(lines: Sequence[TextLine]) -> list[str]:
    """Return the texts of lines of one paragraph as `joined` takes them: only a full line is cut within a word."""
    end = max((line.right - line.size for line in lines), default=0.0)
    return [line.text + CUT if line.cut and line.right > end else line.text for line in lines]
