"""Figure block: a picture as it stands in the canonical text."""

from typing import Any

from docmill.storage.schema import KeptPicture
from docmill.tasks.parse.passes.drawn_block import Box, DrawnBlock

SCHEME = "docmill:figure/"
"""What the address of a figure begins with; its key follows."""
_LONGEST = 2_000
"""Characters of the words that stand for a picture: longer ones are a text that a program hid in them."""


def figure_block(picture: KeptPicture, alt: str, caption: str, page: int, box: Box | None) -> DrawnBlock:
    """Return a figure as Markdown has a picture; all but `alt`, the words that stand for it, is markup."""
    alt = " ".join(alt.split())[:_LONGEST].translate(_BRACKETS).rstrip()
    text = f"![{alt}]({SCHEME}{picture.key})"
    facts = figure_facts(picture, alt, caption)
    return DrawnBlock("figure", text, 0, page, box, facts | {"marks": [0, 2, 2 + len(alt), len(text)]})


def figure_facts(picture: KeptPicture, alt: str, caption: str) -> dict[str, Any]:
    """Return the attributes of a figure; words that are empty are none."""
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
