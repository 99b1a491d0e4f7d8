"""Posting rows: read the fields of chunks from the tables for the keyword index."""

import json
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.schema import reading
from docmill.storage.search.keywords.segments.chunk_fields import ChunkFields
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.spill import Rows, parts
from docmill.storage.snapshots.tables.tables import read_stored_file, read_table

_BATCH_ROWS = 4096  # rows in memory at a time
_BETWEEN = " \u203a "  # separates the headings in a context
TITLES = ("document_id", "title", "metadata")
"""The columns of documents that `titles_of` reads."""
_COVER = "cover_words"  # a metadata key, set by docmill.tasks.parse.titles.own_title
_COLUMNS = ["chunk_id", "document_id", "uri", "headings", "context", "text", "unread", "phrasings"]


def posting_rows(
    chunks: Rows, titles: Mapping[str, str], wanted: pa.Array | None = None
) -> Iterator[tuple[str, ChunkFields]]:
    """Yield (chunk_id, fields) of chunks, or only of those `wanted`; `titles` is the result of `titles_of`."""
    for part in parts(chunks, _COLUMNS):
        some = part if wanted is None else part.filter(pc.is_in(part.column("chunk_id"), value_set=wanted))
        for batch in some.to_batches(_BATCH_ROWS):
            columns = (column.to_pylist() for column in batch.columns)
            for chunk_id, document, uri, headings, context, text, unread, phrased in zip(*columns, strict=True):
                title = titles.get(document, "")
                own = _own_words(context, title, headings)
                said = (own, "\n".join(headings), title, uri, "\n".join(phrased))
                yield chunk_id, ChunkFields(reading(text, unread), *said)


def stored_rows(stored: StoredSnapshot, without: frozenset[str] = frozenset()) -> Iterator[tuple[str, ChunkFields]]:
    """Yield (chunk_id, fields) of a snapshot's chunks `without` some documents, one file of chunks at a time."""
    titles = titles_of(read_table(stored, "documents", list(TITLES)))
    gone = pa.array(list(without), pa.string())
    for piece in stored.pieces("chunks"):
        chunks = read_stored_file(stored.root, piece, _COLUMNS)
        left = chunks.filter(pc.invert(pc.is_in(chunks.column("document_id"), value_set=gone)))
        yield from posting_rows(left, titles)


def titles_of(documents: pa.Table) -> dict[str, str]:
    """Return the titles of documents by id; a document without a title gets the words of its cover."""
    columns = (documents.column(name).to_pylist() for name in TITLES)
    return {key: title or _cover(metadata) for key, title, metadata in zip(*columns, strict=True)}


def _cover(metadata: str) -> str:
    """Return the words of a document's cover, "" if it has none, as in rows of older versions."""
    return str(json.loads(metadata).get(_COVER, "")) if f'"{_COVER}"' in metadata else ""


def _own_words(context: str, title: str, headings: Sequence[str]) -> str:
    """Return a context without the title and the headings, which are separate fields."""
    known = {title.casefold(), *map(str.casefold, headings)}
    pieces = (piece for line in context.splitlines() for piece in line.split(_BETWEEN))
    return "\n".join(piece for piece in pieces if piece.casefold() not in known)
