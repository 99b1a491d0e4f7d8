"""PDF pieces: pdfium's boxes of what is drawn in one font and size, and the scripts that they show."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, repeat
from typing import Any

from docmill.tasks.parse.pdf.letters.right_to_left import STROKE
from docmill.tasks.parse.pdf.letters.scripts import Script, Setting, scripts_of, small_boxes
from docmill.tasks.parse.pdf.letters.special_characters import SOFT
from docmill.tasks.parse.pdf.text.letter_gaps import Span
from docmill.tasks.parse.pdf.text.pdfium_calls import calls, numbers_from
from docmill.tasks.parse.pdf.text.place import Place, is_upright, placed_sides

_FLAT = 2.5
"""Times as wide as high is no letter and no figure, but the stroke by which LibreOffice draws out a justified word. The
stroke has no code point of its own: it comes as a control character, or as any letter or figure."""
_SIDES = 4  # of a box: left, top, right, bottom
_LINE = re.compile(r"[^\S\n]*([^\s\x02\ufffe][^\n\x02\ufffe]*[\x02\ufffe\u00ad]?)")
_SPACES, _DRAWN = 50, 0.8
"""Spaces of a page that are looked at, and the share of them that it draws; some programs leave out all."""


def texts_of(page: str) -> tuple[list[str], list[Span]]:
    """Return the non-blank texts of the lines of a page's text, and the characters that each spans."""
    texts: list[str] = []
    spans: list[Span] = []
    start = 0
    for row in page.split("\n"):
        text = row.strip()
        if not text.isprintable():  # pdfium marks a cut word by a control character, with no new line
            for match in _LINE.finditer(page, start, start + len(row)):
                text, first = match[1].rstrip(), match.start(1)
                texts.append(text)
                spans.append((first, first + len(text.rstrip(SOFT)) - 1))
        elif text:
            first = start + row.index(text[0])
            texts.append(text)
            spans.append((first, first + len(text) - 1))
        start += len(row) + 1
    return texts, spans


class Spaces:
    """The spaces of a page's text: the page draws them, or pdfium adds them, as in wide gaps."""

    def __init__(self, page: str, text_page: Any) -> None:
        self._page = page
        self._text_page = text_page

    def undrawn(self, places: Sequence[int]) -> list[bool]:
        """Return for each of some spaces whether pdfium added it, on a page that draws most others."""
        return [*map(bool, self._are_added(places))] if self._draws_most else [False] * len(places)

    def _are_added(self, places: Iterable[int]) -> Iterator[int]:
        return map(calls()["FPDFText_IsGenerated"], repeat(self._text_page), places)

    @cached_property
    def _draws_most(self) -> bool:
        letters = [*accumulate(map(len, self._page.split(" ")))][:-1]  # that stand before each space
        count = len(letters)
        some = [letters[at] + at for at in range(0, count, count // _SPACES + 1)]
        return [*self._are_added(some)].count(0) >= _DRAWN * len(some)


def sides_of_pieces(text: str, text_page: Any) -> Sequence[float]:
    """Return the sides of the pieces of a page's text in its own coordinates; none if no line has several pieces."""
    count = calls()["FPDFText_CountRects"](text_page, 0, -1)
    return numbers_from("FPDFText_GetRect", range(count), text_page) if count > text.count("\n") + 1 else ()


def scripts_in(
    pieces: Sequence[float], text: str, text_page: Any, place: Place, setting: Callable[[int], Setting]
) -> list[Script]:
    """Return the scripts in a page's text, of which these are the pieces; `setting` tells how a character is set."""
    upward = pieces if is_upright(place) else _upward(pieces, place)
    small = {*small_boxes(upward)}
    found = (_character_in(pieces[_SIDES * at : _SIDES * (at + 1)], text_page) for at in small)
    return scripts_of(text, (index for index in found if index >= 0), setting)


def _upward(pieces: Sequence[float], place: Place) -> list[float]:
    """Return the sides of pieces of a page that is turned, as seen by a reader; their y goes up."""
    return [-side if at % 2 else side for at, side in enumerate(placed_sides(pieces, place))]


def without_strokes(text: str, first: int, text_page: Any, place: Place) -> str:
    """Return a text that is read from the right, from the place `first` on, with `STROKE` for each of its strokes."""
    odd = [at for at, sign in enumerate(text) if _may_be_stroke(sign)] if is_upright(place) else []
    sides = iter(numbers_from("FPDFText_GetCharBox", [first + at for at in odd], text_page))
    boxes = zip(odd, sides, sides, sides, sides, strict=True)
    strokes = {at for at, left, right, bottom, top in boxes if right - left > _FLAT * (top - bottom)}
    return "".join(STROKE if at in strokes else sign for at, sign in enumerate(text))


def _may_be_stroke(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or not sign.isprintable())


def _character_in(sides: Sequence[float], text_page: Any) -> int:
    """Return the character in the middle of a box; -1 if there is none."""
    left, top, right, bottom = sides
    middle, near = ((left + right) / 2, (top + bottom) / 2), abs(top - bottom)
    ask = calls()["FPDFText_GetCharIndexAtPos"]
    # Hot: without a distance pdfium compares half as much, and most boxes have a letter in their middle.
    index: int = ask(text_page, *middle, 0.0, 0.0)
    return index if index >= 0 else ask(text_page, *middle, near, near)
