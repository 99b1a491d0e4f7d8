"""Islands: long tables, listings, logs and dialogues that stand inside other text."""

from collections.abc import Iterator, Sequence
from itertools import islice

from docmill.storage.schema import Element, Parsed
from docmill.tasks.detect.line_shapes import SPEAKER, STAMP
from docmill.tasks.detect.verdict import DATA_LANGUAGES, Verdict, certain, judge, part_features

LONG = 1200
"""Characters, without the blank ones, from which one of them is a region of its own."""
_NEUTRAL = frozenset({"page_break", "furniture"})
_OF_KIND = {"table": "table", "turn": "chat", "question": "faq", "answer": "faq"}
_NAMES = {
    "table": "a table",
    "turn": "a dialogue",
    "question": "questions and answers",
    "answer": "questions and answers",
}
_LINES, _WIDTH = 200, 200
_FEWEST, _MOST = 4, 0.6


def islands(parsed: Parsed, outer: Sequence[Element]) -> list[Verdict | None]:
    """Return for each outermost element the verdict of the island that it belongs to, one object for each, or None."""
    labels: list[Verdict | None] = [None] * len(outer)
    for first, last, kind in _stretches(parsed.text, outer):
        elements = outer[first:last]
        if kind and sum(_said(parsed.text, element) for element in elements) >= LONG:
            labels[first:last] = [_verdict(parsed, elements, kind)] * (last - first)
    return labels


def _said(text: str, element: Element) -> int:
    """Return the characters of an element that are not blank, so that a table's padding does not count."""
    return sum(map(len, text[element.start : element.end].split()))


def _stretches(text: str, outer: Sequence[Element]) -> Iterator[tuple[int, int, str]]:
    """Yield the runs of elements of one kind; a page's end or furniture within a run does not end it."""
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
    span = elements[0].start, elements[-1].end
    name = _NAMES.get(elements[0].kind)
    if name is None:
        language = str(elements[0].attributes.get("language") or "")
        name = f"a block of {language}" if language else f"lines of a {kind}" if kind != "code" else "a listing"
    because = f"{name} of {span[1] - span[0]:,} characters stands inside other text"
    return certain(kind, because, judge(part_features(parsed, [span], elements, "")))


def _own(text: str, element: Element) -> str:
    """Return the content type that an element has whatever surrounds it, or nothing."""
    if element.kind in _OF_KIND:
        return _OF_KIND[element.kind]
    if element.kind == "code" and element.attributes.get("language") in DATA_LANGUAGES:
        return "data"
    if element.kind not in ("code", "paragraph"):
        return ""
    piece = text[element.start : min(element.end, element.start + _LINES * _WIDTH)]
    lines = list(islice((line[:_WIDTH] for line in piece.splitlines() if line.strip()), _LINES))
    if len(lines) >= _FEWEST:
        for kind, pattern in (("chat", SPEAKER), ("log", STAMP)):
            if sum(pattern.match(line) is not None for line in lines) >= _MOST * len(lines):
                return kind
    return "code" if element.kind == "code" else ""
