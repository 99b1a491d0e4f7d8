"""Numbered lines: the non-blank lines of a text, with their starts and numbers."""

import re
from collections.abc import Iterator

_LINE = re.compile(r"[^\r\n]+|\r\n?|\n")


def numbered(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield the start, the text without its line end, and the number from 1 of every non-blank line."""
    number = 1
    for match in _LINE.finditer(text):
        line = match.group()
        if line[0] in "\r\n":
            number += 1
        elif line.strip():
            yield match.start(), line, number
