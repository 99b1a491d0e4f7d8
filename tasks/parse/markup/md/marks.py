"""Markdown marks: where the signs of links, emphasis, code and tags are, and the pictures that a file shows.

markdown-it-py decides what a sign means, but its tokens do not say where the signs are. So each of its rules is wrapped
by one that records where the rule began and ended.
"""

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.html_re import HTML_TAG_RE
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.markup.md.block_rules import directive_marks
from docmill.tasks.parse.passes.drawn_block import DrawnBlock, figure_facts
from docmill.tasks.parse.pictures.addresses import Loader
from docmill.tasks.parse.pictures.album import LEFT_OUT, Album

_SIGN = re.compile(r"[\\`*_~\[<&]")
_STOP = re.compile(r"[\\`*_~\[\]!<&]")
"""Where a run of plain letters ends: at anything that a rule begins with or looks for. The parser itself stops at twice
as many signs, for other rules, and tries every rule at each."""
_SAYS = re.compile(
    r"\s(?:title|alt|label|name|description|summary|caption|aria-label)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')"
)
_COMPONENT = re.compile(r"<[A-Z]")
_COMPONENT_SAYS = re.compile(
    r"\s(?!(?:class|className|style|href|src|url|to|id|key|ref|rel|target|icon|iconType|color|size|width|height|align|cols"
    r"|lang|loading|slot|variant|theme|on[A-Z]\w*|data-[\w-]+)\s*=)[\w-]+\s*=\s*(?:\{?\"([^\"{}]*)\"|\{?'([^'{}]*)')"
)
"""Of a component, each attribute that is text: parameter names, types, defaults. Others affect only its looks."""
_MAX_LENGTH = 10_000
"""Characters of a block whose inline markup is read. Paragraphs are shorter; a longer text of only brackets would take
the parser quadratic time."""
_MAX_BRACKETS = 400
"""Opening brackets of a block whose inline markup is read; each unclosed one is searched to the block's end."""

_TAG = re.compile(r"</?[A-Za-z][^<>]{0,400}>")
IMAGE_TAG = re.compile(r"<img\b[^<>]*?\ssrc\s*=\s*(?:\"([^\"<>]+)\"|'([^'<>]+)'|([^\s\"'<>]+))", re.IGNORECASE)
_TOLD = re.compile(r"\s(alt|title)\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')", re.IGNORECASE)

Rule = Callable[[StateInline, bool], bool]
Mark = tuple[int, int]
_BAR = re.compile(r"(?<!\\)\|")
_ALONE = ("paragraph", "text")  # blocks of which nothing is left if they contain only a picture


class _Found(NamedTuple):
    """Marks of one block, and the tokens of `*`, `_` and `~` with their places, whose meaning is settled last.

    `pictures` are the places of pictures, and of tags that show one.
    """

    marks: list[Mark]
    signs: list[tuple[Token, int, int]]
    pictures: list[Mark]


def inline_marks(block: str, references: Mapping[str, Mapping[str, str]]) -> Iterator[Mark]:
    """Yield the start and end of each piece of markup in the words of a block, in no particular order.

    `references` are the addresses of labels, as in `[words][label]`. Markup is the brackets and targets of links, the
    signs of emphasis and code, and tags, except for attributes with words for people. A block longer than any real one
    has none.
    """
    found = _found(block, references)
    yield from found.marks
    yield from ((start, end) for token, start, end in found.signs if token.type != "text" or not token.content)


def inline_pictures(block: str, references: Mapping[str, Mapping[str, str]]) -> Iterator[Mark]:
    """Yield the start and end of each picture in the words of a block, and of each tag that shows one."""
    yield from _found(block, references).pictures


def _found(block: str, references: Mapping[str, Mapping[str, str]]) -> _Found:
    parser, found = _parser(), _Found([], [], [])
    if len(block) <= _MAX_LENGTH and block.count("[") <= _MAX_BRACKETS and _SIGN.search(block):
        parser.inline.parse(block, parser, {"found": found, "references": references}, [])
    return found


def said_of(picture: str, references: Mapping[str, Mapping[str, str]]) -> tuple[str, str, str]:
    """Return the address, the title and the alternative text of a picture, given its markup."""
    tag = IMAGE_TAG.match(picture)
    if tag:
        said = {name.lower(): html.unescape(one or other) for name, one, other in _TOLD.findall(picture)}
        return html.unescape(next(filter(None, tag.groups()))), said.get("title", ""), said.get("alt", "")
    (inline,) = MarkdownIt("commonmark").parseInline(picture, {"references": dict(references)})
    for token in inline.children or ():
        if token.type == "image":
            return str(token.attrs["src"]), str(token.attrs.get("title", "")), token.content
    return "", "", ""


def references_of(addresses: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """Return the addresses of labels in the form that the parser expects."""
    return {normalizeReference(label): {"href": url, "title": ""} for label, url in addresses.items()}


def tag_pictures(page: str) -> Iterator[Mark]:
    """Yield the start and end of each tag in an HTML block that shows a picture."""
    found = (match for match in HTML_TAG_RE.finditer(page[:_MAX_LENGTH]) if IMAGE_TAG.match(match[0]))
    yield from (match.span() for match in found)


def tag_marks(page: str) -> Iterator[Mark]:
    """Yield the tags and comments of an HTML block, without their words for people."""
    for match in HTML_TAG_RE.finditer(page[:_MAX_LENGTH]):
        yield from wordless(match[0], match.start())
    for match in _TAG.finditer(page, _MAX_LENGTH):  # for a long table, in linear time
        yield from wordless(match[0], match.start())


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("strikethrough")
    # It would merge the text around a sign into the sign's token, which would then no longer show what it became.
    parser.inline.ruler2.disable("fragments_join")
    parser.inline.terminator_re = _STOP
    own = {one.name: one.fn for one in parser.inline.ruler.__rules__}
    by_sign: dict[str, list[Rule]] = {}
    for name in filter(_MARKS.__contains__, own):
        signs, marks = _MARKS[name]
        for sign in signs:
            by_sign.setdefault(sign, []).append(_watched(own[name], marks))
    parser.inline.ruler.push("marked", _by_sign(by_sign), {"alt": []})
    parser.inline.ruler.enableOnly(["text", "marked"])
    return parser


def _by_sign(rules: Mapping[str, Sequence[Rule]]) -> Rule:
    """Return a rule that tries only those of the current sign; the parser would try all of them at each."""

    def run(state: StateInline, silent: bool) -> bool:
        return any(rule(state, silent) for rule in rules.get(state.src[state.pos], ()))

    return run


def _watched(rule: Rule, marks: "_Marks") -> Rule:
    def run(state: StateInline, silent: bool) -> bool:
        found, start, count = state.env.get("found"), state.pos, len(state.tokens)
        if silent or found is None:
            return rule(state, silent)
        if marks is _image:
            # The words of a picture are parsed as a separate text, whose positions would be wrong here.
            state.env["found"] = None
        matched = rule(state, silent)
        state.env["found"] = found
        if matched:
            found.marks.extend(marks(state, start, state.tokens[count:], found))
        return matched

    return run


_Marks = Callable[[StateInline, int, list[Token], _Found], Iterable[Mark]]


def _link(state: StateInline, start: int, _: list[Token], __: _Found) -> Iterable[Mark]:
    label = state.md.helpers.parseLinkLabel(state, start, True)
    return ((start, start + 1), (label, state.pos))


def _image(state: StateInline, start: int, _: list[Token], found: _Found) -> Iterable[Mark]:
    found.pictures.append((start, state.pos))
    label = state.md.helpers.parseLinkLabel(state, start + 1, False)
    return ((start, start + 2), (label, state.pos))


def _autolink(state: StateInline, start: int, *_: Any) -> Iterable[Mark]:
    return ((start, start + 1), (state.pos - 1, state.pos))


def _code(state: StateInline, start: int, new: list[Token], _: _Found) -> Iterable[Mark]:
    if not new or new[-1].type != "code_inline":
        return ()
    width = len(new[-1].markup)
    return ((start, start + width), (state.pos - width, state.pos))


def _escape(_: StateInline, start: int, *__: Any) -> Iterable[Mark]:
    return ((start, start + 1),)


def _entity(state: StateInline, start: int, new: list[Token], _: _Found) -> Iterable[Mark]:
    return ((start, state.pos),) if new and new[-1].content.isspace() else ()


def _tag(state: StateInline, start: int, _: list[Token], found: _Found) -> Iterable[Mark]:
    if IMAGE_TAG.match(state.src[start : state.pos]):
        found.pictures.append((start, state.pos))
    return wordless(state.src[start : state.pos], start)


def _emphasis(_: StateInline, start: int, new: list[Token], found: _Found) -> Iterable[Mark]:
    signs = [token for token in new if token.content and not token.content.strip("*_~")]
    for token in signs:
        found.signs.append((token, start, start + len(token.content)))
        start += len(token.content)
    return ()


def wordless(tag: str, start: int) -> Iterator[Mark]:
    """Yield the parts of a tag other than the words that people see."""
    position = 0
    for match in (_COMPONENT_SAYS if _COMPONENT.match(tag) else _SAYS).finditer(tag):
        first, last = match.span(match.lastindex or 0)
        yield start + position, start + first
        position = last
    yield start + position, start + len(tag)


_MARKS: dict[str, tuple[str, _Marks]] = {
    "link": ("[", _link),
    "image": ("!", _image),
    "autolink": ("<", _autolink),
    "backticks": ("`", _code),
    "escape": ("\\", _escape),
    "entity": ("&", _entity),
    "html_inline": ("<", _tag),
    "emphasis": ("*_", _emphasis),
    "strikethrough": ("~", _emphasis),
}
"""The rules of markdown-it-py, the signs that they begin with, and what they mark."""


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """A Markdown text, the starts of its lines, and the addresses of its labels as markdown-it-py expects them."""

    text: str
    line_starts: Sequence[int]
    references: Mapping[str, Mapping[str, str]]

    def with_marks(self, elements: Sequence[Element], tokens: Sequence[Token]) -> list[Element]:
        """Return the elements; the outermost get `marks`, the offsets of markup in them; furniture is all markup."""
        found = self._all(tokens, _VISITS)
        starts, reached, marked = [start for start, _ in found], 0, list[Element]()
        for element in elements:
            own: list[int] = []
            if element.start_char >= reached:
                reached = element.end_char
                span = found[bisect_left(starts, element.start_char) : bisect_left(starts, reached)]
                own = [place - element.start_char for mark in span for place in mark]
            if element.kind == "furniture":
                own = [0, element.end_char - element.start_char]
            marked.append(replace(element, attributes=element.attributes | {"marks": own}) if own else element)
        return marked

    def pictures(self, tokens: Sequence[Token]) -> list[Mark]:
        """Return where the text shows a picture: the start and end of each one's markup, in order."""
        return self._all(tokens, _PICTURES)

    def addresses(self, tokens: Sequence[Token]) -> set[str]:
        """Return the addresses of the pictures that the text shows."""
        return {said_of(self.text[slice(*place)], self.references)[0] for place in self.pictures(tokens)}

    def _all(self, tokens: Sequence[Token], visits: Mapping[str, Any]) -> list[Mark]:
        """Return what visits of tokens yield, ordered by offset in the text."""
        visited = ((visits.get(token.type), token, *(token.map or (0, 0))) for token in tokens)
        return sorted(
            mark
            for visit, token, first, last in visited
            if visit and last > first
            for mark in visit(self, token, first, last)
        )

    def _lines(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield the start and the text of each line in a range."""
        ends = (*self.line_starts, len(self.text))
        yield from ((ends[number], self.text[ends[number] : ends[number + 1]]) for number in range(first, last))

    def _words(self, token: Token, first: int, last: int, look: Any = inline_marks) -> Iterator[Mark]:
        """Yield the markup of a paragraph or heading; its token has the lines without their quotation prefix."""
        marks = list(look(token.content, self.references))
        places = self._places(token, first, last) if marks else []
        for one, stop in marks:
            if 0 < stop <= len(places):
                yield places[one], places[stop - 1] + 1

    def _places(self, token: Token, first: int, last: int) -> list[int]:
        """Return where each character of a token is in the text; nothing if one of its lines is not found."""
        places: list[int] = []
        for line, (start, raw) in zip(token.content.split("\n"), self._lines(first, last), strict=False):
            end = raw.rstrip()
            at = len(end) - len(line) if end.endswith(line) else raw.find(line)
            if at < 0:
                return []
            places += range(start + at, start + at + len(line) + 1)
        return places

    def _cells(self, _: Token, first: int, last: int, look: Any = inline_marks) -> Iterator[Mark]:
        for start, line in self._lines(first, last):
            bars = [0, *(match.end() for match in _BAR.finditer(line)), len(line)]
            for left, right in pairwise(bars):
                marks = look(line[left:right].rstrip("|"), self.references)
                yield from ((start + left + one, start + left + stop) for one, stop in marks)

    def _page(self, _: Token, first: int, last: int, look: Any = tag_marks) -> Iterator[Mark]:
        lines = list(self._lines(first, last))
        page = "".join(line for _, line in lines)
        yield from ((lines[0][0] + one, lines[0][0] + stop) for one, stop in look(page))

    def _component(self, _: Token, first: int, last: int) -> Iterator[Mark]:
        lines = list(self._lines(first, last))
        yield from wordless("".join(line for _, line in lines), lines[0][0])

    def _directive(self, _: Token, first: int, last: int) -> Iterator[Mark]:
        for start, line in self._lines(first, last):
            within = start + len(line) - len(line.lstrip())
            yield from ((within + one, within + stop) for one, stop in directive_marks(line.strip()))


_VISITS: dict[str, Any] = {
    "inline": MarkedFile._words,
    "table_rows": MarkedFile._cells,
    "html_block": MarkedFile._page,
    "mdx_tag": MarkedFile._component,
    "directive": MarkedFile._directive,
}
_PICTURES: dict[str, Any] = {
    "inline": partial(MarkedFile._words, look=inline_pictures),
    "table_rows": partial(MarkedFile._cells, look=inline_pictures),
    "html_block": partial(MarkedFile._page, look=tag_pictures),
    "mdx_tag": partial(MarkedFile._page, look=tag_pictures),
}


def with_figures(parsed: Parsed, file: MarkedFile, places: Sequence[Mark], load: Loader) -> Parsed:
    """Return a document with a figure at each place that shows a picture which `load` finds.

    A paragraph that is only a picture becomes the figure; any other block contains it.
    """
    album = Album()
    drawn = {place: block for place in places for block in _block(file, place, album, load)}
    kept = {id(one) for one in album.without_decoration([*drawn.values()])}
    blocks = {place: block for place, block in drawn.items() if id(block) in kept}
    left_out = {LEFT_OUT: dict(album.left_out)} if album.left_out else {}
    return replace(
        parsed,
        elements=_with(parsed.elements, blocks, file),
        metadata=parsed.metadata | left_out,
        pictures=album.shown(blocks.values()),
    )


def _block(file: MarkedFile, place: Mark, album: Album, load: Loader) -> Iterator[DrawnBlock]:
    address, title, alt = said_of(file.text[slice(*place)], file.references)
    data = load(address) if address else None
    picture = None if data is None else album.add(data)
    if picture is not None:
        words, caption = (" ".join(said.split()) for said in (alt, title))
        yield DrawnBlock("figure", "", attributes=figure_facts(picture, words, caption))


def _with(elements: Sequence[Element], blocks: Mapping[Mark, DrawnBlock], file: MarkedFile) -> tuple[Element, ...]:
    """Return the elements with the figures that are drawn at some places."""
    alone = {(one.start_char, one.end_char) for one in elements if one.kind in _ALONE}
    whole = [_as_figure(one, blocks.get((one.start_char, one.end_char))) for one in elements]
    within = [
        Element("figure", *place, 0, 0, bisect_right(file.line_starts, place[0]), None, block.attributes)
        for place, block in blocks.items()
        if place not in alone
    ]
    return tuple(_nested(whole, within))


def _as_figure(element: Element, block: DrawnBlock | None) -> Element:
    if block is None or element.kind not in _ALONE:
        return element
    return replace(element, kind="figure", attributes=element.attributes | block.attributes)


def _nested(elements: Sequence[Element], figures: Sequence[Element]) -> Iterator[Element]:
    """Yield elements and figures in order; a figure that begins in one element and ends in another is left out."""
    ends = list[int]()
    for one in sorted([*elements, *figures], key=lambda own: (own.start_char, -own.end_char)):
        while ends and ends[-1] <= one.start_char:
            ends.pop()
        if not ends or one.end_char <= ends[-1]:
            ends.append(one.end_char)
            yield one
