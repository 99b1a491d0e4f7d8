"""Regions: runs of a document's elements that share a content type; together they cover the document.

A long table, listing, log or dialogue inside other text is a region of its own; a short one belongs to the text around
it. Only its own length counts, so that an edit moves only the adjacent bounds.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from docmill.storage.schema import Element, Parsed
from docmill.tasks.detect.type_patterns import SPEAKER, STAMP
from docmill.tasks.detect.type_scores import DATA_LANGUAGES, Verdict, certain, detect, judge, of_format, part_features
from docmill.tasks.parse.formats import FileType
from docmill.tasks.split.parts.blocks import introduces
from docmill.tasks.split.spans.span import cluster_start

SHORT = 200
"""Characters below which the text between two regions joins one of them: one or two sentences make no useful chunk.

With a higher limit, a paragraph between two tables would be split as a table.
"""
LONG_SECTION = 1200
"""Characters from which a section may have another content type than its document: about one chunk of text.

Shorter sections have too few words to judge.
"""
_WHOLE = frozenset({"chat", "email", "log", "transcript", "slides", "data"})
"""Types that only whole documents have: a table in a mail is part of the mail."""
_SECTIONS = frozenset({"faq", "legal", "chat", "log"})
"""Types that a section may have inside a document of another type; other types are too similar to divide a document."""
_SURE, _AHEAD = 0.8, 0.1
"""The least score of such a section, and its least lead over the runner-up.

A guide with one question as a heading stays below; with higher values, so would an FAQ with an introduction.
"""
_LEAD = 300
"""Characters of a block that can introduce the next one ("These are all of them:").

A longer block has content of its own.
"""


@dataclass(frozen=True, slots=True)
class Region:
    """A half-open span of the canonical text and its content type."""

    start: int
    end: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive outermost elements of one content type; an `island` stands out from the text around it."""

    verdict: Verdict
    elements: list[Element]
    island: bool


def find_regions(parsed: Parsed, file_type: FileType, known: Verdict | None = None) -> tuple[Region, ...]:
    """Return the regions of a document, in order and without gaps; `known` is the document's verdict if known."""
    whole = known or detect(parsed, file_type)
    if of_format(parsed, file_type) or whole.content_type in _WHOLE:
        return (Region(0, len(parsed.text), whole),)
    # Each stretch begins where the previous one ends, so that blanks between elements belong to a region, too.
    stretches = _stretches(parsed, whole)
    if len(stretches) < 2:
        return (Region(0, len(parsed.text), stretches[0].verdict if stretches else whole),)
    starts = [cluster_start(parsed.text, one.elements[0].start_char) for one in stretches[1:]]
    bounds = pairwise([0, *starts, len(parsed.text)])
    return tuple(Region(start, end, one.verdict) for (start, end), one in zip(bounds, stretches, strict=True))


def _stretches(parsed: Parsed, whole: Verdict) -> list[Stretch]:
    """Return a document's stretches: islands, then sections, then the rest, each long enough."""
    outer = list(_outermost(parsed.elements))
    labels = islands(parsed, outer)
    rest = _judge_rest(parsed, outer, labels) if any(labels) else None
    return _settle(parsed.text, _parted(outer, labels, _sections(parsed, outer, rest or whole)))


def _judge_rest(parsed: Parsed, outer: Sequence[Element], labels: Sequence[Verdict | None]) -> Verdict | None:
    """Return the verdict on a document without its islands, None if too little text is left."""
    rest = [e for e, label in zip(outer, labels, strict=True) if label is None and e.kind != "front_matter"]
    # Only headings and lead-ins are left, whose words say nothing about the document.
    if _size(rest) < SHORT:
        return None
    return judge(part_features(parsed, [(e.start_char, e.end_char) for e in rest], rest, parsed.title))


def _size(elements: Sequence[Element]) -> int:
    return sum(element.end_char - element.start_char for element in elements)


def _outermost(elements: Sequence[Element]) -> Iterator[Element]:
    position = 0
    for element in elements:
        if element.start_char >= position and element.end_char > element.start_char:
            position = element.end_char
            yield element


def _sections(parsed: Parsed, outer: Sequence[Element], whole: Verdict) -> list[Verdict]:
    """Return for each element the verdict on its section if that clearly differs, else `whole`."""
    verdicts = [whole] * len(outer)
    # Such a document is judged as a whole: a section of an FAQ that looks like prose is an answer.
    if whole.content_type in _SECTIONS:
        return verdicts
    for first, last in _section_bounds(outer):
        span = outer[first].start_char, outer[last - 1].end_char
        if span[1] - span[0] < LONG_SECTION:
            continue
        found = judge(part_features(parsed, [span], outer[first:last], ""))
        if found.content_type in _SECTIONS and _is_sure(found):
            verdicts[first:last] = [found] * (last - first)
    return verdicts


def _is_sure(found: Verdict) -> bool:
    return found.score >= _SURE and found.score - found.runner_up_score >= _AHEAD


def _section_bounds(outer: Sequence[Element]) -> Iterator[tuple[int, int]]:
    """Yield the sections under the highest heading level that occurs at least twice."""
    levels = Counter(element.level for element in outer if element.kind == "title")
    # A single title is the document's and divides nothing.
    level = min((one for one, count in levels.items() if count > 1), default=0)
    begins = [i for i, element in enumerate(outer) if element.kind == "title" and element.level <= level]
    yield from pairwise([*begins, len(outer)])


def _parted(outer: Sequence[Element], labels: Sequence[Verdict | None], sections: Sequence[Verdict]) -> list[Stretch]:
    """Group the elements into stretches that have the same verdict object."""
    verdicts = [label or section for label, section in zip(labels, sections, strict=True)]
    # By identity, because two adjacent tables may have equal verdicts but are two islands.
    inner = [i for i, (before, own) in enumerate(pairwise(verdicts), start=1) if own is not before]
    firsts = [0, *inner] if outer else []
    return [
        Stretch(verdicts[first], list(outer[first:end]), labels[first] is not None)
        for first, end in pairwise([*firsts, len(outer)])
    ]


def _settle(text: str, stretches: Sequence[Stretch]) -> list[Stretch]:
    """Move headings and lead-ins to what they introduce, and merge short stretches with a neighbour."""
    settled: list[Stretch] = []
    carried: list[Element] = []
    for number, one in enumerate(stretches, start=1):
        last = number == len(stretches)
        body, lead = _without_lead(text, one, last)
        short = not one.island and _size(body) < SHORT
        if short and not last and (lead or not settled):
            carried += body + lead
            continue
        _append(settled, replace(one, elements=carried + body), short)
        carried = lead
    return settled


def _append(settled: list[Stretch], one: Stretch, short: bool) -> None:
    """Append a stretch, or extend the previous one if this is short or has the same content type."""
    if settled and (short or settled[-1].verdict.content_type == one.verdict.content_type):
        settled[-1].elements.extend(one.elements)
    elif one.elements:
        settled.append(one)


def _without_lead(text: str, one: Stretch, last: bool) -> tuple[list[Element], list[Element]]:
    """Return the elements, and separately the headings and lead-in at the end, which belong to the next stretch."""
    at = len(one.elements)
    # Nothing follows the last stretch, and an island was recognised by its own form: both keep everything.
    if last or one.island:
        return one.elements, []
    while at and _introduces(text, one.elements[at - 1]):
        at -= 1
    return one.elements[:at], one.elements[at:]


def _introduces(text: str, element: Element) -> bool:
    if element.kind in ("title", "page_break", "furniture", "toc"):
        return True
    return element.end_char - element.start_char <= _LEAD and introduces(text[element.start_char : element.end_char])


LONG = 1200
"""Non-blank characters from which such a block is a region of its own: more than fits one chunk.

A shorter block would lose the text that explains it; a longer one left in would be split by that text's strategy.
"""
_NEUTRAL = frozenset({"page_break", "furniture", "toc"})
_OF_KIND = {"table": "table", "turn": "chat", "question": "faq", "answer": "faq"}
_NAMES = {
    "table": "a table",
    "turn": "a dialogue",
    "question": "questions and answers",
    "answer": "questions and answers",
}
_LINES, _WIDTH = 200, 200
"""Lines of a block to look at, and characters of each: its beginning shows its type, in bounded time."""
_FEWEST = 4
"""Lines from which a block may be a log or a dialogue: fewer may be an example in a listing."""
_ALIKE = 0.6
"""The least share of lines with the same kind of beginning in a log or a dialogue.

Long answers have lines without a name; a listing that prints a few times has a lower share.
"""
_SHAPES = (("chat", SPEAKER), ("log", STAMP))
"""In this order, because a chat with times also looks like a log."""


def islands(parsed: Parsed, outer: Sequence[Element]) -> list[Verdict | None]:
    """Return the island verdict of each outermost element, or None; elements of the same island share one object."""
    labels: list[Verdict | None] = [None] * len(outer)
    for first, last, kind in _apart(parsed.text, outer):
        elements = outer[first:last]
        if kind and sum(_said(parsed.text, element) for element in elements) >= LONG:
            labels[first:last] = [_verdict(parsed, elements, kind)] * (last - first)
    return labels


def _said(text: str, element: Element) -> int:
    """Return the number of non-blank characters of an element, so that padding in tables does not count."""
    return sum(map(len, text[element.start_char : element.end_char].split()))


def _apart(text: str, outer: Sequence[Element]) -> Iterator[tuple[int, int, str]]:
    """Yield the runs of elements of one kind; page breaks, furniture and tables of contents do not interrupt a run."""
    first, last, kind = 0, 0, ""
    for i, element in enumerate(outer):
        if element.kind in _NEUTRAL:
            continue
        own = _own(text, element)
        if own != kind:
            yield first, last, kind
            first, kind = i, own
        last = i + 1
    yield first, last, kind


def _verdict(parsed: Parsed, elements: Sequence[Element], kind: str) -> Verdict:
    span = elements[0].start_char, elements[-1].end_char
    because = f"{_name(elements[0], kind)} of {span[1] - span[0]:,} characters stands inside other text"
    return certain(kind, because, judge(part_features(parsed, [span], elements, "")))


def _name(element: Element, kind: str) -> str:
    """Return a readable name for an island that begins with an element."""
    if element.kind in _NAMES:
        return _NAMES[element.kind]
    if language := element.attributes.get("language"):
        return f"a block of {language}"
    return f"lines of a {kind}" if kind != "code" else "a listing"


def _own(text: str, element: Element) -> str:
    """Return the content type that an element has regardless of its surroundings, or ""."""
    if element.kind in _OF_KIND:
        return _OF_KIND[element.kind]
    if element.kind == "code" and element.attributes.get("language") in DATA_LANGUAGES:
        return "data"
    if element.kind not in ("code", "paragraph"):
        return ""
    return _by_shape(_first_lines(text, element)) or ("code" if element.kind == "code" else "")


def _first_lines(text: str, element: Element) -> list[str]:
    # Cut before splitting into lines, because a listing may be as large as its file.
    piece = text[element.start_char : min(element.end_char, element.start_char + _LINES * _WIDTH)]
    return list(islice((line[:_WIDTH] for line in piece.splitlines() if line.strip()), _LINES))


def _by_shape(lines: Sequence[str]) -> str:
    """Return the content type that most of the lines look like, or ""."""
    if len(lines) < _FEWEST:
        return ""
    least = _ALIKE * len(lines)
    alike = (kind for kind, pattern in _SHAPES if sum(pattern.match(line) is not None for line in lines) >= least)
    return next(alike, "")
