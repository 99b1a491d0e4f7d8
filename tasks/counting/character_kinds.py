"""Character kinds: the role of each character for a BERT-like tokenizer, which separates punctuation.

Runs between white space and signs are looked up; a sign is always one token.
"""

import re
import string
from typing import Any

import numpy as np

SPACES = frozenset(
    " \t\n\r\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""White space for every tokenizer supported here."""
FALSE_SPACE = re.compile(r"[\x0b\x0c\x1c-\x1f\x85]")
"""White space for Python, but dropped by BERT, which then joins the text on both sides."""
DROPPED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""The ASCII characters that BERT drops."""
_FALSE_SPACES = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
STOPS = frozenset(",;:.!?/")
"""Signs at which long words are cut."""

SPACE, RUN, SIGN, STOP, WIDE = range(5)
"""Kinds of characters; from SIGN on, each is a token. WIDE ones, such as ideographs, are written without spaces."""
_DASHES_AND_QUOTES = range(0x2010, 0x2028)
_WIDE = (*range(0x4E00, 0xA000), *map(ord, "\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f"))
_BEYOND = 0xFFFF  # not a character; represents all that are not in the table

Kinds = np.ndarray[Any, np.dtype[np.uint8]]


def _table() -> Kinds:
    table = np.full(_BEYOND + 1, RUN, np.uint8)
    for kind, characters in (
        (SPACE, map(ord, SPACES)),
        (SIGN, (*map(ord, string.punctuation), *_DASHES_AND_QUOTES)),
        (STOP, map(ord, STOPS)),
        (WIDE, _WIDE),
    ):
        table[list(characters)] = kind
    return table


_KINDS = _table()
_ASCII_KINDS = _KINDS[:256].tobytes()
_ASCII_RUNS = bytes(code if kind == RUN else 0x20 for code, kind in enumerate(_ASCII_KINDS))
_ASCII_FOLDED = _ASCII_RUNS.lower()


def kinds_and_runs(text: str, fold: bool) -> tuple[Kinds, list[str]]:
    """Return the kind of each character, and the runs; `fold` lower-cases the runs of ASCII text."""
    if any(false in text for false in _FALSE_SPACES):
        text = FALSE_SPACE.sub("\x01", text)
    if text.isascii():
        raw = text.encode("ascii")
        kinds = np.frombuffer(raw.translate(_ASCII_KINDS), np.uint8)
        return kinds, raw.translate(_ASCII_FOLDED if fold else _ASCII_RUNS).decode("ascii").split()
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _KINDS[np.minimum(codes, _BEYOND)]
    runs = np.where(kinds == RUN, codes, np.uint32(ord(" ")))
    return kinds, runs.tobytes().decode("utf-32-le", "surrogatepass").split()
