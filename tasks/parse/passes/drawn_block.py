"""Drawn block: one piece of a document as its reader draws it, before the canonical text is written."""

from dataclasses import dataclass, field
from typing import Any

Box = tuple[float, float, float, float]


@dataclass(slots=True)
class DrawnBlock:
    """A heading, paragraph, item, quote, listing or table, with its text as Markdown has it and the indent before.

    `lead` are the words at the beginning of a paragraph that stand out, in bold or slanted letters. An `entry` is
    nothing but a link within the document.
    """

    kind: str
    text: str
    level: int = 0
    page: int = 0
    box: Box | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    indent: str = ""
    lead: str = ""
    entry: bool = False


def heading_block(text: str, level: int, page: int, box: Box | None, attributes: dict[str, Any]) -> DrawnBlock:
    """Return a heading of one line; level 1 is the highest, and deeper ones than Markdown has share its lowest."""
    signs = "#" * max(1, min(level, _LOWEST))
    return DrawnBlock("title", f"{signs} {text}", level, page, box, {"text": text} | attributes)


_LOWEST = 6
