"""HTML in values of data: read as a page of its own, if a tag in it is closed there."""

import re

from docmill.storage.schema import Parsed
from docmill.tasks.parse.markup.html.hypertext import draw_tree, page_tree
from docmill.tasks.parse.pictures.addresses import nowhere

_CLOSED = re.compile(
    r"<(p|div|span|h[1-6]|ul|ol|li|table|tr|td|blockquote|pre|strong|em|b|i|u|s|a|code|sup|sub|font|section|article"
    r"|figure|main|body|html|details|del|mark|small|at|dl|dt|dd|center)\b[^<>]*>.*?</\1\s*>",
    re.IGNORECASE | re.DOTALL,
)
_ALONE = re.compile(r"<(?:br|hr|img|p)\b[^<>]*>", re.IGNORECASE)
_MAX_CHARACTERS = 5_000_000
"""Characters of a value that is read as a page; a longer one is no text of an article, and kept as it is."""


def page_in(text: str) -> Parsed | None:
    """Return the page that a value holds, drawn as Markdown, or None if it is no HTML or has no words."""
    if "<" not in text or len(text) > _MAX_CHARACTERS or not (_CLOSED.search(text) or _ALONE.search(text)):
        return None
    root = page_tree(text)
    drawn = None if root is None else draw_tree(root, load=nowhere)
    return drawn if drawn is not None and drawn.text.strip() else None


def plain_words(text: str) -> str:
    """Return a value without the tags of HTML, if it has any."""
    page = page_in(text)
    return text if page is None else page.text
