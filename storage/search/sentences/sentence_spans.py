"""Sentence spans: split a text into sentences, table rows, list items, headings and lines of code."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from docmill.storage.search.keywords.analysis.language_detection import written_language
from docmill.storage.search.keywords.analysis.language_tags import TAGS
from docmill.storage.search.sentences.sentence_ends import SentenceStart

_LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|$)")
_FENCE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})")
_KINDS = (
    ("rule", re.compile(r"[ \t>]*\|?[ \t]*:?-{2,}[-| \t:+=]*$")),
    ("row", re.compile(r"[ \t>]*\|")),
    ("heading", re.compile(r"#{1,6}[ \t]")),
    ("item", re.compile(r"[ \t>]*(?:[-*+\u2022\u2023\u25e6]|\(?(?:\d{1,3}|[^\W\d_])[.)])[ \t]+\S")),
)
"""The kinds of lines that begin a unit, recognised by how they begin; a rule belongs to the row above it."""
_LONG_ITEM = 600
"""A list item with more characters is split like a paragraph: numbered clauses of a contract fill pages, whereas most
items of several sentences are shorter."""


class _TextBlock(NamedTuple):
    """Lines that belong together: a row, a heading, a line of code, an item, or a paragraph."""

    kind: str
    start: int
    end: int


def sentence_spans(text: str, by_line: bool = False) -> list[tuple[int, int]]:
    """Return the spans of a text's sentences, in order and without white space around them.

    A table row, a line of code and a heading each count as a sentence, and so does a list item unless it is long. With
    `by_line`, every line does, as in source code. The spans cover all of the text except white space.
    """
    blocks = (_TextBlock("line", start, end) for _, start, end in _lines(text)) if by_line else _joined(_blocks(text))
    pieces = (piece for block in blocks for piece in pairwise([block.start, *_cuts(text, block), block.end]))
    return [span for span in (_trimmed(text, *piece) for piece in pieces) if span[0] < span[1]]


def _lines(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _LINE.finditer(text):
        if match.group(1).strip():
            yield match.group(1), match.start(), match.end()


def _blocks(text: str) -> Iterator[_TextBlock]:
    """Yield each line that is not blank with its kind; within a code fence, all are lines of code."""
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
    """Return where the sentences of a block begin, except the first."""
    if block.kind != "prose" and not (block.kind == "item" and block.end - block.start > _LONG_ITEM):
        return []
    lines = [match.end() for match in _LINE.finditer(text, block.start, block.end) if ends_on_purpose(match.group(1))]
    found = {*lines, *sentence_starts(text, block.start, block.end)}
    return sorted(place for place in found if block.start < place < block.end)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, start + len(piece.strip())


_QUOTE_MARKS = " \t>"
_ENDS = (".", "!", "?", ":", ";", "|", "\u2026", '"', "\u201d", "\\")
_SHORT = 45  # characters; a line that was wrapped at the margin is longer, even in a narrow column
_SENTENCE_END = re.compile(  # a stop and the characters that belong to it, by kind, with white space
    r"[.!?\u3002\uff01\uff1f]"
    r"(?:(?<=[\u3002\uff01\uff1f])[\u3002\uff01\uff1f]*[\u300d\u300f\u201d\u2019\uff09]*|(?<=[.!?])[.!?]*[\"'\u201d\u2019)\]]*\s+)"
)
_ENUMERATOR = re.compile(r"\((\w{1,4})\)")
_NUMBER = re.compile(r"[ \t>*_#-]*\d+[.)]\s*")
_LONGEST_NUMBER = 16  # characters of a line that only has the number of a list item and its punctuation
_BEFORE_STOP = len("2. ")  # characters from the digit of such a number to the text after it
_LONG_WORD = 2000  # characters; sentencex is quadratic in the length of a word
_SHORT_TEXT = 2000  # characters; a shorter text is one stretch, because no sentence in it is far from an edit
_SLICE = 1 << 16  # small enough to need little memory
_LEAST = 256  # characters of a stretch; in shorter ones, sentencex would seldom see both quotation marks of a pair
_STOPS = 16  # one stop in this many ends a stretch; with more, stretches are longer and an edit moves more sentences
_WITH_RULES = frozenset({*TAGS.values(), "ru", "uk"} - {"en"})
"""Languages with their own rules for abbreviations and dates; languages in other scripts have their own stops."""
_SNIPPET = 16  # characters after a stop that decide; with fewer, repeated beginnings give the same decision


def ends_on_purpose(line: str) -> bool:
    """Return whether a line is short or ends in a stop; any other may have been wrapped at the margin."""
    line = line.strip(_QUOTE_MARKS)
    return len(line) < _SHORT or line.endswith(_ENDS)


def sentence_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Yield where the sentences of text[start:end] begin, except the first; each stretch of text is split by itself.

    `sentencex` pairs quotation marks at any distance, so without stretches, one more mark could move all sentences of a
    long text.
    """
    marks = [start, *_marks(text, start, end), end]
    for first, last, beyond in zip(marks, marks[1:], [*marks[2:], end], strict=False):
        yield from (place for place in _found(text, first, beyond) if first < place <= last and place < end)


def _found(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the starts of the sentences of a stretch by `sentencex`, or only by stops where it would be quadratic."""
    from sentencex import get_sentence_boundaries

    piece = _ENUMERATOR.sub(r" \1 ", text[start:end])  # sentencex does not end sentences that begin with "(b)"
    if len(piece) > _LONG_WORD and max(map(len, piece.split()), default=0) > _LONG_WORD:
        yield from (match.end() for match in _SENTENCE_END.finditer(text, start, end))
    else:
        language = written_language(text)
        last, others = start, _starts_in(language, piece)
        for sentence in get_sentence_boundaries("en", piece)[1:]:
            if others is not None and sentence["start_index"] not in others:
                continue
            place = start + sentence["start_index"]
            place -= text[place - 1] == "("  # include the bracket of "(b)", which was hidden from sentencex
            found = SentenceStart(text, place, language)
            if found.is_one and not _is_number(text, last, place):
                yield found.after_mark
            last = place


def _starts_in(language: str, piece: str) -> set[int] | None:
    """Return where sentences begin by the rules of a language; None if it has no rules besides those of English.

    English rules end a sentence within "am 3. Oktober", and French rules within "M. Dupont", so both must agree.
    """
    if language not in _WITH_RULES:
        return None
    from sentencex import get_sentence_boundaries

    return {sentence["start_index"] for sentence in get_sentence_boundaries(language, piece)}


def _is_number(text: str, start: int, end: int) -> bool:
    """Return whether the last line of a stretch is just the number of a list item ("2. "), which is no sentence."""
    if not text[end - _BEFORE_STOP : end - _BEFORE_STOP + 1].isdigit():
        return False
    line = text[text.rfind("\n", start, end - 1) + 1 or start : end]
    return len(line) <= _LONGEST_NUMBER and _NUMBER.fullmatch(line) is not None


def _marks(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the ends of the stretches of a long text: about one stop in sixteen, chosen by the text after it."""
    last = start
    stops = (match.end() for match in _SENTENCE_END.finditer(text, start, end)) if end - start > _SHORT_TEXT else ()
    for place in (*stops, end):
        while place - last > 2 * _SLICE:  # no stop in this much text
            last += _SLICE
            yield last
        if place < end and _ends_stretch(text, last, place):
            last = place
            yield last


def _ends_stretch(text: str, last: int, place: int) -> bool:
    if not _LEAST <= place - last <= _SLICE:
        return place - last > _SLICE
    # The text after a stop decides, not the count of stops, so inserting a stop moves only the stretches around it.
    return crc32(text[place : place + _SNIPPET].encode("utf-8", "surrogatepass")) % _STOPS == 0
