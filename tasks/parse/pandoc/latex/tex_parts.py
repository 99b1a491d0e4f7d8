"""TeX parts: read a source that pandoc refuses in parts, so that one macro costs its paragraph and not the document."""

import re
from collections.abc import Iterator
from typing import Any

from docmill.storage.errors import Rejected
from docmill.tasks.parse.pandoc.inlines import Node
from docmill.tasks.parse.pandoc.process.program import read_tree

_BODY = re.compile(r"\\begin\s*\{document\}(.*?)(?:\\end\s*\{document\}|\Z)", re.DOTALL)
_DECLARATION = re.compile(r"^[ \t]*\\newtheorem\*?\s*\{\w+\}(?:\[\w+\])?\{[^{}]*\}(?:\[\w+\])?", re.MULTILINE)
_CLASS = re.compile(r"\\documentclass\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}")
_ABOUT = re.compile(r"\\(?:title|author|date)\b\s*(?:\[[^\]]*\])?\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
_NESTED = r"\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\}"
_MACRO = re.compile(
    r"^[ \t]*\\(?:(?:re)?newcommand|providecommand|DeclareMathOperator)\*?\s*\{?\\\w+\}?(?:\[\d\])?(?:\[[^\]]*\])?\s*"
    + _NESTED,
    re.MULTILINE,
)
_SECTION = re.compile(r"^(?=[ \t]*\\(?:part|chapter|(?:sub){0,2}section)\b)", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n(?=[ \t]*\n)")
_MAX_CALLS = 60
"""Runs of pandoc for one source, each of a tenth of a second and more: ten faults in a thousand paragraphs take as
many. What is still refused by then is kept as raw text."""
_HEADING = re.compile(
    r"^[ \t]*\\(?P<name>part|chapter|(?:sub){0,2}section)\*?(?:\[[^\]]*\])?\{(?P<title>(?:[^{}]|\{[^{}]*\})*)\}",
    re.MULTILINE,
)
_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection")


def read_parts(text: str, reader: str) -> tuple[dict[str, Any], int]:
    """Return the syntax tree of a source, and how many of its parts are raw because pandoc refuses them.

    Of the preamble, the definitions of theorems and simple macros are kept; a paragraph that is refused with the macros
    is read without them. Raise Rejected if pandoc refuses every part, or is too slow.
    """
    found = _BODY.search(text)
    top, body = (text[: found.start()], found[1]) if found else ("", text)
    head = "\n".join(_CLASS.findall(top) + _DECLARATION.findall(top) + _ABOUT.findall(top))
    reading = _PartReading(reader, head, "\n".join(_MACRO.findall(top)))
    blocks = reading.blocks(body)
    if not reading.read:
        raise Rejected("corrupt", reading.reason)
    return {"meta": reading.meta, "blocks": blocks}, reading.raw


class _PartReading:
    """Halves what pandoc refuses until it finds the paragraph; `raw` counts these, `read` the other parts."""

    def __init__(self, reader: str, head: str, macros: str) -> None:
        self._reader = reader
        self._head = head
        self._macros = macros
        self._calls = 0
        self.meta: dict[str, Any] = {}
        self.raw = self.read = 0
        self.reason = ""

    def blocks(self, text: str) -> list[Node]:
        """Return the blocks of a part of the body."""
        if not text.strip():
            return []
        try:
            return self._tree(text, self._macros)
        except Rejected as why:
            self._refused(why)
        halves = _halves(text) if self._calls < _MAX_CALLS else ()
        if not halves:
            return self._alone(text)
        return [block for half in halves for block in self.blocks(half)]

    def _alone(self, text: str) -> list[Node]:
        """Return the blocks of a paragraph that is refused: as it is read without macros, or raw."""
        if self._macros and self._calls < _MAX_CALLS:
            try:
                return self._tree(text, "")
            except Rejected as why:
                self._refused(why)
        self.raw += 1
        return list(_raw(text))

    def _refused(self, why: Rejected) -> None:
        if why.reason != "corrupt":
            raise why
        self.reason = why.message

    def _tree(self, text: str, macros: str) -> list[Node]:
        self._calls += 1
        head = f"{self._head}\n{macros}"
        tree = read_tree(f"{head}\n\\begin{{document}}\n{text}\n\\end{{document}}\n".encode(), self._reader)
        self.read += 1
        self.meta = self.meta or tree["meta"]
        blocks: list[Node] = tree["blocks"]
        return blocks


def _raw(text: str) -> Iterator[Node]:
    """Yield text that pandoc refuses as raw blocks between its headings."""
    at = 0
    for heading in _HEADING.finditer(text):
        yield {"t": "RawBlock", "c": ["latex", text[at : heading.start()]]}
        title = [{"t": "RawInline", "c": ["latex", heading["title"]]}]
        yield {"t": "Header", "c": [max(1, _LEVELS.index(heading["name"]) - 1), ["", [], []], title]}
        at = heading.end()
    yield {"t": "RawBlock", "c": ["latex", text[at:]]}


def _halves(text: str) -> tuple[str, ...]:
    """Return the two halves of a text, cut before the section in its middle, else between paragraphs; () of one."""
    for pattern in (_SECTION, _PARAGRAPH):
        cuts = [match.start() for match in pattern.finditer(text) if text[: match.start()].strip()]
        if cuts:
            cut = min(cuts, key=lambda at: abs(at - len(text) // 2))
            return text[:cut], text[cut:]
    return ()
