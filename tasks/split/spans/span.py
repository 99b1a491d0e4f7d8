"""Span: a stretch of a document's text, and the positions at which text may be cut between visible characters."""

from functools import cache
from typing import Any, NamedTuple

_CLUSTER = r"\X"
_ORDINARY = r"\p{GCB=Other}{2}"
_EXTENDS = r"[^\p{GCB=Control}\r\n][\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]"
_LOOK_BACK = 256  # characters; clusters in real text are much shorter, and a longer, hostile one may be cut
_DASHES_AND_QUOTES = frozenset(map(chr, range(0x2010, 0x2028)))
_FIRST_MARK = "\u0300"  # lower code points never extend the previous one, except a line feed after a carriage return


class Span(NamedTuple):
    """A half-open span in code points."""

    start: int
    end: int


@cache
def _compiled(pattern: str) -> Any:
    import regex  # type: ignore[import-untyped]  # 10 ms, only for texts with marks and emoji

    return regex.compile(pattern)


def is_boundary(text: str, position: int) -> bool:
    """Return whether no grapheme cluster (Unicode TR 29) spans `position`."""
    if is_boundary_plain(text, position):
        return True
    return _compiled(_EXTENDS).match(text, position - 1) is None and cluster_start(text, position) == position


def is_boundary_plain(text: str, position: int) -> bool:
    """Return whether `position` is an obvious boundary: an end, or between two ordinary characters."""
    if position <= 0 or position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    if (before < _FIRST_MARK or before in _DASHES_AND_QUOTES) and (after < _FIRST_MARK or after in _DASHES_AND_QUOTES):
        return not (before == "\r" and after == "\n")
    return _compiled(_ORDINARY).match(text, position - 1, position + 1) is not None


def cluster_start(text: str, position: int) -> int:
    """Return the start of the grapheme cluster that contains the code point at `position`."""
    if is_boundary_plain(text, position):
        return position
    anchor = position
    while position - anchor < _LOOK_BACK and not is_boundary_plain(text, anchor):
        anchor -= 1
    start = anchor
    for cluster in _compiled(_CLUSTER).finditer(text, anchor):
        if cluster.start() > position:
            break
        start = cluster.start()
    return start


def cluster_end(text: str, position: int) -> int:
    """Return the first position at or after `position` that breaks no grapheme cluster."""
    if is_boundary(text, position):
        return position
    cluster = _compiled(_CLUSTER).match(text, cluster_start(text, position))
    return cluster.end() if cluster else position


def trim(text: str, start: int, end: int) -> Span:
    """Return a span without white space at its ends, unless that would break a grapheme cluster."""
    piece = text[start:end]
    rest = piece.lstrip()
    if not rest:
        return Span(start, start)
    first = end - len(rest)
    last = first + len(rest.rstrip())
    if first == start and last == end:
        return Span(start, end)
    first = first if text[first] < _FIRST_MARK else max(start, cluster_start(text, first))
    return Span(first, last if is_boundary_plain(text, last) else min(end, cluster_end(text, last)))
