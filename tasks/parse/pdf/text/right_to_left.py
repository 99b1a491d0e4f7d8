"""Right-to-left lines: restore the reading order of Arabic and Hebrew from the positions of the letters.

pdfium returns some words in visual order and some in reading order, and splits ligatures into letters in the wrong
order. Only the position of each letter is certain. So lines are read from the right, and numbers and Latin words in
them from the left. This reverses the bidirectional algorithm (Unicode Standard Annex 9)."""

import re
import unicodedata
from collections.abc import Container, Iterator, Sequence
from itertools import chain, groupby, pairwise
from typing import Any

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.characters import LEVEL, RAISED
from docmill.tasks.parse.pdf.text.pdfium_calls import Place, grouped, is_upright, numbers_from

Letter = tuple[str, Box]

_FIGURES = "0123456789"
PRIVATE = "\ue0f0-\ue0f9"  # code points that replace raised digits while a line is reordered, for patterns
_TO_PRIVATE = str.maketrans(_FIGURES, "".join(chr(0xE0F0 + figure) for figure in range(10)))
_FROM_PRIVATE = {there: here for here, there in _TO_PRIVATE.items()}
_RUN = re.compile(f"[{PRIVATE}]+")
_FLAT = 2.5
"""Width by height, above which a sign is not a letter or digit but the stroke by which LibreOffice stretches a
justified word. The stroke has no code point of its own: pdfium returns a control character, or any letter or digit."""

RIGHT_TO_LEFT = re.compile("[\u0590-\u05ff\u0600-\u065f\u066a-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LATIN = re.compile(r"[^\W\d_]")
_LAM, _ALEFS = "\u0644", frozenset("\u0622\u0623\u0625\u0627\u0671")
_RAISED = re.compile(f"[{PRIVATE}]+")
_TOUCHING = 1.0  # points between a word and its raised digits: spaces are wider
STROKE = "\ue0fa"
"""Replaces the stroke that stretches a justified word while its line is reordered; gaps are measured from it, too."""
_CUT = re.compile("(?<=[\u0620-\u06ff])\x02+(?=[\u0620-\u06ff])")  # Arabic words are never hyphenated
_SAME = 0.1  # points: the letters of a ligature have one box
_FIGURE = rf"0-9A-Za-z\u00c0-\u024f\u0660-\u0669\u06f0-\u06f9{PRIVATE}"
_LEFTWARD = re.compile(  # read from the left: a number with its signs, a Latin word
    rf"[+\-\u2212$€£#]?(?:[{_FIGURE}](?:[.,:/'\-\u2010&@_\u066b\u066c]?[{_FIGURE}])*)[%\u066a°$€£]?"
)
_REVERSED = re.compile(  # the same in reverse
    rf"[%\u066a°$€£]?(?:[{_FIGURE}](?:[.,:/'\-\u2010&@_\u066b\u066c]?[{_FIGURE}])*)[+\-\u2212$€£#]?"
)
_MIRRORED = str.maketrans("()[]{}«»<>", ")(][}{»«><")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_POINTS = ".,:;!?\u060c\u061b\u061f"


def without_cuts(text: str) -> str:
    """Return a page's text with pdfium's mark of a cut word replaced within Arabic words.

    There it is the code of a stroke that stretches the word; another control character replaces it.
    """
    return _CUT.sub(lambda cut: "\x04" * len(cut[0]), text) if "\x02" in text else text


def may_be_right_to_left(text: str) -> bool:
    """Return whether a text has right-to-left letters."""
    return not text.isascii() and RIGHT_TO_LEFT.search(text) is not None


def is_right_to_left(text: str) -> bool:
    """Return whether at least half of a text's letters are right-to-left."""
    if text.isascii():  # most texts
        return False
    found = len(RIGHT_TO_LEFT.findall(text))
    return found > 0 and found >= _latin(text)


def _latin(text: str) -> int:
    return sum(RIGHT_TO_LEFT.match(letter) is None for letter in _LATIN.findall(text))


def in_reading_order(letters: Sequence[Letter]) -> str:
    """Return the text of a right-to-left line in reading order.

    pdfium knows how many words there are, but not where they end; they are split at the widest gaps. Strokes that
    stretch words are left out.
    """
    ordered = _from_the_right(letters)
    count = len("".join(text for text, _ in letters).split()) - _marks_apart(letters, ordered)
    # Numbers and Latin parts read from the left.
    words = [_REVERSED.sub(lambda part: part[0][::-1], word) for word in _words(ordered, count)]
    return " ".join(_mirrored(word) for word in _with_latin_in_order(words)).replace(STROKE, "")


def _marks_apart(letters: Sequence[Letter], ordered: Sequence[Letter]) -> int:
    """Return how many raised digits pdfium separates from the words that they touch."""
    alone = sum(_RAISED.fullmatch(word) is not None for word in "".join(text for text, _ in letters).split())
    if not alone:
        return 0
    raised = [_RAISED.fullmatch(text) is not None for text, _ in ordered]
    near = [there[0] - box[2] < _TOUCHING for (_, there), (_, box) in pairwise(ordered)]
    return min(alone, sum(one != other for (one, other), close in zip(pairwise(raised), near, strict=True) if close))


def word_in_reading_order(letters: Sequence[Letter]) -> str:
    """Return a right-to-left word within a left-to-right line in reading order."""
    return "".join(text for text, _ in _from_the_right(letters))


def _from_the_right(letters: Sequence[Letter]) -> list[Letter]:
    """Return letters from the right, those of a ligature in their order, with combining marks behind their bases."""
    based = _with_marks(letters)
    based.sort(key=lambda letter: -_middle(letter[1]))
    glyphs = grouped(based, lambda glyph, letter: _is_same(glyph[-1][1], letter[1]))
    return [*chain.from_iterable(map(_ordered, glyphs))]


def _with_marks(letters: Sequence[Letter]) -> list[Letter]:
    """Return letters without spaces, each with its combining marks."""
    bases = [letter for letter in letters if not letter[0].isspace() and not unicodedata.combining(letter[0])]
    texts = [text for text, _ in bases]
    for text, box in letters if bases else ():
        if unicodedata.combining(text):
            nearest = min(range(len(bases)), key=lambda at: abs(_middle(bases[at][1]) - _middle(box)))
            texts[nearest] += text
    return [(text, box) for text, (_, box) in zip(texts, bases, strict=True)]


def _middle(box: Box) -> float:
    return (box[0] + box[2]) / 2


def _is_same(one: Box, other: Box) -> bool:
    return abs(one[0] - other[0]) < _SAME and abs(one[2] - other[2]) < _SAME


def _ordered(glyph: list[Letter]) -> list[Letter]:
    """Return the letters of a glyph in their order: in a ligature, alef never precedes lam."""
    first, last = glyph[0][0][0], glyph[-1][0][0]
    return glyph[::-1] if first in _ALEFS and last == _LAM else glyph


def _words(letters: Sequence[Letter], count: int) -> Iterator[str]:
    """Yield `count` words of letters sorted from the right, split at the widest gaps."""
    gaps = [before[0] - box[2] for (_, before), (_, box) in pairwise(letters)]
    widest = sorted(sorted(range(len(gaps)), key=lambda at: -gaps[at])[: count - 1])
    for start, end in pairwise([0, *(at + 1 for at in widest), len(letters)]):
        yield "".join(text for text, _ in letters[start:end])


def _with_latin_in_order(words: list[str]) -> Iterator[str]:
    """Yield words, with each run of Latin words and numbers in its own order."""
    for is_latin, run in groupby(words, key=_is_leftward):
        found = list(run)
        several = is_latin and any(map(_latin, found))
        yield from reversed(found) if several else found


def _is_leftward(word: str) -> bool:
    return RIGHT_TO_LEFT.search(word) is None and _LEFTWARD.search(word) is not None


def _mirrored(word: str) -> str:
    """Return a word with the brackets at its ends mirrored: as drawn they face the other way."""
    core = word.rstrip(_POINTS)
    if core[:1] in _CLOSING:
        word = word[0].translate(_MIRRORED) + word[1:]
    if len(core) > 1 and core[-1] in _OPENING:
        word = word[: len(core) - 1] + core[-1].translate(_MIRRORED) + word[len(core) :]
    return word


def without_strokes(text: str, first: int, text_page: Any, place: Place) -> str:
    """Return a right-to-left text with `STROKE` for each stroke; `first` is the index of its first character."""
    odd = [at for at, sign in enumerate(text) if _may_be_stroke(sign)] if is_upright(place) else []
    sides = iter(numbers_from("FPDFText_GetCharBox", [first + at for at in odd], text_page))
    boxes = zip(odd, sides, sides, sides, sides, strict=True)
    strokes = {at for at, left, right, bottom, top in boxes if right - left > _FLAT * (top - bottom)}
    return "".join(STROKE if at in strokes else sign for at, sign in enumerate(text))


def _may_be_stroke(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or not sign.isprintable())


def set_apart(text: str, raised: Container[int]) -> str:
    """Return a text with a private character for each raised digit; `raised` are their indexes."""
    return "".join(sign.translate(_TO_PRIVATE) if at in raised else sign for at, sign in enumerate(text))


def marked(text: str) -> str:
    """Return a text with ordinary digits for its private characters, and with marks around them."""
    return _RUN.sub(lambda run: f"{RAISED}{run[0]}{LEVEL}", text).translate(_FROM_PRIVATE)
