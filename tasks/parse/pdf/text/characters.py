"""PDF characters: odd signs to ordinary ones, hyphenated words, marks around scripts, detection of nonsense."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise, repeat

RAISED, LOWERED, LEVEL = "\x0e", "\x10", "\x0f"  # before a superscript, before a subscript, behind either
MARKED = re.compile(f"([{RAISED}{LOWERED}])([^{LEVEL}]*(?:{LEVEL}\\1[^{LEVEL}]*)*){LEVEL}")
"""A script, with directly following ones of its kind, whose marks are to be removed."""
_SCRIPT_MARKS = re.compile(f"([{RAISED}{LOWERED}{LEVEL}])")

HYPHEN = "\x02"  # how pdfium marks a word cut at a line's end
# Control characters replace letters that the font does not name; SIGNS makes them visible.
SIGNS: dict[int, str | None] = {code: "\ufffd" for code in range(1, 32) if chr(code) not in "\t\n\r\x02"}
SIGNS |= str.maketrans(
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
        "\u2060": None,
        "\ufffe": HYPHEN,
    }
)
# Accents that old LaTeX fonts draw before their letter, and the combining mark for each.
ACCENTS = {
    "\u00b4": "\u0301", "\u00a8": "\u0308", "\u02c6": "\u0302", "\u02dc": "\u0303",
    "\u00b8": "\u0327", "\u02c7": "\u030c", "\u02d8": "\u0306", "\u02da": "\u030a", "\u02d9": "\u0307",
    "\u02dd": "\u030b",
}  # fmt: skip
_ACCENT = "[\u00b4\u00a8\u02c6\u02dc\u00b8\u02c7\u02d8\u02da\u02d9\u02dd]"
_DRAWN_ACCENT = re.compile(rf"({_ACCENT})(?:(?<=[^\W\d_].) )?([A-Za-z\u0131])")
_JOINING = re.compile("(?<=\\w) ?([\u0300-\u036f]+)")
_LIGATURES = "ﬀ-ﬆ"
_LIGATURE = re.compile(f"[{_LIGATURES}]")
_SELDOM = re.compile(f"[{_ACCENT[1:-1]}\u0300-\u036f{_LIGATURES}]")  # what `clean` replaces, besides invisible signs
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
    return " ".join((between_marks(text, _with_signs).rstrip(HYPHEN) + soft).split())


def _with_signs(text: str) -> str:
    return _with_accents(text).translate(SIGNS)


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
    changes = sum(_script(one) != _script(other) for one, other in foreign)
    return len(pairs) >= _LEAST_NEIGHBOURS and changes > _MOST_CHANGES * len(pairs)


def _script(letter: str) -> str:
    """Return the first word of a letter's Unicode name, such as GREEK."""
    return unicodedata.name(letter, "").split(" ", 1)[0]


_MARKS = ",.;:)"  # punctuation that may follow words
_LAST = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*$")
_FIRST = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"\w[.=@\\:]\w|[{}<>\\_]")  # of a file, a key, an address: its hyphens are real
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


def joined(lines: Iterable[str], words: Vocabulary) -> str:
    """Return lines as one text; words cut between two lines are rejoined, also in scripts without spaces.

    The other `words` of the document decide whether the hyphen is part of the word. If they do not, a hyphen before a
    lower-case letter counts as the typesetter's.
    """
    text = "\n".join(lines)
    if not text.isascii():
        text = _RUN_ON.sub("", text)
    if not _may_be_cut(text):
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


def _may_be_cut(text: str) -> bool:
    return "-\n" in text or "\u2010\n" in text or HYPHEN in text


def _hyphen(before: str, after: str, words: Vocabulary) -> str:
    """Return a hyphen if it belongs between the two parts of a word, else ""."""
    start, end = before.rsplit(None, 1)[-1][-_LONGEST:], after[:_LONGEST].split(" ", 1)[0]
    last, first = _LAST.search(start), _FIRST.match(end)
    if not last or not first or _NAME.search(start) or _NAME.search(end):
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


def squeeze(text: str) -> str:
    """Return only the letters and digits of a text, in lower case, to compare headings."""
    return "".join(filter(str.isalnum, text.lower()))


def between_marks(text: str, change: Callable[[str], str]) -> str:
    """Return a text with `change` applied to each part between its marks."""
    return "".join(part if at % 2 else change(part) for at, part in enumerate(_SCRIPT_MARKS.split(text)))


def unmarked(text: str) -> str:
    """Return a text without the marks around its scripts."""
    return _SCRIPT_MARKS.sub("", text)
