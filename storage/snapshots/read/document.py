"""Document: documents of a snapshot with their canonical texts and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from docmill.storage.schema import DocumentRow, Element
from docmill.storage.snapshots.artifacts.packs import Packs, decode_parsed
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.sql.document_warnings import messages_of


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a snapshot with its canonical text.

    Offsets are half-open and count code points of `text`: for each chunk of the document,
    `text[chunk.start_char:chunk.end_char] == chunk.text`.

    Attributes:
        uri: The name of the document in its source.
        title: The title that its parser found.
        text: The canonical text.
        elements: Its typed spans, such as headings, paragraphs and tables, ordered by `start_char`.
        metadata: What the file states about itself, such as author, created and language, as JSON values.
        row: Its row in the table `documents`.
        warnings: Messages about parts that were lost, or read in a less reliable way.
    """

    uri: str
    title: str
    text: str
    elements: tuple[Element, ...]
    metadata: dict[str, Any]
    row: DocumentRow
    warnings: tuple[str, ...] = ()


def whole_documents(stored: StoredSnapshot, rows: Sequence[DocumentRow], packs: Packs | None = None) -> list[Document]:
    """Return documents with their texts, in the order of their rows; faster than reading one document at a time.

    `packs` are the snapshot's packs of texts, if they are already open.
    """
    found = (packs or Packs(stored.ensure_packs("texts"))).take([row.text_key for row in rows]).to_pylist()
    return [_document(row, text) for row, text in zip(rows, found, strict=True)]


def _document(row: DocumentRow, text: dict[str, Any]) -> Document:
    parsed, warnings = decode_parsed(text), messages_of(row.metadata, row.metadata_warnings)
    return Document(row.uri, row.title, parsed.text, parsed.elements, parsed.metadata, row, warnings)


SHOWN_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The media types of pictures that a server sends to a browser: none of them can contain scripts."""


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
        alt: The alternative text that the file has for the picture, or "".
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
