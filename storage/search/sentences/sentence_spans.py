"""Sentence spans: a text as sentences, rows of tables, list items, headings and lines of code, none of which is cut."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from docmill.storage.search.sentences.sentence_starts import ends_on_purpose, sentence_starts

_LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|$)")
_FENCE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})")
_KINDS = (
    ("rule", re.compile(r"[ \t>]*\|?[ \t]*:?-{2,}[-| \t:+=]*$")),
    ("row", re.compile(r"[ \t>]*\|")),
    ("heading", re.compile(r"#{1,6}[ \t]")),
    ("item", re.compile(r"[ \t>]*(?:[-*+\u2022\u2023\u25e6]|\(?(?:\d{1,3}|[^\W\d_])[.)])[ \t]+\S")),
)
"""The lines that begin a unit, by how they begin; a rule belongs to the row above it."""
_LONG_ITEM = 600
"""Characters of a list item above which it is read as a paragraph: numbered clauses of a contract fill pages, and an
item of several sentences is mostly shorter."""


class _TextBlock(NamedTuple):
    """Lines that belong together: a row, a heading, a line of code, an item, or a paragraph."""

    kind: str
    start: int
    end: int


def sentence_spans(text: str, by_line: bool = False) -> list[tuple[int, int]]:
    """Return the spans of a text's sentences, in order and without white space around them.

    A row of a table, a line of code and a heading count as a sentence, and so does a list item unless it is long. With
    `by_line`, every line does, as in source code. The spans hold all of the text but white space.
    """
    blocks = (_TextBlock("line", start, end) for _, start, end in _lines(text)) if by_line else _joined(_blocks(text))
    pieces = (piece for block in blocks for piece in pairwise([block.start, *_cuts(text, block), block.end]))
    return [span for span in (_trimmed(text, *piece) for piece in pieces) if span[0] < span[1]]


def _lines(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _LINE.finditer(text):
        if match.group(1).strip():
            yield match.group(1), match.start(), match.end()


def _blocks(text: str) -> Iterator[_TextBlock]:
    """Yield each line that is not blank with its kind; within a fence, all are lines of code."""
    fenced = False
    for line, start, end in _lines(text):
        fence = _FENCE.match(line) is not None
        kind = next((name for name, sign in _KINDS if sign.match(line)), "prose")
        yield _TextBlock("line" if fenced or fence else kind, start, end)
        fenced ^= fence


def _joined(lines: Iterator[_TextBlock]) -> Iterator[_TextBlock]:
    """Yield lines as blocks: prose joins the prose or the item directly before it, a rule the row before it."""
    last: _TextBlock | None = None
    for line in lines:
        if last and last.end == line.start and (last.kind, line.kind) in _JOINING:
            last = last._replace(end=line.end)
            continue
        if last:
            yield last
        last = line
    if last:
        yield last


_JOINING = {("prose", "prose"), ("item", "prose"), ("row", "rule")}


def _cuts(text: str, block: _TextBlock) -> list[int]:
    """Return where the sentences of a block begin, but for the first."""
    if block.kind != "prose" and not (block.kind == "item" and block.end - block.start > _LONG_ITEM):
        return []
    lines = [match.end() for match in _LINE.finditer(text, block.start, block.end) if ends_on_purpose(match.group(1))]
    found = {*lines, *sentence_starts(text, block.start, block.end)}
    return sorted(place for place in found if block.start < place < block.end)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, start + len(piece.strip())
