"""Inferred headings: finds the titles of a document whose markup has no headings.

A title line has one of the forms in which people write titles, each an entry of `FORMS`. A line of a sure form is a
title. A line of any other form is a title only in a suitable place: the text before it has ended, and a paragraph of
prose follows. Lists, addresses, verses, logs and tables of contents have lines of the same forms in other places; so a
form that is usually elsewhere is not used for titles in this document.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from docmill.storage.schema import Element, Parsed

_PROSE_WORDS = 12
"""Minimum words of a paragraph below a title: text with fewer is an address, an entry or a verse."""
_LINE_WORDS = 4
"""Minimum words of an average line of prose: verses, addresses and code have fewer."""
_SHARE = 0.7
"""Minimum share of a form's lines in the place of a title for the form to be treated as a title form. In tables of
contents, lists and letters at most half of them are; in documents with titles nearly all."""
_PROSE_SHARE = 0.6
"""Minimum share of prose in a document's characters for a line to be recognised by its place alone."""
_REPEATED = 3
"""Lines with the same words that are a running head, a speaker or a stage direction, and not titles."""
_STACKED = 2
"""Titles between a title and its first paragraph: chapter, section and subsection begin together."""
_ENDED = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f)\]\"'\u2019\u201d\u00bb*_`]\Z")
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WIKI_LINE = re.compile(r"^[^\S\n]*=[ =]*[^\s=].*=[^\S\n]*$", re.MULTILINE)
_OTHER_CONTENT = frozenset({"list_item", "table", "code", "quote"})
_CHAPTER = re.compile(
    r"(?:(?P<top>book|part|volume|act|teil)|chapter|canto|scene|article|appendix|section|letter|stave|lesson|annex"
    r"|schedule|exhibit|kapitel|artikel|abschnitt|anhang|chapitre|annexe|cap[ií]tulo|art[ií]culo)"
    r"[ \t]+(?:[ivxlcdm]+|\d+(?:\.\d+)*[a-z]?|the[ \t]\w+|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)\b[.:]?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST = 120
"""Maximum characters of a title. A longer block that begins like one is a paragraph ("Section 2 of the act provides
..."); with less, long chapter titles are lost."""
_LONGEST_SURE = 250
"""Maximum characters of a title between signs: titles of scientific articles have up to 200."""
_WIKI = re.compile(
    r"(?P<signs>=(?:[ ]?=){0,5})[ ]+(?P<text>[^\s=](?:.*[^\s=])?)[ ]+(?P=signs)\Z"
    r"|(?P<tight>={2,6})(?P<words>[^\s=](?:[^=\n]*[^\s=])?)(?P=tight)\Z"
)
_UNDERLINED = re.compile(r"(?P<text>\S[^\n]*?)[ \t]*\r?\n[ \t]*(?P<rule>=+|-+|~+|\^+|\*+|#+)\Z")
_SHORTEST_RULE = 4
"""Signs under a title: three are a thematic break or the separator of a signature."""
_ITEM = re.compile(r"item[ \t]+\d{1,2}[a-z]?(?:\([a-z]\))?(?:[.:\-–—]+[ \t]*|[ \t]+)(?P<rest>[A-Z].*)", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,4}|[IVXL]{1,6}|[A-Z](?=\.))(?P<dot>[.)]?)[ \t]+(?P<rest>\S.*)"
)
_EMPHASIS = re.compile(r"(\*\*\*|\*\*|__)(?P<text>(?!\s).+?(?<!\s))\1\Z")
_LEAST_LETTERS = 4
"""Minimum letters of a title without signs: fewer are an abbreviation, an initial, or the OR between two clauses."""
_LETTERS = 0.6
"""Minimum share of letters in a title, ignoring spaces: with less, it is an amount, date, formula or reference."""
_WORDS = 14
"""Maximum words of a title recognised only by its place: longer ones are sentences without a full stop."""
_NUMBERED_WORDS = 22
"""Maximum words of a title with a number: scientific titles have about 15, and clauses that continue have more."""
_STOPPED_WORDS = 14
"""Maximum words of a title with a number and a full stop; contract clauses are such lines, and mostly longer."""
_CLAUSE_WORDS = 6
"""The same below the first level, where contracts have clauses of eight words and more."""
_CLAIM = re.compile(r"\bclaims? \d|\bpreceding claims?\b")  # of a patent claim, which names the claim that it narrows
_UNLIKE = re.compile(
    r"[|{}<>=@_\t\\]|https?:|www\.|[ ]{3}|\.{3}|\u2026|[ \t]\d+\Z|\A\W*\d"
    r"|\A(?:dear|hi|hello|hey|from|to|cc|bcc|date|subject|re|fwd?|tel|telephone|phone|fax|e-?mail|address|attn|by|source"
    r"|note|signed|sincerely|yours|regards|best|thanks|thank|cheers|love|respectfully|figure|fig|table|page|p\.s|ps"
    r"|copyright|\(c\)|©|mr|mrs|ms|dr)\b",
    re.IGNORECASE,
)


class TitleLine(NamedTuple):
    """A title: its form, its depth within the form from 1, and its words.

    `form` is a name in `FORMS`, followed by any kind within that form: the sign of a rule, letters for numbers.
    """

    form: str
    depth: int
    text: str


class Form(NamedTuple):
    """A way to write titles: how to read a block as one; `sure` if nothing else is written like that.

    A `numbered` form is also used in documents with little text, such as lists of tables.
    """

    read: Callable[[str], TitleLine | None]
    sure: bool = False
    numbered: bool = False


def in_capitals(text: str) -> bool:
    """Return whether a text is in capitals: at least half of its letters are capitals, and none is lower case.

    A single name in capitals within Chinese or Korean, which have no lower case, does not make a text one in capitals.
    """
    return text.isupper() and 2 * sum(map(str.isupper, text)) >= sum(map(str.isalpha, text))


def title_line(block: str) -> TitleLine | None:
    """Return a block as a title, by the first form that it has, or None."""
    if len(block) > _LONGEST_SURE or block.count("\n") > 1:
        return None
    return next((found for form in FORMS.values() if (found := form.read(block))), None)


def _wiki(block: str) -> TitleLine | None:
    """Read ` = Title = ` and ` = = Title = = `, whose signs give the depth."""
    match = _WIKI.match(block)
    if match is None or not _has_letters(match["text"] or match["words"]):  # `==123==` begins a line of some logs
        return None
    signs = match["signs"] or match["tight"]
    return TitleLine("wiki", signs.count("="), _spaced(match["text"] or match["words"]))


def _underlined(block: str) -> TitleLine | None:
    """Read a line with a rule of about the same length under it."""
    match = _UNDERLINED.match(block)
    if match is None or not _has_letters(match["text"]) or "  " in match["text"]:  # a table's header looks like this
        return None
    rule, text = match["rule"], _spaced(match["text"])
    even = len(rule) >= _SHORTEST_RULE and len(text) - 2 <= len(rule) <= _LONGEST
    return TitleLine(f"underlined {rule[0]}", 1, text) if even else None


def _chapter(block: str) -> TitleLine | None:
    """Read "CHAPTER IV" and "Article 2. Fees"; a chapter's name may be on the line below its number."""
    match = _CHAPTER.match(block) if len(block) <= _LONGEST else None
    if match is None or _goes_on(match["rest"].strip()):
        return None
    return TitleLine("chapter top" if match["top"] else "chapter", 1, _spaced(block))


def _item(block: str) -> TitleLine | None:
    """Read "Item 1A. Risk Factors", as in filings."""
    match = _ITEM.match(block) if _is_line(block) else None
    if match is None or _goes_on(match["rest"]):
        return None
    return TitleLine("item", 1, _spaced(block))


def _numbered(block: str) -> TitleLine | None:
    """Read "3.2 Results", "IV. RESULTS" and "12. Costs of the trial.", whose number gives the depth."""
    match = _NUMBERED.match(block) if _is_line(block, _LONGEST_SURE) else None
    if match is None or not _names_numbered(match["rest"]) or len(match["rest"].split()) > _most_words(match):
        return None
    form = "numbered" if match["number"][0].isdigit() else "numbered by letters"
    return TitleLine(form, match["number"].count(".") + 1, _spaced(block)) if _is_number(match) else None


def _names_numbered(rest: str) -> bool:
    """Return whether the text after a number names something and is not a clause or list item."""
    if not rest[0].isupper() or rest.endswith((",", ";", ":")) or _CLAIM.search(rest):
        return False
    return _has_letters(rest) and not _UNLIKE.search(rest)


def _is_number(match: re.Match[str]) -> bool:
    """Return whether a sign at the beginning of a line is a number: "I saw" has none, "5 Blue cups." an amount."""
    if match["dot"] or "." in match["number"]:
        return True
    return match["number"][0].isdigit() and not match["rest"].endswith(".")


def _most_words(match: re.Match[str]) -> int:
    """Return the most words of a title with such a number: below 5.1, a line that ends like a sentence is a clause."""
    if not match["rest"].endswith("."):
        return _NUMBERED_WORDS
    return _CLAUSE_WORDS if "." in match["number"] else _STOPPED_WORDS


def _capitals(block: str) -> TitleLine | None:
    """Read a line in capitals."""
    if not in_capitals(block) or not _is_line(block, _LONGEST_SURE) or not _has_letters(block):
        return None
    spoken = not block[0].isalnum() or block.endswith((":", ",", ";", "!"))
    return (
        None if spoken or not _has_letters(block) or _UNLIKE.search(block) else TitleLine("capitals", 1, _spaced(block))
    )


def _bold(block: str) -> TitleLine | None:
    """Read a line that is emphasised as a whole."""
    match = _EMPHASIS.match(block) if _is_line(block) else None
    if match is None or match[1] in match["text"] or not _names(match["text"].rstrip(":")):
        return None
    return TitleLine("bold", 1, _spaced(match["text"]))


def _plain(block: str) -> TitleLine | None:
    """Read a short line that does not end like a sentence."""
    return TitleLine("plain", 1, _spaced(block)) if _is_line(block) and _names(block) else None


def _names(line: str) -> bool:
    first = line[0]
    begins = first.isalpha() and not first.islower()
    short = len(line.split()) <= _WORDS and _has_letters(line)
    return begins and short and (line[-1].isalnum() or line[-1] == ")") and not _UNLIKE.search(line)


def _is_line(block: str, longest: int = _LONGEST) -> bool:
    return "\n" not in block and len(block) <= longest


def _has_letters(line: str) -> bool:
    letters, signs = sum(map(str.isalpha, line)), len("".join(line.split()))
    return letters >= max(_LEAST_LETTERS, _LETTERS * signs)


def _goes_on(rest: str) -> bool:
    """Return whether "Chapter 4" begins a sentence, such as "Chapter 4 showed that ...".

    In a heading, the rest begins with a capital letter, and does not end in punctuation unless all of it is in
    capitals.
    """
    if not rest:
        return False
    stops = rest.endswith((".", ",", ";", "!", "?")) and not rest.isupper()
    return stops or not rest.lstrip("-—–.: ")[:1].isupper()


def _spaced(text: str) -> str:
    return " ".join(text.split())


FORMS: dict[str, Form] = {
    "wiki": Form(_wiki, sure=True),
    "underlined": Form(_underlined, sure=True),
    "chapter": Form(_chapter, sure=True),
    "item": Form(_item, numbered=True),
    "numbered": Form(_numbered, numbered=True),
    "bold": Form(_bold),
    "capitals": Form(_capitals),
    "plain": Form(_plain),
}


@dataclass(frozen=True, slots=True)
class _Standing:
    """A top-level element as judged: its title line, if it may be one, and whether it is prose."""

    element: Element
    text: str
    title: TitleLine | None
    prose: bool


def with_titles(parsed: Parsed) -> Parsed:
    """Return a document whose title lines are elements of kind title, unless it has titles from markup."""
    if any(element.kind == "title" for element in parsed.elements):
        return parsed
    return replace(parsed, elements=tuple(titled(parsed.text, parsed.elements)))


def titled(text: str, elements: Sequence[Element]) -> list[Element]:
    """Return elements in order, with titles in place of paragraphs that are title lines."""
    parts = [part for element in elements for part in _divided(text, element)]
    blocks = list(_blocks(text, parts))
    found = {id(block.element): block.title for block in _titles(blocks) if block.title}
    levels = _levels([title for title in found.values() if title])
    return [_as_title(part, found[id(part)], levels) if id(part) in found else part for part in parts]


def _divided(text: str, element: Element) -> Iterator[Element]:
    """Yield a paragraph in parts, split at lines between equals signs."""
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
    """Return whether the text before a line in its paragraph has ended, i.e. no formula or sentence goes on."""
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
    """Return the attributes of a paragraph that apply to a piece of it."""
    links = [link for link in attributes.get("links", ()) if link["text"] in piece]
    kept = attributes | {"marks": _shifted(attributes.get("marks", ()), start, end), "links": links}
    return {name: value for name, value in kept.items() if value}


def _shifted(marks: Sequence[int], start: int, end: int) -> tuple[int, ...]:
    """Return the marks within a piece of an element, as offsets in the piece."""
    pairs = [(a, b) for a, b in zip(marks[::2], marks[1::2], strict=True) if start <= a and b <= end]
    return tuple(place - start for pair in pairs for place in pair)


def _blocks(text: str, elements: Sequence[Element]) -> Iterator[_Standing]:
    """Yield the top-level elements, without page breaks, furniture and tables of contents."""
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
    """Return the lines of a form that are titles: all in the right place, or none if too many are elsewhere."""
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
    """Return whether a title can be here: the text before has ended, and prose follows, perhaps after other titles."""
    title, after = blocks[i].title, _after_titles(blocks, i)
    # The continuation of a broken line begins in lower case.
    if title is None or after == len(blocks) or blocks[after].text[0].islower():
        return False
    if not (blocks[after].prose or (blocks[after].element.kind in _OTHER_CONTENT and title.form != "plain")):
        return False
    return i == 0 or blocks[i - 1].title is not None or _ENDED.search(blocks[i - 1].text) is not None


def _after_titles(blocks: Sequence[_Standing], i: int) -> int:
    """Return the index of the block after a title line and the titles of other levels directly below it."""
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
    """Return the level of each form: parts, chapters, then the others in order of first appearance."""
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
