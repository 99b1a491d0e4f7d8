"""HTML blocks of Markdown: the tables and headings in them, which READMEs open with and converters write."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block.html_block import html_block

from docmill.tasks.parse.markup.html.html_table import is_data_table, table_rows
from docmill.tasks.parse.passes.table_rows import header_depth, one_header
from docmill.tasks.parse.trees import words_in

_BEGIN = re.compile(r"<(table|h[1-6])\b(?:\s[^<>]*)?>", re.IGNORECASE)
_INNER = re.compile(r"<table\b", re.IGNORECASE)
_END = re.compile(r"</table\s*>", re.IGNORECASE)
_UNENDED = "no table ends after this"
_LONGEST = 2_000_000  # characters of a block in which parts are looked for; a longer one is a page of its own


def with_whole_tables(parser: MarkdownIt) -> MarkdownIt:
    """Let a block of HTML that begins a table go on to its end, past empty lines, at which other blocks end."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote"]}
    parser.block.ruler.at("html_block", _html_block, ends)
    return parser


def _html_block(state: Any, first: int, last: int, silent: bool) -> bool:
    if not html_block(state, first, last, silent):
        return False
    if not silent and _is_open_table(state.tokens[-1].content) and _UNENDED not in state.env:
        after = _END.search(state.src, state.bMarks[state.line])
        if after is None:
            state.env[_UNENDED] = True  # not searched for again at each table
        else:
            _extend(state, first, min(bisect_right(state.bMarks, after.start()), last))
    return True


def _is_open_table(page: str) -> bool:
    return bool(_INNER.match(page.lstrip())) and not _END.search(page)


def _extend(state: Any, first: int, line: int) -> None:
    token, state.line = state.tokens[-1], line
    token.map, token.content = [first, line], state.getLines(first, line, state.blkIndent, True)


class HtmlPart(NamedTuple):
    """A table or heading in a block of HTML: its place there, its level, 0 for a table, and its attributes."""

    start: int
    end: int
    level: int
    attributes: dict[str, Any]

    @property
    def kind(self) -> str:
        """Return the kind of element that it is."""
        return "title" if self.level else "table"


def html_parts(page: str) -> Iterator[HtmlPart]:
    """Yield the tables of data and the headings with words in a block of HTML, none within another."""
    at, unended = 0, set[str]()
    for match in _BEGIN.finditer(page[:_LONGEST]):
        name = match[1].lower()
        if match.start() < at or name in unended:
            continue
        end = _end(page, name, match.end())
        if end < 0:
            unended.add(name)  # not searched for again: each search would go on to the block's end
            continue
        root = etree.fromstring(page[match.start() : end], etree.HTMLParser(no_network=True, huge_tree=True))
        found = _table(root) if name == "table" else _heading(root)
        if found:
            at = end
            yield HtmlPart(match.start(), end, 0 if name == "table" else int(name[1]), found)


def _end(page: str, name: str, at: int) -> int:
    """Return the end of an element that begins before a place, and may hold others of its name, or -1."""
    deep = 1
    for tag in re.compile(rf"<(/?){name}\b[^<>]*>", re.IGNORECASE).finditer(page, at):
        deep += -1 if tag[1] else 1
        if not deep:
            return tag.end()
    return -1


def _table(root: Any) -> dict[str, Any]:
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
