"""Source parts: reads a source that pandoc rejects in parts, so an error costs its paragraph, not the document.

A rejected text is halved, before the section in its middle or between paragraphs, until the paragraph is found.
"""

import re
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
"""Maximum pandoc runs for one source, each of which takes a tenth of a second or more: ten errors in a thousand
paragraphs take this many. Parts that are still rejected by then are kept as raw text."""
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
}
_BY_SIGNS = re.compile(r"^(?==+[ \w])", re.MULTILINE)  # AsciiDoc, MediaWiki, Typst

Reading = Callable[[str], dict[str, Any]]


class RefusedParts(NamedTuple):
    """How to read the parts of a source: where its sections begin, and the ways to read them, best first.

    `raw` returns the blocks of a paragraph that is rejected in all ways.
    """

    sections: re.Pattern[str]
    ways: Sequence[Reading]
    raw: Callable[[str], list[Node]]


def read_light_parts(load: Loader, text: str, reader: str, because: str) -> Parsed:
    """Return a source in light markup that pandoc rejects as a whole; raise Rejected if it rejects all of its parts."""
    head, blocks = _head(text) if reader == "rst" else ("", 0)

    def read(part: str) -> dict[str, Any]:
        tree = read_tree(f"{head}{part}\n".encode("utf-8", "replace"), reader)
        return tree | {"blocks": tree["blocks"][blocks:]}

    parts = RefusedParts(_SECTIONS.get(reader, _BY_SIGNS), [read], lambda part: [{"t": "RawBlock", "c": [KEPT, part]}])
    tree, raw = read_parts(text, parts)
    parsed = drawn_document(tree, load=load)
    said = f"{reader} in parts, {raw} of them as text; {because}"
    return replace(parsed, metadata=parsed.metadata | {"read_as": said})


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
        self._calls = 0
        self.meta: dict[str, Any] = {}
        self.raw = self.read = 0
        self.reason = ""

    def blocks(self, text: str) -> list[Node]:
        """Return the blocks of a part of the body."""
        if not text.strip():
            return []
        best, *others = self._parts.ways
        if (blocks := self._tried(best, text)) is not None:
            return blocks
        halves = _halves(text, self._parts.sections) if self._calls < _MAX_CALLS else ()
        if not halves:
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
            if why.reason != "corrupt":
                raise
            self.reason = why.message
            return None
        self.read += 1
        self.meta = self.meta or tree["meta"]
        blocks: list[Node] = tree["blocks"]
        return blocks


def _halves(text: str, sections: re.Pattern[str]) -> tuple[str, ...]:
    """Return the two halves of a text, cut before the section in its middle or else between paragraphs; () for one."""
    for pattern in (sections, _PARAGRAPH):
        cuts = [match.start() for match in pattern.finditer(text) if text[: match.start()].strip()]
        if cuts:
            cut = min(cuts, key=lambda at: abs(at - len(text) // 2))
            return text[:cut], text[cut:]
    return ()
