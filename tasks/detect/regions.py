"""Regions: the runs of a document's elements that are of one content type; together they are the document.

A long table, listing, log or dialogue inside other text is a region of its own; a short one stays with
what surrounds it. Whether one is long hangs on itself alone, so that an edit moves the bounds beside it at most.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from docmill.storage.schema import Element, Parsed
from docmill.tasks.detect.embedded_regions import islands
from docmill.tasks.detect.verdict import Verdict, detect, judge, of_format, part_features
from docmill.tasks.parse.format import FileType
from docmill.tasks.split.parts.blocks import introduces
from docmill.tasks.split.spans.span import cluster_start

SHORT = 200
"""Characters below which what is left between two regions goes with one of them."""
LONG_SECTION = 1200
"""Characters from which a section may be of another content type than its document."""
_WHOLE = frozenset({"chat", "email", "log", "transcript", "slides", "data"})
_SECTIONS = frozenset({"faq", "legal", "chat", "log"})
_SURE, _AHEAD = 0.8, 0.1
_LEAD = 300


@dataclass(frozen=True, slots=True)
class Region:
    """A half-open span of the canonical text and what it is."""

    start: int
    end: int
    verdict: Verdict


@dataclass(slots=True)
class _Run:
    """Outermost elements in a row that are of one content type."""

    verdict: Verdict
    elements: list[Element]
    island: bool

    @property
    def size(self) -> int:
        return _size(self.elements)


def find_regions(parsed: Parsed, file_type: FileType) -> tuple[Region, ...]:
    """Return the regions of a document, in order, without gaps from its first character to its last."""
    whole = detect(parsed, file_type)
    alone = (Region(0, len(parsed.text), whole),)
    if of_format(parsed, file_type) or whole.content_type in _WHOLE:
        return alone
    outer = list(_outermost(parsed.elements))
    labels = islands(parsed, outer)
    rest = [e for e, label in zip(outer, labels, strict=True) if label is None and e.kind != "front_matter"]
    if any(labels) and _size(rest) >= SHORT:
        whole = judge(part_features(parsed, [(e.start, e.end) for e in rest], rest, parsed.title))
    runs = _settle(parsed.text, list(_runs(outer, labels, _sections(parsed, outer, whole))))
    if len(runs) < 2:
        return alone if not runs else (Region(0, len(parsed.text), runs[0].verdict),)
    starts = [0, *(cluster_start(parsed.text, run.elements[0].start) for run in runs[1:]), len(parsed.text)]
    return tuple(Region(starts[i], starts[i + 1], run.verdict) for i, run in enumerate(runs))


def _size(elements: Sequence[Element]) -> int:
    return sum(element.end - element.start for element in elements)


def _outermost(elements: Sequence[Element]) -> Iterator[Element]:
    position = 0
    for element in elements:
        if element.start >= position and element.end > element.start:
            position = element.end
            yield element


def _sections(parsed: Parsed, outer: Sequence[Element], whole: Verdict) -> list[Verdict]:
    """Return for each element the verdict of its section where that surely is something else, else `whole`."""
    verdicts = [whole] * len(outer)
    if whole.content_type in _SECTIONS:
        return verdicts
    for first, last in _section_bounds(outer):
        span = outer[first].start, outer[last - 1].end
        if span[1] - span[0] >= LONG_SECTION:
            found = judge(part_features(parsed, [span], outer[first:last], ""))
            sure = found.score >= _SURE and found.score - found.runner_up_score >= _AHEAD
            if sure and found.content_type in _SECTIONS:
                verdicts[first:last] = [found] * (last - first)
    return verdicts


def _section_bounds(outer: Sequence[Element]) -> Iterator[tuple[int, int]]:
    """Yield the sections under the highest headings of which there are two."""
    levels = Counter(element.level for element in outer if element.kind == "title")
    level = min((one for one, count in levels.items() if count > 1), default=0)
    begins = [i for i, element in enumerate(outer) if element.kind == "title" and element.level <= level]
    yield from pairwise([*begins, len(outer)])


def _runs(outer: Sequence[Element], labels: Sequence[Verdict | None], sections: Sequence[Verdict]) -> Iterator[_Run]:
    run: _Run | None = None
    for element, label, section in zip(outer, labels, sections, strict=True):
        verdict = label or section
        if run and run.verdict is verdict:
            run.elements.append(element)
            continue
        if run:
            yield run
        run = _Run(verdict, [element], label is not None)
    if run:
        yield run


def _settle(text: str, runs: Sequence[_Run]) -> list[_Run]:
    """Give headings and lead-ins to what they introduce, and too short runs to a neighbour."""
    settled: list[_Run] = []
    carried: list[Element] = []
    for i, run in enumerate(runs):
        last = i + 1 == len(runs)
        lead = [] if last or run.island else _take_lead(text, run.elements)
        small = not run.island and run.size < SHORT
        if small and not last and (lead or not settled):
            carried += run.elements + lead
            continue
        if small and settled:
            settled[-1].elements += carried + run.elements
            carried = lead
            continue
        run.elements = carried + run.elements
        carried = lead
        if settled and settled[-1].verdict.content_type == run.verdict.content_type:
            settled[-1].elements += run.elements
        elif run.elements:
            settled.append(run)
    return settled


def _take_lead(text: str, elements: list[Element]) -> list[Element]:
    """Remove and return the headings, and the short block that announces, with which a run ends."""
    at = len(elements)
    while at and _introduces(text, elements[at - 1]):
        at -= 1
    lead = elements[at:]
    del elements[at:]
    return lead


def _introduces(text: str, element: Element) -> bool:
    if element.kind in ("title", "page_break", "furniture"):
        return True
    return element.end - element.start <= _LEAD and introduces(text[element.start : element.end])
