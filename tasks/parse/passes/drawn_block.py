"""Drawn block: one piece of a document as its reader draws it, before the canonical text is written."""

from dataclasses import dataclass, field
from typing import Any

from docmill.storage.schema import KeptPicture

Box = tuple[float, float, float, float]
SCHEME = "docmill:figure/"
"""The beginning of a figure's address; its key follows."""
_LONGEST = 2_000
"""Maximum characters of a picture's alternative text; a longer one is text that a program hid in it."""


@dataclass(slots=True)
class DrawnBlock:
    """A heading, paragraph, item, quote, listing or table, with its Markdown text and the indent before it.

    `lead` is the bold or italic text at the beginning of a paragraph. An `entry` is only a link within the document.
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
    """Return a heading of one line; level 1 is the highest, and levels too deep for Markdown become its lowest."""
    signs = "#" * max(1, min(level, _LOWEST))
    return DrawnBlock("title", f"{signs} {text}", level, page, box, {"text": text} | attributes)


_LOWEST = 6


def figure_block(picture: KeptPicture, alt: str, caption: str, page: int, box: Box | None) -> DrawnBlock:
    """Return a figure as a Markdown picture; everything except `alt`, its alternative text, is markup."""
    alt = " ".join(alt.split())[:_LONGEST].translate(_BRACKETS).rstrip()
    text = f"![{alt}]({SCHEME}{picture.key})"
    facts = figure_facts(picture, alt, caption)
    return DrawnBlock("figure", text, 0, page, box, facts | {"marks": [0, 2, 2 + len(alt), len(text)]})


def figure_facts(picture: KeptPicture, alt: str, caption: str) -> dict[str, Any]:
    """Return the attributes of a figure; empty texts are left out."""
    facts: dict[str, Any] = {
        "key": picture.key,
        "media_type": picture.media_type,
        "width": picture.width,
        "height": picture.height,
        "bytes": len(picture.data),
    }
    words = {"alt": alt, "caption": caption}
    return facts | {name: said for name, said in words.items() if said}


_BRACKETS = str.maketrans("[]", "()")
