"""Reading map: which spans of a document are markup, and the document's text with blanks in their place.

A chunk is a slice of its document, including markup; embedded and indexed is its *reading*, the same slice without the
markup. Sizes count the reading, so that a table is not cut because of its bars.

The reading and the document have the same positions: in `ReadingMap.text`, each character of markup is a blank, which
costs no token, and every other character keeps its place. Token counts are taken over that text, so the length of a
span, or how far a number of tokens reaches, is still given in offsets of the document.

The parser has determined the kind of each element, so a sign is unambiguous here: a bar within a table separates two
cells, and the same bar in a paragraph is left alone. Inline markup, such as links, is marked by the parser itself.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from docmill.storage.schema import Element, Parsed
from docmill.tasks.split.spans.span import Span

_TITLE = re.compile(
    r"\A(?:=(?: =)+(?=\s)|[#=]{1,6}(?=\s)|={2,6})|(?<=\s)(?:(?:= )+=|[#=]{1,6})\Z|={2,6}\Z"
    r"|(?<=\n)[ \t]*(?:=+|-+|~+|\^+|\*+|#+)\Z"
)
_FENCES = re.compile(r"\A(?:`{3,}|~{3,})|\n[ \t>]*(?:`{3,}|~{3,})\s*\Z")
_QUOTE = re.compile(r"^[ \t]{0,3}>(?:[ \t]?>)*", re.MULTILINE)
_BULLET = re.compile(r"\A[-*+\u2022](?=\s)(?:[ \t]+\[ \](?=\s))?")
_FRONT = re.compile(r"\A(?:---|\+\+\+)[ \t]*(?=[\r\n])|(?:---|\+\+\+|\.\.\.)\s*\Z")
# Possessive throughout: otherwise a line of blanks would be searched from each of them.
_RULE = r"^[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$"
_BARS = re.compile(rf"{_RULE}|(?<!\\)\|", re.MULTILINE)
_RUNS = re.compile(r"([.\u00b7\u2026_=~*#\u2500-\u257f-])\1{4,}|(?:[.\u00b7] ){4,}[.\u00b7]?")
"""Leaders between a title and its page, lines to fill in, rules: five signs or more, because three are an ellipsis."""
_TICKS = re.compile(r"(?<![\w`\\])(`{1,2})(?![\s`])([^`\n]{1,200})(?<!\s)\1(?![\w`])")
"""Inline code as the parsers of HTML, Word and others write it; Markdown's own is marked by its parser."""
_DATA = re.compile(r"[A-Za-z0-9+/]{32,}={0,2}")
"""What may be a hash or encoded bytes; the shortest common hash, MD5, has 32 digits."""
_LEAST = 32
_KEPT = 8
"""The characters of a hash that are read: as many as people quote to identify one."""
_DIGITS = 16
"""In data, at least one character in this many is a digit; in long names or paths, hardly any is."""


def marks_of(text: str, element: Element) -> Iterator[Span]:
    """Yield the markup of an element as spans of the document, possibly overlapping and in no particular order."""
    start, end = element.start_char, element.end_char
    inline = element.attributes.get("marks") or ()
    yield from (Span(start + first, start + last) for first, last in zip(inline[::2], inline[1::2], strict=True))
    own = text[start:end]
    if element.kind in _OF_KIND:
        yield from _found(_OF_KIND[element.kind], own, start)
    if element.kind != "code":
        yield from _found(_RUNS, own, start)
        yield from _ticks(own, start)
        yield from _data(own, start)


def _found(pattern: re.Pattern[str], text: str, start: int) -> Iterator[Span]:
    return (Span(start + match.start(), start + match.end()) for match in pattern.finditer(text))


def _ticks(text: str, start: int) -> Iterator[Span]:
    for match in _TICKS.finditer(text):
        yield Span(start + match.start(), start + match.start(2))
        yield Span(start + match.end(2), start + match.end())


def _data(text: str, start: int) -> Iterator[Span]:
    """Yield all but the first characters of hashes and encoded bytes."""
    for match in _DATA.finditer(text):
        digits = sum(map(str.isdigit, match[0]))
        # Between slashes, path names are short.
        if digits * _DIGITS >= len(match[0]) > digits and max(map(len, match[0].split("/"))) >= _LEAST:
            yield Span(start + match.start() + _KEPT, start + match.end())


_OF_KIND: dict[str, re.Pattern[str]] = {
    "title": _TITLE,
    "code": _FENCES,
    "quote": _QUOTE,
    "list_item": _BULLET,
    "front_matter": _FRONT,
    "table": _BARS,
}


@dataclass(frozen=True, slots=True)
class ReadingMap:
    """The reading of a document: its `text` with blanks for markup, and where markup `starts` and `ends`, in order."""

    text: str
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def unread(self, start: int, end: int) -> tuple[int, ...]:
        """Return alternating starts and ends of the markup in a span, as offsets in the span."""
        first, stop = bisect_right(self.ends, start), bisect_left(self.starts, end)
        spans = zip(self.starts[first:stop], self.ends[first:stop], strict=True)
        return tuple(place - start for a, b in spans for place in (max(a, start), min(b, end)))


def reading_of(parsed: Parsed, kept: Container[str] = ()) -> ReadingMap:
    """Return the reading of a parsed document.

    In a chunk over two pages, the footer and the next page's header are not read, unless furniture is `kept`.
    """
    found = [span for element in parsed.elements for span in marks_of(parsed.text, element)]
    if "furniture" not in kept:
        found += [Span(one.start_char, one.end_char) for one in parsed.elements if one.kind == "furniture"]
    found.sort()
    spans = list(_joined(parsed.text, found))
    starts, ends = tuple(span.start for span in spans), tuple(span.end for span in spans)
    return ReadingMap(_blanked(parsed.text, spans), starts, ends)


def _joined(text: str, found: Iterable[Span]) -> Iterable[Span]:
    """Yield spans in order, joining those with only blanks in between."""
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
    """Return the text with blanks in place of the spans; newlines are kept."""
    pieces, position = list[str](), 0
    for start, end in spans:
        pieces += [text[position:start], _blanks(text[start:end])]
        position = end
    return "".join((*pieces, text[position:]))


def _blanks(markup: str) -> str:
    return "\n".join(" " * len(line) for line in markup.split("\n"))
