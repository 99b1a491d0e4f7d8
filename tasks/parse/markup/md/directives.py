"""Markdown directives: blocks that site generators add, whose content is Markdown, too.

MkDocs and Material indent the content of notes and tabs (`!!! note`, `??? tip`, `=== "Linux"`); MyST puts it into
fences (```` ```{note} ````) or between colons (`:::{note}`), as Docusaurus and pandoc do (`:::note`). In plain Markdown
all of it would be code, or one paragraph.
"""

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType

_INDENTED = re.compile(
    r"(?:(?:!!!|\?\?\?\+?)[ \t]+[\w -]+?|===[+!]?)(?:[ \t]+\"[^\"\n]*\")?[ \t]*(?:\{[^{}]*\})?[ \t]*$"
)
_TAB = re.compile(r"===[+!]?[ \t]+\"")
_INDENT = 4
_COLONS = re.compile(r"(:{3,})[ \t]*(\{?[\w:.#=\" -]+\}?.*)?$")
_MKDOCSTRINGS = re.compile(r":::[ \t]+[\w.]+\.[\w.]+[ \t]*$")  # the name of a module, whose page is made from its code
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
"""Directives with text in them. Those of others are code, formulas, tables of values, or arguments for a program."""
_MOST_LINES = 100_000  # of a block: where none ends it, it is none
_MARKUP = re.compile(
    r"^(?:!!!|\?\?\?\+?|===[+!]?)[ \t]*\"?|^(?:`{3,}|~{3,}|:{3,})[ \t]*\{?|\}[ \t]*|\"[ \t]*(?:\{[^{}]*\})?[ \t]*$"
)


def with_directives(parser: MarkdownIt) -> MarkdownIt:
    """Add the rules to a parser; the new tokens are `directive`, a line that opens one, and `directive_end`."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    for name, rule in (("indented", _indented), ("fenced", _fenced), ("colons", _colons)):
        parser.block.ruler.before("fence", f"directive_{name}", rule, ends)
    return parser


def directive_marks(line: str) -> list[tuple[int, int]]:
    """Return where the line that opens a directive has signs, and not words."""
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
    indent, last = state.sCount[start] + _INDENT, start + 1
    for number in range(start + 1, end):
        if state.isEmpty(number):
            continue
        if state.sCount[number] < indent:
            break
        last = number + 1
    _push(state, "directive", start, start + 1)
    kept, state.blkIndent = state.blkIndent, indent
    _within(state, start + 1, last)
    state.blkIndent, state.line = kept, last
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
    if not silent and found[2]:  # what is inside may hold directives with fewer colons; each line stands by itself
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
    """Return the line behind the options of a directive: lines such as `:class: tip`."""
    number = first
    while number < last and _OPTION.match(_line(state, number)):
        number += 1
    if number > first:
        _push(state, "directive_end", first, number)
    return number
