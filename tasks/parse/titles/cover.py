"""Cover: the words before the first paragraph or section of a document without a title.

A report names its company there, a contract its parties, a letter who writes to whom, and hardly anywhere else. The
keyword index takes these words in place of a title: which of them is the name is left to how rare each word is.
"""

import re
from collections.abc import Iterator

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.titles.untitled import is_prose

COVER = "cover_words"
"""The name of the words in a document's metadata."""
_LINES = 2
"""The fewest lines of a cover: one alone is a heading, or a salutation."""
_WORDS = 120
"""The most different words of a cover: of those of annual reports, the company is among the first 80."""
_LONG = 24
"""Words of a paragraph that needs no stop at its end: it is broken off by a page, or ends in a list."""
_SENTENCE_END = re.compile(r"[.!?:\u2026\u3002\uff01\uff1f][\"'\u2019\u201d\u00bb]?\Z")
_LETTERS = ("paragraph", "title")
"""Kinds of elements that a cover consists of; a list, a table or a listing is content."""
_PASSED_OVER = ("page_break", "furniture")


def cover(parsed: Parsed) -> str:
    """Return the words of the cover of a document without a title, each once, in order; "" if it has no cover."""
    blocks = list(_leading(parsed))
    while blocks and blocks[-1].kind == "title":  # it stands above the first section, and is one of its headings
        blocks.pop()
    lines = [line for one in blocks for line in parsed.text[one.start_char : one.end_char].splitlines()]
    words = {word.casefold(): word for line in lines for word in line.split()}
    return " ".join(list(words.values())[:_WORDS]) if len(lines) >= _LINES else ""


def _leading(parsed: Parsed) -> Iterator[Element]:
    """Yield the elements before the first paragraph of prose; none if no prose follows them."""
    found = list[Element]()
    for element in parsed.elements:
        own = parsed.text[element.start_char : element.end_char].strip()
        if element.kind in _PASSED_OVER or own.startswith("<"):  # anchors and comments of HTML
            continue
        if element.kind == "paragraph" and _is_told(own):
            yield from found
            return
        if element.kind not in _LETTERS:
            return
        found.append(element)


def _is_told(text: str) -> bool:
    """Return whether a block is prose, and not a name above a long remark, "(Exact name as in its charter)"."""
    return is_prose(text) and (_SENTENCE_END.search(text) is not None or len(text.split()) >= _LONG)
