"""Markdown block rules: rules added to the blocks of markdown-it-py, and the tables and headings in HTML blocks.

MkDocs and Material indent the content of notes and tabs (`!!! note`, `??? tip`, `=== "Linux"`); MyST puts it into
fences (```` ```{note} ````) or between colons (`:::{note}`), as Docusaurus and pandoc do (`:::note`). In plain Markdown
all of it would be code, or one paragraph, and so would the paragraphs of a footnote. In MDX, module lines and component
tags are blocks, and the text between tags is Markdown, however deeply indented. A table is one token.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block.html_block import html_block
from markdown_it.rules_block.paragraph import paragraph
from markdown_it.rules_block.table import table

from docmill.tasks.parse.markup.html.html_table import is_data_table, table_rows
from docmill.tasks.parse.passes.table_rows import header_depth, one_header
from docmill.tasks.parse.xml_trees import words_in

_INDENTED = re.compile(
    r"(?:(?:!!!|\?\?\?\+?)[ \t]+[\w -]+?|===[+!]?)(?:[ \t]+\"[^\"\n]*\")?[ \t]*(?:\{[^{}]*\})?[ \t]*$"
)
_TAB = re.compile(r"===[+!]?[ \t]+\"")
_INDENT = 4
_NOTE = re.compile(r"\[\^[^\]\s]{1,100}\]:[ \t]")
_COLONS = re.compile(r"(:{3,})[ \t]*(\{?[\w:.#=\" -]+\}?.*)?$")
_MKDOCSTRINGS = re.compile(r":::[ \t]+[\w.]+\.[\w.]+[ \t]*$")  # a module's name, whose page is made from its code
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*\{([\w:-]+)\}(.*)$")
_OPTION = re.compile(r":[\w-]+:(?:[ \t]|$)")
_PROSE_WORDS = """
    admonition attention caution danger error hint important note seealso tip warning todo example abstract info
    success question failure bug quote versionadded versionchanged versionremoved deprecated topic sidebar margin aside
    dropdown details card grid grid-item grid-item-card tab-set tab-item tab tabs figure epigraph highlights pull-quote
    exercise solution proof theorem lemma definition remark corollary proposition conjecture algorithm axiom criterion
    observation property assumption list-table glossary rubric container div only hlist centered line-block
    prf:theorem prf:lemma prf:definition prf:remark prf:proof prf:example prf:corollary prf:algorithm
"""
_PROSE = frozenset(_PROSE_WORDS.split())
"""Directives that contain text. Others contain code, formulas, tables of values, or arguments for a program."""
_MOST_LINES = 100_000  # of a block: one without an end in them is not a block
_MARKUP = re.compile(
    r"^(?:!!!|\?\?\?\+?|===[+!]?)[ \t]*\"?|^(?:`{3,}|~{3,}|:{3,})[ \t]*\{?|\}[ \t]*|\"[ \t]*(?:\{[^{}]*\})?[ \t]*$"
)
_ANY_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_SIGNS = re.compile(
    r"^import[ \t][^\n]{1,300}[ \t]from[ \t]+['\"]|^export[ \t]+(?:const|default|function)\b"
    r"|^[ \t]*</?[A-Z]\w*[^\n]*>[ \t]*$",
    re.MULTILINE,
)
_MODULE = re.compile(r"(?:import|export)[ \t{*]")
_TAG_LINE = re.compile(r"</?[A-Za-z>]")
_BARE = re.compile(r"</?[\w.]*[ \t]*/?>|<>|\{/\*.*\*/\}", re.DOTALL)
_MAX_TAG_LINES = 60
"""Most lines of one tag with its attributes. A longer tag is drawn as a paragraph; without a limit, each line of a long
run that opens an unclosed tag would be searched to the end of the run."""
_BEGIN = re.compile(r"<(table|h[1-6])\b(?:\s[^<>]*)?>", re.IGNORECASE)
_INNER = re.compile(r"<table\b", re.IGNORECASE)
_END = re.compile(r"</table\s*>", re.IGNORECASE)
_UNENDED = "no table ends after this"
_LONGEST = 2_000_000  # characters of a block in which parts are searched; a longer one is a separate page


def with_directives(parser: MarkdownIt) -> MarkdownIt:
    """Add the rules to a parser; the new tokens are `directive`, a line that opens one, and `directive_end`."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    for name, rule in (("indented", _indented), ("fenced", _fenced), ("colons", _colons), ("note", _note)):
        parser.block.ruler.before("fence", f"directive_{name}", rule, ends)
    return parser


def directive_marks(line: str) -> list[tuple[int, int]]:
    """Return where the line that opens a directive has signs rather than words."""
    return [found.span() for found in _MARKUP.finditer(line.rstrip()) if found.end() > found.start()]


def _line(state: Any, line: int) -> str:
    return str(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]])


def _is_code(state: Any, line: int) -> bool:
    return bool(state.sCount[line] - state.blkIndent >= _INDENT)


def _push(state: Any, kind: str, first: int, last: int) -> None:
    token = state.push(kind, "", 0)
    token.map = [first, last]


def _within(state: Any, first: int, last: int) -> None:
    """Read the lines of a directive as blocks."""
    kept = state.lineMax, state.parentType
    state.lineMax, state.parentType = last, "root"
    state.md.block.tokenize(state, first, last)
    state.lineMax, state.parentType = kept


def _indented(state: Any, start: int, end: int, silent: bool) -> bool:
    line = _line(state, start)
    if line[:3] not in ("!!!", "???", "===") or _is_code(state, start) or not _INDENTED.match(line):
        return False
    if line.startswith("=") and not _TAB.match(line):
        return False
    if silent:
        return True
    _push(state, "directive", start, start + 1)
    _indented_below(state, start, start + 1, end)
    return True


def _indented_below(state: Any, start: int, first: int, end: int) -> None:
    """Read the lines from `first` that are indented deeper than the line `start` as blocks."""
    indent, last = state.sCount[start] + _INDENT, first
    for number in range(first, end):
        if state.isEmpty(number):
            continue
        if state.sCount[number] < indent:
            break
        last = number + 1
    kept, state.blkIndent = state.blkIndent, indent
    _within(state, first, last)
    state.blkIndent, state.line = kept, last


def _note(state: Any, start: int, end: int, silent: bool) -> bool:
    """Match a footnote, whose further paragraphs are indented."""
    if _is_code(state, start) or not _NOTE.match(_line(state, start)):
        return False
    if not silent:
        paragraph(state, start, end, False)
        _indented_below(state, start, state.line, end)
    return True


def _fenced(state: Any, start: int, end: int, silent: bool) -> bool:
    line = _line(state, start)
    if line[:1] not in "`~" or _is_code(state, start):
        return False
    found = _FENCE.match(line)
    if found is None or found[2].lower() not in _PROSE:
        return False
    last = _end_of_fence(state, start, end, found[1])
    if silent or last < 0:
        return last >= 0
    _draw(state, start, last)
    return True


def _end_of_fence(state: Any, start: int, end: int, fence: str) -> int:
    for number in range(start + 1, min(end, start + _MOST_LINES)):
        line = _line(state, number).rstrip()
        if line.startswith(fence) and not line.strip(fence[0]) and not _is_code(state, number):
            return number
    return -1


def _colons(state: Any, start: int, end: int, silent: bool) -> bool:
    line = _line(state, start)
    if not line.startswith(":::") or _is_code(state, start) or _MKDOCSTRINGS.match(line):
        return False
    found = _COLONS.match(line)
    if found is None:
        return False
    if not silent and found[2]:  # its content may have directives with fewer colons, so each line is separate
        _push(state, "directive", start, start + 1)
        state.line = _behind_options(state, start + 1, end)
    elif not silent:
        _push(state, "directive_end", start, start + 1)
        state.line = start + 1
    return True


def _draw(state: Any, start: int, last: int) -> None:
    _push(state, "directive", start, start + 1)
    first = _behind_options(state, start + 1, last)
    _within(state, first, last)
    _push(state, "directive_end", last, last + 1)
    state.line = last + 1


def _behind_options(state: Any, first: int, last: int) -> int:
    """Return the line after a directive's options, which are lines such as `:class: tip`."""
    number = first
    while number < last and _OPTION.match(_line(state, number)):
        number += 1
    if number > first:
        _push(state, "directive_end", first, number)
    return number


def is_mdx(text: str) -> bool:
    """Return whether a Markdown text uses modules or components outside code blocks."""
    return _SIGNS.search(text) is not None and _SIGNS.search(_without_code(text)) is not None


def _without_code(text: str) -> str:
    """Return the lines of a text outside fences."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        match = _ANY_FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not line[match.end() :].strip():
                fence = ""
        elif match:
            fence = match[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def is_bare_tag(text: str) -> bool:
    """Return whether a tag has no attributes."""
    return _BARE.fullmatch(text.strip()) is not None


def with_mdx(parser: MarkdownIt) -> MarkdownIt:
    """Add the rules `mdx_module` and `mdx_tag` to a parser, and disable indented code and HTML blocks."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("html_block", "mdx_tag", _tag, ends)
    parser.block.ruler.before("html_block", "mdx_module", _module)
    return parser.disable(["code", "html_block"])


def _module(state: Any, start: int, end: int, silent: bool) -> bool:
    if state.sCount[start] or state.level or not _MODULE.match(_line(state, start)):
        return False
    stop = start + 1
    while stop < end and not state.isEmpty(stop):
        stop += 1
    return _emit(state, "mdx_module", start, stop, silent)


def _tag(state: Any, start: int, end: int, silent: bool) -> bool:
    """Match a tag on lines of its own; with text after it, it would belong to a paragraph."""
    line = _line(state, start).rstrip()
    if not _TAG_LINE.match(line) and not (line.startswith("{/*") and line.endswith("*/}")):
        return False
    if line.endswith(">") or line.endswith("*/}"):
        inner = line[1:-1]  # with a second tag, there are words between the two
        return ("<" not in inner) and _emit(state, "mdx_tag", start, start + 1, silent)
    # An arrow in an attribute, such as `onClick={() => ...}`, does not end a tag.
    if ">" in line.replace("=>", ""):
        return False
    for stop in range(start + 1, min(end, start + _MAX_TAG_LINES)):
        if state.isEmpty(stop):
            return False
        if _line(state, stop).rstrip().endswith(">"):
            return _emit(state, "mdx_tag", start, stop + 1, silent)
    return False


def _emit(state: Any, kind: str, start: int, stop: int, silent: bool) -> bool:
    if not silent:
        state.line = stop
        _push(state, kind, start, stop)
    return True


def with_tables(parser: MarkdownIt) -> MarkdownIt:
    """Make the parser's own table rule write a single token: `table_rows`, with the rows in its `meta`."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference"]}
    parser.block.ruler.at("table", _table, ends)
    return parser


def _table(state: Any, first: int, last: int, silent: bool) -> bool:
    known = len(state.tokens)
    if silent or not table(state, first, last, False):
        return silent and bool(table(state, first, last, True))
    rows = list[list[str]]()
    for token in state.tokens[known:]:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(token.content)
    lines = state.tokens[known].map
    del state.tokens[known:]
    _push(state, "table_rows", *lines)
    state.tokens[-1].meta = {"rows": rows}
    return True


def with_whole_tables(parser: MarkdownIt) -> MarkdownIt:
    """Let an HTML block that begins with a table continue to its end, past empty lines, which end other blocks."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote"]}
    parser.block.ruler.at("html_block", _html_block, ends)
    return parser


def _html_block(state: Any, first: int, last: int, silent: bool) -> bool:
    if not html_block(state, first, last, silent):
        return False
    if not silent and _is_open_table(state.tokens[-1].content) and _UNENDED not in state.env:
        after = _END.search(state.src, state.bMarks[state.line])
        if after is None:
            state.env[_UNENDED] = True  # not searched again at each table
        else:
            _extend(state, first, min(bisect_right(state.bMarks, after.start()), last))
    return True


def _is_open_table(page: str) -> bool:
    return bool(_INNER.match(page.lstrip())) and not _END.search(page)


def _extend(state: Any, first: int, line: int) -> None:
    token, state.line = state.tokens[-1], line
    token.map, token.content = [first, line], state.getLines(first, line, state.blkIndent, True)


class HtmlPart(NamedTuple):
    """A table or heading in an HTML block: its span there, its level, 0 for a table, and its attributes."""

    start: int
    end: int
    level: int
    attributes: dict[str, Any]

    @property
    def kind(self) -> str:
        """Return the kind of element that it is."""
        return "title" if self.level else "table"


def html_parts(page: str) -> Iterator[HtmlPart]:
    """Yield the data tables and the headings with words in an HTML block; none is within another."""
    at, unended = 0, set[str]()
    for match in _BEGIN.finditer(page[:_LONGEST]):
        name = match[1].lower()
        if match.start() < at or name in unended:
            continue
        end = _end_of(page, name, match.end())
        if end < 0:
            unended.add(name)  # not searched again: each search would run to the end of the block
            continue
        root = etree.fromstring(page[match.start() : end], etree.HTMLParser(no_network=True, huge_tree=True))
        found = _table_in(root) if name == "table" else _heading(root)
        if found:
            at = end
            yield HtmlPart(match.start(), end, 0 if name == "table" else int(name[1]), found)


def _end_of(page: str, name: str, at: int) -> int:
    """Return the end of an element that begins before `at` and may contain others of its name, or -1."""
    deep = 1
    for tag in re.compile(rf"<(/?){name}\b[^<>]*>", re.IGNORECASE).finditer(page, at):
        deep += -1 if tag[1] else 1
        if not deep:
            return tag.end()
    return -1


def _table_in(root: Any) -> dict[str, Any]:
    table = root.find(".//table")
    if table is None or not is_data_table(table):
        return {}
    rows, header_rows, _ = table_rows(table, "\n")
    width = max(map(len, rows))
    even = [row + [""] * (width - len(row)) for row in rows]
    depth = header_depth(even, header_rows)
    return {"cells": one_header(even, depth), "header_rows": min(depth, 1)}


def _heading(root: Any) -> dict[str, Any]:
    text = words_in(root)
    return {"text": text} if text else {}
