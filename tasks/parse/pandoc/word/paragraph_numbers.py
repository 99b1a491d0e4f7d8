"""Word's paragraph numbers: count the paragraphs of a document as Word does, and write each number into the text.

The numbers of lists, clauses and headings stand in no paragraph: Word computes them whenever it shows a document.
"""

import re
from collections import defaultdict
from typing import Any

from docmill.tasks.parse.pandoc.inlines import NUMBER_END, NUMBER_MARK
from docmill.tasks.parse.pandoc.word.number_forms import padded, written
from docmill.tasks.parse.pandoc.word.numbering_part import NumberedList, NumberLevel, WordNumbering
from docmill.tasks.parse.pandoc.word.word_runs import OFF, W, put_first

_PLACE = re.compile("%([1-9])")
_BULLET = "bullet"
_BOX = W + "txbxContent"
_SHOWN = [W + name for name in ("t", "drawing", "pict", "object", "sym", "noBreakHyphen")]
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"


def write_numbers(root: Any, numbering: WordNumbering) -> None:
    """Insert its number, between marks, at the beginning of each numbered paragraph of a part.

    Text boxes count apart from the text around them. Paragraphs that are hidden, or whose mark is deleted, count for
    nothing; empty ones count, but nothing shows it.
    """
    if not numbering.lists:
        return
    counts = {False: _NumberCount(numbering), True: _NumberCount(numbering)}
    for paragraph in list(root.iter(W + "p")):
        properties = paragraph.find(W + "pPr")
        place = numbering.place_of(properties)
        if place is None or _is_left_out(properties, paragraph):
            continue
        boxed = next(paragraph.iterancestors(_BOX), None) is not None
        label = counts[boxed].label(*place)
        if label is not None and _shows_something(paragraph):
            put_first(paragraph, f"{NUMBER_MARK}{label}{NUMBER_END}")


class _NumberCount:
    """The last number of each level, by the definition that lists share."""

    def __init__(self, numbering: WordNumbering) -> None:
        self._lists = numbering.lists
        self._last: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._begun: set[tuple[str, int]] = set()

    def label(self, number: str, level: int) -> str | None:
        """Count a paragraph; return what Word shows before it, None for a bullet."""
        numbers = self._lists[number]
        if level not in numbers.levels:
            return None
        last = self._last[numbers.shared]
        for above in range(level):  # a level that did not occur counts as begun
            last.setdefault(above, numbers.start(above))
        last[level] = self._next(number, level, last)
        for deeper in [one for one in last if one > level]:
            if deeper not in numbers.levels or numbers.levels[deeper].restarts_after(level, deeper):
                del last[deeper]
        own = numbers.levels[level]
        return None if own.form == _BULLET else _label(own, numbers, last)

    def _next(self, number: str, level: int, last: dict[int, int]) -> int:
        """Return the number of a paragraph; the first of a list may have one of the list's own."""
        numbers = self._lists[number]
        if (number, level) not in self._begun:
            self._begun.add((number, level))
            if level in numbers.starts:
                return numbers.starts[level]
        return last[level] + 1 if level in last else numbers.start(level)


def _label(own: NumberLevel, numbers: NumberedList, last: dict[int, int]) -> str:
    def shown(match: re.Match[str]) -> str:
        level = int(match[1]) - 1
        there = numbers.levels.get(level)
        return _written(last.get(level, numbers.start(level)), there, own.legal) if there else ""

    return "" if own.hidden else " ".join(_PLACE.sub(shown, own.text).split())


def _written(number: int, level: NumberLevel, legal: bool) -> str:
    if level.form == _BULLET:
        return ""
    if legal and level.form != "none":
        return str(number)
    return padded(number, level.pattern) if level.pattern else written(number, level.form)


def _is_left_out(properties: Any, paragraph: Any) -> bool:
    """Return whether a paragraph is joined to the next, because its mark is deleted, or is hidden."""
    mark = None if properties is None else properties.find(W + "rPr")
    if mark is None:
        return False
    if mark.find(W + "del") is not None:
        return True
    hidden = mark.find(W + "vanish")
    return hidden is not None and hidden.get(W + "val") not in OFF and not _shows_something(paragraph)


def _shows_something(paragraph: Any) -> bool:
    """Return whether a paragraph has content of its own that is not hidden or deleted."""
    return any(_is_shown(node, paragraph) for node in paragraph.iter(*_SHOWN, _MATH))


def _is_shown(node: Any, paragraph: Any) -> bool:
    if next(node.iterancestors(W + "p")) is not paragraph or (node.tag == W + "t" and not (node.text or "").strip()):
        return False
    hidden = node.getparent().find(f"{W}rPr/{W}vanish")
    return hidden is None or hidden.get(W + "val") in OFF
