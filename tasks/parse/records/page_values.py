"""Page values: pages and rich texts that stand in values of data, as their words, without tags.

Rich text is told by the form that editors give it.
"""

from typing import Any

from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.markup.html.hypertext import page_in
from docmill.tasks.parse.notes.box_note import draw_document
from docmill.tasks.parse.notes.rich_json import document_in


class PageValue(str):
    """The words of a page as a string, with the page itself."""

    __slots__ = ("page",)
    page: Parsed

    def is_structured(self) -> bool:
        """Return whether the page is more than lines of text: it has headings, items, tables or code."""
        kinds = [element.kind for element in self.page.elements]
        return len(kinds) > 1 and any(kind != "paragraph" for kind in kinds)


def with_pages(value: Any) -> tuple[Any, bool]:
    """Return a JSON value in which texts in HTML and rich texts are `PageValue`s, and whether any of these has parts.

    Lists and objects are changed.
    """
    holder, parted = [value], False
    stack: list[Any] = [holder]
    while stack:
        around = stack.pop()
        for key, one in list(around.items() if isinstance(around, dict) else enumerate(around)):
            page = (page_in(one) if "<" in one else None) if isinstance(one, str) else _rich(one)
            if page is not None:
                around[key] = made = _page_value(page)
                parted = parted or made.is_structured()
            elif isinstance(one, dict | list):
                stack.append(one)
    return holder[0], parted


def holds_structured(value: Any) -> bool:
    """Return whether a value of JSON is a page with headings, items, tables or code, or holds one."""
    stack: list[Any] = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, PageValue) and one.is_structured():
            return True
        if isinstance(one, dict | list):
            stack += one.values() if isinstance(one, dict) else one
    return False


def _rich(value: Any) -> Parsed | None:
    node = document_in(value) if isinstance(value, dict | list) else None
    if node is None:
        return None
    canvas = Canvas()
    draw_document(canvas, node)
    drawn = canvas.parsed()
    return drawn if drawn.text.strip() else None


def _page_value(page: Parsed) -> PageValue:
    words = PageValue(page.text)
    words.page = page
    return words
