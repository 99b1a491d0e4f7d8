"""Word's paragraph numbers: counts a document's paragraphs as Word does, and writes each number into the text.

The numbers of lists, clauses and headings are not stored in paragraphs; Word computes them whenever it shows a
document. Formats are those of ISO/IEC 29500-1, ST_NumberFormat; words are English, and unknown formats become decimal.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from string import ascii_lowercase
from typing import Any

from docmill.tasks.parse.pandoc.inlines import NUMBER_END, NUMBER_MARK
from docmill.tasks.parse.pandoc.word.numbering_part import NumberedList, NumberLevel, WordNumbering
from docmill.tasks.parse.pandoc.word.word_fields import OFF, W, put_first
from docmill.tasks.parse.passes.numbering import numbered

_PLACE = re.compile("%([1-9])")
_BULLET = "bullet"
_BOX = W + "txbxContent"
_SHOWN = [W + name for name in ("t", "drawing", "pict", "object", "sym", "noBreakHyphen")]
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_ALPHABETS = {
    "lowerLetter": ascii_lowercase, "russianLower": "абвгдежзиклмнопрстуфхцчшщыэюя",
    "arabicAlpha": "أبتثجحخدذرزسشصضطظعغفقكلمنهوي", "arabicAbjad": "أبجدهوزحطيكلمنسعفصقرشتثخذضظغ",
    "hebrew2": "אבגדהוזחטיכלמנסעפצקרשת", "chicago": "*†‡§",
}  # fmt: skip
_ALPHABETS |= {
    name: _ALPHABETS[small].upper()
    for name, small in (("upperLetter", "lowerLetter"), ("russianUpper", "russianLower"))
}
_SIGNS = {
    "decimalEnclosedCircle": "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳", "decimalEnclosedParen": "⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇",
    "decimalEnclosedFullstop": "⒈⒉⒊⒋⒌⒍⒎⒏⒐⒑⒒⒓⒔⒕⒖⒗⒘⒙⒚⒛", "ideographEnclosedCircle": "㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉",
    "ideographTraditional": "甲乙丙丁戊己庚辛壬癸", "ideographZodiac": "子丑寅卯辰巳午未申酉戌亥",
    "aiueoFullWidth": "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン",
    "irohaFullWidth": "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス",
    "ganada": "가나다라마바사아자차카타파하", "chosung": "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ",
}  # fmt: skip
_SAME = {
    "aiueo": "aiueoFullWidth", "iroha": "irohaFullWidth", "decimalEnclosedCircleChinese": "decimalEnclosedCircle",
}  # fmt: skip
_FULL_WIDTH = "".join(map(chr, range(0xFF10, 0xFF1A)))
_DIGITS = {
    "decimalFullWidth": _FULL_WIDTH, "decimalFullWidth2": _FULL_WIDTH, "ideographDigital": "〇一二三四五六七八九",
    "japaneseDigitalTenThousand": "〇一二三四五六七八九", "taiwaneseDigital": "○一二三四五六七八九",
    "koreanDigital": "영일이삼사오육칠팔구", "hindiNumbers": "०१२३४५६७८९", "thaiNumbers": "๐๑๒๓๔๕๖๗๘๙",
}  # fmt: skip
_HAN = "一二三四五六七八九"
_COUNTING = frozenset(("chineseCounting", "chineseCountingThousand", "japaneseCounting", "taiwaneseCounting"))
_PLACES = ((1000, "千"), (100, "百"), (10, "十"))
_MAX_COUNTED = 9_999  # the places above have no sign for more
_ONE_WORDS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
_ONES = _ONE_WORDS.split()
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_MAX_WORDS = 99  # numbers of articles are smaller; larger ones are written in digits
_TEENS = range(11, 14)  # 11th, 12th, 13th
_MAX_REPEATED = 30  # repetitions of a letter: aa follows z, and no list is longer than this


def write_numbers(root: Any, numbering: WordNumbering) -> None:
    """Insert each numbered paragraph's number, between marks, at its beginning.

    Text boxes are counted separately from the text around them. Paragraphs that are hidden or whose mark is deleted do
    not count; empty ones count, but show no number.
    """
    if not numbering.lists:
        return
    counts = {False: _NumberCount(numbering), True: _NumberCount(numbering)}
    for paragraph in list(root.iter(W + "p")):
        properties = paragraph.find(W + "pPr")
        place = numbering.place_of(properties)
        if place is None or _is_left_out(properties, paragraph):
            continue
        boxed = next(paragraph.iterancestors(_BOX), None) is not None
        label = counts[boxed].label(*place)
        if label is not None and _shows_something(paragraph):
            put_first(paragraph, f"{NUMBER_MARK}{label}{NUMBER_END}")


class _NumberCount:
    """The last number of each level, by the definition that lists share."""

    def __init__(self, numbering: WordNumbering) -> None:
        self._lists = numbering.lists
        self._last: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._begun: set[tuple[str, int]] = set()

    def label(self, number: str, level: int) -> str | None:
        """Count a paragraph; return the label that Word shows before it, or None for a bullet."""
        numbers = self._lists[number]
        if level not in numbers.levels:
            return None
        last = self._last[numbers.shared]
        for above in range(level):  # a level that did not occur counts as started
            last.setdefault(above, numbers.start(above))
        last[level] = self._next(number, level, last)
        for deeper in [one for one in last if one > level]:
            if deeper not in numbers.levels or numbers.levels[deeper].restarts_after(level, deeper):
                del last[deeper]
        own = numbers.levels[level]
        return None if own.form == _BULLET else _label(own, numbers, last)

    def _next(self, number: str, level: int, last: dict[int, int]) -> int:
        """Return the number of a paragraph; the first one of a list may be given by the list."""
        numbers = self._lists[number]
        if (number, level) not in self._begun:
            self._begun.add((number, level))
            if level in numbers.starts:
                return numbers.starts[level]
        return last[level] + 1 if level in last else numbers.start(level)


def _label(own: NumberLevel, numbers: NumberedList, last: dict[int, int]) -> str:
    def shown(match: re.Match[str]) -> str:
        level = int(match[1]) - 1
        there = numbers.levels.get(level)
        return _written(last.get(level, numbers.start(level)), there, own.legal) if there else ""

    return "" if own.hidden else " ".join(_PLACE.sub(shown, own.text).split())


def _written(number: int, level: NumberLevel, legal: bool) -> str:
    if level.form == _BULLET:
        return ""
    if legal and level.form != "none":
        return str(number)
    return padded(number, level.pattern) if level.pattern else written(number, level.form)


def _is_left_out(properties: Any, paragraph: Any) -> bool:
    """Return whether a paragraph is merged with the next one because its mark is deleted, or is hidden."""
    mark = None if properties is None else properties.find(W + "rPr")
    if mark is None:
        return False
    if mark.find(W + "del") is not None:
        return True
    hidden = mark.find(W + "vanish")
    return hidden is not None and hidden.get(W + "val") not in OFF and not _shows_something(paragraph)


def _shows_something(paragraph: Any) -> bool:
    """Return whether a paragraph has content of its own that is not hidden or deleted."""
    return any(_is_shown(node, paragraph) for node in paragraph.iter(*_SHOWN, _MATH))


def _is_shown(node: Any, paragraph: Any) -> bool:
    if next(node.iterancestors(W + "p")) is not paragraph or (node.tag == W + "t" and not (node.text or "").strip()):
        return False
    hidden = node.getparent().find(f"{W}rPr/{W}vanish")
    return hidden is None or hidden.get(W + "val") in OFF


def written(number: int, form: str) -> str:
    """Return a number in one of Word's formats, such as "lowerRoman"; "" for the format "none"."""
    form = _SAME.get(form, form)
    if form in _SIGNS:
        return _SIGNS[form][number - 1] if 0 < number <= len(_SIGNS[form]) else str(number)
    if form in _ALPHABETS:
        return _letters(number, _ALPHABETS[form])
    if form in _DIGITS:
        return str(number).translate(dict(zip(map(ord, "0123456789"), _DIGITS[form], strict=True)))
    if form in _COUNTING:
        return _counted(number)
    return _FORMS.get(form, str)(number)


def padded(number: int, pattern: str) -> str:
    """Return a number in a format given by its first numbers, such as "001, 002, 003, ..."."""
    return str(number).zfill(len(pattern.split(",")[0].strip()))


def _letters(number: int, alphabet: str) -> str:
    """Return a letter, repeated for numbers beyond the alphabet: after z come aa and bb."""
    times, at = divmod(number - 1, len(alphabet))
    return alphabet[at] * (times + 1) if 0 <= times < _MAX_REPEATED else str(number)


def _counted(number: int) -> str:
    """Return a number in Han characters, with signs for tens, hundreds and thousands."""
    if not 0 < number <= _MAX_COUNTED:
        return str(number)
    text = ""
    for size, sign in _PLACES:
        count, number = divmod(number, size)
        one = "" if count == 1 and size == 10 and not text else _HAN[count - 1]  # 12 is 十二
        text += one + sign if count else ""
    return text + (_HAN[number - 1] if number else "")


def _ordinal(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return str(number) + ("th" if number % 100 in _TEENS else ends.get(number % 10, "th"))


def _in_words(number: int) -> str:
    if not 0 <= number <= _MAX_WORDS:
        return str(number)
    tens, ones = divmod(number, 10)
    small = number < len(_ONES)
    return _ONES[number] if small else _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")


def _ordinal_in_words(number: int) -> str:
    before, dash, last = _in_words(number).rpartition("-")
    if last.isdigit():
        return _ordinal(number)
    last = _ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th")
    return before + dash + last


_FORMS: dict[str, Callable[[int], str]] = {
    "none": lambda _: "",
    "upperRoman": lambda number: numbered(number, "I"),
    "lowerRoman": lambda number: numbered(number, "i"),
    "decimalZero": "{:02}".format,
    "ordinal": _ordinal,
    "cardinalText": lambda number: _in_words(number).capitalize(),
    "ordinalText": lambda number: _ordinal_in_words(number).capitalize(),
    "hex": "{:X}".format,
    "numberInDash": "- {} -".format,
}
