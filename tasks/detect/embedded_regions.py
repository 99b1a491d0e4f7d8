"""Embedded regions: long tables, listings, logs and dialogues inside other text."""

from collections.abc import Iterator, Sequence
from itertools import islice

from docmill.storage.schema import Element, Parsed
from docmill.tasks.detect.line_shapes import SPEAKER, STAMP
from docmill.tasks.detect.verdict import DATA_LANGUAGES, Verdict, certain, judge, part_features

LONG = 1200
"""Non-blank characters from which such a block is a region of its own: more than fits one chunk.

Shorter ones would lose the text that explains them; longer ones would be split by the strategy of that text.
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
"""Lines of a block to look at, and characters of each: its beginning tells what it is, in bounded time."""
_FEWEST = 4
"""Lines from which a block may be a log or a dialogue: fewer may be an example in a listing."""
_ALIKE = 0.6
"""Share of lines with the same kind of beginning in a log or a dialogue.

A long answer has lines without a name; a listing that prints some times has a lower share.
"""
_SHAPES = (("chat", SPEAKER), ("log", STAMP))
"""In this order, as a chat with times looks like a log, too."""


def islands(parsed: Parsed, outer: Sequence[Element]) -> list[Verdict | None]:
    """Return the island verdict of each outermost element, or None; the elements of one island share one object."""
    labels: list[Verdict | None] = [None] * len(outer)
    for first, last, kind in _stretches(parsed.text, outer):
        elements = outer[first:last]
        if kind and sum(_said(parsed.text, element) for element in elements) >= LONG:
            labels[first:last] = [_verdict(parsed, elements, kind)] * (last - first)
    return labels


def _said(text: str, element: Element) -> int:
    """Return the number of non-blank characters of an element, so that a table's padding does not count."""
    return sum(map(len, text[element.start_char : element.end_char].split()))


def _stretches(text: str, outer: Sequence[Element]) -> Iterator[tuple[int, int, str]]:
    """Yield the runs of elements of one kind; page ends and furniture do not interrupt a run."""
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
    """Return the content type that an element has in any surroundings, or ""."""
    if element.kind in _OF_KIND:
        return _OF_KIND[element.kind]
    if element.kind == "code" and element.attributes.get("language") in DATA_LANGUAGES:
        return "data"
    if element.kind not in ("code", "paragraph"):
        return ""
    return _by_shape(_first_lines(text, element)) or ("code" if element.kind == "code" else "")


def _first_lines(text: str, element: Element) -> list[str]:
    # Cut before it is split into lines: a listing may be as large as its file.
    piece = text[element.start_char : min(element.end_char, element.start_char + _LINES * _WIDTH)]
    return list(islice((line[:_WIDTH] for line in piece.splitlines() if line.strip()), _LINES))


def _by_shape(lines: Sequence[str]) -> str:
    """Return the content type that most of the lines look like, or ""."""
    if len(lines) < _FEWEST:
        return ""
    least = _ALIKE * len(lines)
    alike = (kind for kind, pattern in _SHAPES if sum(pattern.match(line) is not None for line in lines) >= least)
    return next(alike, "")
