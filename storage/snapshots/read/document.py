"""Document: documents of a snapshot with their canonical texts."""

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
        warnings: What was lost of it, or read by a lesser way, in words; empty if nothing was.
    """

    uri: str
    title: str
    text: str
    elements: tuple[Element, ...]
    metadata: dict[str, Any]
    row: DocumentRow
    warnings: tuple[str, ...] = ()


def whole_documents(stored: StoredSnapshot, rows: Sequence[DocumentRow], packs: Packs | None = None) -> list[Document]:
    """Return documents with their texts, in the order of their rows; several at once take less time than each alone.

    `packs` are those of the snapshot's texts, if they are open already.
    """
    found = (packs or Packs(stored.ensure_packs("texts"))).take([row.text_key for row in rows]).to_pylist()
    return [_document(row, text) for row, text in zip(rows, found, strict=True)]


def _document(row: DocumentRow, text: dict[str, Any]) -> Document:
    parsed, warnings = decode_parsed(text), messages_of(row.metadata, row.metadata_warnings)
    return Document(row.uri, row.title, parsed.text, parsed.elements, parsed.metadata, row, warnings)
