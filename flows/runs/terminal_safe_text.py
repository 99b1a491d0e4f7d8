"""Terminal safe text: write texts of documents, names and queries so that they cannot control a terminal."""

import re

STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters (C0, C1), line separators, characters that change the writing direction, and lone surrogates.

An escape sequence could erase or forge lines. Characters that change the direction can show `exe.png` for `gnp.exe`. A
lone surrogate, as in a file name that is not UTF-8, cannot be printed at all.
"""


def visible(text: str) -> str:
    r"""Return text with each character that could control a terminal replaced by its escape, such as `\x1b`."""
    return STEERING.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """Return text as one visible line, with each run of white space as a single space."""
    return visible(" ".join(text.split()))
