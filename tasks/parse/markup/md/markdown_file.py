"""Markdown and MDX: the file itself, with markdown-it-py's blocks as elements.

Blocks become elements: a heading, an item, a table. Inline markup stays as written; the elements' `marks` say where it
is.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.md.block_rules import (
    html_parts,
    is_bare_tag,
    is_mdx,
    with_directives,
    with_mdx,
    with_tables,
    with_whole_tables,
)
from docmill.tasks.parse.markup.md.front_matter import FrontMatter, read_front_matter
from docmill.tasks.parse.markup.md.marks import MarkedFile, references_of, with_figures
from docmill.tasks.parse.metadata import iso_date
from docmill.tasks.parse.passes.drawn_block import SCHEME
from docmill.tasks.parse.passes.run_in_headings import SIGNS, LedParagraph, headed, is_lead, of_rest
from docmill.tasks.parse.passes.table_rows import header_depth
from docmill.tasks.parse.pictures.addresses import named_by_key
from docmill.tasks.parse.pictures.picture_files import loader_beside

_LINE = re.compile(r"\r\n?|\n")
_MARKUP = (
    (re.compile(r"\[[\u00b6#\u00a7\U0001f517]\]\(#[^()]*\)"), ""),  # a heading's link to itself
    (re.compile(r"!\[([^\[\]]*)\]\([^()]*\)"), r"\1"),
    (re.compile(r"\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])"), r"\1"),
    (re.compile(r"</?[A-Za-z][^<>]*>|\{#[^{}]*\}"), ""),
    (re.compile(r"(\*\*|__|~~|`+)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!\w)([*_])(?=\S)(.+?)(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)
_NAMES = {  # if several mean the same, the last wins
    "description": "description",
    "author": "author",
    "authors": "author",
    "published": "created",
    "date": "created",
    "created": "created",
    "lang": "language",
    "language": "language",
    "updated": "modified",
    "lastmod": "modified",
    "modified": "modified",
}
_MAX_NESTING = 40
"""Maximum nesting levels; a list and its item are two. markdown-it-py recurses for each, so a hostile file with many
more would exceed Python's stack; deeper blocks have no separate element."""
_MAX_HEADING = 1_000
"""Most characters of a line whose inline markup is removed. No heading is as long; on longer lines, such as a paragraph
underlined by mistake, the patterns above, each tried at every sign, would take quadratic time."""
_LEAD = re.compile(
    r"(\*{1,3}|_{1,3})(?=\S)(?P<words>[^*_`\n]{1,120})(?<=\S)\1(?![*_\w])"
    rf"(?: ?(?P<sign>[{''.join(SIGNS)}]))?(?=\s)"
)
_INLINE = re.compile(r"(?<!!)\[([^\[\]]{1,300})\]\(<?([^()<>\s]{1,2000})")
_LABELLED = re.compile(r"(?<![!\\\]])\[([^\[\]^][^\[\]]{0,299})\](?:\[([^\[\]]{0,300})\])?(?![(\[:])")
_BARE = re.compile(r"<((?:https?|ftp|mailto):[^<>\s]{1,2000})>")
_DEFINITION = re.compile(
    r"^ {0,3}\[(?!\^)([^\[\]\r\n]{1,300})\]:[ \t]*<?([^\s<>]{1,2000})>?"
    r"(?:[ \t]+(?:\"[^\"\r\n]*\"|'[^'\r\n]*'|\([^()\r\n]*\)))?[ \t]*$",
    re.MULTILINE,
)


def parse_markdown(data: bytes, options: ParseOptions) -> Parsed:
    """Return the decoded file, with unchanged newlines and an element for every block.

    A list item is its first paragraph; its other blocks follow as separate elements. A quote is one element, in which
    code and tables are nested. The title is the front matter's, else the first heading of level 1, else a heading at
    the very start. MDX module lines and bare tags, comments, rules and link definitions are furniture. The markup of a
    picture file is a figure, as is that of a picture in a `data:` address, which is replaced by its key."""
    found = decode(data)
    text, held = named_by_key(found.text, SCHEME)
    read = _read(text)
    others = held.keys() - read.file.addresses(read.tokens) if held else ()
    if others:  # they are in code, or are plain words
        text, held = named_by_key(found.text, SCHEME, others)
        read = _read(text)
    elements = [Element("front_matter", 0, read.front.end, 0, 0, 1)] if read.front else []
    elements += with_gaps(text, read.walk.body, read.walk.elements, read.walk.starts)
    headed = with_run_in_headings(text, elements, plain)
    marked = read.file.with_marks(headed, read.tokens)
    metadata: dict[str, Any] = dict(found.metadata)
    if read.front:
        metadata |= {"front_matter": read.front.values} | _known(read.front.values)
    parsed = Parsed(text, tuple(marked), _title(elements, metadata), metadata)
    if not held and not options.pictures:
        return parsed
    return with_figures(parsed, read.file, read.file.pictures(read.tokens), loader_beside(options.pictures, held=held))


class _FileRead(NamedTuple):
    """A file's blocks: their tokens, and the elements made from these."""

    front: FrontMatter | None
    walk: "TokenWalk"
    tokens: list[Token]
    file: MarkedFile


def _read(text: str) -> _FileRead:
    front = read_front_matter(text)
    body = front.end if front else 0
    walk = TokenWalk(text, body)
    tokens = _parser(is_mdx(text)).parse(_blank(text, body))
    walk.run(tokens)
    return _FileRead(front, walk, tokens, MarkedFile(text, walk.starts, references_of(walk.links.addresses)))


@cache
def _parser(mdx: bool) -> MarkdownIt:
    # Without references: definitions would vanish from the blocks, but the whole text must be covered.
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable("table").disable(["inline", "reference"])
    parser = with_directives(with_tables(with_whole_tables(parser)))
    return with_mdx(parser) if mdx else parser


def _blank(text: str, end: int) -> str:
    """Return the text with its first `end` characters as empty lines, so that line numbers do not change."""
    # The parser gives positions as line numbers, which then need no correction.
    return "\n" * len(_LINE.findall(text, 0, end)) + text[end:] if end else text


def _known(values: dict[str, Any]) -> dict[str, Any]:
    """Return the front matter values that other formats have as well, under the same names."""
    # Site generators spell them differently: Date, date, lastMod.
    lower = {key.lower(): value for key, value in values.items()}
    return {ours: _told(ours, lower[theirs]) for theirs, ours in _NAMES.items() if lower.get(theirs)}


def _told(name: str, value: Any) -> Any:
    """Return dates in ISO 8601 and several authors in one line, as in other formats."""
    if name in ("created", "modified") and isinstance(value, str):
        return iso_date(value)
    if name == "author" and isinstance(value, list):
        people = (one.get("name") if isinstance(one, dict) else one for one in value)
        return ", ".join(str(one) for one in people if one)
    return value


def _title(elements: list[Element], metadata: dict[str, Any]) -> str:
    stated = metadata.get("front_matter", {}).get("title")
    if isinstance(stated, str) and stated.strip():
        return " ".join(stated.split())
    body = [element for element in elements if element.kind not in ("front_matter", "furniture")]
    heading = _top_heading(body)
    return str(heading.attributes["text"]) if heading else ""


def _top_heading(body: list[Element]) -> Element | None:
    """Return the first heading of level 1, or else a heading at the very start."""
    tops = (element for element in body if element.kind == "title" and element.level == 1)
    first = next(tops, body[0] if body else None)
    return first if first is not None and first.kind == "title" else None


def plain(markup: str) -> str:
    """Return a line of Markdown without inline markup; a line too long for a heading is unchanged."""
    if len(markup) > _MAX_HEADING:
        return " ".join(markup.split())
    for pattern, replacement in _MARKUP:
        markup = pattern.sub(replacement, markup)
    return " ".join(markup.split())


class LineSpan(NamedTuple):
    """A half-open span of the text, and the number of its first line, from 1."""

    start: int
    end: int
    line: int


class TokenWalk:
    """Collects elements from markdown-it's tokens; their maps are in lines, the spans of elements in characters."""

    def __init__(self, text: str, body: int) -> None:
        self.text = text
        self.body = body
        self.starts = [0, *(match.end() for match in _LINE.finditer(text))]
        self.elements: list[Element] = []
        self.links = Links(text, plain)
        self._quotes = 0  # around the current token, as for lists
        self._lists = 0
        self._item = False  # an item began, but none of its blocks is an element yet

    def run(self, tokens: list[Token]) -> None:
        """Call the method named like each token, with the token and the next one, which contains its words."""
        for index, token in enumerate(tokens):
            kind = token.type
            # Words are read with their block; of closing tokens, only those of lists and quotes matter.
            if kind == "inline" or (kind.endswith("_close") and kind not in _CLOSES):
                continue
            visit = getattr(self, "_" + kind, None)
            if visit is not None:
                visit(token, tokens[index + 1] if index + 1 < len(tokens) else token)

    def span(self, lines: list[int] | None, indent: bool = False) -> LineSpan:
        """Return the span of a range of lines, without blank ends and, by default, without its indent."""
        first, stop = lines or [0, 0]
        start = self.starts[first]
        end = self.starts[stop] if stop < len(self.starts) else len(self.text)
        raw = self.text[start:end]
        if not indent:
            start += len(raw) - len(raw.lstrip())
        return LineSpan(start, max(start, end - (len(raw) - len(raw.rstrip()))), first + 1)

    def _add(self, kind: str, token: Token, level: int = 0, indent: bool = False, **attributes: Any) -> None:
        span = self.span(token.map, indent)
        if span.end > span.start:
            self.elements.append(Element(kind, span.start, span.end, level, 0, span.line, None, attributes))

    def _links(self, markup: str) -> dict[str, Any]:
        links = self.links.of(markup)
        return {"links": links} if links else {}

    def _heading_open(self, token: Token, inline: Token) -> None:
        self._item = False
        if not self._quotes:
            self._add("title", token, int(token.tag[1]), text=plain(inline.content), **self._links(inline.content))

    def _paragraph_open(self, token: Token, inline: Token) -> None:
        item, self._item = self._item, False
        if not self._quotes and not item and is_definitions(inline.content):
            self._add("furniture", token)
        elif not self._quotes:
            self._add(
                "list_item" if item else "paragraph", token, self._lists if item else 0, **self._links(inline.content)
            )

    def _fence(self, token: Token, _: Token) -> None:
        self._item = False
        words = token.info.split()
        self._add("code", token, language=words[0].strip("{}.,").lower() if words else "")

    def _code_block(self, token: Token, _: Token) -> None:
        self._add("code", token, indent=not self._item, language="")
        self._item = False

    def _html_block(self, token: Token, _: Token) -> None:
        self._item = False
        if not self._quotes:
            self._add_page(self.span(token.map))

    def _add_page(self, page: LineSpan) -> None:
        """Add the tables and headings of an HTML block, and what is between them."""
        text, at = self.text[page.start : page.end], 0
        for part in html_parts(text):
            self._add_plain(page, at, part.start)
            line = page.line + len(_LINE.findall(text, 0, part.start))
            start, end = page.start + part.start, page.start + part.end
            self.elements.append(Element(part.kind, start, end, part.level, 0, line, None, part.attributes))
            at = part.end
        self._add_plain(page, at, len(text))

    def _add_plain(self, page: LineSpan, start: int, end: int) -> None:
        """Add a part of an HTML block that is not a table or heading."""
        between = self.text[page.start + start : page.start + end]
        if between.strip():
            start += len(between) - len(between.lstrip())
            line = page.line + len(_LINE.findall(self.text, page.start, page.start + start))
            kind = "furniture" if _is_silent(between) else "text"
            first = page.start + start
            self.elements.append(Element(kind, first, first + len(between.strip()), 0, 0, line))

    def _hr(self, token: Token, _: Token) -> None:
        self._item = False
        if not self._quotes:
            self._add("furniture", token)

    def _mdx_tag(self, token: Token, _: Token) -> None:
        span = self.span(token.map)
        self._item = False
        self._add("furniture" if is_bare_tag(self.text[span.start : span.end]) else "text", token)

    def _mdx_module(self, token: Token, _: Token) -> None:
        self._add("furniture", token)

    def _directive(self, token: Token, _: Token) -> None:
        self._item = False
        if not self._quotes:
            self._add("paragraph", token, directive=True)

    def _directive_end(self, token: Token, _: Token) -> None:
        if not self._quotes:
            self._add("furniture", token)

    def _blockquote_open(self, token: Token, _: Token) -> None:
        self._item = False
        if not self._quotes:  # a quote in a quote is part of the outer one
            self._add("quote", token, 1)
        self._quotes += 1

    def _blockquote_close(self, *_: Token) -> None:
        self._quotes -= 1

    def _bullet_list_open(self, *_: Token) -> None:
        self._lists += 1

    def _bullet_list_close(self, *_: Token) -> None:
        self._lists -= 1

    _ordered_list_open, _ordered_list_close = _bullet_list_open, _bullet_list_close

    def _list_item_open(self, *_: Token) -> None:
        self._item = True

    def _list_item_close(self, *_: Token) -> None:
        self._item = False

    def _table_rows(self, token: Token, _: Token) -> None:
        self._item = False
        span = self.span(token.map)
        rows, links = token.meta["rows"], self._links(self.text[span.start : span.end])
        self._add("table", token, cells=rows, header_rows=header_depth(rows, 1), **links)


_CLOSES = {"blockquote_close", "bullet_list_close", "ordered_list_close", "list_item_close"}


def _is_silent(page: str) -> bool:
    """Return whether an HTML block shows nothing: a comment, or a tag without attributes."""
    bare = page.strip()
    return (bare.startswith("<!--") and bare.endswith("-->")) or is_bare_tag(page)


def with_gaps(text: str, start: int, elements: list[Element], line_starts: list[int]) -> list[Element]:
    """Return the elements, with `text` elements for all non-blank text between them."""
    whole: list[Element] = []
    position = start
    for element in elements:
        whole += _gap(text, position, element.start_char, line_starts)
        whole.append(element)
        position = max(position, element.end_char)
    return whole + _gap(text, position, len(text), line_starts)


def _gap(text: str, start: int, end: int, line_starts: list[int]) -> list[Element]:
    between = text[start:end] if end > start else ""
    stripped = between.strip()
    if not stripped:
        return []
    start += len(between) - len(between.lstrip())
    return [Element("text", start, start + len(stripped), 0, 0, bisect_right(line_starts, start))]


def with_run_in_headings(text: str, elements: Sequence[Element], plain: Callable[[str], str]) -> Sequence[Element]:
    """Return the elements of a file, splitting paragraphs with a lead; `plain` removes a line's inline markup."""
    led = {at: found for at, one in enumerate(elements) if (found := _led(text, one, plain))}
    return headed(elements, led, partial(_parted, text))


def _parted(text: str, element: Element, led: LedParagraph, level: int) -> Iterable[Element]:
    rest = element.end_char - len(led.rest)
    yield replace(element, kind="title", end_char=led.end, level=level, attributes={"text": led.heading})
    line = element.line + ("\n" in text[led.end : rest])
    yield replace(element, start_char=rest, line=line, attributes=of_rest(element.attributes, led.rest))


def _led(text: str, element: Element, plain: Callable[[str], str]) -> LedParagraph | None:
    """Return the lead of a paragraph outside lists, or None."""
    if element.kind != "paragraph" or (element.start_char and text[element.start_char - 1] not in "\r\n"):
        return None
    match = _LEAD.match(text, element.start_char, element.end_char)
    if match is None:
        return None
    lead = plain(match["words"])
    lead += (match["sign"] or "") * (lead[-1:] not in SIGNS)
    rest = text[match.end() : element.end_char].lstrip()
    return LedParagraph(lead, rest, match.end()) if rest and is_lead(lead) else None


class Links:
    """The links of a text, whose labels are read once."""

    def __init__(self, text: str, plain: Callable[[str], str]) -> None:
        """Read the labels that a text defines; `plain` removes the inline markup from a link's words."""
        # `$` in the pattern ends a line only at "\n".
        lines = text.replace("\r\n", "\n").replace("\r", "\n") if "]:" in text else ""
        self.addresses: dict[str, str] = {}
        for label, url in _DEFINITION.findall(lines):
            self.addresses.setdefault(_key(label), url)
        self._plain = plain

    def of(self, markup: str) -> list[dict[str, str]]:
        """Return the links of a block, in order."""
        found = sorted(self._found(markup))
        return [{"text": self._plain(text), "url": url} for _, text, url in found]

    def _found(self, markup: str) -> Iterator[tuple[int, str, str]]:
        """Yield the start, words and address of each link, one kind after another."""
        if "](" in markup:
            yield from ((match.start(), match[1], match[2]) for match in _INLINE.finditer(markup))
        if ":" in markup and "<" in markup:
            yield from ((match.start(), match[1], match[1]) for match in _BARE.finditer(markup))
        if self.addresses and "[" in markup:
            yield from self._labelled(markup)

    def _labelled(self, markup: str) -> Iterator[tuple[int, str, str]]:
        for match in _LABELLED.finditer(markup):
            url = self.addresses.get(_key(match[2] or match[1]))
            if url:
                yield match.start(), match[1], url


def is_definitions(markup: str) -> bool:
    """Return whether a block only defines link labels, which are invisible."""
    if not markup.startswith("[") or "]:" not in markup:
        return False
    return all(_DEFINITION.match(line) for line in markup.splitlines())


def _key(label: str) -> str:
    return " ".join(label.split()).casefold()
