"""Legal: numbered clauses, articles and definitions; no chunk spans the heading of a clause.

The numbering follows drafting manuals: 1, 1.1, 1.1.1, (a), (i); Article, Section, §.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from docmill.tasks.split.parts.lines import lines
from docmill.tasks.split.parts.mark_units import UnitStart, split_units
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.usual_options import Legal
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK, GLUE, ITEM
from docmill.tasks.split.spans.span import Span

_LEAD = r"[ \t#*_>]{0,12}"
_TOP = re.compile(
    _LEAD + r"(?:(?:ARTICLE|Article|Artikel|Art\.|SECTION|Section|Abschnitt|Clause|CLAUSE|SCHEDULE|Schedule|EXHIBIT"
    r"|Exhibit|ANNEX|Annex|APPENDIX|Appendix|CHAPTER|Chapter|PART|Part)[ \t]+(?:\d+|[IVXLC]+|[A-Z])\b(?!\.\d)"
    r"(?![ \t]+(?:of|and|or|shall|is)\b)"
    r"|§+[ \t]?\d+[a-z]?\b|\d{1,3}\.0\b)"
)
_NUMBER = re.compile(_LEAD + r"\d{1,3}(?:\.[ \t]+(?=\S)|[ \t]+(?=[A-Z]{3}))")
_NESTED = re.compile(
    _LEAD + r"(?:(?:Section|SECTION|Clause)?[ \t]*(?P<dotted>\d{1,3}(?:\.\d{1,3}){1,5})\.?[ \t)]"
    r"|\((?P<letter>[a-zA-Z]|\d{1,2}|[ivxlc]{2,5})\)|(?P<capital>[A-Z])\.[ \t])"
)
_ALONE = re.compile(_LEAD + r"(?P<dotted>\d{1,3}(?:\.\d{1,3}){1,5})\.?\s*\Z|" + _LEAD + r"\d{1,3}\.\s*\Z")
"""A number on a line of its own: in a narrow column next to the clauses, or as a paragraph."""
_DEFINITION = re.compile(
    _LEAD + r"[\"“][^\"”\n]{1,80}[\"”],?[ \t]+(?:shall |will )?(?:means?|includes?|has the meaning|refers)\b"
)
_WORD = re.compile(r"\S")
_DEEPEST = 8
"""The depth of (ii), below (a), definitions and 1.1.1.1.1.1. Each depth has its own seam above `ITEM`."""
_HEADINGS = 10
"""Subtracted from a heading's level to get its depth. It exceeds the deepest level, so that headings come before all
clauses."""
_LONGEST_NAME = 80  # characters of a clause's name in the contexts of its parts, where several names must fit
_LONGEST_HEADING = 120  # characters; a longer line under a number is the clause's text, and can be a chunk by itself


@dataclass(frozen=True, slots=True)
class Clause:
    """The start of a clause, its depth, and its first words. Headings have a depth below 0 and no words here.

    If the number is on a line of its own, `below` is where the words of the clause begin.
    """

    start: int
    depth: int
    name: str
    below: int = -1


def split_legal(part: Part, options: Legal) -> list[Span]:
    """Return spans of at most `options.size` tokens; none crosses the start of a top-level clause."""
    marks: list[UnitStart] = []
    before = Clause(part.end, 0, "")
    for clause in clauses(part):
        above = part.text[before.start : min(clause.start, before.start + _LONGEST_HEADING)].strip()
        alone = 0 < len(above) < _LONGEST_HEADING and "\n" not in above
        heads = alone and (clause.depth > before.depth or before.depth == clause.depth < 0)
        marks.append(UnitStart(clause.start, GLUE if heads else _seam(clause.depth)))
        marks += [UnitStart(clause.below, GLUE)] * (clause.below >= 0)
        before = clause
    marks = sorted(marks + _below_titles(part, {mark.place for mark in marks}))
    return split_units(part, marks, options.size)


def _below_titles(part: Part, known: set[int]) -> list[UnitStart]:
    """Return the starts of texts below headings, which stay with the headings, except for clauses."""
    ends = [element.end_char for element in part.elements if element.kind == "title" and element.end_char < part.end]
    found = (_WORD.search(part.text, end, part.end) for end in ends)
    places = (match.start() for match in found if match)
    return [UnitStart(place, GLUE) for place in places if place not in known]


def _seam(depth: int) -> int:
    return BARRIER if depth <= 0 else max(ITEM + 1, BLOCK - depth)


def clauses(part: Part) -> Iterator[Clause]:
    """Yield headings, numbered clauses and definitions in order."""
    titles = {element.start_char: element.level for element in part.elements if element.kind == "title"}
    for begin, line in lines(part):
        start = begin + len(line) - len(line.lstrip())
        depth = titles[start] - _HEADINGS if start in titles else _depth(line, int(bool(titles)))
        if depth is not None:
            yield Clause(start, depth, "" if start in titles else _named(line))
        elif own := _ALONE.match(line):
            depth = own["dotted"].count(".") if own["dotted"] else int(bool(titles))
            yield from _below_its_number(part, start, begin + len(line), depth)


def _below_its_number(part: Part, start: int, place: int, depth: int) -> Iterator[Clause]:
    """Yield a clause whose number is on its own line, if words follow."""
    if (below := _words_below(part, place)) >= 0:
        yield Clause(start, depth, _named(part.text[start : below + _LONGEST_NAME]), below)


def _named(line: str) -> str:
    return " ".join(line.split())[:_LONGEST_NAME].strip("#*_> ")


def _words_below(part: Part, place: int) -> int:
    """Return where the words below a clause's number begin; -1 if an amount or the like follows instead."""
    found = _WORD.search(part.text, place, part.end)
    return found.start() if found and found[0].isalpha() else -1


def _depth(line: str, of_number: int) -> int | None:
    """Return the depth of the clause that a line starts, or None; `of_number` is the depth of a plain number."""
    if _TOP.match(line) or _NUMBER.match(line):
        return 0 if _TOP.match(line) else of_number
    match = _NESTED.match(line)
    if match is None:
        return _DEEPEST - 2 if _DEFINITION.match(line) else None
    if match["dotted"]:
        return match["dotted"].count(".")
    if match["capital"]:
        return 1
    return _DEEPEST if len(match["letter"]) > 1 else _DEEPEST - 1


def clause_above(part: Part) -> Callable[[Span], str]:
    """Return a function that names the clauses in which a span begins, outermost first."""
    found = list(clauses(part))
    starts = [clause.start for clause in found]
    above: list[int] = []
    open_: list[int] = []
    for number, clause in enumerate(found):
        while open_ and found[open_[-1]].depth >= clause.depth:
            open_.pop()
        above.append(open_[-1] if open_ else -1)
        open_.append(number)

    def lead(span: Span) -> str:
        number = bisect_right(starts, span.start) - 1
        names = list[str]()
        while number >= 0:
            if found[number].start < span.start:
                names.insert(0, found[number].name)
            number = above[number]
        return " / ".join(filter(None, names))

    return lead
