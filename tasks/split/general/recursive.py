"""Recursive splitting: at the first separator, then at the next if a part is too long, then at sentences and words.

After LangChain's RecursiveCharacterTextSplitter, but the merge afterwards is not greedy from the left.
"""

import re
from collections.abc import Iterator
from functools import cache, partial

from docmill.tasks.split.parts.blocks import stretches
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.usual_options import Recursive
from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.heading_leads import with_leads
from docmill.tasks.split.spans.pieces import BARRIER, BLOCK, GLUE, HEADING, LINE, Cutter, Piece, cut, fit_all, merge
from docmill.tasks.split.spans.sizing import Room
from docmill.tasks.split.spans.span import Span, trim

_SCRIPT = (
    r"(?:export |default |abstract |declare )*(?:class|interface|enum|namespace) ",
    r"(?:export |default )*(?:async )?(?:function|const|let|var|type)\b",
    r"[ \t]+(?:(?:async|static|get|set|public|private|protected) )*[\w$]+\([^)\n]*\)[^;\n]*\{$",
)
_MANAGED = (
    r"(?:namespace|package|import|using) ",
    r"[ \t]*(?:[a-z]+ )*(?:class|interface|enum|record|struct|object|trait|annotation) ",
    r"[ \t]+(?:public|protected|private|internal|static|override|fun|def|func)\b",
)
_NATIVE = (
    r"(?:namespace|template|class|struct|union|enum|typedef)\b",
    r"(?:[A-Za-z_][\w:<>,~]*[ \t*&]+){1,6}[\w:~]+\([^;\n]*$",
    r"#(?:if|ifdef|ifndef|define)\b",
)
BEGINNINGS: dict[str, tuple[str, ...]] = {
    "python": (r"class ", r"(?:async )?def |if __name__", r"[ \t]+(?:async )?def "),
    "javascript": _SCRIPT,
    "typescript": _SCRIPT,
    "java": _MANAGED,
    "kotlin": _MANAGED,
    "scala": _MANAGED,
    "csharp": _MANAGED,
    "swift": _MANAGED,
    "c": _NATIVE,
    "cpp": _NATIVE,
    "go": (r"(?:type|import|const|var)\b", r"func\b"),
    "rust": (
        r"(?:pub(?:\(\w+\))? )?(?:mod|struct|enum|trait|impl)\b",
        r"(?:pub(?:\(\w+\))? )?(?:async |unsafe )*fn ",
        r"[ \t]+(?:pub )?fn ",
    ),
    "ruby": (r"(?:class|module) ", r"def ", r"[ \t]+(?:class|module|def) "),
    "php": (
        r"(?:namespace|(?:abstract |final )?class|interface|trait|enum) ",
        r"function ",
        r"[ \t]+(?:\w+ )*function ",
    ),
    "perl": (r"package ", r"sub "),
    "lua": (r"(?:local )?function ", r"local "),
    "elixir": (r"defmodule ", r"[ \t]+defp? "),
    "haskell": (r"(?:module|class|instance|data|newtype|type)\b", r"\w+ +::"),
    "shell": (r"(?:function )?\w+ ?\(\)", r"(?:if|for|while|case)\b"),
    "powershell": (r"(?:function|class|enum)\b", r"(?:if|foreach|switch|try)\b"),
    "sql": (
        r"(?:CREATE|ALTER|DROP|create|alter|drop)\b",
        r"(?:SELECT|INSERT|UPDATE|DELETE|WITH|select|insert|update)\b",
    ),
    "css": (r"@\w", r"[^\s{}][^{}\n]*\{"),
    "latex": (r"\\(?:part|chapter)\b", r"\\section\b", r"\\(?:sub)+section\b", r"\\begin\b"),
    "html": (r"[ \t]*<(?:body|main|section|article)\b", r"[ \t]*<h[1-6]\b", r"[ \t]*<(?:div|p|table|ul|ol|script)\b"),
    "protobuf": (r"(?:message|service|enum)\b", r"[ \t]+(?:rpc|message)\b"),
}
_OTHER = (r"[^\W\d_]\w*[^;=\n]*[{(:]$",)
_DESCRIBES = re.compile(r"[ \t]*(?:@\w|#(?!\s*(?:include|define|if|endif|pragma))|//|/\*|\*|--|;;|%|\[\w)")
_MOST_LINES = 30  # of comments and decorators that stay with what follows; a longer block, such as a licence, is apart
_ALIASES = {
    "py": "python",
    "js": "javascript",
    "jsx": "javascript",
    "ts": "typescript",
    "tsx": "typescript",
    "rb": "ruby",
}
_ALIASES |= {"sh": "shell", "bash": "shell", "rs": "rust", "kt": "kotlin", "c++": "cpp", "cs": "csharp", "tex": "latex"}


def beginnings(text: str, language: str, span: Span) -> Iterator[tuple[int, int]]:
    """Yield the line starts at which code is cut, with seams between those of blocks and of headings.

    These are the separators by language of LangChain's RecursiveCharacterTextSplitter, as line beginnings. Comments and
    decorators directly above such a line stay with it.
    """
    for match in _beginning_of(language).finditer(text, *span):
        yield _with_what_describes(text, match.start(), span.start), HEADING - (match.lastindex or 1)


def _with_what_describes(text: str, place: int, first: int) -> int:
    for _ in range(_MOST_LINES):
        before = text.rfind("\n", first, max(first, place - 1)) + 1 or first
        if before >= place or not _DESCRIBES.match(text, before, place):
            break
        place = before
    return place


@cache
def _beginning_of(language: str) -> re.Pattern[str]:
    kinds = BEGINNINGS.get(_ALIASES.get(language, language), _OTHER)
    return re.compile("|".join(f"^({kind})" for kind in kinds), re.MULTILINE)


_DEEPEST = 8  # level of headings with its own seam; more than nine would reach `BLOCK`
_WORD = re.compile(r"\S")
_BLANKS = r"[^\S\r\n]*"


def split_recursive(part: Part, options: Recursive) -> list[Span]:
    """Return spans of at most `options.size` tokens."""
    room = Room(part.tokens, options.size)
    if room.fits(part.start, part.end):
        whole = trim(part.text, part.start, part.end)
        if whole.start < whole.end and not any(part.index.left_out.within(*whole)):
            return [whole]  # what the merge would return, because it could close every seam
    pieces = _pieces(part, room, options)
    found = pieces if options.separators else with_leads(part.text, pieces, part.headings, room)
    return merge(part.text, list(found), room)


def _pieces(part: Part, room: Room, options: Recursive) -> Iterator[Piece]:
    text = part.text
    cutters = _cutters(options.separators)
    for start, end, after_front in stretches(part):
        seam, span = BARRIER if after_front else BLOCK, Span(start, end)
        cuts = cutters[0](text, span) if options.separators else _by_content(part.within(*span))
        yield from fit_all(
            text, cut(text, span, seam, cuts), room, cutters[1:] if options.separators else (prose_cuts,)
        )


def _by_content(part: Part) -> list[tuple[int, int]]:
    """Return the starts of headings, of text after empty lines, and of parts of code by language."""
    marks = dict(cut_at("\n\n", BLOCK, part.text, Span(part.start, part.end)))
    end = -1  # end of the previous heading
    for element in part.elements:
        if element.kind == "title":
            empty = part.start < end <= element.start_char and not part.text[end : element.start_char].strip()
            marks[element.start_char] = GLUE if empty else HEADING - min(max(1, element.level), _DEEPEST)
            end = element.end_char
            if end < part.end:  # also if its text begins on the next line, or after several empty lines
                marks |= dict.fromkeys((end, *(at for at in _blanks(part, end) if at in marks)), GLUE)
        elif element.kind == "code":
            span = Span(element.start_char, min(element.end_char, part.end))
            marks.update(beginnings(part.text, str(element.attributes.get("language") or ""), span))
    return sorted(marks.items())


def _blanks(part: Part, start: int) -> range:
    """Return the positions from `start` to the next non-space character, or to the end of the part."""
    text = _WORD.search(part.text, start, part.end)
    return range(start, text.start() if text else part.end)


def _cutters(separators: tuple[str, ...]) -> tuple[Cutter, ...]:
    seams = range(BLOCK, LINE, -1)
    return (*(partial(cut_at, *pair) for pair in zip(separators, seams, strict=False)), prose_cuts)


@cache
def _pattern(separator: str) -> re.Pattern[str]:
    pattern = re.escape(separator).replace("\\\n", rf"{_BLANKS}(?:\r\n?|\n)")
    return re.compile(pattern.removeprefix(_BLANKS))  # white space before the first line end is trimmed anyway


def cut_at(separator: str, seam: int, text: str, span: Span) -> list[tuple[int, int]]:
    """Return the cuts at a separator: before it if it begins with white space, else after it."""
    side = 0 if separator[0].isspace() else 1
    return [(match.span()[side], seam) for match in _pattern(separator).finditer(text, *span)]
