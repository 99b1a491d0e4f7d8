"""Grammars: a tree-sitter grammar for each supported language, and the syntax tree of a text.

Each grammar is a separate package with a compiled parser; nothing is downloaded.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

GRAMMARS = {
    "python": "python",
    "javascript": "javascript",
    "typescript": "typescript language_tsx",
    "go": "go",
    "rust": "rust",
    "java": "java",
    "kotlin": "kotlin",
    "scala": "scala",
    "c": "c",
    "cpp": "cpp",
    "csharp": "c_sharp",
    "swift": "swift",
    "objectivec": "objc",
    "ruby": "ruby",
    "php": "php language_php",
    "lua": "lua",
    "julia": "julia",
    "haskell": "haskell",
    "elixir": "elixir",
    "ocaml": "ocaml language_ocaml",
    "zig": "zig",
    "shell": "bash",
    "powershell": "powershell",
    "sql": "sql",
    "css": "css",
    "groovy": "groovy",
    "terraform": "hcl",
    "yaml": "yaml",
    "toml": "toml",
}
"""Languages by docmill's names, with the package after `tree_sitter_` and the function unless it is `language`."""

_NAMES = {"typescript": ("ts", "tsx"), "javascript": ("js", "jsx"), "shell": ("bash", "sh", "zsh", "console")} | {
    "python": ("py", "python3"), "csharp": ("c#", "cs"), "cpp": ("c++",), "objectivec": ("objc", "objective-c")
} | {"go": ("golang",), "rust": ("rs",), "ruby": ("rb",), "kotlin": ("kt",), "terraform": ("hcl", "tf")} | {
    "yaml": ("yml",)
}  # fmt: skip
_ALIASES = {alias: name for name, aliases in _NAMES.items() for alias in aliases}
_MAX_CHARACTERS = 2_000_000  # longer code is mostly generated data, whose tree would take much memory for no benefit
_MAX_SECONDS = 2.0  # of CPU time of this thread: some grammars are quadratic on hostile text
_MAX_ERRORS = 0.2
"""The maximum fraction of a text that the grammar cannot parse.

With more errors, the text is in another language and the tree would mislead; with a lower limit, one unknown construct
would discard the tree of a whole file.
"""
_READ = 1 << 16  # bytes passed to the parser at once; the time is checked in between
_CONTINUATION_MASK, _CONTINUATION = 0xC0, 0x80  # RFC 3629: in UTF-8 the bytes 10xxxxxx continue a code point


@dataclass(frozen=True, slots=True)
class Syntax:
    """The syntax tree of a text; `place` converts a byte offset in its UTF-8 form to a position in code points."""

    root: "Node"
    language: str
    places: Any

    def place(self, byte: int) -> int:
        return byte if self.places is None else int(self.places[byte])


def known(language: str) -> str:
    """Return docmill's name of a language as written in a code fence, or "" if there is no grammar for it."""
    name = language.strip().lower()
    name = _ALIASES.get(name, name)
    return name if name in GRAMMARS else ""


@cache
def absent() -> tuple[str, ...]:
    """Return the languages without an installed grammar; their code is split as text. The extra `code` installs all."""
    return tuple(name for name in GRAMMARS if find_spec(f"tree_sitter_{GRAMMARS[name].split()[0]}") is None)


@lru_cache(maxsize=2)
def syntax_of(text: str, language: str) -> Syntax | None:
    """Return the syntax of a text; None for an unknown language, too many errors, or a timeout."""
    name = known(language)
    if not name or name in absent() or len(text) > _MAX_CHARACTERS:
        return None
    source = text.encode("utf-8", "surrogatepass")
    root = _parse(_parser(name), source)
    if root is None or sum(node.end_byte - node.start_byte for node in _errors(root)) > _MAX_ERRORS * len(source):
        return None
    return Syntax(root, name, None if text.isascii() else _places(source))


@cache
def _parser(language: str) -> "Parser":
    from tree_sitter import Language, Parser

    package, *function = GRAMMARS[language].split()
    return Parser(Language(getattr(import_module(f"tree_sitter_{package}"), *(function or ["language"]))()))


def _parse(parser: "Parser", source: bytes) -> "Node | None":
    deadline = time.thread_time() + _MAX_SECONDS

    def read(start: int, _point: object) -> bytes:
        return source[start : start + _READ]

    def late(_byte: int, _error: bool) -> bool:
        return time.thread_time() > deadline

    try:
        return parser.parse(read, progress_callback=late).root_node
    except ValueError:  # timeout
        parser.reset()
        return None


def _errors(root: "Node") -> Iterator["Node"]:
    """Yield the outermost nodes of text that the grammar could not parse."""
    open_ = [root]
    while open_:
        node = open_.pop()
        if node.is_error:
            yield node
        elif node.has_error:
            open_ += node.children


def _places(source: bytes) -> Any:
    """Return, for each byte and for the end, how many code points begin before it."""
    begins = (np.frombuffer(source, np.uint8) & _CONTINUATION_MASK) != _CONTINUATION
    return np.concatenate([[0], np.cumsum(begins)]) - np.append(~begins, False)
