"""Right-to-left lines: the order in which Arabic and Hebrew are read, by the places of the letters.

pdfium gives some words in visual and some in reading order, and takes the letters of a ligature apart the wrong way
round. Where each letter stands is certain, so lines are read from the right, and numbers and Latin words in them from
the left. Source: Unicode Standard Annex 9, the bidirectional algorithm, of which this is the way back."""

import re
import unicodedata
from collections.abc import Container, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.characters import LEVEL, RAISED
from docmill.tasks.parse.pdf.text.pdfium_calls import Place, is_upright, numbers_from

Letter = tuple[str, Box]

_FIGURES = "0123456789"
PRIVATE = "\ue0f0-\ue0f9"  # code points that stand for raised figures while a line is put in order, for patterns
_TO_PRIVATE = str.maketrans(_FIGURES, "".join(chr(0xE0F0 + figure) for figure in range(10)))
_FROM_PRIVATE = {there: here for here, there in _TO_PRIVATE.items()}
_RUN = re.compile(f"[{PRIVATE}]+")
_FLAT = 2.5
"""Times as wide as high is no letter and no figure, but the stroke by which LibreOffice draws out a justified word. The
stroke has no code point of its own: it comes as a control character, or as any letter or figure."""

RIGHT_TO_LEFT = re.compile("[\u0590-\u05ff\u0600-\u065f\u066a-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LATIN = re.compile(r"[^\W\d_]")
_LAM, _ALEFS = "\u0644", frozenset("\u0622\u0623\u0625\u0627\u0671")
_RAISED = re.compile(f"[{PRIVATE}]+")
_TOUCHING = 1.0  # points between a word and its raised mark: spaces are wider
STROKE = "\ue0fa"
"""Stands for the stroke that draws out a justified word while its line is put in order; it takes part in the gaps."""
_CUT = re.compile("(?<=[\u0620-\u06ff])\x02+(?=[\u0620-\u06ff])")  # Arabic words are never cut at a line's end
_SAME = 0.1  # points: the letters of a ligature have one box
_FIGURE = rf"0-9A-Za-z\u00c0-\u024f\u0660-\u0669\u06f0-\u06f9{PRIVATE}"
_LEFTWARD = re.compile(  # what is read from the left in a word: a number with its signs, a Latin word
    rf"[+\-\u2212$€£#]?(?:[{_FIGURE}](?:[.,:/'\-\u2010&@_\u066b\u066c]?[{_FIGURE}])*)[%\u066a°$€£]?"
)
_REVERSED = re.compile(  # the same as it comes from the right
    rf"[%\u066a°$€£]?(?:[{_FIGURE}](?:[.,:/'\-\u2010&@_\u066b\u066c]?[{_FIGURE}])*)[+\-\u2212$€£#]?"
)
_MIRRORED = str.maketrans("()[]{}«»<>", ")(][}{»«><")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_POINTS = ".,:;!?\u060c\u061b\u061f"


def without_cuts(text: str) -> str:
    """Return the text of a page with another control character where pdfium's sign of a cut word is in an Arabic one.

    There it is the code of a stroke that draws out the word.
    """
    return _CUT.sub(lambda cut: "\x04" * len(cut[0]), text) if "\x02" in text else text


def may_be_right_to_left(text: str) -> bool:
    """Return whether a text has letters that are read from the right."""
    return not text.isascii() and RIGHT_TO_LEFT.search(text) is not None


def is_right_to_left(text: str) -> bool:
    """Return whether at least half of the letters of a text are read from the right."""
    if text.isascii():  # as most texts
        return False
    found = len(RIGHT_TO_LEFT.findall(text))
    return found > 0 and found >= _latin(text)


def _latin(text: str) -> int:
    return sum(RIGHT_TO_LEFT.match(letter) is None for letter in _LATIN.findall(text))


def in_reading_order(letters: Sequence[Letter]) -> str:
    """Return the text of a line that is read from the right.

    It has as many words as pdfium sees, which knows how many there are, but not where they end: at the widest gaps.
    Strokes that draw out its words are left out.
    """
    ordered = _from_the_right(letters)
    count = len("".join(text for text, _ in letters).split()) - _marks_apart(letters, ordered)
    words = [_word(word) for word in _words(ordered, count)]
    return " ".join(_mirrored(word) for word in _with_latin_in_order(words)).replace(STROKE, "")


def _marks_apart(letters: Sequence[Letter], ordered: Sequence[Letter]) -> int:
    """Return how many raised figures pdfium parts from the words that they touch."""
    alone = sum(_RAISED.fullmatch(word) is not None for word in "".join(text for text, _ in letters).split())
    if not alone:
        return 0
    raised = [_RAISED.fullmatch(text) is not None for text, _ in ordered]
    near = [there[0] - box[2] < _TOUCHING for (_, there), (_, box) in pairwise(ordered)]
    return min(alone, sum(one != other for (one, other), close in zip(pairwise(raised), near, strict=True) if close))


def word_in_reading_order(letters: Sequence[Letter]) -> str:
    """Return a word of letters that are read from the right, in a line of others."""
    return "".join(text for text, _ in _from_the_right(letters))


def _from_the_right(letters: Sequence[Letter]) -> list[Letter]:
    """Return letters from the right, those of one ligature in their order, and marks behind what they stand on."""
    based = _with_marks(letters)
    based.sort(key=lambda letter: -_middle(letter[1]))
    return [letter for glyph in _glyphs(based) for letter in glyph]


def _with_marks(letters: Sequence[Letter]) -> list[Letter]:
    """Return letters with the combining marks over and under them, without spaces."""
    bases = [letter for letter in letters if not letter[0].isspace() and not unicodedata.combining(letter[0])]
    texts = [text for text, _ in bases]
    for text, box in letters if bases else ():
        if unicodedata.combining(text):
            nearest = min(range(len(bases)), key=lambda at: abs(_middle(bases[at][1]) - _middle(box)))
            texts[nearest] += text
    return [(text, box) for text, (_, box) in zip(texts, bases, strict=True)]


def _middle(box: Box) -> float:
    return (box[0] + box[2]) / 2


def _glyphs(letters: list[Letter]) -> Iterator[list[Letter]]:
    """Yield the letters of each glyph; alef never stands before lam in a ligature."""
    glyph: list[Letter] = []
    for letter in letters:
        if glyph and not _is_same(glyph[-1][1], letter[1]):
            yield _ordered(glyph)
            glyph = []
        glyph.append(letter)
    if glyph:
        yield _ordered(glyph)


def _is_same(one: Box, other: Box) -> bool:
    return abs(one[0] - other[0]) < _SAME and abs(one[2] - other[2]) < _SAME


def _ordered(glyph: list[Letter]) -> list[Letter]:
    first, last = glyph[0][0][0], glyph[-1][0][0]
    return glyph[::-1] if first in _ALEFS and last == _LAM else glyph


def _words(letters: Sequence[Letter], count: int) -> Iterator[str]:
    """Yield the words of letters from the right, as they come: `count` of them, between the widest gaps."""
    gaps = [before[0] - box[2] for (_, before), (_, box) in pairwise(letters)]
    widest = sorted(sorted(range(len(gaps)), key=lambda at: -gaps[at])[: count - 1])
    for start, end in pairwise([0, *(at + 1 for at in widest), len(letters)]):
        yield "".join(text for text, _ in letters[start:end])


def _word(word: str) -> str:
    """Return a word with its numbers and Latin parts from the left."""
    return _REVERSED.sub(lambda match: match[0][::-1], word)


def _with_latin_in_order(words: list[str]) -> Iterator[str]:
    """Yield words with each run of Latin ones, and the numbers in it, in their own order."""
    for is_latin, run in groupby(words, key=_is_leftward):
        found = list(run)
        several = is_latin and any(map(_latin, found))
        yield from reversed(found) if several else found


def _is_leftward(word: str) -> bool:
    return RIGHT_TO_LEFT.search(word) is None and _LEFTWARD.search(word) is not None


def _mirrored(word: str) -> str:
    """Return a word whose brackets open before it and close behind it: as drawn they look the other way."""
    core = word.rstrip(_POINTS)
    if core[:1] in _CLOSING:
        word = word[0].translate(_MIRRORED) + word[1:]
    if len(core) > 1 and core[-1] in _OPENING:
        word = word[: len(core) - 1] + core[-1].translate(_MIRRORED) + word[len(core) :]
    return word


def without_strokes(text: str, first: int, text_page: Any, place: Place) -> str:
    """Return a text that is read from the right, from the place `first` on, with `STROKE` for each of its strokes."""
    odd = [at for at, sign in enumerate(text) if _may_be_stroke(sign)] if is_upright(place) else []
    sides = iter(numbers_from("FPDFText_GetCharBox", [first + at for at in odd], text_page))
    boxes = zip(odd, sides, sides, sides, sides, strict=True)
    strokes = {at for at, left, right, bottom, top in boxes if right - left > _FLAT * (top - bottom)}
    return "".join(STROKE if at in strokes else sign for at, sign in enumerate(text))


def _may_be_stroke(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or not sign.isprintable())


def set_apart(text: str, raised: Container[int]) -> str:
    """Return a text with a private character for each raised figure; `raised` are their places."""
    return "".join(sign.translate(_TO_PRIVATE) if at in raised else sign for at, sign in enumerate(text))


def marked(text: str) -> str:
    """Return a text with marks around its raised figures, which are ordinary ones again."""
    return _RUN.sub(lambda run: f"{RAISED}{run[0]}{LEVEL}", text).translate(_FROM_PRIVATE)
