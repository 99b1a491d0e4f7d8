"""Documents made for tests of splitting: by hypothesis from anything, or by hand from a list of blocks."""

from docmill.storage.schema import Element, Parsed
from docmill.testing import WORDS, cluster_boundaries, documents, must_cover, texts, tokenizer

__all__ = ["WORDS", "cluster_boundaries", "document", "documents", "must_cover", "texts", "tokenizer"]


def document(*blocks: tuple[str, str] | tuple[str, str, int], title: str = "") -> Parsed:
    """Return a document of (kind, text) or (kind, text, level) blocks with empty lines between them."""
    text, elements = "", list[Element]()
    for block in blocks:
        kind, own, level = (*block, 0)[:3]
        text += "\n\n" if text else ""
        cells = [line.strip("| ").split(" | ") for line in own.splitlines()]
        attributes = {"cells": cells, "header_rows": 1} if kind == "table" else {}
        elements.append(Element(kind, len(text), len(text) + len(own), level, attributes=attributes))
        text += own
    return Parsed(text, tuple(elements), title)
