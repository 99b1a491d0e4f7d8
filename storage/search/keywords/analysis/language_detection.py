"""Language detection: find the natural language of a document, as a BCP 47 tag, from its script or function words."""

import re
from collections import Counter
from functools import cache, lru_cache

from docmill.storage.search.keywords.analysis.language_tags import TAGS
from docmill.storage.search.keywords.analysis.languages import detect

_READ = 20_000
"""Characters that are read at the beginning of a text. Far fewer are enough for a text in one language, and reading
them takes a millisecond. A document in several languages gets the language of its beginning."""
_TEXTS = 8  # texts whose languages are cached, because each paragraph of a document asks for that of the whole text
_MOSTLY = 0.5
"""A text is in a script if more than this share of its letters is, so that Latin names within it do not matter."""
_SCRIPTS = (
    ("han", "\u3400-\u4dbf\u4e00-\u9fff"),
    ("kana", "\u3040-\u30ff"),
    ("ko", "\uac00-\ud7af"),
    ("cyrillic", "\u0400-\u04ff"),
    ("arabic", "\u0620-\u064a\u066e-\u06d3"),
    ("el", "\u0370-\u03ff"),
    ("he", "\u05d0-\u05ea"),
    ("th", "\u0e01-\u0e4f"),
    ("hi", "\u0900-\u097f"),
    ("bn", "\u0980-\u09ff"),
    ("pa", "\u0a00-\u0a7f"),
    ("gu", "\u0a80-\u0aff"),
    ("or", "\u0b00-\u0b7f"),
    ("ta", "\u0b80-\u0bff"),
    ("te", "\u0c00-\u0c7f"),
    ("kn", "\u0c80-\u0cff"),
    ("ml", "\u0d00-\u0d7f"),
    ("si", "\u0d80-\u0dff"),
    ("lo", "\u0e80-\u0eff"),
    ("my", "\u1000-\u109f"),
    ("ka", "\u10a0-\u10ff"),
    ("am", "\u1200-\u137f"),
    ("km", "\u1780-\u17ff"),
    ("hy", "\u0530-\u058f"),
    ("latin", "A-Za-z\u00c0-\u024f\u1e00-\u1eff"),
)
_KANA = 0.2
"""The share of kana from which a text with Chinese characters counts as Japanese: Japanese texts have a third or more,
and Chinese texts quote a few."""
_LETTERS_A_SIGN = 3
"""How many Latin letters a Chinese or Japanese character counts for: a word has about five letters, or one to two
characters. If it counted for one, the function names on a Chinese page about software would decide its language."""
_OF_THE_SCRIPT = {
    "cyrillic": (("uk", "\u0456\u0457\u0454\u0491"), ("ru", "\u044b\u044d\u0451")),
    "arabic": (
        ("ur", "\u0679\u0688\u06d2\u06ba"),
        ("fa", "\u067e\u0686\u0698\u06af"),
        ("ar", "\u0629\u0649\u0623\u064a"),
    ),
}
"""Letters that only one language of a script has; the first language whose letters occur wins."""
_VIETNAMESE = re.compile("[\u01a0\u01a1\u01af\u01b0\u1ea0-\u1ef9]")
_VIETNAMESE_SHARE = 0.03
"""The share of these letters from which a text in Latin script counts as Vietnamese: Vietnamese texts have a tenth, and
texts that only name people or places have fewer. Without their marks, its syllables look like French words."""


@lru_cache(maxsize=_TEXTS)
def written_language(text: str) -> str:
    """Return the BCP 47 tag of the language in which a text is written, or "" if it is unclear."""
    read = text[:_READ]
    letters = Counter({name: len(found) for name, pattern in _letters().items() if (found := pattern.findall(read))})
    han, kana = letters.pop("han", 0), letters.pop("kana", 0)
    if han + kana:
        letters["zh" if kana < _KANA * (han + kana) else "ja"] = _LETTERS_A_SIGN * (han + kana)
    script, most = next(iter(letters.most_common(1)), ("", 0))
    return _of_script(script, most, read) if most > _MOSTLY * letters.total() else ""


@cache
def _letters() -> dict[str, re.Pattern[str]]:
    """Return a pattern of the letters of each script, cached because compiling them takes 2 ms."""
    return {name: re.compile(f"[{span}]") for name, span in _SCRIPTS}


def _of_script(script: str, letters: int, read: str) -> str:
    """Return the language of a text with so many letters of a script.

    A script of a single language is named by the language's tag.
    """
    if script == "latin":
        vietnamese = len(_VIETNAMESE.findall(read)) > _VIETNAMESE_SHARE * letters
        return "vi" if vietnamese else TAGS.get(detect(read), "")
    own = _OF_THE_SCRIPT.get(script, ((script, read),))
    return next((tag for tag, only in own if any(letter in read for letter in only)), "")
