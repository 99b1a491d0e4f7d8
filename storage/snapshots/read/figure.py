"""Figure: a picture in the text of a document, with what is said of it."""

from dataclasses import dataclass

from docmill.storage.schema import DocumentRow

SHOWN_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The media types of pictures that a server hands to a browser: none of them can run anything there."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a document; `Store.figure` returns its picture.

    Attributes:
        key: The hash of the picture's bytes in the document, 32 hex digits.
        start_char: Where the figure begins in the document's text, in code points.
        end_char: Where it ends, exclusive.
        media_type: The type of the picture that is kept, such as `image/png`.
        width: Its width in pixels.
        height: Its height in pixels.
        bytes: The size of its file.
        page: The page that shows it, from 1, or None if the format has no pages.
        box: Left, top, right and bottom on the page, in points from its top left corner; empty if unknown.
        caption: Its caption in the text, or "".
        alt: The words that the file gives in place of the picture, or "".
    """

    key: str
    start_char: int
    end_char: int
    media_type: str
    width: int
    height: int
    bytes: int
    page: int | None
    box: tuple[float, ...]
    caption: str
    alt: str


def figures_of(row: DocumentRow) -> list[Figure]:
    """Return the figures of a document in the order of its text."""
    found = [Figure(**{**one, "box": tuple(one["box"])}) for one in row.figures]
    return sorted(found, key=lambda one: one.start_char)
