"""Contents field: mark the entries of Word's lists of contents and of figures, which its fields compute.

Sources: ISO/IEC 29500-1, 17.16.5.68 "TOC", and 17.5.2.9 "docPartGallery".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from lxml import etree

from docmill.tasks.parse.pandoc.inlines import CONTENTS_MARK

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STYLE = re.compile(r"TOC(?:\d|Heading)|ContentsHeading|Contents\d|TableofFigures", re.IGNORECASE)
_INSTRUCTION = re.compile(r"\s*TO[CF]\b")  # a list of contents or figures; INDEX is one of words
_GALLERY = "Table of Contents"


def mark_contents(root: Any) -> None:
    """Insert a mark at the beginning of each paragraph of a list of contents, its name included."""
    for paragraph in {*_within_fields(root), *_within_galleries(root), *_styled(root)}:
        properties = paragraph.find(_W + "pPr")
        style = None if properties is None else properties.find(_W + "pStyle")
        if style is not None:  # its name may be styled as a heading, which it is not
            properties.remove(style)
        run = etree.Element(_W + "r")
        etree.SubElement(run, _W + "t").text = CONTENTS_MARK
        paragraph.insert(0 if properties is None else paragraph.index(properties) + 1, run)


def _styled(root: Any) -> Iterator[Any]:
    for style in root.iter(_W + "pStyle"):
        if _STYLE.fullmatch(style.get(_W + "val") or ""):
            yield style.getparent().getparent()


def _within_galleries(root: Any) -> Iterator[Any]:
    for gallery in root.iter(_W + "docPartGallery"):
        block = next(gallery.iterancestors(_W + "sdt"), None)
        if gallery.get(_W + "val") == _GALLERY and block is not None:
            yield from block.iter(_W + "p")


def _within_fields(root: Any) -> Iterator[Any]:
    """Yield the paragraphs that the result of such a field stands in.

    Fields may be nested, as those of its pages are. One without an end yields nothing: all that follows is within it.
    """
    open_: list[_OpenField] = []
    for node in root.iter(_W + "fldChar", _W + "instrText", _W + "t"):
        if node.tag == _W + "fldChar":
            yield from _turned(node, open_)
        elif open_ and node.tag == _W + "instrText":
            open_[-1].lists |= _INSTRUCTION.match(node.text or "") is not None
        elif open_:
            above = list(node.iterancestors(_W + "p"))
            for field in open_:
                field.paragraphs += above if field.lists else ()


@dataclass(slots=True)
class _OpenField:
    """A field that has begun: whether it lists contents, and the paragraphs of its result so far."""

    lists: bool = False
    paragraphs: list[Any] = dataclass_field(default_factory=list)


def _turned(node: Any, open_: list[_OpenField]) -> list[Any]:
    """Begin or end a field; return the paragraphs of one that ends."""
    kind = node.get(_W + "fldCharType")
    if kind == "begin":
        open_.append(_OpenField())
    return open_.pop().paragraphs if kind == "end" and open_ else []
