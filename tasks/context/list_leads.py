"""List leads: the sentence that introduces a list, and the items above an item of an inner list."""

import re
from bisect import bisect_right
from collections.abc import Iterator

from docmill.storage.schema import Element, Parsed
from docmill.storage.search.sentences.sentence_spans import sentence_spans
from docmill.tasks.split.parts.blocks import announces

LONGEST = 200  # characters; a longer paragraph or item is prose, and would fill the whole context
GAP = 4  # characters, an empty line with CRLF; further up there could be other text in between
_BULLET = re.compile(r"[-*+\u2022\u25e6]\s+")
_APART = frozenset(("paragraph", "title", "table", "text"))  # elements that end a list; code may be part of an item


class ListLeads:
    """The lists of a document: its items in order, each with what introduces it."""

    def __init__(self, parsed: Parsed) -> None:
        self._text = parsed.text
        found = [*self._read(parsed.elements)]
        self._items, self._leads = [item for item, _ in found], [lead for _, lead in found]
        self._ends = [item.end_char for item in self._items]

    def above(self, place: int) -> str:
        """Return, one per line, what introduces the item in which a chunk begins, "" if it begins in none."""
        number = bisect_right(self._ends, place)
        if number == len(self._items) or self._text[place : self._items[number].start_char].strip():
            return ""
        return "\n".join(self._leads[number])

    def _read(self, elements: tuple[Element, ...]) -> Iterator[tuple[Element, tuple[str, ...]]]:
        before: Element | None = None
        lead, above = "", list[Element]()
        for element in elements:
            if element.kind == "list_item":
                if before is not None or not above:
                    lead, above = self._introduction(before, element), []
                while above and above[-1].level >= element.level:
                    above.pop()
                yield element, tuple(filter(None, (lead, *map(self._said, above))))
                above.append(element)
                before = None
            elif element.kind in _APART:
                before = element

    def _introduction(self, before: Element | None, item: Element) -> str:
        """Return the last sentence of the paragraph above a list if it introduces the list."""
        if before is None or before.kind != "paragraph" or item.start_char - before.end_char > GAP:
            return ""
        text = self._text[before.start_char : before.end_char]
        if not announces(text):
            return ""
        start, end = sentence_spans(text)[-1]
        return " ".join(text[start:end].strip("*_ \n").split()) if end - start <= LONGEST else ""

    def _said(self, item: Element) -> str:
        text = self._text[item.start_char : item.end_char]
        return " ".join(_BULLET.sub("", text, count=1).split()) if len(text) <= LONGEST else ""
