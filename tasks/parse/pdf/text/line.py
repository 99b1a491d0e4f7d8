"""PDF lines: contiguous text on one level of a page, its font, and words cut between two lines."""

import ctypes
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, repeat

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.font_names import MONOSPACED
from docmill.tasks.parse.pdf.text.characters import ACCENTS, HYPHEN
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
_NOT_BOLD = re.compile(r"-(?:regular|roman|book|light)", re.IGNORECASE)  # although typewriter fonts have wide stems
_CODE = re.compile(r"(?:[A-Z]{6}\+)?(Adv[A-Z]*\d?[0-9A-F]*|CIDFont\+F\d+|[A-Z]{1,2}\d*_?\d+)")
"""Names that typesetting systems and printer drivers give to fonts: AdvPS6F01, CIDFont+F2, TT2, T1_0."""
_BOLD_WEIGHT = 560
"""The weight that pdfium derives from a font's stem, five times its width. Text has 400, seldom 500; the bold of
Computer Modern has 570, that of other families 600 and more."""
# Flags in a PDF's font descriptor (PDF 1.7, table 123).
_FIXED_PITCH, _SLANTED, _FORCE_BOLD = 1, 1 << 6, 1 << 18
_NUMBER = re.compile(r"(?:\d[\d.]*[.)]?|[IVX]+\.) +")  # of a heading
_NUMBERING = frozenset("0123456789IVX")
_NAME_BYTES = 128  # longer than the names of real fonts; a longer name is ignored
_NAME = ctypes.c_char * _NAME_BYTES
_HIGH = 1.4  # of its size: a higher line may begin with a larger letter
_CAPITALS = (1.15, 1.6)
"""Size of a first letter relative to small capitals, which browsers draw at 0.7 of the size and typesetters at 0.75 to
0.85. Drop capitals are larger."""
_KNOWN_NAMES = 4_096  # cached in a worker across documents, which share most of them

_LEAST_FIT, _MOST_FIT = 0.5, 2.5
"""Height of a line in font sizes, which is usually about 1.2. Outside these limits the size must be wrong, because some
fonts use their own units. Closer limits would change the sizes of fonts with tall or flat boxes."""
_OF_HEIGHT = 0.85  # the size of a font as a share of its line's height, the inverse of 1.2
LEAST_SIZE = 0.1  # points, to which sizes are rounded; never 0, because others divide by sizes

_FLAT = -0.1
"""Least depth of a font below the baseline, in font sizes. LibreOffice states none for its fonts; all other
fonts that were examined, from eight programs, state 0.17 to 0.32."""
_ABOVE, _BELOW = 0.9, 0.21  # font sizes that a line takes above and below its baseline, by the metrics of Liberation
_ALONG = 1.6  # font sizes: a higher line holds two, or runs up the page


@dataclass(frozen=True, slots=True)
class Font:
    """The properties of a font: bold, monospaced (as for code) and slanted.

    If neither its name nor anything else tells these, `code` is its name, such as AdvPS6F01.
    """

    bold: bool = False
    mono: bool = False
    italic: bool = False
    code: str = ""

    def both(self, other: "Font") -> "Font":
        """Return the properties that both fonts share."""
        if self is other:
            return self
        return _font(self.bold and other.bold, self.mono and other.mono, self.italic and other.italic)


PLAIN = Font()


def read_font(pointer: int | None) -> Font:
    """Return the properties of the font at an address."""
    if pointer is None:
        return PLAIN
    ask = calls()
    name = _NAME()
    length = ask["FPDFFont_GetBaseFontName"](pointer, ctypes.addressof(name), _NAME_BYTES)
    written = name.value if 0 < length <= _NAME_BYTES else b""
    bold, mono, italic = _named(written)
    flags = max(ask["FPDFFont_GetFlags"](pointer), 0)  # -1 where it has none
    if not bold:
        heavy = bold is None and ask["FPDFFont_GetWeight"](pointer) >= _BOLD_WEIGHT
        bold = heavy or bool(flags & _FORCE_BOLD)
    font = _font(bold, mono or bool(flags & _FIXED_PITCH), italic or bool(flags & _SLANTED))
    return _coded(written) if font is PLAIN else font


def _font(bold: bool, mono: bool, italic: bool) -> Font:
    return Font(bold, mono, italic) if bold or mono or italic else PLAIN


@lru_cache(maxsize=_KNOWN_NAMES)
def _coded(name: bytes) -> Font:
    """Return the font of a name that is a code; PLAIN for any other name."""
    match = _CODE.fullmatch(name.decode("latin-1"))
    return Font(code=match[1]) if match else PLAIN


@lru_cache(maxsize=_KNOWN_NAMES)
def _named(name: bytes) -> tuple[bool | None, bool, bool]:
    """Return whether a font is bold (None if its name does not say), whether monospaced, and whether slanted."""
    text = name.decode("latin-1")
    bold = True if _BOLD.search(text) else False if _NOT_BOLD.search(text) else None
    return bold, MONOSPACED.search(text) is not None, _ITALIC.search(text) is not None


def is_flat(pointer: int | None) -> bool:
    """Return whether a font states no depth, so that the boxes of its letters are only as high as their ink."""
    descent = ctypes.c_float()
    asked = pointer is not None and calls()["FPDFFont_GetDescent"](pointer, 1.0, ctypes.addressof(descent))
    return bool(asked) and descent.value > _FLAT


def line_box(box: Box, size: float, baseline: float) -> Box:
    """Return the box of a line in a flat font, as high as lines in other fonts; a much higher box is unchanged."""
    left, top, right, bottom = box
    if bottom - top > _ALONG * size:
        return box
    return (left, min(top, baseline - _ABOVE * size), right, max(bottom, baseline + _BELOW * size))


def fits(size: float, height: float) -> bool:
    """Return whether a line in a font of this size may have this height."""
    return _LEAST_FIT * size <= height <= _MOST_FIT * size


def is_usual(text: str, size: float, box: Box) -> bool:
    """Return whether a line is as high as its font, as nearly all are: it has neither small capitals nor an initial."""
    return _LEAST_FIT * size <= box[3] - box[1] <= _HIGH * size and not text.isupper()


def fitting_size(size: float, height: float) -> float:
    """Return a font's size, to a tenth of a point, if it fits the height of its line, else a size from that height."""
    found = tenths(size if fits(size, height) else _OF_HEIGHT * height)
    return found if found > LEAST_SIZE else LEAST_SIZE


def is_by_height(size: float, height: float) -> bool:
    """Return whether a line's size may have been derived from its height."""
    return size == max(tenths(_OF_HEIGHT * height), LEAST_SIZE)


def _second_letter(text: str) -> int:
    """Return the index of the second letter of a text, which may follow a first word such as "A"."""
    return 2 if text[1:2] == " " else 1


def line_size(text: str, size: float, box: Box, begins: int, sizes: Callable[[list[int]], list[float]]) -> float:
    """Return the size of a line from that of the letter in its middle; in small capitals, the size of its first letter.

    `begins` is the index of its first letter; `sizes` returns the sizes of the letters at some indexes.
    """
    height = box[3] - box[1]
    # Nearly all lines; the boxes of some fonts are only as high as small letters.
    if height <= _HIGH * size and not text.isupper():
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
    """Return how many characters at the beginning of a line are an initial, several lines high, and its space.

    The arguments are as in `line_size`.
    """
    if box[3] - box[1] <= _HIGH * size or not text[:1].isupper() or text.isupper():  # nearly all lines
        return 0
    second = _second_letter(text)
    if not text[second:][:1].isalpha():
        return 0
    initial, other = sizes([begins, begins + second])
    return second if initial >= _CAPITALS[1] * size and other < _CAPITALS[1] * size else 0


NOWHERE = -1  # the index of text outside the page's content: the value of a form field, or a note


@dataclass(slots=True)
class TextLine:
    """A line or a piece of one: text, font size in points, box from the page's top left.

    `first` and `last` are the indexes of its first and last character in pdfium's text of the page; 0 after OCR. `gap`
    is the widest gap between the pieces that were joined into it, in font sizes.
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
    ruled: bool = False  # a vertical rule follows it
    gap: float = 0.0
    contents: bool = False  # it belongs to a table of contents
    cut: bool = False  # it may end within a word, in a script without hyphens, if the line is full
    lead: int = 0  # emphasised letters at its beginning, which may name its paragraph

    @property
    def height(self) -> float:
        """Return the height of the line's box in points."""
        _, top, _, bottom = self.box
        return bottom - top

    @property
    def middle(self) -> float:
        """Return the vertical middle of the line."""
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
    """Return pieces of a line from left to right, as table detection needs them, also those of right-to-left text."""
    is_leftward = is_right_to_left("".join(piece.text for piece in pieces))
    return sorted(pieces, key=lambda piece: piece.box[0]) if is_leftward else pieces


_SHIFT = 0.3
"""How far a repeated drawing of a line may be off the first, as a share of its height. Shadows and false bold are off
by less, the next line of a text by three times as much."""
_OFF = 3  # letters by which the position of a word in a line, estimated from its width, may be wrong


def drawn_once(lines: list[TextLine]) -> list[TextLine]:
    """Return lines without those that repeat another at the same place: shadows, and text drawn twice."""
    gone = set[int]()
    ordered = sorted(lines, key=lambda line: line.box[1])
    for at, line in enumerate(ordered):
        reach = line.box[1] + _SHIFT * line.height
        for after in range(at + 1, len(ordered)):
            other = ordered[after]
            if other.box[1] > reach:
                break
            if other.box[0] < line.box[2] and line.box[0] < other.box[2]:  # few lines overlap
                one, whole = sorted((other, line), key=lambda each: len(each.text) - each.text.count(" "))
                if _is_in(one, whole):
                    gone.add(id(one))
    return [line for line in lines if id(line) not in gone] if gone else lines


def _is_in(one: TextLine, whole: TextLine) -> bool:
    """Return whether another line at the same place has the letters of this one, in the same order."""
    near = _SHIFT * one.height
    (left, _, right, bottom), (start, _, end, lower) = one.box, whole.box
    is_over = left > start - near and right < end + near and abs(bottom - lower) < near
    if not is_over or one.text in ACCENTS:  # accents are drawn over a letter
        return False
    share = len(whole.text) / max(end - start, near)
    first, last = int((left - start) * share), int((right - start) * share)
    there = iter(whole.text[max(first - _OFF, 0) : last + 1 + _OFF])
    return all(sign in there for sign in one.text if not sign.isspace())


_MARKS = ",.;:)"  # punctuation that may follow words
_LAST = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*$")
_FIRST = re.compile(r"[^\W\d_]+")
_CODE_NAME = re.compile(r"\w[.=@\\:]\w|[{}<>\\_]")  # of a file, a key, an address: its hyphens are real
_DASHES = ("-", "\u2010", HYPHEN)
_LEAST_PART = 5  # letters of each part of a compound: shorter parts, as in "there-fore", may be words by chance
_PREFIX_WORDS = "under after other every where there super inter trans multi micro macro hyper ultra infra extra intra"
_PREFIXES = frozenset(_PREFIX_WORDS.split())
"""Words that are also prefixes: if "stand" occurs in a document, "under-stand" would be a compound."""
_LONGEST = 60  # characters of a word to examine: longer ones are no words, and slow to search


class Vocabulary:
    """The words of a text in lower case, without trailing punctuation; built on first use."""

    def __init__(self, text: str = "") -> None:
        self._text = text

    @cached_property
    def _small(self) -> str:
        return self._text.lower()

    def __contains__(self, word: str) -> bool:
        """Return whether a word of letters occurs alone in the text."""
        return word in self._small and word in self._alone

    @cached_property
    def _alone(self) -> set[str]:
        return {*map(str.rstrip, {*self._small.split()}, repeat(_MARKS))}

    @cached_property
    def compound(self) -> set[str]:
        """Return the words with a hyphen; of one with several hyphens, each pair of parts."""
        found = set()
        for before, after in pairwise(self._small.split("-")):
            head, tail = before.rsplit(None, 1)[-1:], after.split(None, 1)[:1]
            if head and tail and not before[-1].isspace() and not after[0].isspace():
                found.add(f"{head[0]}-{tail[0].rstrip(_MARKS)}")
        return found


NO_WORDS = Vocabulary()

CUT = "\u2060"  # marks the end of a Korean line that is cut within a word
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)
"""Letters and signs of Thai, Lao, Burmese, Khmer, Chinese and Japanese, which have no spaces between words."""
_RUN_ON = re.compile(f"(?<=[{_UNSPACED}])\n(?=[{_UNSPACED}])|{CUT}\n(?=[\uac00-\ud7a3])|{CUT}")
_ENDS = re.compile(r"[\uac00-\ud7a3](?P<space>[^\S\n]*)(?=\n|$)")
_LEAST_SPACED = 6
"""Korean lines on a page that must end with a space, before a line without one counts as cut within a word. With fewer,
stray spaces from a program that writes none would join words; with more, last pages would keep their cut words."""


def cuts_within_words(text: str) -> frozenset[int]:
    """Return the indexes of the last letters of Korean lines that are cut within a word.

    Korean has spaces but no hyphens; programs draw the space at the end of a line if there is one.
    """
    ends = [(found.start(), bool(found["space"].strip("\r"))) for found in _ENDS.finditer(text)]
    is_told = sum(spaced for _, spaced in ends) >= _LEAST_SPACED
    return frozenset(at for at, spaced in ends if is_told and not spaced)


def joined(lines: Iterable[str], words: Vocabulary = NO_WORDS) -> str:
    """Return lines as one text; words cut between two lines are rejoined, also in scripts without spaces.

    The other `words` of the document decide whether the hyphen is part of the word. If they do not, a hyphen before a
    lower-case letter counts as the typesetter's.
    """
    text = "\n".join(lines)
    if not text.isascii():
        text = _RUN_ON.sub("", text)
    if "-\n" not in text and "\u2010\n" not in text and HYPHEN not in text:  # no word is cut
        return text.replace("\n", " ")
    parts: list[str] = []
    for line in text.split("\n"):
        last = parts[-1] if parts else ""
        if last.endswith(_DASHES) and last[-2:-1].isalpha():
            parts[-1] = last[:-1] + _hyphen(last[:-1], line, words)
        elif parts:
            parts[-1] = f"{last.removesuffix(HYPHEN)} "
        parts.append(line)
    return "".join(parts).replace(HYPHEN, "-")


def _hyphen(before: str, after: str, words: Vocabulary) -> str:
    """Return a hyphen if it belongs between the two parts of a word, else ""."""
    start, end = before.rsplit(None, 1)[-1][-_LONGEST:], after[:_LONGEST].split(" ", 1)[0]
    last, first = _LAST.search(start), _FIRST.match(end)
    if not last or not first or _CODE_NAME.search(start) or _CODE_NAME.search(end):
        return "-"
    return "-" if _is_compound(last.group().lower(), first.group(), words) else ""


def _is_compound(head: str, tail: str, words: Vocabulary) -> bool:
    small = tail.lower()
    if f"{head}-{small}" in words.compound:
        return head + small not in words
    return not tail[0].islower() or "-" in head or _are_words(head, small, words)


def _are_words(head: str, tail: str, words: Vocabulary) -> bool:
    """Return whether both parts are words of the document but joined they are not, as in "decision-making"."""
    if min(len(head), len(tail)) < _LEAST_PART or head in _PREFIXES:
        return False
    return head in words and tail in words and head + tail not in words


def texts_to_join(lines: Sequence[TextLine]) -> list[str]:
    """Return the texts of a paragraph's lines as `joined` takes them: only a full line can be cut within a word."""
    end = max((line.right - line.size for line in lines), default=0.0)
    return [line.text + CUT if line.cut and line.right > end else line.text for line in lines]
