"""Whole documents: documents of a snapshot with their texts."""

from collections.abc import Sequence
from typing import Any

from docmill.storage.schema import DocumentRow
from docmill.storage.snapshots.artifacts.packs import Packs, decode_parsed
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.read.document import Document
from docmill.storage.sql.document_warnings import messages_of


def whole_documents(stored: StoredSnapshot, rows: Sequence[DocumentRow], packs: Packs | None = None) -> list[Document]:
    """Return documents with their texts, in the order of their rows; several at once take less time than each alone.

    `packs` are those of the snapshot's texts, if they are open already.
    """
    found = (packs or Packs(stored.ensure_packs("texts"))).take([row.text_key for row in rows]).to_pylist()
    return [_document(row, text) for row, text in zip(rows, found, strict=True)]


def _document(row: DocumentRow, text: dict[str, Any]) -> Document:
    parsed, warnings = decode_parsed(text), messages_of(row.metadata, row.metadata_warnings)
    return Document(row.uri, row.title, parsed.text, parsed.elements, parsed.metadata, row, warnings)
