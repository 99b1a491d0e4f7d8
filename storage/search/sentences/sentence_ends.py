"""Sentence ends: stops that end no sentence although `sentencex` splits there, and the marks of notes after a stop."""

import re
from typing import NamedTuple

_REACH = 24  # characters before a place that decide
_ABBREVIATED_WORDS = """
    vol vols eq eqs sec sect ch chap para ref refs tab approx max min temp avg est incl excl resp deg ver
    abs kap bd bspw inkl exkl zzgl rn anm
    art pag pagg mlle tél env
"""
"""Abbreviations before a number or within a sentence: English, German, Italian and French."""
_ABBREVIATED = frozenset(f"{word}." for word in _ABBREVIATED_WORDS.split())
_OPENING = "([`\"'"
_ORDINAL = re.compile(
    r"\b(?:de[rmsn]|das|die|[ia]m|ins?|[vz]om|zu[rm]|beim|jede[rmns]?|diese[rmns]?|sein(?:e[rmns]?)?|und|bis)\s+"
    r"\d{1,2}\.\s+\Z",
    re.IGNORECASE,
)  # of German, as in "der 2. Weltkrieg"
_QUOTED = re.compile(r"[\u3002\uff01\uff1f][\u300d\u300f]\Z")
_AFTER_QUOTED = frozenset("とてでがをにはもの、。")  # Japanese particles, and stops
_MARK = re.compile(
    r"(?:\^[\w*\u2020\u2021]{1,4}\^|\[\^[^\]\s]{1,16}\]|[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,3})+(?:\s+|\Z)"
)


class SentenceStart(NamedTuple):
    """Where a sentence begins, and the language of its text."""

    text: str
    place: int
    language: str

    @property
    def is_one(self) -> bool:
        """Return whether a sentence ends before the place."""
        before = self.text[max(0, self.place - _REACH) : self.place]
        last = before.split()[-1].lstrip(_OPENING) if before.strip() else ""
        if not before[-1:].isspace():
            after = self.text[self.place : self.place + 1]
            return last != "." and not (after in _AFTER_QUOTED and _QUOTED.search(before))
        if last.rpartition("'")[2].lower() in _ABBREVIATED and not self.text[self.place : self.place + 1].isupper():
            return False
        return not (self.language == "de" and last[:1].isdigit() and _ORDINAL.search(before))

    @property
    def after_mark(self) -> int:
        """Return the place, or if the mark of a note is there, directly after a stop, the place after that mark."""
        mark = _MARK.match(self.text, self.place) if not self.text[self.place - 1 : self.place].isspace() else None
        return mark.end() if mark else self.place
