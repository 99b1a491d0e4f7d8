"""Lines: those of a text that are not blank, with where they begin and their numbers."""

import re
from collections.abc import Iterator

_LINE = re.compile(r"[^\r\n]+|\r\n?|\n")


def numbered(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield the start, the text without its end, and the number from 1 of every line that is not blank."""
    number = 1
    for match in _LINE.finditer(text):
        line = match.group()
        if line[0] in "\r\n":
            number += 1
        elif line.strip():
            yield match.start(), line, number
