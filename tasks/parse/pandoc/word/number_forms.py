"""Word's number forms: write a number as a level of a list says, in letters, Roman numerals or words.

The names are those of ISO/IEC 29500-1, ST_NumberFormat. Words are English; a form that is not known here is decimal.
"""

from collections.abc import Callable

from docmill.tasks.parse.passes.numbering import numbered

_ALPHABETS = {
    "LowerLetter": "abcdefghijklmnopqrstuvwxyz",
    "russianLower": "абвгдежзиклмнопрстуфхцчшщыэюя",
    "arabicAlpha": "أبتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "arabicAbjad": "أبجدهوزحطيكلمنسعفصقرشتثخذضظغ",
    "hebrew2": "אבגדהוזחטיכלמנסעפצקרשת",
    "chicago": "*†‡§",
}
_SIGNS = {
    "decimalEnclosedCircle": "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳",
    "decimalEnclosedParen": "⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇",
    "decimalEnclosedFullstop": "⒈⒉⒊⒋⒌⒍⒎⒏⒐⒑⒒⒓⒔⒕⒖⒗⒘⒙⒚⒛",
    "ideographEnclosedCircle": "㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉",
    "ideographTraditional": "甲乙丙丁戊己庚辛壬癸",
    "ideographZodiac": "子丑寅卯辰巳午未申酉戌亥",
    "aiueoFullWidth": "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン",
    "irohaFullWidth": "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセス",
    "ganada": "가나다라마바사아자차카타파하",
    "chosung": "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ",
}
_SAME = {
    "aiueo": "aiueoFullWidth",
    "iroha": "irohaFullWidth",
    "decimalEnclosedCircleChinese": "decimalEnclosedCircle",
}
_FULL_WIDTH = "".join(map(chr, range(0xFF10, 0xFF1A)))
_DIGITS = {
    "decimalFullWidth": _FULL_WIDTH,
    "decimalFullWidth2": _FULL_WIDTH,
    "ideographDigital": "〇一二三四五六七八九",
    "japaneseDigitalTenThousand": "〇一二三四五六七八九",
    "taiwaneseDigital": "○一二三四五六七八九",
    "koreanDigital": "영일이삼사오육칠팔구",
    "hindiNumbers": "०१२३४५६७८९",
    "thaiNumbers": "๐๑๒๓๔๕๖๗๘๙",
}
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
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_MAX_WORDS = 99  # numbers of articles are smaller; larger ones are written in digits
_TEENS = range(11, 14)  # 11th, 12th, 13th
_MAX_REPEATED = 30  # times that a letter is repeated: after z comes aa, and no list is longer than this


def written(number: int, form: str) -> str:
    """Return a number in a form of Word, such as "lowerRoman"; "" in the form "none"."""
    form = _SAME.get(form, form)
    if form in _SIGNS:
        return _SIGNS[form][number - 1] if 0 < number <= len(_SIGNS[form]) else str(number)
    if form in _DIGITS:
        return str(number).translate(dict(zip(map(ord, "0123456789"), _DIGITS[form], strict=True)))
    if form in _COUNTING:
        return _counted(number)
    return _FORMS.get(form, str)(number)


def padded(number: int, pattern: str) -> str:
    """Return a number in a form that shows its first members, such as "001, 002, 003, ..."."""
    return str(number).zfill(len(pattern.split(",")[0].strip()))


def _letters(number: int, alphabet: str) -> str:
    """Return a letter, repeated for numbers beyond the alphabet: after z comes aa, then bb."""
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
    "lowerLetter": lambda number: _letters(number, _ALPHABETS["LowerLetter"]),
    "upperLetter": lambda number: _letters(number, _ALPHABETS["LowerLetter"]).upper(),
    "russianLower": lambda number: _letters(number, _ALPHABETS["russianLower"]),
    "russianUpper": lambda number: _letters(number, _ALPHABETS["russianLower"]).upper(),
    "arabicAlpha": lambda number: _letters(number, _ALPHABETS["arabicAlpha"]),
    "arabicAbjad": lambda number: _letters(number, _ALPHABETS["arabicAbjad"]),
    "hebrew2": lambda number: _letters(number, _ALPHABETS["hebrew2"]),
    "chicago": lambda number: _letters(number, _ALPHABETS["chicago"]),
    "decimalZero": "{:02}".format,
    "ordinal": _ordinal,
    "cardinalText": lambda number: _in_words(number).capitalize(),
    "ordinalText": lambda number: _ordinal_in_words(number).capitalize(),
    "hex": "{:X}".format,
    "numberInDash": "- {} -".format,
}
