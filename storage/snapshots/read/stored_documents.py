"""Stored documents: read the documents of one open snapshot: rows, texts, sections and chunks."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Self
from weakref import finalize

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.errors import QueryError
from docmill.storage.keys import document_key
from docmill.storage.process.computed_once import computed_once
from docmill.storage.schema import ChunkRow, DocumentRow, KeptPicture
from docmill.storage.search.rank.candidates.search_options import check_count, check_text, check_where
from docmill.storage.search.rank.candidates.snapshot_sources import SnapshotReader
from docmill.storage.snapshots.artifacts.packs import picture_of
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import Snapshot
from docmill.storage.snapshots.tables.tables import read_table

if TYPE_CHECKING:
    from docmill.storage.snapshots.read.document import Document, Figure
    from docmill.storage.snapshots.read.outline import Section

_ID = re.compile("[0-9a-f]{32}")
_TELLING = 3  # characters that a name needs to tell documents apart; shorter ones occur in most words
_MOST_ALIKE = 3  # documents that an error names, in one line


class SnapshotHold:
    """The open file that protects a snapshot from a vacuum, until `release` is called or the object is collected."""

    def __init__(self, handle: int) -> None:
        self.release = finalize(self, os.close, handle)


class StoredDocuments:
    """The documents and chunks of one open snapshot; `Store` adds searches and SQL.

    `hold` protects the snapshot. Closing the store releases it only if the store `owns` it.
    """

    def __init__(self, stored: StoredSnapshot, hold: SnapshotHold | None = None, owns: bool = True) -> None:
        self.stored = stored
        self._hold = hold
        self._owns = owns
        self._judged_places: dict[tuple[str, str], Any] = {}

    @property
    def root(self) -> Path:
        """The folder of the store, or its mirror if the store is on an object store."""
        return self.stored.root

    @property
    def snapshot(self) -> Snapshot:
        """The open snapshot: its number, its embedding space and its files."""
        return self.stored.snapshot

    def close(self) -> None:
        """Release the snapshot. A vacuum may then remove its files, after which calls of this object fail.

        Examples:
            >>> docmill.open_store("store").close()
        """
        if self._hold is not None and self._owns:
            self._hold.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @computed_once
    def _sources(self) -> SnapshotReader:
        return SnapshotReader(self.stored)

    def documents(
        self, where: str | None = None, *, prefix: str = "", after: str = "", limit: int | None = None
    ) -> list[DocumentRow]:
        """Return documents, without their texts, ordered by uri.

        Args:
            where: An SQL predicate over the columns of documents, such as `"format = 'pdf'"`.
            prefix: Only documents whose uri begins with it, such as `"handbook/"`.
            after: Only documents whose uri comes after it: the last uri of a page gives the next page.
            limit: How many to return at most. None returns all.

        Returns:
            The rows of the table `documents`.

        Raises:
            docmill.errors.QueryError: `where` cannot be evaluated within the limits of `sql`, or `limit` is negative.
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> [row.uri for row in store.documents("format = 'markdown'", limit=2)]
            ['git.md', 'mill.md']
        """
        from docmill.storage.sql.statement_pool import select_documents

        check_where(where)
        for text, what in ((prefix, "the prefix"), (after, "after")):
            check_text(text, what)
        if limit is not None:
            check_count(limit, "limit", 0)
        table = read_table(self.stored, "documents", ["document_id", "uri"])
        if where is not None:
            found = select_documents(self.stored.paths("documents"), where, self.snapshot.keys)
            table = table.filter(pc.is_in(table.column("document_id"), value_set=pa.array(found, pa.string())))
        pairs = sorted(zip(*(column.to_pylist() for column in reversed(table.columns)), strict=True))
        ids = [key for uri, key in pairs if uri.startswith(prefix) and uri > after][:limit]
        return sorted(self._sources.documents(ids), key=lambda row: row.uri)

    def document(self, uri: str) -> "Document":
        """Return a document with its canonical text and elements.

        Args:
            uri: The name of the document, such as `Hit.uri`.

        Returns:
            The document. Its offsets are half-open, in code points of its `text`.

        Raises:
            docmill.errors.QueryError: The snapshot has no document at `uri`, or `uri` is not valid text.
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> document = store.document("git.md")
            >>> document.title, len(document.text)
            ('Undo', 44)
        """
        from docmill.storage.snapshots.read.document import whole_documents

        return whole_documents(self.stored, [row_of(self, uri)], self._sources.text_packs)[0]

    def _rows(self, uri: str) -> list[DocumentRow]:
        # The id follows from the uri and leads to one bucket. All buckets are read only if the row is not there.
        if found := [row for row in self._sources.documents([document_key(uri)]) if row.uri == uri]:
            return found
        table = read_table(self.stored, "documents", ["document_id", "uri"])
        ids = table.filter(pc.equal(table.column("uri"), uri)).column("document_id").to_pylist()
        return self._sources.documents(ids)

    def figures(self, uri: str) -> "list[Figure]":
        """Return the figures of a document: the pictures in its text, without their bytes.

        Args:
            uri: The name of the document, such as `Hit.uri`.

        Returns:
            The figures in the order of the text. `document.text[start_char:end_char]` is a figure's place, as Markdown:
            `![alt](docmill:figure/KEY)`, or what a Markdown file itself has there.

        Raises:
            docmill.errors.QueryError: The snapshot has no document at `uri`.
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> store.figures("git.md")
            []
        """
        from docmill.storage.snapshots.read.document import figures_of

        return figures_of(row_of(self, uri))

    def figure(self, key: str) -> KeptPicture:
        """Return the picture of a figure.

        Args:
            key: The key of a picture, such as `Figure.key`.

        Returns:
            The picture: `data` is its file, of the type `media_type`, `width` and `height` are in pixels.

        Raises:
            docmill.errors.QueryError: The snapshot has no picture of this key.
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> [store.figure(one.key).media_type for one in store.figures("git.md")]
            []
        """
        if not _ID.fullmatch(key) or self._sources.figure_packs.missing([key]):
            raise QueryError(f"no figure {key!r} in snapshot {self.snapshot.number}")
        return picture_of(self._sources.figure_packs.take([key]).to_pylist()[0])

    def outline(self, uri: str) -> "list[Section]":
        """Return the sections of a document: its headings, each with the span of what is below it.

        Args:
            uri: The name of the document, such as `Hit.uri`.

        Returns:
            The sections in their order, without their texts. Each contains its subsections, and all text of the
            document is in one of them: section "0" is what is before the first heading.

        Raises:
            docmill.errors.QueryError: The snapshot has no document at `uri`.
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> [(one.number, one.heading, one.start_char, one.end_char) for one in store.outline("git.md")]
            [('1', 'Undo', 0, 44)]
        """
        from docmill.storage.snapshots.read.outline import outline

        document = self.document(uri)
        return outline(document.text, document.elements)

    def section(self, uri: str, which: str) -> "Section":
        """Return a section of a document with its text.

        Args:
            uri: The name of the document.
            which: The number of the section in the outline, such as "2.1", or its heading, if no other section has it.

        Returns:
            The section. Its text includes its heading and its subsections.

        Raises:
            docmill.errors.QueryError: The snapshot has no document at `uri`, or the document has no such section or
                several; the message names them.
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> store.section("git.md", "undo").text.splitlines()[0]
            '# Undo'
        """
        from docmill.storage.snapshots.read.outline import find_section, outline

        document = self.document(uri)
        found = find_section(outline(document.text, document.elements), which)
        return replace(found, text=document.text[found.start_char : found.end_char])

    def chunks(self, ids: Sequence[str]) -> dict[str, ChunkRow]:
        """Return chunks by their ids.

        Args:
            ids: Ids of chunks, such as `Hit.chunk_id`: 32 hex digits.

        Returns:
            The rows of the chunks that the snapshot holds, by id. Unknown and malformed ids are left out.

        Raises:
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> hit = store.search("undo a commit", k=1)[0]
            >>> store.chunks([hit.chunk_id])[hit.chunk_id].uri
            'git.md'
        """
        return self._sources.rows([key for key in ids if _ID.fullmatch(key)])

    def neighbours(self, chunk_id: str, before: int = 1, after: int = 1) -> list[ChunkRow]:
        """Return a chunk with the chunks around it in its document.

        Args:
            chunk_id: The id of the chunk, such as `Hit.chunk_id`.
            before: How many chunks before it to return at most.
            after: How many chunks after it to return at most.

        Returns:
            The rows in the order of the document, including the chunk. If chunks contain others, as in hierarchies, all
            rows have the depth of the chunk.

        Raises:
            docmill.errors.QueryError: The snapshot has no such chunk, or a count is negative.
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> hit = store.search("undo a commit", k=1)[0]
            >>> [row.chunk_id == hit.chunk_id for row in store.neighbours(hit.chunk_id)]
            [True]
        """
        for count, what in ((before, "before"), (after, "after")):
            check_count(count, what, 0)
        own = self._chunk(chunk_id)
        rows = [row for row in self._sources.chunks_of(own.document_id) if _kind(row) == _kind(own)]
        place = next(place for place, row in enumerate(rows) if row.chunk_id == chunk_id)
        return rows[max(0, place - before) : place + after + 1]

    def _chunk(self, chunk_id: str) -> ChunkRow:
        check_text(chunk_id, "the id of a chunk")
        found = self.chunks([chunk_id]).get(chunk_id)
        if found is None:
            raise QueryError(f"no chunk {chunk_id!r} in snapshot {self.snapshot.number}")
        return found


def row_of(store: StoredDocuments, uri: str) -> DocumentRow:
    """Return the row of a document without its text; raise `QueryError` if the snapshot has none at the uri."""
    check_text(uri, "the uri")
    rows = store._rows(uri)
    if not rows:
        raise QueryError(f"no document {uri!r} in snapshot {store.snapshot.number}{_alike(store, uri)}")
    return rows[0]


def _alike(store: StoredDocuments, uri: str) -> str:
    """Return a hint naming documents whose uri contains the name of a missing one: people omit folders and suffixes."""
    name = PurePosixPath(uri).stem
    if len(name) < _TELLING:
        return ""
    uris = read_table(store.stored, "documents", ["uri"]).column("uri")
    found = uris.filter(pc.match_substring(uris, name, ignore_case=True)).to_pylist()
    return f"; alike: {', '.join(map(repr, sorted(found, key=len)[:_MOST_ALIKE]))}" if found else ""


def chunks_in(store: StoredDocuments, row: DocumentRow, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return columns of a document's chunks in order. Only one bucket is read, whereas SQL would read all of them."""
    return store._sources.columns_of(row.document_id, names)


def _kind(row: ChunkRow) -> tuple[int, bool]:
    """Return what neighbouring chunks must have in common: their depth, and whether they are summaries."""
    return row.depth, row.about_end > 0
