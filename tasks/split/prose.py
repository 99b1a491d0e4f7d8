"""Prose: whether the lines of a text mean anything, or only where the page ended."""

import re

from tasks.split.span import Span

_LINE = re.compile(r"[^\r\n]+")
_ENDS = (".", "!", "?", ":", ";", "\u2026", '"', "\u201d", "|", "  ", "\\")
_MIN_LENGTH = 40
_SAMPLE = 4000


def is_wrapped(text: str, span: Span) -> bool:
    """Return whether most lines of a span end for want of space: they are long and end amid a sentence."""
    found = _LINE.findall(text, span.start, min(span.end, span.start + _SAMPLE))[:-1]
    if not found:
        return False
    open_ends = sum(not line.endswith(_ENDS) for line in found)
    return open_ends * 2 > len(found) and sum(map(len, found)) >= _MIN_LENGTH * len(found)
