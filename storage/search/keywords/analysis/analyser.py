"""Analyser: turn a text into the terms that BM25 counts.

Unicode word boundaries split a text into words. A word is normalized by NFKC, then case, accents and vowel marks are
folded, then the Snowball stemmer of the language is applied. Folding comes before stemming, so that `resume` finds
`résumé`. Words in Greek, Cyrillic, Arabic, Devanagari and Tamil use the stemmer of their script. Stop words are
dropped.
- Identifiers yield the whole and the parts: parseHTTPHeader → parsehttphead, pars, http, header; os.path →
  os.path, os, path.
- Versions and other dotted numbers yield the whole and the parts (3.8.8 → 3.8.8, 3, 8, 8); 10,000 is 10000, also with a
  space that ends no line or an apostrophe for the comma, and 10.000 yields it, too.
- Dates and codes yield the whole and the parts (2024-05-01 → 2024-05-01, 2024, 05, 01), and long ones of digits alone
  also those in one (20240501). A letter and a word joined by a hyphen yield one word and the parts (e-mail → email, e,
  mail), and so does a word that a line end divides; any other words that hyphens join yield the parts alone.
- Numbers with units yield the whole, the number and the unit (5kg → 5kg, 5, kg; 12% → 12%, 12).
- Acronyms of two or three capitals are not stop words (WHO, IT). Dots in them are removed (U.S.A. → usa, Ph.D. → phd,
  ph, d); with `&` or `/` they yield the whole and the parts (AT&T → at&t, at).
- Han, Kana and Hangul yield pairs of letters, Han its characters, too, Katakana its words, and a short Korean word its
  first syllable (ビタミンCの量 → ビタ, タミ, ミン, ビタミン, c, の量, 量). Other scripts without spaces or
  without a stemmer, such as Thai, Hebrew and Bengali, yield runs of three letters (הבית → הבי, בית), so that a word is
  found whatever is written before and after it.
- Vietnamese words yield the word with its marks, too (của → cua, của).
- Digits of all scripts are read as 0 to 9.
- C++, C# and the like stay whole; only the first 64 characters of a longer run count.

Every change to the terms of any text raises ANALYSER_VERSION; postings of another version are rebuilt.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from docmill.storage.errors import ConfigError
from docmill.storage.search.keywords.analysis.folding import fold, with_plain_digits
from docmill.storage.search.keywords.analysis.languages import detect, given_in, languages_in
from docmill.storage.search.keywords.analysis.separation import PAIR_SIGNS, SOFT_HYPHEN, separate
from docmill.storage.search.keywords.analysis.stopwords import stop_words

ANALYSER_VERSION = 7  # raised when the terms of a text change: postings of another version are rebuilt
LONGEST_TERM = 64
"""Characters of a term; longer runs are hashes and encoded data, which nobody searches for as a whole."""

_EDGES = ".,-\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u2192"  # dashes, quotes, a bullet, dots and an arrow
_LONGEST_CACHED = 32  # characters; longer pieces rarely repeat
_CACHE_SIZE = 1 << 17
"""Pieces whose terms are cached. A full cache is emptied, so a smaller one forgets the common words more often."""

_SYLLABLES = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー"  # a letter is a syllable or a word
_SOUNDS = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNSPACED = _SYLLABLES + _SOUNDS
_JOINERS = f"{SOFT_HYPHEN}\u200c\u200d\u2060\ufeff\ufe0e\ufe0f\u20e3"  # zero width, emoji style
_LETTERS = rf"[[\w\p{{M}}{_JOINERS}] -- [{_UNSPACED}]]+"
_TOKEN = rf"""
    (?P<run> [{_SYLLABLES}]+ )
  | (?P<sounds> [{_SOUNDS}]+ )
  | (?P<pair> [A-Za-z]+ [{"".join(PAIR_SIGNS.values())}] [A-Za-z]+ )
  | (?P<joined> {_LETTERS} (?: [.-] {_LETTERS} )+ %? | \d+ % )
  | v? (?P<number> \d+ (?: [.,] \d+ )+ ) (?! \w )
  | (?P<word> {_LETTERS} (?: \+\+ | \# )? )
"""
_ASCII_TOKEN = rf"""
    (?P<pair> [A-Za-z]+ [{"".join(PAIR_SIGNS.values())}] [A-Za-z]+ )
  | (?P<joined> \w+ (?: [.-] \w+ )+ %? | \d+ % )
  | v? (?P<number> \d+ (?: [.,] \d+ )+ ) (?! \w )
  | (?P<word> \w+ (?: \+\+ | \# )? )
"""
"""As `_TOKEN`, for texts in ASCII, in the syntax of `re`, which is loaded anyway."""
_INNER_WORDS = r"[\p{Katakana}ー]{3,} | \p{Han} | ^\p{Hangul}(?=\p{Hangul}{1,2}$)"
"""What a run of letters without spaces yields besides its pairs. A Han character has a meaning, Katakana writes whole
words, and a Korean word of one syllable is followed by a particle of one or two; a single character of the other
scripts is only a sound. A word of two characters is a pair already."""
_DOTTED_NUMBER = re.compile(r"v?(\d+(?:\.\d+)+)([^\W\d_]{1,4})?")
_MEASURE = re.compile(r"(\d+)([^\W\d_]{1,4})")
"""A number with its unit. The longest common units have four letters; longer ones are words that begin with a digit."""
_NAME = re.compile(r"[\d.]")  # in words joined by hyphens: a code, a date or the name of a file
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]|(?:[A-Z][a-z]?\.)+[A-Z][a-z]?")
"""An abbreviation with dots, without its last dot: U.S.A, e.g, Ph.D."""
_OPERATORS = frozenset({"and", "or", "not"})  # in capitals, these are operators or emphasis, in queries and texts
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DOTTED_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")  # or a version, or a fraction of three digits
_DIGITS_OF_CODE = 8
"""The least digits of a code of three parts or more that is also written without its hyphens: dates, ISBNs and
telephone numbers. Two parts are a range of years or pages."""
_PARTS = re.compile("U+(?=Ul)|U?[lod]+|U+d*")
_NUMBERED = re.compile(r"(\D{2,})(\d+)")
_VIETNAMESE = re.compile("[ƠơƯư\u1ea0-\u1ef9]")
"""Letters of Vietnamese alone. Its syllables are short and differ by their marks: `má`, `mạ`, `mã`. In Turkish and
Polish, words with their marks lose 3 points of hit@1."""
_PREFIX = 1
"""The most letters before a hyphen for a word that is also written as one: e-mail, x-ray. With more (pre-trained), up
to 3 % more terms gain nothing on eleven of twelve judged sets and lose on one."""
_ACRONYM_LETTERS = (2, 3)  # longer stop words in capitals are emphasis or SQL
_FEW_PARTS = 5
_CRUMB = 2.5
"""The least average characters of a part. Identifiers with shorter parts are not split: base64 and hashes alternate
case and digits every one or two characters, names in code do not."""
_PLURAL_ACRONYM = re.compile("[A-Z]{2,}s")
_READ_PAIR = str.maketrans({sign: letter for letter, sign in PAIR_SIGNS.items()})
_BLOCK = 7  # bits; a block is 128 code points
_BLOCKS = {
    "greek": (0x370 >> _BLOCK, 0x3FF >> _BLOCK),
    "russian": (0x400 >> _BLOCK, 0x480 >> _BLOCK),
    "arabic": (0x600 >> _BLOCK, 0x680 >> _BLOCK),
    "hindi": (0x900 >> _BLOCK,),
    "tamil": (0xB80 >> _BLOCK,),
}
"""The stemmers of scripts other than Latin, by Unicode blocks of their letters; used in texts of every language."""
_RUN = 3
"""Letters in each run of a word without a stemmer. A whole word does not match its other forms: with runs, hit@1 of
keywords rises by 21 points in Telugu, 11 in Bengali, 3 to 4 in Hebrew; in Thai by 3 against pairs, which say too
little. With four, Bengali loses 4 points, and a Hebrew word of three letters is not found behind its article."""
_CUT_BLOCKS = frozenset(
    block
    for first, last in (
        (0x530, 0x5FF),  # Armenian, Hebrew
        (0x700, 0x7FF),  # Syriac, Thaana, N'Ko
        (0x980, 0xB7F),  # Bengali, Gurmukhi, Gujarati, Oriya
        (0xC00, 0xDFF),  # Telugu, Kannada, Malayalam, Sinhala
        (0xF00, 0xFFF),  # Tibetan
        (0x10A0, 0x10FF),  # Georgian
        (0x1200, 0x13FF),  # Ethiopic, Cherokee
    )
    for block in range(first >> _BLOCK, (last >> _BLOCK) + 1)
)
"""The Unicode blocks of scripts that have spaces but no stemmer."""
_OTHER_SCRIPTS = frozenset({*_BLOCKS, "armenian", "nepali", "persian", "serbian", "yiddish"})
_REMOVE_JOINERS = dict.fromkeys(map(ord, _JOINERS))


def analyse(text: str, language: str = "english") -> list[str]:
    """Return the terms of a text, in order, with repetitions.

    `language` is the name of a Snowball stemmer, or "none" for no stems and no stop words; others raise `ConfigError`.
    With several, joined by `+`, a word has the terms of each language. The stop words are those of the text's language,
    or of all languages if it is unclear. A language after `:` is that of the text, which is then not detected (see
    `with_given`).
    """
    analyser = load_analyser(language)
    return [term for piece in _pieces(text, language) for term in analyser[piece]]


def alternatives(text: str, language: str) -> dict[str, set[str]]:
    """Return, for each term of a text, the terms of its word in any of several languages; {} for one language.

    A chunk has at most one of them, because they are the same word, stemmed in several ways.
    """
    analyser, found = load_analyser(language), defaultdict[str, set[str]](set)
    if isinstance(analyser, AnalyserOfSeveral):
        for piece in _pieces(text, language):
            for group in analyser.groups(piece):
                for term in group:
                    found[term].update(group)
    return found


def telling_words(text: str, language: str) -> dict[str, tuple[str, ...]]:
    """Return the words of a text that are not stop words, in order, each with its terms."""
    analyser = load_analyser(language)
    pieces = (piece for piece in _pieces(text, language) if any(map(str.isalnum, piece)))
    return {piece: tuple(terms) for piece in pieces if (terms := analyser[piece])}


def _pieces(text: str, language: str) -> list[str]:
    """Return the pieces of a text; drop stop words here if the language is given or there are several languages."""
    pieces, languages, given = separate(text).split(), languages_in(language), given_in(language)
    if len(languages) == 1 and not given:
        return pieces
    known = given or detect(text, languages)
    return _telling(pieces, [known]) if known else _telling(pieces, languages) or pieces


def _telling(pieces: Sequence[str], languages: Sequence[str]) -> list[str]:
    """Return the pieces that are stop words in none of the languages."""
    readers = [load_analyser(one) for one in languages]
    return [piece for piece in pieces if all(reader[piece] for reader in readers)]


@cache
def load_analyser(language: str) -> "Analyser | AnalyserOfSeveral":
    """Return the analyser of the languages in which texts are read, one object per process."""
    languages = languages_in(language)
    return AnalyserOfSeveral(languages) if len(languages) > 1 else Analyser(languages[0])


class Analyser(dict[str, tuple[str, ...]]):
    """Maps pieces of a separated text to their terms; those of short pieces are cached."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._stem = _stemmer(language)
        self._by_letter = _readers_by_letter(language)
        self._stop = stop_words([language, *_BLOCKS] if self._by_letter else [language])

    def __missing__(self, piece: str) -> tuple[str, ...]:
        terms = self.terms(piece)
        if len(piece) <= _LONGEST_CACHED:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[piece] = terms
        return terms

    def terms(self, piece: str) -> tuple[str, ...]:
        """Return the terms of a piece, without the cache."""
        word = piece.strip(_EDGES)
        if word.isascii() and word.isalpha() and (word[1:].islower() or len(word) == 1) and len(word) <= LONGEST_TERM:
            small = word.lower()  # most words need only this, not the slow regular expression
            return () if small in self._stop else (self._stem(small),)
        if not word.strip("+#%"):
            return ()
        return tuple(self._terms(with_plain_digits(unicodedata.normalize("NFKC", piece))))

    def _terms(self, text: str) -> Iterator[str]:
        for match in (_ascii_token() if text.isascii() else _compiled(_TOKEN)).finditer(text):
            if match.lastgroup == "run":
                yield from self._run_terms(match["run"])
            elif match.lastgroup == "sounds":
                yield from runs_of(match["sounds"])
            elif match["pair"]:
                yield from self._pair_terms(match["pair"])
            elif match["joined"]:
                yield from self._joined_terms(match["joined"])
            elif match["number"]:
                yield from _number_terms(match["number"])
            else:
                yield from self._word_terms(match["word"].translate(_REMOVE_JOINERS).strip("_"))

    def _run_terms(self, run: str) -> Iterator[str]:
        """Yield the terms of letters that are syllables or words, written without spaces."""
        if len(run) == 1:
            yield run
            return
        for start in range(len(run) - 1):
            yield run[start : start + 2]
        for word in _compiled(_INNER_WORDS).findall(run):
            yield word[:LONGEST_TERM]

    def _pair_terms(self, text: str) -> Iterator[str]:
        yield from _whole(text.translate(_READ_PAIR))
        for word in re.split("[^A-Za-z]", text):
            yield from self._word_term(word)

    def _joined_terms(self, text: str) -> Iterator[str]:
        """Yield the terms of words joined by dots and hyphens, or of a number before a percent sign."""
        text, divided = text.translate(_REMOVE_JOINERS), f"-{SOFT_HYPHEN}" in text
        pieces = text.rstrip("%").split("-")
        if _NAME.search(text) if len(pieces) > 1 else text.endswith("%"):
            yield from _whole(text)
            yield from _without_hyphens(pieces)
        elif len(pieces) > 1 and (len(pieces[0]) <= _PREFIX or (divided and len(pieces) == 2)):
            yield from self._word_term("".join(pieces[:2])[:LONGEST_TERM])
        for piece in pieces:
            yield from self._dotted_terms(piece)

    def _dotted_terms(self, text: str) -> Iterator[str]:
        names = text.split(".")
        if _ACRONYM.fullmatch(text):
            yield from self._word_term("".join(names).upper())
            names = [] if text.isupper() else names
        elif number := _DOTTED_NUMBER.fullmatch(text):
            if number[2]:
                yield from _whole(text)
                yield from self._word_terms(number[2])
            yield from _number_terms(number[1])
            names = []
        elif len(names) > 1:
            yield from _whole(text)
        for name in names:
            yield from self._word_terms(name.strip("_"))

    def _word_terms(self, word: str) -> Iterator[str]:
        if word[-1:] in ("+", "#"):
            if len(word.rstrip("+#")) == 1:
                yield word.casefold()
                return
            word = word.rstrip("+#").rstrip("_")
        if _PLURAL_ACRONYM.fullmatch(word):
            word = word[:-1]
        measure = _MEASURE.fullmatch(word)
        parts = list(measure.groups()) if measure else _split_identifier(word)
        yield from self._word_term(word[:LONGEST_TERM])
        for part in parts if len(parts) > 1 else ():
            yield from self._word_term(part)

    def _word_term(self, word: str) -> Iterator[str]:
        folded = word.casefold() if word.isascii() else fold(word)
        if not any(map(str.isalnum, folded)) or (folded in self._stop and not _is_acronym(word, folded)):
            return
        read = None if folded.isascii() else self._by_letter.get(ord(folded[0]) >> _BLOCK)
        yield from read(folded) if read else (self._stem(folded),)
        if not word.isascii() and _VIETNAMESE.search(word):
            yield unicodedata.normalize("NFC", word.casefold())


class AnalyserOfSeveral(dict[str, tuple[str, ...]]):
    """Maps pieces of a separated text to their distinct terms in several languages."""

    def __init__(self, languages: Sequence[str]) -> None:
        super().__init__()
        self._each = [load_analyser(language) for language in languages]

    def __missing__(self, piece: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(term for analyser in self._each for term in analyser[piece]))

    def groups(self, piece: str) -> Iterator[set[str]]:
        """Yield the terms of each part of a piece in all languages; a language with fewer terms repeats its last."""
        read = [terms for analyser in self._each if (terms := analyser[piece])]
        for place in range(max(map(len, read), default=0)):
            yield {terms[min(place, len(terms) - 1)] for terms in read}


@cache
def _ascii_token() -> re.Pattern[str]:
    return re.compile(_ASCII_TOKEN, re.VERBOSE | re.ASCII)


@cache
def _compiled(pattern: str) -> Any:
    """Return a compiled pattern. Few queries need one, and importing `regex` and compiling take 0.02 s."""
    import regex  # type: ignore[import-untyped]  # it ships no types

    return regex.compile(pattern, regex.VERBOSE | regex.V1)


def _is_acronym(word: str, folded: str) -> bool:
    return len(word) in _ACRONYM_LETTERS and word.isupper() and folded not in _OPERATORS


def _stemmer(language: str) -> Any:
    import Stemmer

    if language == "none":
        return str
    if language not in Stemmer.algorithms():
        raise ConfigError(f"no stemmer for language {language!r}; use none, {', '.join(Stemmer.algorithms())}")
    return Stemmer.Stemmer(language, 0).stemWord


def _readers_by_letter(language: str) -> dict[int, Callable[[str], Iterator[str]]]:
    """Return the readers of words in scripts other than that of a language, by the block of their letters."""
    if language == "none" or language in _OTHER_SCRIPTS:
        return {}
    stemmed = {block: _stem_alone(name) for name, blocks in _BLOCKS.items() for block in blocks}
    return stemmed | dict.fromkeys(_CUT_BLOCKS, runs_of)


def _stem_alone(language: str) -> Callable[[str], Iterator[str]]:
    stem = _stemmer(language)
    return lambda word: iter((stem(word),))


def runs_of(word: str) -> Iterator[str]:
    """Yield each run of three letters of a word, or a shorter word itself."""
    for start in range(max(1, len(word) - _RUN + 1)):
        yield word[start : start + _RUN]


def _whole(text: str) -> Iterator[str]:
    """Yield a text as one term unless it is too long, and thus probably data."""
    if len(text) <= LONGEST_TERM:
        yield fold(text)


def _without_hyphens(pieces: list[str]) -> Iterator[str]:
    """Yield the digits of a long code in one, such as 9783161484100."""
    digits = "".join(pieces)
    if len(pieces) > 2 and digits.isdigit() and _DIGITS_OF_CODE <= len(digits) <= LONGEST_TERM:
        yield digits


def _number_terms(number: str) -> Iterator[str]:
    if _THOUSANDS.fullmatch(number):
        number = number.replace(",", "")
    for piece in number.split(","):
        yield piece[:LONGEST_TERM]
        if _DOTTED_THOUSANDS.fullmatch(piece):
            yield piece.replace(".", "")[:LONGEST_TERM]
        if "." in piece[:LONGEST_TERM]:
            yield from piece[:LONGEST_TERM].strip(".").split(".")


def _split_identifier(word: str) -> list[str]:
    """Return the parts of snake_case, camelCase and letters before digits, or the word itself if it has one part.

    Long runs, and runs whose parts would be too short (base64), stay whole.
    """
    if len(word) > LONGEST_TERM or not word.isidentifier() or (word.isalpha() and (word.islower() or word.isupper())):
        return [word]
    parts: list[str] = []
    for piece in word.split("_"):
        kinds = "".join(map(_kind, piece))
        for part in _PARTS.finditer(kinds):
            numbered = _NUMBERED.fullmatch(piece[part.start() : part.end()])
            parts += numbered.groups() if numbered else [piece[part.start() : part.end()]]
    crumbs = len(parts) > _FEW_PARTS and len(word) < _CRUMB * len(parts)
    return [word] if crumbs else parts


def _kind(character: str) -> str:
    if character.isupper():
        return "U"
    if character.islower():
        return "l"
    return "d" if character.isdigit() else "o"
