"""Prose: where a paragraph that is too long may be cut: at its lines and sentences."""

import re
from collections.abc import Iterator
from zlib import crc32

from docmill.tasks.split.spans.pieces import LINE, PART, SENTENCE, WORD
from docmill.tasks.split.spans.span import Span

_LINE_END = re.compile(r"\r\n?|\n")
_QUOTE_MARKS = " \t>"
_ENDS = (".", "!", "?", ":", ";", "|", "\u2026", '"', "\u201d", "\\")
_SHORT = 45  # characters; a line that merely reached the margin is longer, even in a narrow column
_SENTENCE_END = re.compile(  # a stop and the characters that belong to it, by kind, with white space
    r"[.!?\u3002\uff01\uff1f]"
    r"(?:(?<=[\u3002\uff01\uff1f])[\u3002\uff01\uff1f]*[\u300d\u300f\u201d\u2019\uff09]*|(?<=[.!?])[.!?]*[\"'\u201d\u2019)\]]*\s+)"
)
_ENUMERATOR = re.compile(r"\((\w{1,4})\)")
_NUMBER = re.compile(r"[ \t>*_#-]*\d+[.)]\s*")
_LONGEST_NUMBER = 16  # characters of a line that holds only the number of a list item and its punctuation
_BEFORE_STOP = len("2. ")  # characters from the digit of such a number to what follows
_LONG_WORD = 2000  # characters; sentencex is quadratic in the length of a word
_SHORT_TEXT = 2000  # characters; a shorter text is one stretch: no sentence in it is far from an edit
_SLICE = 1 << 16  # small enough to need little memory
_LEAST = 256  # characters of a stretch; in shorter ones, sentencex would seldom see both quotation marks of a pair
_STOPS = 16  # one stop in this many ends a stretch; with more, stretches are longer and an edit moves more sentences
_SNIPPET = 16  # characters after a stop that decide; with fewer, repeated beginnings decide alike


def prose_cuts(text: str, span: Span) -> list[tuple[int, int]]:
    """Return the starts of lines and sentences.

    A line that is short or ends in a stop was ended on purpose. Any other line may merely have reached the margin, so
    the seam after it is tighter than between two sentences.
    """
    cuts = dict(_lines(text, span))
    for position in _sentences(text, span):
        cuts[position] = max(cuts.get(position, SENTENCE), SENTENCE)
    return sorted(cuts.items())


def _lines(text: str, span: Span) -> list[tuple[int, int]]:
    found, start = [], span.start
    for match in _LINE_END.finditer(text, *span):
        line = text[start : match.start()].strip(_QUOTE_MARKS)
        start = match.end()
        meant = len(line) < _SHORT or line.endswith(_ENDS)
        found.append((start, (LINE if line else PART) if meant else WORD))
    return found


def _sentences(text: str, span: Span) -> Iterator[int]:
    """Yield the starts of sentences, each found in a stretch that begins and ends near it.

    `sentencex` pairs quotation marks at any distance, so one more mark would move sentences in all of a long text.
    """
    marks = [span.start, *_marks(text, span), span.end]
    for start, end, beyond in zip(marks, marks[1:], [*marks[2:], span.end], strict=False):
        yield from (place for place in _found(text, start, beyond) if start < place <= end and place < span.end)


def _found(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the starts of the sentences of a stretch, by `sentencex`, or by stops alone where it would be quadratic."""
    from sentencex import get_sentence_boundaries

    piece = _ENUMERATOR.sub(r" \1 ", text[start:end])  # sentencex ends no sentence that begins with "(b)"
    if len(piece) > _LONG_WORD and max(map(len, piece.split()), default=0) > _LONG_WORD:
        yield from (match.end() for match in _SENTENCE_END.finditer(text, start, end))
    else:
        last = start
        for sentence in get_sentence_boundaries("en", piece)[1:]:
            place = start + sentence["start_index"]
            if not (text[place - _BEFORE_STOP : place - _BEFORE_STOP + 1].isdigit() and _is_number(text, last, place)):
                yield place
            last = place


def _is_number(text: str, start: int, end: int) -> bool:
    """Return whether the last line of a stretch is the number of a list item ("2. "), which stays with what follows."""
    line = text[text.rfind("\n", start, end - 1) + 1 or start : end]
    return len(line) <= _LONGEST_NUMBER and _NUMBER.fullmatch(line) is not None


def _marks(text: str, span: Span) -> Iterator[int]:
    """Yield the ends of the stretches of a long text: about one stop in sixteen, chosen by the text after it."""
    last = span.start
    stops = (match.end() for match in _SENTENCE_END.finditer(text, *span)) if span.end - last > _SHORT_TEXT else ()
    for place in (*stops, span.end):
        while place - last > 2 * _SLICE:  # no stop in this much text
            last += _SLICE
            yield last
        if place < span.end and _ends_stretch(text, last, place):
            last = place
            yield last


def _ends_stretch(text: str, last: int, place: int) -> bool:
    if not _LEAST <= place - last <= _SLICE:
        return place - last > _SLICE
    # The text after a stop decides, not its number: inserting a stop moves only the stretches around it.
    return crc32(text[place : place + _SNIPPET].encode("utf-8", "surrogatepass")) % _STOPS == 0
