"""Own title: rejected if it names no document, or is a late heading or one of a series; then, the words of the cover.

A report names its company before its first paragraph, a contract its parties, a letter its sender and recipient, and
hardly anywhere else. The keyword index uses these words in place of a title; how rare each word is decides which of
them matter as a name.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.titles.inferred_headings import is_prose, title_line

_NO_NAMES = (
    ("no name", r"[(\[]?(?:anonymous|untitled|unnamed|unspecified|unknown|no title|none|null|n/a)[)\]]?\s?\d*"),
    ("a program's default", r"power ?point[ -](?:presentation|präsentation)|présentation powerpoint"),
    ("a program's default", r"(?:document|dokument|presentation|slide|layout|book|mappe|vorlage|sheet)\s?\d*"),
    ("a program's default", r"activereports document|\u65b0\u898f\u6587\u66f8\d*"),
    ("a program's name before a file's", r"microsoft (?:word|excel|powerpoint|office|publisher|visio)\b.*"),
    ("the name of a template", r".*\btemplate|vorlage\b.*"),
    ("a file's name", r".*\.(?:docx?|dotx?|pdf|x?html?|md|tex|dvi|indd|qxd|pptx?|xlsx?|rtf|odt|txt|e?ps)"),
    ("a file's name", r".*\.(?:exe|tmp|psd|pub|wpd)"),
    ("an identifier", r"(?:doi|pii|arxiv|isbn|issn)\b\W*[\w./()-]*\d[\w./()-]*|10\.\d{4,9}/\S+"),
    ("a placeholder", r"\{.*\}|<.*>|%.*%|\[.*\]"),
    ("no words", r"[\W\d_]*"),
)  # fmt: skip
"""Descriptions and patterns of rejected titles; each was the context of every chunk of some real file."""
_NO_TITLE = re.compile("|".join(f"(?:{form})" for _, form in _NO_NAMES), re.IGNORECASE | re.DOTALL)
_LATEST = 1 / 3
"""Share of a document's prose within which the heading used as its title must begin. With more, the last heading of a
long text without others, such as "References", names everything before it; with less, a letter above a report hides its
title."""
_NEAR = 400  # characters, a paragraph: in a short text, a heading this far down may still be its title
COVER = "cover_words"
"""The name of these words in a document's metadata."""
_LINES = 2
"""Minimum lines of a cover: a single line is a heading or a salutation."""
_WORDS = 120
"""Maximum different words of a cover: in annual reports, the company is among the first 80."""
_LONG = 24
"""Words of a paragraph that needs no full stop at its end: it is broken off by a page, or ends in a list."""
_SENTENCE_END = re.compile(r"[.!?:\u2026\u3002\uff01\uff1f][\"'\u2019\u201d\u00bb]?\Z")
_SERIES = ("chapter", "item", "numbered")
"""Beginnings of the names of forms of headings that have numbers."""
_LETTERS = ("paragraph", "title")
"""Kinds of elements that a cover consists of; a list, a table or a listing is content."""
_PASSED_OVER = ("page_break", "furniture")


def names_nothing(title: str) -> bool:
    """Return whether a title is one that programs write if the author has written none."""
    return _NO_TITLE.fullmatch(title.strip()) is not None


def with_own_title(parsed: Parsed) -> Parsed:
    """Return a document without a title that names nothing or is only the heading of a part.

    A heading of the highest level replaces it, if one begins early enough. A heading that a document gives itself is
    its title, whatever its form, unless it begins a series: "Chapter 1", if there is a "Chapter 2".
    """
    if not parsed.title:
        return parsed
    headings = [one for one in parsed.elements if one.kind == "title"]
    own = next((one for one in headings if one.attributes.get("text") == parsed.title), None)
    if _names_whole(parsed, own, headings) if own else not names_nothing(parsed.title):
        return parsed
    return replace(parsed, title=_top(parsed, headings))


def _top(parsed: Parsed, headings: Sequence[Element]) -> str:
    first = next((one for one in headings if one.level == 1 and _is_early(parsed, one)), None)
    return _words(first) if first and _names_whole(parsed, first, headings) else ""


def _names_whole(parsed: Parsed, heading: Element, headings: Sequence[Element]) -> bool:
    """Return whether a heading can name the document: it is at its beginning, and not one of a series of sections."""
    return _is_early(parsed, heading) and not _has_next(heading, headings)


def _has_next(heading: Element, headings: Sequence[Element]) -> bool:
    """Return whether another heading of the same level has a number of the same form."""
    form, words = _number_form(heading), _words(heading)
    if form is None:
        return False
    alike = (one for one in headings if one.level == heading.level and _words(one) != words)
    return any(_number_form(one) == form for one in alike)


def _number_form(heading: Element) -> tuple[str, int] | None:
    line = title_line(_words(heading))
    return (line.form, line.depth) if line and line.form.startswith(_SERIES) else None


def _words(heading: Element) -> str:
    return str(heading.attributes.get("text", ""))


def _is_early(parsed: Parsed, heading: Element) -> bool:
    """Return whether a heading is at the beginning of a document's prose; menus above it do not count."""
    if heading.start_char <= _NEAR:
        return True
    lengths = [(one.start_char, one.end_char - one.start_char) for one in parsed.elements if _is_told(parsed.text, one)]
    above = sum(length for start, length in lengths if start < heading.start_char)
    return above <= max(_NEAR, _LATEST * sum(length for _, length in lengths))


def _is_told(text: str, element: Element) -> bool:
    return element.kind == "paragraph" and is_prose(text[element.start_char : element.end_char].strip())


def cover(parsed: Parsed) -> str:
    """Return the words of the cover of a document without a title, each once, in order; "" if it has no cover."""
    blocks = list(_leading(parsed))
    while blocks and blocks[-1].kind == "title":  # it is above the first section, and is its heading
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
        if element.kind == "paragraph" and _is_prose_block(own):
            yield from found
            return
        if element.kind not in _LETTERS:
            return
        found.append(element)


def _is_prose_block(text: str) -> bool:
    """Return whether a block is prose, and not a name above a long remark, "(Exact name as in its charter)"."""
    return is_prose(text) and (_SENTENCE_END.search(text) is not None or len(text.split()) >= _LONG)
