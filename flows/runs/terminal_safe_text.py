"""Terminal safe text: what documents, names and queries hold, written so that it cannot control a terminal."""

import re

STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls of both sets (C0, C1), line separators, what turns the direction of writing, and halves of characters.

An escape sequence could erase or forge lines, and characters that turn the direction show `exe.png` for `gnp.exe`.
Half a character, as in a file name that is not UTF-8, cannot be printed at all.
"""


def visible(text: str) -> str:
    r"""Return text with each character that could control a terminal written as its escape, such as `\x1b`."""
    return STEERING.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """Return text as one visible line, with single spaces for white space."""
    return visible(" ".join(text.split()))
