"""Source parts: reads a source that pandoc rejects in parts, so an error costs its paragraph, not the document.

What pandoc refuses is halved, before the section in its middle or between paragraphs, until the paragraph is found;
what it is too slow for, until the parts are short.
"""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.pandoc.document import drawn_document
from docmill.tasks.parse.pandoc.inlines import KEPT, Node
from docmill.tasks.parse.pandoc_program import read_tree
from docmill.tasks.parse.pictures.addresses import Loader

_PARAGRAPH = re.compile(r"\n(?=[ \t]*\n)")
_MAX_CALLS = 60
"""Runs of pandoc for one source, each of a tenth of a second and more: ten faults in a thousand paragraphs take as
many. What is still refused by then is kept as raw text."""
_SHORT = 8_000
"""Characters of a part of a source for which pandoc is too slow: it tries the ways to read a block again for each block
around it. In pieces of this length, a guide of 67,000 characters takes 8 seconds, in one piece more than a minute."""
_MAX_SLOW = 3  # of these parts, before the rest is given up: each takes the time that a whole document may
_TITLE = re.compile(
    r"(?:(?<=\n\n)|\A)(?=(?:([^\w\s])\1{2,}[ \t]*\n)?([ \t]?\S.*)\n([^\w\s])\3{2,}[ \t]*$)", re.MULTILINE
)
"""A reStructuredText title, found by the line below it and, if present, above it."""
_SILENT = re.compile(r"^\.\. (?:_[^:\n]+: +\S.*|\|[^|\n]+\| +(?:replace|unicode):: .*)$", re.MULTILINE)
"""reStructuredText targets and substitutions, to which any part may refer."""
_SECTIONS = {
    "rst": _TITLE,
    "org": re.compile(r"^(?=\*+ )", re.MULTILINE),
    "textile": re.compile(r"^(?=h[1-6]\. )", re.MULTILINE),
    **dict.fromkeys(("man", "mdoc"), re.compile(r"^(?=\.\s*S[HhSs]\b)", re.MULTILINE)),
}
_BLOCK = re.compile(
    r"^(-{4,}|\.{4,}|\+{4,}|={4,}|\*{4,}|_{4,}|\|={3,}|`{3,})\w*[ \t]*\n(?:.*\n){0,1000}?\1[ \t]*$", re.MULTILINE
)
"""A listing or another block with a line at both ends, as AsciiDoc has them: pandoc never ends at one that is cut."""
_BY_SIGNS = re.compile(r"^(?==+[ \w])", re.MULTILINE)  # AsciiDoc, MediaWiki, Typst

Reading = Callable[[str], dict[str, Any]]


class RefusedParts(NamedTuple):
    """How to read the parts of a source: where its sections begin, and the ways to read them, best first.

    `raw` returns the blocks of a paragraph that is refused in all of them. Parts of more than `longest` characters are
    halved without a try.
    """

    sections: re.Pattern[str]
    ways: Sequence[Reading]
    raw: Callable[[str], list[Node]]
    longest: int = sys.maxsize


def read_light_parts(load: Loader, text: str, reader: str, why: Rejected) -> Parsed:
    """Return a source in light markup that pandoc refuses as a whole; raise Rejected if it refuses all of its parts."""
    head, blocks = _head(text) if reader == "rst" else ("", 0)

    def read(part: str) -> dict[str, Any]:
        tree = read_tree(f"{head}{part}\n".encode("utf-8", "replace"), reader)
        return tree | {"blocks": tree["blocks"][blocks:]}

    sections = _SECTIONS.get(reader, _BY_SIGNS)
    parts = RefusedParts(sections, [read], lambda part: [{"t": "RawBlock", "c": [KEPT, part]}], longest_part(why))
    tree, raw = read_parts(text, parts)
    parsed = drawn_document(tree, load=load)
    said = f"{reader} in parts, {raw} of them as text; {why.message}"
    return replace(parsed, metadata=parsed.metadata | {"read_as": said})


def longest_part(why: Rejected) -> int:
    """Return the characters of the longest part to read of a source that pandoc refused."""
    return _SHORT if why.reason == "timeout" else sys.maxsize


def _head(text: str) -> tuple[str, int]:
    """Return what each part of a reStructuredText source needs above it, and how many blocks that makes.

    The order in which title styles occur determines their levels, and a single first title is the document's title.
    """
    looks = dict.fromkeys((over, under) for over, _, under in _TITLE.findall(text))
    titles = (f"{over * 3}\nx\n{under * 3}\n\n".lstrip("\n") for over, under in looks)
    return "x\n\n" + "".join(titles) + "\n".join(_SILENT.findall(text)) + "\n\n", len(looks) + 1


def read_parts(text: str, parts: RefusedParts) -> tuple[dict[str, Any], int]:
    """Return a source's syntax tree and how many of its parts are raw because pandoc rejects them.

    Raise Rejected if pandoc rejects every part or is too slow.
    """
    reading = _PartReading(parts)
    blocks = reading.blocks(text)
    if not reading.read:
        raise Rejected("corrupt", reading.reason)
    return {"meta": reading.meta, "blocks": blocks}, reading.raw


class _PartReading:
    """Halves rejected text until it finds the paragraph; `raw` counts rejected paragraphs, `read` the other parts."""

    def __init__(self, parts: RefusedParts) -> None:
        self._parts = parts
        self._calls = self._slow = 0
        self.meta: dict[str, Any] = {}
        self.raw = self.read = 0
        self.reason = ""

    def blocks(self, text: str) -> list[Node]:
        """Return the blocks of a part of the body."""
        if not text.strip():
            return []
        best, *others = self._parts.ways
        halves = _halves(text, self._parts.sections)
        if (len(text) <= self._parts.longest or not halves) and (blocks := self._tried(best, text)) is not None:
            return blocks
        if not halves or self._calls >= _MAX_CALLS:
            return self._alone(text, others)
        return [block for half in halves for block in self.blocks(half)]

    def _alone(self, text: str, others: Sequence[Reading]) -> list[Node]:
        """Return the blocks of a rejected paragraph, read in another way or raw."""
        for way in others:
            if self._calls < _MAX_CALLS and (blocks := self._tried(way, text)) is not None:
                return blocks
        self.raw += 1
        return self._parts.raw(text)

    def _tried(self, way: Reading, text: str) -> list[Node] | None:
        self._calls += 1
        try:
            tree = way(text)
        except Rejected as why:
            self._slow += why.reason == "timeout"
            if why.reason not in ("corrupt", "timeout") or self._slow > _MAX_SLOW:
                raise
            self.reason = why.message
            return None
        self.read += 1
        self.meta = self.meta or tree["meta"]
        blocks: list[Node] = tree["blocks"]
        return blocks


def _halves(text: str, sections: re.Pattern[str]) -> tuple[str, ...]:
    """Return the two halves of a text, cut before the section in its middle, else between paragraphs; () of one."""
    inside = [block.span() for block in _BLOCK.finditer(text)]
    for pattern in (sections, _PARAGRAPH):
        cuts = [match.start() for match in pattern.finditer(text) if text[: match.start()].strip()]
        cuts = [at for at in cuts if not any(start < at < end for start, end in inside)]
        if cuts:
            cut = min(cuts, key=lambda at: abs(at - len(text) // 2))
            return text[:cut], text[cut:]
    return ()
