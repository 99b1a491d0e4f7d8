"""Language separators: the lines at which code in a language is cut, strongest first.

They are the separators by language of LangChain's RecursiveCharacterTextSplitter, as beginnings of lines.
"""

import re
from collections.abc import Iterator
from functools import cache

from docmill.tasks.split.spans.pieces import HEADING
from docmill.tasks.split.spans.span import Span

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
_MOST_LINES = 30  # of comments and decorators that stay with what follows; a longer block, like a licence, stands alone
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
    """Yield the starts of lines at which code is cut, with seams between those of blocks and of headings.

    Comments and decorators directly above such a line stay with it.
    """
    for match in _pattern(language).finditer(text, *span):
        yield _with_what_describes(text, match.start(), span.start), HEADING - (match.lastindex or 1)


def _with_what_describes(text: str, place: int, first: int) -> int:
    for _ in range(_MOST_LINES):
        before = text.rfind("\n", first, max(first, place - 1)) + 1 or first
        if before >= place or not _DESCRIBES.match(text, before, place):
            break
        place = before
    return place


@cache
def _pattern(language: str) -> re.Pattern[str]:
    kinds = BEGINNINGS.get(_ALIASES.get(language, language), _OTHER)
    return re.compile("|".join(f"^({kind})" for kind in kinds), re.MULTILINE)
