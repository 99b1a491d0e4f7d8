"""Plain text, cut into paragraphs at blank lines, and source code: the file itself."""

import re
from collections.abc import Iterator

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.drawn_tables import with_drawn_tables
from docmill.tasks.parse.format import ParseOptions

_BLOCK = re.compile(r"\S[^\r\n]*(?:(?:\r\n?|\n)(?![^\S\r\n]*(?:\r|\n|\Z))[^\r\n]+)*")
_NEWLINE = re.compile(r"\r\n?|\n")
_SAMPLE = 20_000
"""Characters by which a text is judged to be prose. A smaller sample may all be one table or one heading."""
_MIN_LINES = 10
"""Minimum lines to judge a text. With fewer, a comment in code or the message of a log reads like prose."""
_WORDY = 5
"""Words of a line of prose; half of the lines must have as many.

Statements of code have fewer; with more, verse and narrow columns are no prose.
"""
_LETTERS = 0.85
"""The share of letters among the characters of prose.

The rest are stops and digits; code and logs have more of both, and tables of numbers most.
"""
_LINE = re.compile(r"[^\r\n]+|\r\n?|\n")


def parse_text(data: bytes, _: ParseOptions) -> Parsed:
    """Return the decoded file, newlines unchanged, with a paragraph for each run of lines, and tables drawn in it."""
    found = decode(data)
    elements = with_drawn_tables(found.text, paragraphs(found.text))
    return Parsed(found.text, tuple(elements), "", found.metadata)


def paragraphs(text: str) -> list[Element]:
    """Return the paragraphs of a text."""
    elements = []
    line, seen = 1, 0
    for match in _BLOCK.finditer(text):
        start, end = match.start(), match.end()
        block = match.group().rstrip()
        end = start + len(block)
        # From the last block on; to count from the beginning each time takes quadratic time.
        line += newlines(text, seen, start)
        seen = start
        elements.append(Element("paragraph", start, end, 0, 0, line))
    return elements


def is_prose(text: str) -> bool:
    """Return whether a text of some length consists of lines of words, unlike code or logs."""
    lines = [line.split() for line in text[:_SAMPLE].splitlines() if line.strip()]
    if len(lines) < _MIN_LINES:
        return False
    signs = "".join(sign for line in lines for sign in line)
    wordy = sum(len(line) >= _WORDY for line in lines)
    return wordy >= len(lines) / 2 and sum(map(str.isalpha, signs)) > _LETTERS * len(signs)


def newlines(text: str, start: int, end: int) -> int:
    """Return how many lines end in a span; a lone carriage return ends one."""
    count = text.count("\n", start, end)
    if text.find("\r", start, end) >= 0:
        # Slower than `count`, and needed only for the few texts with old or foreign line ends.
        count = len(_NEWLINE.findall(text, start, end))
    return count


def numbered(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield the start, the text without its line end, and the number from 1 of every non-blank line."""
    number = 1
    for match in _LINE.finditer(text):
        line = match.group()
        if line[0] in "\r\n":
            number += 1
        elif line.strip():
            yield match.start(), line, number


def parse_code(data: bytes, options: ParseOptions) -> Parsed:
    """Return the decoded file, newlines as they are, as one code element."""
    found = decode(data)
    text = found.text
    end = len(text.rstrip())
    start = len(text) - len(text.lstrip())
    # The first line keeps its indent, to match the lines below.
    start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    line = 1 + newlines(text, 0, start)
    element = Element("code", start, end, 0, 0, line, None, {"language": options.language})
    return Parsed(text, (element,) if end else (), "", found.metadata)
