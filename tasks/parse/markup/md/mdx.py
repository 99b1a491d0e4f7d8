"""MDX: its two additions to Markdown's blocks, module lines and component tags.

The tag of a component is a block, and the text between tags is Markdown, however deep it is indented. In plain
Markdown, such a tag would swallow all lines up to the next blank one.
"""

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_SIGNS = re.compile(
    r"^import[ \t][^\n]{1,300}[ \t]from[ \t]+['\"]|^export[ \t]+(?:const|default|function)\b"
    r"|^[ \t]*</?[A-Z]\w*[^\n]*>[ \t]*$",
    re.MULTILINE,
)
_MODULE = re.compile(r"(?:import|export)[ \t{*]")
_TAG = re.compile(r"</?[A-Za-z>]")
_BARE = re.compile(r"</?[\w.]*[ \t]*/?>|<>|\{/\*.*\*/\}", re.DOTALL)
_MAX_TAG_LINES = 60
"""Maximum lines of one tag with its attributes.

A longer tag is drawn as a paragraph; with no limit, each line of a long run that opens an unclosed tag would be
searched to the end of the run.
"""


def is_mdx(text: str) -> bool:
    """Return whether a Markdown text uses modules or components outside of code blocks."""
    return _SIGNS.search(text) is not None and _SIGNS.search(_without_code(text)) is not None


def _without_code(text: str) -> str:
    """Return the lines of a text outside of fences."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        match = _FENCE.match(line)
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
    """Add the rules `mdx_module` and `mdx_tag` to a parser, and drop indented code and HTML blocks."""
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("html_block", "mdx_tag", _tag, ends)
    parser.block.ruler.before("html_block", "mdx_module", _module)
    return parser.disable(["code", "html_block"])


def _line(state: Any, line: int) -> str:
    return str(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]])


def _module(state: Any, start: int, end: int, silent: bool) -> bool:
    if state.sCount[start] or state.level or not _MODULE.match(_line(state, start)):
        return False
    stop = start + 1
    while stop < end and not state.isEmpty(stop):
        stop += 1
    return _emit(state, "mdx_module", start, stop, silent)


def _tag(state: Any, start: int, end: int, silent: bool) -> bool:
    """Match a tag on lines of its own; with text after it, it belongs to a paragraph."""
    line = _line(state, start).rstrip()
    if not _TAG.match(line) and not (line.startswith("{/*") and line.endswith("*/}")):
        return False
    if line.endswith(">") or line.endswith("*/}"):
        inner = line[1:-1]  # with a second tag, there are words between the two
        return ("<" not in inner) and _emit(state, "mdx_tag", start, start + 1, silent)
    # An arrow in an attribute, such as `onClick={() => ...}`, ends no tag.
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
        token = state.push(kind, "", 0)
        token.map = [start, stop]
    return True
