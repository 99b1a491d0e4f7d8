"""Questions and answers: pairs stay whole. If an answer is too long, the context of each part repeats the question.

Questions are texts that the parser marked, headings that ask, lines that begin with "Q:" or ask in bold, and tables
with a column of questions. One pair is one chunk, as in retrieval over FAQs (Sakata et al., SIGIR 2019).
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from docmill.storage.schema import Element
from docmill.tasks.split.parts.lines import lines
from docmill.tasks.split.parts.mark_units import UnitStart, units
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.usual_options import Pairs
from docmill.tasks.split.spans.cut_places import prose_cuts, table_rows
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK, GLUE, Piece, fit, merge
from docmill.tasks.split.spans.question_patterns import ANSWERS, BOLD, QUESTION, QUESTIONS
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span, trim

_ASKS = re.compile(
    r"\W*(?:\d+\W+)?(?:what|how|why|when|where|who|whom|whose|which|can|could|do|does|did|is|are|am|was|will|would|should"
    r"|may|must|have|has|i|if|wie|was|warum|wo|wer|kann|comment|pourquoi)\b",
    re.I,
)
_CELL = re.compile(r"(?<!\\)\|")
_LONGEST_QUESTION = 400
"""The most characters of a line that count as its question.

A longer line is a question with its answer; the context of each part of that answer would contain mostly the answer."""


class QuestionSpan(NamedTuple):
    """The span of a question, the start of its words, and whether the chunk's headings already contain it."""

    start: int
    end: int
    words: int
    told: bool = False


def split_pairs(part: Part, options: Pairs) -> list[Span]:
    """Return spans of at most `options.size` tokens, each beginning with a question or within its answer."""
    room, text = Room(part.tokens, options.size), part.text
    asked = questions(part)
    ends = {e.start_char: e.end_char for e in part.elements if e.kind == "title"}
    ends |= {question.start: question.end for question in asked}
    pieces, barred = list[Piece](), False
    for unit in units(part, _marks(part, asked, BLOCK if options.together else BARRIER)):
        whole = room.fits(unit.start, unit.end)
        pieces += _cut(text, unit._replace(seam=BARRIER) if barred else unit, room, ends)
        # The last part of a long answer must not share a chunk with the next question.
        barred = not whole
    return merge(text, pieces, room)


def _cut(text: str, unit: Piece, room: Room, ends: dict[int, int]) -> Iterator[Piece]:
    """Yield a unit, or its question and the parts of its answer; the question and the first part fit one chunk."""
    question = _head(text, unit, ends)
    left = room.tokens - room.measure.count(*question)
    answer = trim(text, question.end, unit.end)
    # If the question takes more than half of the room, repeating it would leave parts of only a few words.
    if room.fits(unit.start, unit.end) or question.end == question.start or left < room.tokens / 2:
        yield from fit(text, unit, room, (prose_cuts,))
    else:
        yield Piece(*question, unit.seam)
        # Less room for all parts, so that the first part fits one chunk together with the question.
        yield from fit(text, Piece(*answer, GLUE), Room(room.measure, left - 1), (prose_cuts,))


def _head(text: str, unit: Piece, ends: dict[int, int]) -> Span:
    """Return the span of the headings and the question at the start of a unit."""
    place = end = unit.start
    while place < unit.end and ends.get(place, place) > place:
        end = min(unit.end, ends[place])
        place = trim(text, end, unit.end).start
    return Span(unit.start, end)


def _marks(part: Part, asked: Sequence[QuestionSpan], seam: int) -> list[UnitStart]:
    """Return the starts of pairs and other sections.

    An empty heading stays with the question or lower section after it. A table below a question is its answer; a table
    of questions starts a section.
    """
    titles = {e.start_char: e for e in part.elements if e.kind == "title"}
    own = {question.start for question in asked}
    tables = {e.start_char for e in part.elements if e.kind == "table" and asking_column(e) >= 0}
    places = sorted(own | tables | titles.keys())
    # For each place, the heading directly above it, if the mark before it is a heading.
    above = [None, *(titles.get(place) for place in places)]
    return [
        UnitStart(place, seam)
        for place, heading in zip(places, above, strict=False)
        if not (heading and _stays_with(part.text, heading, heading.start_char in own, place, titles.get(place)))
    ]


def _stays_with(text: str, above: Element, asks: bool, place: int, title: Element | None) -> bool:
    """Return whether a heading is empty and belongs to what follows, which may be a `title`.

    A heading that `asks` does not belong to a section of the same level: it is a question without an answer.
    """
    if text[above.end_char : place].strip():
        return False
    return title is None or not asks or title.level > above.level


def questions(part: Part) -> list[QuestionSpan]:
    """Return the questions in order."""
    found = [QuestionSpan(e.start_char, e.end_char, e.start_char) for e in part.elements if e.kind == "question"]
    found += [*_headings(part), *_lines(part), *_rows(part)]
    kept: list[QuestionSpan] = []
    for question in sorted(found):
        # A heading that asks can be found both as a heading and as a line.
        if not kept or question.start >= kept[-1].end:
            kept.append(question)
    return kept


def _headings(part: Part) -> Iterator[QuestionSpan]:
    """Yield the headings of the level that has the most questions."""
    titles = [element for element in part.elements if element.kind == "title"]
    levels = Counter(
        e.level for e in titles if _asks(str(e.attributes.get("text") or part.text[e.start_char : e.end_char]))
    )
    # If two levels have as many questions, take the deeper one: the other one groups these questions.
    level = max(levels, key=lambda one: (levels[one], one), default=0)
    yield from (QuestionSpan(e.start_char, e.end_char, e.start_char, True) for e in titles if e.level == level)


def _asks(heading: str) -> bool:
    return heading.rstrip(" \t#*_").endswith(("?", "\uff1f")) or _ASKS.match(heading) is not None


def _lines(part: Part) -> Iterator[QuestionSpan]:
    for start, line in lines(part):
        if QUESTION.match(line) or BOLD.match(line):
            yield QuestionSpan(start, start + min(len(line.rstrip()), _LONGEST_QUESTION), start)


def _rows(part: Part) -> Iterator[QuestionSpan]:
    for table in part.elements:
        column = asking_column(table) if table.kind == "table" else -1
        if column >= 0:
            yield from _asking_rows(part.text, Span(table.start_char, min(table.end_char, part.end)), column)


def _asking_rows(text: str, table: Span, column: int) -> Iterator[QuestionSpan]:
    """Yield the questions in a table column; the first one starts at the table's header."""
    rows = [start for start, _ in table_rows(text, table)][1:]
    for number, (start, stop) in enumerate(pairwise([*rows, table.end])):
        bars = [match.start() for match in islice(_CELL.finditer(text, start, stop), column + 2)]
        if len(bars) > column + 1:
            yield QuestionSpan(start if number else table.start, bars[-1] + 1, bars[-2])


def asking_column(table: Element) -> int:
    """Return the index of the column of questions, if another column has answers, else -1."""
    header = [str(cell) for cell in (table.attributes.get("cells") or [[]])[0]]
    asking = [i for i, cell in enumerate(header) if QUESTIONS.fullmatch(cell)]
    return asking[0] if asking and any(ANSWERS.fullmatch(cell) for cell in header) else -1


def question_asked(part: Part) -> Callable[[Span], str]:
    """Return a function that gives the question above a span's start, unless the headings already contain it."""
    found = questions(part)
    starts = [question.start for question in found]
    titles = [element.start_char for element in part.elements if element.kind == "title"]

    def lead(span: Span) -> str:
        number = bisect_right(starts, span.start) - 1
        if number < 0 or found[number].told or span.start < found[number].end:
            return ""
        under = bisect_right(titles, span.start) - 1
        # A heading below the question starts another topic.
        if under >= 0 and titles[under] > found[number].start:
            return ""
        return " ".join(part.text[found[number].words : found[number].end].strip(" |*_#>\t").split())

    return lead
