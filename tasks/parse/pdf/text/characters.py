"""PDF characters: odd signs to ordinary ones, detection of nonsense, superscripts and subscripts.

Scripts are smaller than the text next to them and raised or lowered; marks around them stay in the text of a line.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from docmill.tasks.parse.pdf.text.pdfium_calls import Place, Span, calls, is_upright, numbers_from, placed_sides

RAISED, LOWERED, LEVEL = "\x0e", "\x10", "\x0f"  # before a superscript, before a subscript, behind either
MARKED = re.compile(f"([{RAISED}{LOWERED}])([^{LEVEL}]*(?:{LEVEL}\\1[^{LEVEL}]*)*){LEVEL}")
"""A script, with directly following ones of its kind, whose marks are to be removed."""
_SCRIPT_MARKS = re.compile(f"([{RAISED}{LOWERED}{LEVEL}])")

HYPHEN = "\x02"  # how pdfium marks a word cut at a line's end
# Control characters replace letters that the font does not name; SIGNS makes them visible.
SIGNS: dict[int, str | None] = {code: "\ufffd" for code in range(1, 32) if chr(code) not in "\t\n\r\x02"}
SIGNS |= {ord(sign): unicodedata.normalize("NFKC", sign) for sign in "ﬀﬁﬂﬃﬄﬅﬆ"}
SIGNS |= str.maketrans({"\0": None, "\u00ad": None, "\u2060": None, "\ufffe": HYPHEN})
SIGNS |= {0xFDD0: "ft", 0xFDD1: "Th"}  # ligatures without a character; Unicode reserves these two for programs
# Accents that old LaTeX fonts draw before their letter, and the combining mark for each.
_DRAWN = "\u00b4\u00a8\u02c6\u02dc\u00b8\u02c7\u02d8\u02da\u02d9\u02dd"
ACCENTS = dict(zip(_DRAWN, "\u0301\u0308\u0302\u0303\u0327\u030c\u0306\u030a\u0307\u030b", strict=True))
_ACCENT = f"[{_DRAWN}]"
_DRAWN_ACCENT = re.compile(rf"({_ACCENT})(?:(?<=[^\W\d_].) )?([A-Za-z\u0131])")
_JOINING = re.compile("(?<=\\w) ?([\u0300-\u036f]+)")
_LIGATURES = "ﬀ-ﬆ"
_LIGATURE = re.compile(f"[{_LIGATURES}]")
_SELDOM = re.compile(f"[{_DRAWN}\u0300-\u036f{_LIGATURES}]")  # what `clean` replaces, besides invisible signs
RIGHT_TO_LEFT_WORD = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]{2,}")  # Hebrew, Arabic, Syriac, Thaana, ...
NO_LETTER = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\ue000-\uf8ff\0]")
SOFT = f"\u00ad\ufffe{HYPHEN}"


def clean(text: str) -> str:
    """Return single-spaced text, each sign as people write it."""
    # Nearly every line is printable ASCII with single spaces: these tests are ordered so that it costs almost nothing.
    seldom = not text.isascii() and _SELDOM.search(text) is not None
    if seldom:
        text = _with_accents(text)
    if not text.isprintable() or (seldom and _LIGATURE.search(text)):
        return _with_usual_signs(text)
    return " ".join(text.split()) if "  " in text or text != text.strip(" ") else text


def _with_usual_signs(text: str) -> str:
    soft = HYPHEN if text[-1:] in SOFT else ""
    plain = text[:-1]
    if soft and plain.isascii() and plain.isprintable():  # nearly all: the last word is cut, and no sign is odd
        return " ".join((plain + soft).split())
    return " ".join((text.translate(SIGNS).rstrip(HYPHEN) + soft).split())


def _with_accents(text: str) -> str:
    """Return text with each letter and its accent as one character."""
    if _DRAWN_ACCENT.search(text):
        text = _DRAWN_ACCENT.sub(_accented, text)
    if _JOINING.search(text):
        text = unicodedata.normalize("NFC", _JOINING.sub(r"\1", text))
    return text


def _accented(match: re.Match[str]) -> str:
    """Return a letter with its accent, or the match unchanged if there is no such letter."""
    letter = "i" if match[2] == "\u0131" else match[2]
    whole = unicodedata.normalize("NFC", letter + ACCENTS[match[1]])
    return whole if len(whole) == 1 else match[0]


def clean_marked(text: str) -> str:
    """Return text with each sign as people write it; the marks around scripts stay."""
    soft = HYPHEN if text[-1:] in SOFT else ""
    parts = _SCRIPT_MARKS.split(text)
    parts[::2] = [_with_accents(part).translate(SIGNS) for part in parts[::2]]
    return " ".join(("".join(parts).rstrip(HYPHEN) + soft).split())


_WITH_F = re.compile("f[filt]|[ﬀ-ﬄ]")
_SELDOM_F = 1_000
"""Characters of a page for each f before f, i, l or t, at least: in the languages of Europe there are 3 to 10."""
_LOST = {"i": "ﬁﬃ", "l": "ﬂﬄ", "f": "ﬀ", "t": "\ufdd0", "h": "\ufdd1"}
"""The ligatures that end with a letter: with one letter before it, and with two."""
_ONE, _TWO, _WIDEST = 0.5, 1.1, 2.2
"""Widths that letters before the last add to a ligature, in widths of the first one: at least for one letter and for
two, and at most. One f adds .65 to .9 of itself, because it hangs over; small capitals add less than .5."""


def may_lack_ligatures(text: str) -> bool:
    """Return whether a page has so few f before f, i, l and t that its ligatures may be lost."""
    return "f" in text and _SELDOM_F * len(_WITH_F.findall(text)) < len(text)


def lost_ligatures(letters: Iterable[tuple[int, str, Any, float]]) -> dict[int, str]:
    """Return the ligatures that are written as their last letter, by their index; Ghostscript writes them so.

    Each of the `letters` f, i, l, t and h has its index, its font and its width in heights. In one font, a ligature is
    wider than its last letter alone. Where neither an i nor an f is, wider letters are small capitals.
    """
    fonts: defaultdict[Any, list[tuple[int, str, float]]] = defaultdict(list)
    for index, letter, font, width in letters:
        fonts[font].append((index, letter, width))
    found: dict[int, str] = {}
    for each in fonts.values():
        own = _wide(each)
        if not {*own.values()}.isdisjoint("ﬁﬃﬀ"):
            found |= own
    return found


def _wide(letters: list[tuple[int, str, float]]) -> dict[int, str]:
    """Return the ligatures for which letters of one font are wide enough, by their index."""
    usual: dict[str, float] = {}
    for _, letter, width in letters:
        for like in "il" if letter in "il" else letter:
            usual[like] = min(width, usual.get(like, width))
    found: dict[int, str] = {}
    for index, letter, width in letters:
        first = usual.get("h" if letter == "h" else "f")
        more = (width - usual[letter]) / first if first else 0.0
        if _ONE <= more <= _WIDEST:
            found[index] = _LOST[letter][: 1 + (more >= _TWO)][-1]
    return found


_COMMON = (
    "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic"
    " ne ea ra ce li ch ll be ma si om ur el la di ei ie ge un da ue qu nn ho us ut em ta sc ss ec tr il po pe ac pr am"
    " ca et lo no na ni so os ad ia do mi sa tt wa ai ol ul ir ke ns ct ov ow pa"
)
_PAIRS = frozenset(_COMMON.split())
"""Pairs of letters that are common in the languages of Europe."""
_SAMPLE, _LEAST = 3_000, 150
"""Characters of a page to examine, and the least pairs of letters to judge by: with fewer, a code or a name decides."""
_MOST_PAIRS = 0.3
"""Share of common pairs, below which text may be nonsense. On 450 pages in nine languages it is .59 or more, but .33 in
a list of numbers with signs for names. With shifted letters it is .03, with any other substitution below .30."""
_PLAIN = 0.15  # share of "aeion" above which text is real: in any language it is a quarter or more
_LEAST_ODD = 0.2  # share of malformed words; on the same pages, a list of bird codes has .38
_LETTERS = re.compile("[A-Za-z]{2,}")
_PARTS = re.compile(r"[^\W_]+(?:[^\s\w'’.,\-/:;()&@\"“”–—]+[^\W_]+)*")
_WORD = re.compile(r"[^\W\d_]?(?:[^\W\d_A-Z]*|[A-Z]*)|\d+")
_SHORT = 3  # characters: shorter words are not judged by their form
_OTHER_SCRIPT = re.compile("[\u0400-\u1cff]")  # after Greek, which formulas mix with Latin, and before East Asia
_LEAST_NEIGHBOURS, _MOST_CHANGES = 30, 0.1
"""The least pairs of letters to judge by, and a share of pairs in two scripts that no real text has: formulas and
brands stay below .03 on 2,532 files; pages whose fonts number their glyphs have .15 to .53."""


def is_nonsense(text: str) -> bool:
    """Return whether a page's text is in no language.

    Either its words mix scripts, or common pairs of letters are missing and words are malformed: they have capital
    letters, digits and signs within, as when each letter is replaced by another. Unreadable text in letters of one
    case does not count, because it may be a code.
    """
    sample = text[:_SAMPLE]
    return _is_shifted(sample) or (_OTHER_SCRIPT.search(sample) is not None and _changes_scripts(sample))


def _is_shifted(sample: str) -> bool:
    if sum(map(sample.count, "aeion")) > _PLAIN * len(sample):  # nearly all pages; quicker than the pairs
        return False
    pairs = [pair for run in _LETTERS.findall(sample.lower()) for pair in map("".join, pairwise(run))]
    if len(pairs) < _LEAST or sum(map(_PAIRS.__contains__, pairs)) >= _MOST_PAIRS * len(pairs):
        return False
    words = [word for word in _PARTS.findall(sample) if len(word) >= _SHORT and not word.isdigit()]
    known = filter(_WORD.fullmatch, words)
    return len(words) - len([*known]) > _LEAST_ODD * len(words)


def _changes_scripts(sample: str) -> bool:
    pairs = [(one, other) for one, other in pairwise(sample) if one.isalpha() and other.isalpha()]
    foreign = [pair for pair in pairs if _OTHER_SCRIPT.match(pair[0]) or _OTHER_SCRIPT.match(pair[1])]
    changes = sum(_writing(one) != _writing(other) for one, other in foreign)
    return len(pairs) >= _LEAST_NEIGHBOURS and changes > _MOST_CHANGES * len(pairs)


def _writing(letter: str) -> str:
    """Return the first word of a letter's Unicode name, such as GREEK."""
    return unicodedata.name(letter, "").split(" ", 1)[0]


def squeeze(text: str) -> str:
    """Return only the letters and digits of a text, in lower case, to compare headings."""
    return "".join(filter(str.isalnum, text.lower()))


def unmarked(text: str) -> str:
    """Return a text without the marks around its scripts."""
    return _SCRIPT_MARKS.sub("", text)


_SMALLER, _TINY = 0.92, 0.3
"""Sizes relative to the neighbour's. Scripts have half to nine tenths of it, text next to an initial has less."""
_HIGHER, _LOWER, _FAR = 0.1, 0.06, 0.75
"""Distances from the neighbour's baseline, as shares of its size. LibreOffice lowers by 0.08; small capitals are level
with their neighbours; the first line next to an initial of three lines is a whole line higher."""
_LONGEST_LETTERS = 3  # letters of a script that begins its line
_LONGEST = 12  # characters: "n+1" and "1,2,13" are scripts, longer text in small letters is separate
_BREAK = 3  # characters that pdfium may put behind a script that begins its line: a space, or the end of a line
_MOST = 400  # places of a page to examine, which bounds the work on a malicious one

_SIDES = 4  # of a box: left, top, right, bottom

# Two neighbouring boxes of ink, measured in the height of the higher one.
_WIDE = 3.0  # a wider box is no script: it holds five digits or more
_TOUCHING, _SPACE = 0.4, 1.0
"""Distances. A script touches its neighbour, but ink is narrower than a letter's advance; a space follows the mark of a
note."""
_RISE, _TOP = 0.35, 0.3
"""How much higher a superscript ends, which is more than a descender explains, and how much lower it may begin."""
_FLAT, _BELOW, _FOOT = 0.92, 0.25, 0.05
"""The greatest height of a subscript, how much lower it begins, and how much lower it ends."""
_DOTTED, _DOT = 1.3, 0.15
"""The greatest height of a subscript next to a low letter, as in x~i~, how much higher it may begin, and how much lower
it ends. Letters with descenders are higher."""
_WORD_WIDE = 1.5  # a wider box is a word, whose descenders may reach below a subscript

Setting = tuple[float, float]  # of a character: its size and its baseline from the page's top, in points


class Script(NamedTuple):
    """A script: its first character, the one behind its end, its mark, and a character of the text next to it."""

    first: int
    end: int
    mark: str
    beside: int


def small_boxes(sides: Sequence[float]) -> Iterator[int]:
    """Yield the indexes of boxes that may hold scripts; `sides` are left, top, right and bottom in turn, y upwards.

    Hot: it compares each pair of successive boxes of a page.
    """
    for at, (left, top, right, bottom, next_left, next_top, next_right, next_bottom) in enumerate(_pairs(sides)):
        high, next_high = top - bottom, next_top - next_bottom
        most = high if high > next_high else next_high
        apart, touching = next_left - right, _TOUCHING * most
        if apart > _SPACE * most or next_left < left - touching:
            continue
        rise = next_bottom - bottom
        if next_high >= _FLAT * high and -_DOT * high <= rise <= _RISE * most:  # nearly all: level and of one size
            continue
        if next_right - next_left < _WIDE * most and apart < touching:
            word = right - left > _WORD_WIDE * high
            if _may_be_script(most, high, next_high, rise, top - next_top, word):
                yield at + 1
        if _may_begin_line(right - left, most, -rise, next_top - top):
            yield at


def _pairs(sides: Sequence[float]) -> Iterable[tuple[float, ...]]:
    """Return the sides of each box with those of the next one."""
    return zip(*(sides[start::_SIDES] for start in range(2 * _SIDES)), strict=False)


def _may_begin_line(wide: float, most: float, rise: float, fall: float) -> bool:
    """Return whether a box may be a script that begins its line; `rise` and `fall` compare it with the next box."""
    return wide < _WIDE * most and rise > _RISE * most and fall < _TOP * most


def _may_be_script(most: float, high: float, next_high: float, rise: float, fall: float, word: bool) -> bool:
    """Return whether a box may be a script: it ends `rise` higher and begins `fall` lower than a letter or `word`."""
    if rise > _RISE * most:
        return fall < _TOP * most
    if next_high < _FLAT * high and fall > _BELOW * high and rise < (_BELOW if word else -_FOOT) * high:
        return True
    return next_high < _DOTTED * high and fall > -_DOT * high and rise < -_DOT * high


def scripts_of(text: str, places: Iterable[int], setting: Callable[[int], Setting]) -> list[Script]:
    """Return the scripts of a page, in order; `places` are the characters that may belong to one."""
    found: list[Script] = []
    for place, _ in zip(sorted({*places}), range(_MOST), strict=False):
        if text[place].isspace() or (found and place < found[-1].end):
            continue
        script = _script(text, place, setting, found[-1] if found else None)
        if script is not None:
            found.append(script)
    return found


def _script(text: str, place: int, setting: Callable[[int], Setting], before: Script | None) -> Script | None:
    """Return the script that a character is part of; if it touches the one `before`, both have the same neighbour."""
    own = setting(place)
    first = _end_of_run(text, range(place - 1, max(place - _LONGEST, 0) - 1, -1), setting, own) + 1
    if before is not None and before.end == first:
        beside = before.beside
    elif first and not text[first - 1].isspace():
        beside = first - 1
    else:
        beside = -1  # it begins its line
    if beside >= 0 and not _mark(own, setting(beside)):  # most candidates
        return None
    end = _end_of_run(text, range(place + 1, min(place + _LONGEST, len(text))), setting, own)
    if beside < 0:
        after = text[end : end + _BREAK]
        beside = end + len(after) - len(after.lstrip())
    if text[beside : beside + 1].strip() and (mark := _mark(own, setting(beside))) and _is_said(text, first, end):
        return Script(first, end, mark, beside)
    return None


def _end_of_run(text: str, places: range, setting: Callable[[int], Setting], own: Setting) -> int:
    """Return the first place whose character is not set like the script, or the one behind the last."""
    own_size, own_baseline = own
    off_size, off_level = (1 - _SMALLER) * own_size, _LOWER * own_size
    for place in places:
        if text[place].isspace():
            return place
        one = setting(place)
        if one is own:  # the same text object
            continue
        if abs(one[0] - own_size) > off_size or abs(one[1] - own_baseline) > off_level:
            return place
    return places.stop


def _mark(own: Setting, beside: Setting) -> str:
    """Return whether a script is raised or lowered; "" if it is neither."""
    (size, baseline), (body, level) = own, beside
    if not _TINY * body < size < _SMALLER * body:
        return ""
    if _HIGHER * body < level - baseline < _FAR * body:
        return RAISED
    return LOWERED if _LOWER * body < baseline - level < _FAR * body else ""


def _is_said(text: str, first: int, end: int) -> bool:
    """Return whether the position of raised or lowered text has a meaning.

    Letters within a word belong to a brand name, and a word that begins a line is a separate text.
    """
    if not text[first:end].isalpha():
        return True
    before = text[first - 1 : first].strip()
    return not text[end : end + 1].isalpha() if before.isalpha() else bool(before) or end - first <= _LONGEST_LETTERS


def with_marks(text: str, scripts: Iterable[Script], first: int) -> str:
    """Return a text with marks around its scripts; `first` is the index of its first character on the page."""
    parts, done = [], 0
    for script in scripts:
        start, end = script.first - first, script.end - first
        parts += [text[done:start], script.mark, text[start:end], LEVEL]
        done = end
    return "".join([*parts, text[done:]])


_LINE = re.compile(r"[^\S\n]*([^\s\x02\ufffe][^\n\x02\ufffe]*[\x02\ufffe\u00ad]?)")


def texts_of(page: str) -> tuple[list[str], list[Span]]:
    """Return the non-blank lines of a page's text, and the characters that each spans."""
    texts: list[str] = []
    spans: list[Span] = []
    start = 0
    for row in page.split("\n"):
        text = row.strip()
        if not text.isprintable():  # pdfium marks a cut word by a control character, without a newline
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


def sides_of_pieces(text: str, text_page: Any) -> Sequence[float]:
    """Return the sides of pdfium's pieces of text in the page's own coordinates; none if no line has several pieces."""
    count = calls()["FPDFText_CountRects"](text_page, 0, -1)
    return numbers_from("FPDFText_GetRect", range(count), text_page) if count > text.count("\n") + 1 else ()


def scripts_in(
    pieces: Sequence[float], text: str, text_page: Any, place: Place, setting: Callable[[int], Setting]
) -> list[Script]:
    """Return the scripts in a page's text; `pieces` are as in `sides_of_pieces`, `setting` describes a character."""
    upward = pieces
    if not is_upright(place):  # as a reader sees the pieces, y upwards
        upward = [-side if at % 2 else side for at, side in enumerate(placed_sides(pieces, place))]
    small = {*small_boxes(upward)}
    found = (_character_in(pieces[_SIDES * at : _SIDES * (at + 1)], text_page) for at in small)
    return scripts_of(text, (index for index in found if index >= 0), setting)


def _character_in(sides: Sequence[float], text_page: Any) -> int:
    """Return the character in the middle of a box; -1 if there is none."""
    left, top, right, bottom = sides
    middle, near = ((left + right) / 2, (top + bottom) / 2), abs(top - bottom)
    ask = calls()["FPDFText_GetCharIndexAtPos"]
    # Hot: with no tolerance pdfium compares half as much, and most boxes have a letter in their middle.
    index: int = ask(text_page, *middle, 0.0, 0.0)
    return index if index >= 0 else ask(text_page, *middle, near, near)
