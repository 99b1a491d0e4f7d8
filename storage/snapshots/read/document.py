"""Document: one document of a snapshot, with its canonical text."""

from dataclasses import dataclass
from typing import Any

from docmill.storage.schema import DocumentRow, Element


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
        warnings: What was lost of it, or read by a lesser way, in words; empty if nothing was.
    """

    uri: str
    title: str
    text: str
    elements: tuple[Element, ...]
    metadata: dict[str, Any]
    row: DocumentRow
    warnings: tuple[str, ...] = ()
