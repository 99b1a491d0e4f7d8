"""Separation: split a text into pieces that the analyser reads one by one, without changing their offsets."""

import re
from collections.abc import Iterator

PAIR_SIGNS = {"&": "\x01", "/": "\x02"}
"""Characters that replace `&` and `/` within pieces such as AT&T and I/O; elsewhere `&` and `/` separate pieces."""
SOFT_HYPHEN = "\u00ad"

_KEPT = b"\x01\x020123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.,+#-%"
_SEPARATE = bytes(byte if byte >= 128 or byte in _KEPT else 32 for byte in range(256))
_PIECE = re.compile("[^ ]+")
_DIVIDED = re.compile(r"([-\u00ad])(?<=[^\W\d_].)\n(?=([^\W\d_]))")  # starts with a rare character, which is faster
_GROUPED = re.compile("[\u00a0\u2009\u202f\u2019'](?<=[0-9].)(?=[0-9]{3}(?![0-9]))")
"""A separator of thousands that is no comma: a space that ends no line, or the apostrophe of Switzerland."""
_PAIR = re.compile(r"[&/](?=([A-Za-z]{1,3})(?![\w&/]))")
_PAIR_START = re.compile(r"(?:^|[^\w&/])([A-Za-z]{1,3})$")
_PAIR_LETTERS = 4
"""The most letters of a pair, such as AT&T or CI/CD; the parts of longer ones ("and/or", "TCP/IP") are words."""
_WORD = re.compile(r"[^\W\d_]+")
_CAPITALS = re.compile(r"(?<!\w)[^\W\d_İ]{2,3}(?!\w)")  # not İ, whose lower case is two code points


def separate(text: str) -> str:
    """Return a text with ASCII characters between words replaced by spaces; each remaining piece is one unit.

    Every piece keeps its offset and length, in code points. Pieces differ from the text in this:
    - A word divided at the end of a line is one piece, with a soft hyphen in place of the line break.
    - Two to four letters around `&` or `/` are one piece (AT&T, I/O).
    - Thousands are separated by commas.
    - In lines all in capitals, short words are in lower case, because capitals do not mark an acronym there.
    """
    text = _with_pairs(_without_shouting(_with_divided_words(_GROUPED.sub(",", text))))
    separated = text.encode("utf-8", "replace").translate(_SEPARATE)
    return separated.replace(b". ", b"  ").replace(b", ", b"  ").decode()


def located_pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield each piece of a text with the offset of its first character."""
    return ((match.start(), match.group()) for match in _PIECE.finditer(separate(text)))


def _with_divided_words(text: str) -> str:
    return _DIVIDED.sub(_undivided, text) if "-\n" in text or "\u00ad\n" in text else text


def _undivided(match: re.Match[str]) -> str:
    """Return the hyphen and a soft hyphen if the next line continues in lower case; else leave the text as it is."""
    return match[1] + (SOFT_HYPHEN if match[2].islower() else "\n")


def _without_shouting(text: str) -> str:
    """Return a text with short words in lower case in each line of several words that is all in capitals.

    In a line of one word, such as a query or a table cell, capitals may mark an acronym.
    """
    lines = text.split("\n")
    shouted = [number for number, line in enumerate(lines) if line.isupper()]
    for number in shouted:
        if len(_WORD.findall(lines[number])) > 1:
            lines[number] = _CAPITALS.sub(lambda match: match[0].lower(), lines[number])
    return "\n".join(lines) if shouted else text


def _with_pairs(text: str) -> str:
    if "&" not in text and "/" not in text:
        return text
    parts, done = [], 0
    for match in _PAIR.finditer(text):
        left = _PAIR_START.search(text, max(0, match.start() - 4), match.start())
        if left and len(left[1]) + len(match[1]) <= _PAIR_LETTERS:
            parts += [text[done : match.start()], PAIR_SIGNS[match[0]]]
            done = match.end()
    return "".join([*parts, text[done:]]) if parts else text
