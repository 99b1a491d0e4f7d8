"""Markdown tables as one token with all rows; markdown-it-py makes eleven for a row of three cells.

What is a table, and where it ends, is decided as in markdown-it-py, whose own rule checks the first two lines.
"""

from itertools import chain, islice, repeat
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import mdTrim
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block.table import MAX_AUTOCOMPLETED_CELLS, escapedSplit, table


def with_tables(parser: MarkdownIt) -> MarkdownIt:
    """Replace the parser's own table rule; the new token is `table_rows`, with the rows in its `meta`."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference"]}
    parser.block.ruler.at("table", _table, ends)
    return parser


def _table(state: Any, first: int, last: int, silent: bool) -> bool:
    if not table(state, first, last, True):
        return False
    if silent:
        return True
    token = state.push("table_rows", "table", 0)
    kept, state.parentType = state.parentType, "table"
    header = _cells(_line(state, first))
    rows = [header, *_body(state, first + 2, last, len(header))]
    state.parentType = kept
    state.line = first + 1 + len(rows)
    token.map, token.meta = [first, state.line], {"rows": rows}
    return True


def _body(state: Any, line: int, last: int, width: int) -> list[list[str]]:
    """Return the rows below the header, each as wide as the header."""
    rows: list[list[str]] = []
    missing = 0
    ends = state.md.block.ruler.getRules("blockquote")
    while line < last and state.sCount[line] >= state.blkIndent:
        text = _line(state, line)
        # No other block begins with a bar.
        if text[:1] != "|" and any(rule(state, line, last, True) for rule in ends):
            break
        if not text or state.is_code_block(line):
            break
        cells = _cells(text)
        missing += width - len(cells)
        if missing > MAX_AUTOCOMPLETED_CELLS:
            break
        rows.append(cells if len(cells) == width else list(islice(chain(cells, repeat("")), width)))
        line += 1
    return rows


def _line(state: Any, line: int) -> str:
    return mdTrim(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]])


def _cells(line: str) -> list[str]:
    cells = escapedSplit(line) if "\\" in line else line.split("|")
    if cells and cells[0] == "":
        del cells[0]
    if cells and cells[-1] == "":
        del cells[-1]
    return list(map(mdTrim, cells))
