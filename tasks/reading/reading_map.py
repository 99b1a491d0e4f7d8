"""Reading map: which spans of a document are markup, and the document with blanks in their place.

A chunk is a slice of its document, markup and all; what is embedded and indexed is its *reading*, the same slice
without the markup. Sizes count the reading, so that a table is not cut in two because of its bars.

The map from the reading to the document is the simplest there is: both have the same positions. In `ReadingMap.text`
each character of markup is a blank, which costs no token, and each other one stands where it stands in the document.
So the prefix counts of tokens are taken over that text, and whatever asks for the length of a span, or how far a number
of tokens reaches, goes on in offsets of the document.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from docmill.storage.schema import Parsed
from docmill.tasks.reading.element_marks import marks_of
from docmill.tasks.split.spans.span import Span


@dataclass(frozen=True, slots=True)
class ReadingMap:
    """The reading of a document: its `text` with blanks for markup, and where markup `starts` and `ends`, in order."""

    text: str
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def unread(self, start: int, end: int) -> tuple[int, ...]:
        """Return the starts and ends, in turn, of the markup in a span, as offsets in it."""
        first, stop = bisect_right(self.ends, start), bisect_left(self.starts, end)
        spans = zip(self.starts[first:stop], self.ends[first:stop], strict=True)
        return tuple(place - start for a, b in spans for place in (max(a, start), min(b, end)))


def reading_of(parsed: Parsed) -> ReadingMap:
    """Return the reading of a parsed document."""
    found = sorted(span for element in parsed.elements for span in marks_of(parsed.text, element))
    spans = list(_joined(parsed.text, found))
    starts, ends = tuple(span.start for span in spans), tuple(span.end for span in spans)
    return ReadingMap(_blanked(parsed.text, spans), starts, ends)


def _joined(text: str, found: Iterable[Span]) -> Iterable[Span]:
    """Yield spans in order, those with nothing but blanks between them as one."""
    start = end = -1
    for span in found:
        if start >= 0 and (span.start <= end or not text[end : span.start].strip()):
            end = max(end, span.end)
            continue
        if end > start >= 0:
            yield Span(start, end)
        start, end = span
    if end > start >= 0:
        yield Span(start, end)


def _blanked(text: str, spans: Iterable[Span]) -> str:
    """Return the text with blanks in place of the spans; newlines stay."""
    pieces, position = list[str](), 0
    for start, end in spans:
        pieces += [text[position:start], _blanks(text[start:end])]
        position = end
    return "".join((*pieces, text[position:]))


def _blanks(markup: str) -> str:
    return "\n".join(" " * len(line) for line in markup.split("\n"))
