"""Untitled: find the titles of a document that has no headings by markup.

A title line of a sure form is a title. Any other is one only in its place: what is before it has ended, and a paragraph
of prose follows. Lists, addresses, verses, logs and tables of contents have lines of the same forms in other places; so
a form that most often stands elsewhere is none of titles in this document.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.titles.title_line import FORMS, TitleLine, title_line

_PROSE_WORDS = 12
"""The fewest words of a paragraph that a title can stand above: fewer are an address, an entry or a verse."""
_LINE_WORDS = 4
"""The fewest words of an average line of prose: verses, addresses and code have fewer."""
_SHARE = 0.7
"""Of the lines of a form, those in the place of a title, from which the form is taken for titles. In tables of
contents, lists and letters at most half of them are; in documents with titles nearly all."""
_PROSE_SHARE = 0.6
"""The least share of prose in the characters of a document, from which a line tells by its place alone."""
_REPEATED = 3
"""Lines with the same words that are a running head, a speaker or a stage direction, and not titles."""
_STACKED = 2
"""Titles between a title and its first paragraph: chapter, section and subsection begin together."""
_ENDED = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f)\]\"'\u2019\u201d\u00bb*_`]\Z")
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WIKI_LINE = re.compile(r"^[^\S\n]*=[ =]*[^\s=].*=[^\S\n]*$", re.MULTILINE)
_OTHER_CONTENT = frozenset({"list_item", "table", "code", "quote"})


@dataclass(frozen=True, slots=True)
class _Standing:
    """An outermost element as it is judged: its title line, if it may be one, and whether it is prose."""

    element: Element
    text: str
    title: TitleLine | None
    prose: bool


def with_titles(parsed: Parsed) -> Parsed:
    """Return a document whose title lines are elements of the kind title, unless it has titles by markup."""
    if any(element.kind == "title" for element in parsed.elements):
        return parsed
    return replace(parsed, elements=tuple(titled(parsed.text, parsed.elements)))


def titled(text: str, elements: Sequence[Element]) -> list[Element]:
    """Return elements in order, with titles in place of the paragraphs that are title lines."""
    parts = [part for element in elements for part in _divided(text, element)]
    blocks = list(_blocks(text, parts))
    found = {id(block.element): block.title for block in _titles(blocks) if block.title}
    levels = _levels([title for title in found.values() if title])
    return [_as_title(part, found[id(part)], levels) if id(part) in found else part for part in parts]


def _divided(text: str, element: Element) -> Iterator[Element]:
    """Yield a paragraph in parts, where lines between signs of equality stand within it."""
    own = text[element.start_char : element.end_char]
    if element.kind != "paragraph" or "=" not in own:
        yield element
        return
    places = [0]
    for match in _WIKI_LINE.finditer(own):
        if title_line(match[0].strip()) and _begins_anew(own[: match.start()]):
            places += [match.start(), match.end()]
    for start, end in zip(places, [*places[1:], len(own)], strict=True):
        yield from _part(own, element, start, end)


def _begins_anew(before: str) -> bool:
    """Return whether what is before a line in its paragraph has ended, and is no formula or sentence that goes on."""
    return not before.strip() or _ENDED.search(before.rstrip()) is not None


def _part(own: str, element: Element, start: int, end: int) -> Iterator[Element]:
    piece = own[start:end]
    start += len(piece) - len(piece.lstrip())
    end = start + len(piece.strip())
    if end > start:
        first = element.start_char + start
        line = element.line + len(re.findall(r"\r\n?|\n", own[:start])) if element.line else 0
        kept = _kept(element.attributes, own[start:end], start, end)
        yield replace(element, start_char=first, end_char=element.start_char + end, line=line, attributes=kept)


def _kept(attributes: dict[str, Any], piece: str, start: int, end: int) -> dict[str, Any]:
    """Return the attributes of a paragraph that are those of a piece of it."""
    links = [link for link in attributes.get("links", ()) if link["text"] in piece]
    kept = attributes | {"marks": _shifted(attributes.get("marks", ()), start, end), "links": links}
    return {name: value for name, value in kept.items() if value}


def _shifted(marks: Sequence[int], start: int, end: int) -> tuple[int, ...]:
    """Return the marks within a piece of an element, as offsets in the piece."""
    pairs = [(a, b) for a, b in zip(marks[::2], marks[1::2], strict=True) if start <= a and b <= end]
    return tuple(place - start for pair in pairs for place in pair)


def _blocks(text: str, elements: Sequence[Element]) -> Iterator[_Standing]:
    """Yield the outermost elements, without page breaks, furniture and lists of contents."""
    position = 0
    for element in elements:
        if element.start_char < position or element.kind in ("page_break", "furniture", "front_matter", "toc"):
            continue
        position = element.end_char
        own = text[element.start_char : element.end_char].strip()
        plain = element.kind == "paragraph"
        yield _Standing(element, own, title_line(own) if plain else None, plain and is_prose(own))


def is_prose(text: str) -> bool:
    words = len(text.split()) + len(_IDEOGRAPHS.findall(text)) // 2
    long = words >= _PROSE_WORDS and words >= _LINE_WORDS * (text.count("\n") + 1)
    return long and (_ENDED.search(text) is not None or words >= 2 * _PROSE_WORDS)


def _titles(blocks: Sequence[_Standing]) -> list[_Standing]:
    """Return the blocks that are titles."""
    placed = [_is_placed(blocks, i) for i in range(len(blocks))]
    wordy = _is_wordy(blocks)
    kept = set[int]()
    for name, form in FORMS.items():
        own = [i for i, block in enumerate(blocks) if _has_form(block, name)]
        if form.sure:
            kept.update(own)
        elif form.numbered or wordy:
            kept |= _of_form(blocks, own, placed)
    return [blocks[i] for i in sorted(kept)]


def _has_form(block: _Standing, form: str) -> bool:
    return block.title is not None and block.title.form.split()[0] == form


def _is_wordy(blocks: Sequence[_Standing]) -> bool:
    prose = sum(len(block.text) for block in blocks if block.prose)
    return prose >= _PROSE_SHARE * sum(len(block.text) for block in blocks)


def _of_form(blocks: Sequence[_Standing], own: Sequence[int], placed: Sequence[bool]) -> set[int]:
    """Return those of a form's lines that are titles: all in their place, or none if too many are elsewhere."""
    times = Counter(_words(blocks[i]) for i in own)
    right = {i for i in own if placed[i] and times[_words(blocks[i])] < _REPEATED}
    # A table of contents names the titles that come later.
    said = {_words(blocks[i]) for i in right}
    elsewhere = sum(count for words, count in times.items() if words not in said)
    if len(right) < _SHARE * (len(right) + elsewhere):
        return set()
    return right


def _words(block: _Standing) -> str:
    return block.text.casefold()


def _is_placed(blocks: Sequence[_Standing], i: int) -> bool:
    """Return whether a title can stand here: what is before has ended, and prose follows, or other titles and prose."""
    title, after = blocks[i].title, _after_titles(blocks, i)
    # A line that is broken off goes on in small letters.
    if title is None or after == len(blocks) or blocks[after].text[0].islower():
        return False
    if not (blocks[after].prose or (blocks[after].element.kind in _OTHER_CONTENT and title.form != "plain")):
        return False
    return i == 0 or blocks[i - 1].title is not None or _ENDED.search(blocks[i - 1].text) is not None


def _after_titles(blocks: Sequence[_Standing], i: int) -> int:
    """Return the index of what follows a title line and those of other levels directly below it."""
    seen, after = {_level_of(blocks[i])}, i + 1
    while after < min(len(blocks), i + 1 + _STACKED) and not blocks[after].prose:
        level = _level_of(blocks[after])
        if level is None or level in seen:
            break
        seen.add(level)
        after += 1
    return after


def _level_of(block: _Standing) -> tuple[str, int] | None:
    return (block.title.form, block.title.depth) if block.title else None


def _levels(titles: Sequence[TitleLine]) -> dict[str, int]:
    """Return the level of each form: parts, chapters, then the others in the order in which they first appear."""
    levels = dict[str, int]()
    deepest = 0
    order = sorted(dict.fromkeys(title.form for title in titles), key=_rank)
    for form in order:
        levels[form] = deepest
        deepest += max(title.depth for title in titles if title.form == form)
    return levels


_RANKS = ("wiki", "chapter top", "chapter", "item")


def _rank(form: str) -> int:
    return _RANKS.index(form) if form in _RANKS else len(_RANKS)


def _as_title(element: Element, title: TitleLine, levels: dict[str, int]) -> Element:
    level = levels[title.form] + title.depth
    return replace(element, kind="title", level=level, attributes=element.attributes | {"text": title.text})
