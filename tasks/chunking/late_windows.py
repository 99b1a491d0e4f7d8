"""Late windows: for each chunk, the stretch of its document that is read with it for late vectors.

Neighbouring chunks share a window as long as a quarter of it is left for the text around them, so windows overlap. The
text itself decides where one group of chunks ends and the next begins, as in content-defined chunking (Muthitacharoen,
Chen and Mazieres, SOSP 2001), so an edit moves only the windows near it.
"""

from collections.abc import Iterator, Sequence

from docmill.storage.keys import hash_bytes
from docmill.tasks.counting.tokens import Tokens
from docmill.tasks.split.spans.span import Span

_LEAST, _MOST = 3, 6
"""Eighths of a window that the chunks of one group fill, at least and at most.

More would leave too little room for the surrounding text; less would read the text many times over, because each group
has its own window. The text determines a place between the two: were they closer, an edit would move more windows.
"""
_EIGHTHS = 8  # of a whole


def windows(tokens: Tokens, spans: Sequence[Span], room: int) -> list[Span]:
    """Return the window of each span; spans are given in order by start. A window has at most `room` tokens.

    A longer span is its own window.
    """
    found: list[Span] = []
    for group in _groups(tokens, spans, room):
        extent = Span(group[0].start, max(span.end for span in group))
        found += [_around(tokens, extent, room)] * len(group)
    return found


def _groups(tokens: Tokens, spans: Sequence[Span], room: int) -> Iterator[Sequence[Span]]:
    """Yield the spans in groups that fill three eighths to three quarters of a window; longer spans are alone."""
    first = 0
    while first < len(spans):
        last = _last(tokens, spans, first, room)
        yield spans[first:last]
        first = last


def _last(tokens: Tokens, spans: Sequence[Span], first: int, room: int) -> int:
    """Return the end of the group that begins at `first`: the possible end before the span of least hash."""
    start, end, cuts = spans[first].start, spans[first].end, list[int]()
    for number in range(first + 1, len(spans)):
        wider = max(end, spans[number].end)
        if tokens.count(start, wider) > room * _MOST // _EIGHTHS:
            return min(
                [*cuts, number], key=lambda i: hash_bytes(tokens.text[slice(*spans[i])].encode("utf-8", "replace"))
            )
        if tokens.count(start, end) >= room * _LEAST // _EIGHTHS:
            cuts.append(number)
        end = wider
    return len(spans)


def _around(tokens: Tokens, span: Span, room: int) -> Span:
    """Return a full window with the span in the middle, or off-centre at either end of the document."""
    spare = max(0, room - tokens.exact([span])[0])
    left = tokens.retreat(span.start, spare // 2)
    right = tokens.reach(span.end, spare - tokens.count(left, span.start))
    left = tokens.retreat(span.start, spare - tokens.count(span.end, right))
    wide = Span(min(left, span.start), max(right, span.end))
    return wide if tokens.exact([wide])[0] <= room else span
