"""Folding: remove from a word what people leave out when they type it, such as accents."""
# ruff: noqa: RUF001  Turkish has an i without a dot

import re
import unicodedata

_ACCENTS = "\u0300-\u0305\u0307-\u036f"
_BREVE = "(?<!и)\u0306"  # the Russian й is a letter that distinguishes endings, not an accented и
_ARABIC_VOWELS = (
    "\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
"""Vowel marks and the tatweel, which only lengthens a line. Not hamza and madda, U+0653 to U+0655, which make other
letters."""
_HEBREW_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
_LEFT_OUT = re.compile(f"{_BREVE}|[{_ACCENTS}{_ARABIC_VOWELS}{_HEBREW_POINTS}]")
_LETTERS = str.maketrans(
    {"ی": "ي", "ى": "ي", "ے": "ي", "ک": "ك", "ہ": "ه", "ھ": "ه"}
    | {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t", "ı": "i"}
)
"""Letters of Persian and Urdu as on Arabic keyboards and in the Arabic stemmer, and Latin letters that Unicode does not
decompose, with how people type them on other keyboards. The dotless i is among them because both i have the capital
I."""
_NASALS = re.compile(
    "\u0901|\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])|\u0923\u094d(?=[\u091f-\u0922])"
    "|\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d])"
)
"""Nasals of Devanagari that are also written as a dot above (anusvara): the candrabindu, and each nasal letter before a
consonant of its own class, as in हिन्दी or हिंदी."""
_ANUSVARA, _NUKTA = "\u0902", "\u093c"
_DIGIT = re.compile(r"[^\D0-9]")  # of another script


def with_plain_digits(text: str) -> str:
    """Return a text with the digits of all scripts as 0 to 9."""
    return _DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def fold(word: str) -> str:
    """Return a word in lower case without accents and strokes, and without the vowel marks of Arabic and Hebrew.

    In Devanagari, nasals have one spelling, and the dot below of foreign sounds is left out, as many writers do. The
    marks of other scripts distinguish letters and stay.
    """
    small = word.casefold()
    if small.isascii():
        return small
    bare = _LEFT_OUT.sub("", unicodedata.normalize("NFD", small))
    if "\u0900" <= small[0] <= "\u097f":
        bare = _NASALS.sub(_ANUSVARA, bare.replace(_NUKTA, ""))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)
