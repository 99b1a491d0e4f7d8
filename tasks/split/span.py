"""Spans of a document's text, and where a text may be cut without breaking a character that people see."""

from typing import NamedTuple

import regex  # type: ignore[import-untyped]

_CLUSTER = regex.compile(r"\X")
_LOOK_BACK = 256


class Span(NamedTuple):
    """A half-open span in code points."""

    start: int
    end: int


def is_boundary(text: str, position: int) -> bool:
    """Return whether no grapheme cluster (Unicode TR 29) reaches across `position`."""
    if position <= 0 or position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    if before < "\x7f" and after < "\x7f":
        return not (before == "\r" and after == "\n")
    return position in (cluster_start(text, position), len(text))


def cluster_start(text: str, position: int) -> int:
    """Return the first code point of the grapheme cluster that holds the one at `position`."""
    if position >= len(text):
        return position
    anchor = position
    while anchor > 0 and position - anchor < _LOOK_BACK and not (text[anchor - 1] < "\x7f" and text[anchor] < "\x7f"):
        anchor -= 1
    start = anchor
    for cluster in _CLUSTER.finditer(text, anchor):
        if cluster.start() > position:
            break
        start = cluster.start()
    return start


def cluster_end(text: str, position: int) -> int:
    """Return the first position from `position` on that breaks no grapheme cluster."""
    while not is_boundary(text, position):
        position += 1
    return position


def trim(text: str, start: int, end: int) -> Span:
    """Return a span without white space at its ends, as far as no grapheme cluster is broken by that."""
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    last = start + len(piece.rstrip())
    if first >= last:
        return Span(start, start)
    return Span(max(start, cluster_start(text, first)), min(end, cluster_end(text, last)))
