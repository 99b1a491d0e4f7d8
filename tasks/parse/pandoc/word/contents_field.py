"""Contents field: mark the entries of Word's lists of contents and of figures, which its fields compute.

Sources: ISO/IEC 29500-1, 17.16.5.68 "TOC", and 17.5.2.9 "docPartGallery".
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from docmill.tasks.parse.pandoc.inlines import CONTENTS_MARK
from docmill.tasks.parse.pandoc.word.word_runs import W, WordField, put_first

_STYLE = re.compile(r"TOC(?:\d|Heading)|ContentsHeading|Contents\d|TableofFigures", re.IGNORECASE)
_INSTRUCTION = re.compile(r"\s*TO[CF]\b")  # a list of contents or figures; INDEX is one of words
_GALLERY = "Table of Contents"


def mark_contents(root: Any, fields: Iterable[WordField]) -> None:
    """Insert a mark at the beginning of each paragraph of a list of contents, its name included."""
    computed = (paragraph for one in fields if _INSTRUCTION.match(one.said) for paragraph in one.paragraphs)
    for paragraph in {*computed, *_within_galleries(root), *_styled(root)}:
        properties = paragraph.find(W + "pPr")
        style = None if properties is None else properties.find(W + "pStyle")
        if style is not None:  # its name may be styled as a heading, which it is not
            properties.remove(style)
        put_first(paragraph, CONTENTS_MARK)


def _styled(root: Any) -> Iterator[Any]:
    for style in root.iter(W + "pStyle"):
        if _STYLE.fullmatch(style.get(W + "val") or ""):
            yield style.getparent().getparent()


def _within_galleries(root: Any) -> Iterator[Any]:
    for gallery in root.iter(W + "docPartGallery"):
        block = next(gallery.iterancestors(W + "sdt"), None)
        if gallery.get(W + "val") == _GALLERY and block is not None:
            yield from block.iter(W + "p")
