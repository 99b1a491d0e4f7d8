"""Store: open one snapshot of a store, search it, query it in SQL and read its documents."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Unpack
from weakref import finalize

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import SCHEMAS, from_table
from docmill.storage.artifacts.packs import Packs, decode_parsed
from docmill.storage.errors import QueryError
from docmill.storage.history import measurements, snapshots, tags
from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.history.snapshots import Snapshot
from docmill.storage.mirror.mirror_folder import open_folder
from docmill.storage.reader.document import Document
from docmill.storage.reader.overview import history_table, status_of
from docmill.storage.retrieval.candidates.hit import Hit
from docmill.storage.retrieval.candidates.long_query import vectors_of
from docmill.storage.retrieval.candidates.query import Query
from docmill.storage.retrieval.candidates.search_options import (
    Mode,
    Rewrite,
    SearchArguments,
    SearchOptions,
    check_query,
    check_text,
)
from docmill.storage.retrieval.candidates.snapshot_sources import SnapshotReader
from docmill.storage.retrieval.search_pipeline import search
from docmill.storage.schema import ChunkRow, DocumentRow
from docmill.storage.schema_evolution import schema_of
from docmill.storage.sql.derived_views import EMBEDDINGS, OF_VECTORS
from docmill.storage.sql.document_warnings import messages_of
from docmill.storage.sql.statement_pool import query, select_ids
from docmill.storage.tables.tables import read_table

_AT = re.compile(rf"\b(?:{'|'.join(SCHEMAS)})_at\s*\(\s*'?([\w.-]+)'?\s*\)", re.IGNORECASE)
_OF_VECTORS = re.compile(rf"\b(?:{'|'.join(OF_VECTORS)}|{EMBEDDINGS}|neighbours)\b", re.IGNORECASE)
"""Names in a statement that need packs of vectors: others do without them, which a mirror may have to fetch."""
_ID = re.compile("[0-9a-f]{32}")


def open_store(path: str | Path, at: int | str | None = None) -> "Store":
    """Open one snapshot of a store for reading.

    The returned object keeps reading this snapshot, and no vacuum removes it, until the object is closed.

    Args:
        path: The folder of the store, or `s3://BUCKET/PREFIX`, whose local mirror is then brought up to date.
        at: The number or the tag of a snapshot. None takes the newest.

    Returns:
        The open store. Use it in a `with` block or call `close`.

    Raises:
        docmill.errors.ConfigError: `path` is an incomplete address.
        docmill.errors.StoreError: There is no store or no such snapshot, or the snapshot is damaged.
        docmill.errors.Transient: The object store does not answer, and its mirror lacks files of the snapshot. If the
            mirror has them all, it is opened instead, and the logger `docmill.remote` warns of its age.

    Examples:
        >>> with docmill.open_store("store", at=1) as store:
        ...     store.snapshot.number
        1
    """
    return Store(*open_folder(path).hold(at))


class Store:
    """One open snapshot of a store; `open_store` makes it.

    Tables, indexes and the model are loaded when a method first needs them. While the store is open, its snapshot is
    not removed. `close`, the end of a `with` block or the collection of the object closes it. Several threads may
    search at once.

    Examples:
        >>> with docmill.open_store("store") as store:
        ...     [hit.uri for hit in store.search("undo a commit", k=1)]
        ['git.md']
    """

    def __init__(self, stored: StoredSnapshot, handle: int | None = None) -> None:
        self.stored = stored
        self._release = finalize(self, os.close, handle) if handle is not None else None

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
        if self._release is not None:
            self._release()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(
        self,
        text: str,
        k: int = 5,
        mode: Mode = "hybrid",
        where: str | None = None,
        *,
        rewrite: Rewrite | None = None,
        **how: Unpack[SearchArguments],
    ) -> list[Hit]:
        """Return the chunks that answer a query best.

        Args:
            text: The query, in words. One that is too long for the model is read in parts; a step `query` of each hit
                then says so.
            k: How many hits to return at most.
            mode: `"hybrid"` fuses the rankings of both indexes; `"vector"` and `"keyword"` use one of them.
            where: An SQL predicate over the columns of chunks and documents, such as `"content_type = 'code'"`. Both
                indexes apply it before they rank.
            rewrite: A function that returns other wordings of a query. `expand="model"` needs it.
            **how: Further options, the fields of `SearchOptions`.

        Returns:
            At most `k` hits, best first. `vector_score` is a cosine similarity, `keyword_score` a BM25 score, and
            `score` the score after the last step of the search. Offsets are half-open, in code points.

        Raises:
            docmill.errors.QueryError: The query is empty or has over 20,000 characters, an option is wrong, or `where`
                cannot be evaluated within the limits of `sql`.
            docmill.errors.StoreError: A file of the snapshot is damaged, or its embedding model has changed.

        Examples:
            >>> [(hit.uri, hit.rank) for hit in store.search("undo a commit", k=1)]
            [('git.md', 1)]
        """
        return self.search_all([text], k, mode, where, rewrite=rewrite, **how)[0]

    def search_all(
        self,
        texts: Sequence[str],
        k: int = 5,
        mode: Mode = "hybrid",
        where: str | None = None,
        *,
        rewrite: Rewrite | None = None,
        **how: Unpack[SearchArguments],
    ) -> list[list[Hit]]:
        """Return the hits of several queries, which takes less time than one `search` for each.

        The predicate is evaluated once and all queries are encoded in one batch. The batch rounds vectors differently:
        scores can differ from those of `search` by about 1e-6.

        Args:
            texts: The queries. The other arguments are those of `search` and hold for all queries.
            k: How many hits to return at most for each query.
            mode: As in `search`.
            where: As in `search`.
            rewrite: As in `search`.
            **how: As in `search`.

        Returns:
            One list of hits for each query, in the order of `texts`.

        Raises:
            docmill.errors.QueryError: As `search`, if any of the queries cannot be answered.
            docmill.errors.StoreError: As `search`.

        Examples:
            >>> [[hit.uri for hit in hits] for hits in store.search_all(["undo a commit", "grind wheat"], k=1)]
            [['git.md'], ['mill.md']]
        """
        options = SearchOptions(k, mode, where, **how)
        for text in texts:
            check_query(text)
        allowed = self._allowed(where) if texts else None
        at_once = len(texts) > 1 and mode != "keyword" and (allowed is None or allowed)
        vectors = vectors_of(texts, self._sources.encoder) if at_once else [None] * len(texts)
        return [
            search(Query(text, options, self._sources, allowed, own), rewrite)
            for text, own in zip(texts, vectors, strict=True)
        ]

    def _allowed(self, where: str | None) -> set[str] | None:
        if where is None:
            return None
        check_text(where, "where")
        return set(select_ids(self.stored.paths("chunks"), self.stored.paths("documents"), where))

    @cached_property
    def _sources(self) -> SnapshotReader:
        return SnapshotReader(self.stored)

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

    def document(self, uri: str) -> Document:
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
        check_text(uri, "the uri")
        table = read_table(self.stored, "documents")
        rows = from_table(table.filter(pc.equal(table.column("uri"), uri)), DocumentRow)
        if not rows:
            raise QueryError(f"no document {uri!r} in snapshot {self.snapshot.number}")
        texts = Packs(self.stored.ensure_packs("texts"))
        parsed = decode_parsed(texts.take([rows[0].text_key]).to_pylist()[0])
        warnings = messages_of(rows[0].metadata)
        return Document(uri, rows[0].title, parsed.text, parsed.elements, parsed.metadata, rows[0], warnings)

    def sql(self, statement: str) -> pa.Table:
        """Run one SELECT statement, which can read the store and nothing else.

        It reads the tables of the snapshot and the views that `docmill sql --tables` describes, such as `routing`,
        `snapshots`, `lengths` and `duplicates`; `neighbours(CHUNK_ID, 5)` gives the nearest chunks of one.
        `chunks_at(41)` and `chunks_at('TAG')` read `chunks` of another kept snapshot; every table has such a macro. The
        statement runs in a process of its own, which is kept for the next one. It may take 60 s, 2 GB for its work and
        2 GB for its result.

        Args:
            statement: One SELECT in the SQL of DuckDB.

        Returns:
            The result, an Arrow table.

        Raises:
            docmill.errors.QueryError: The statement is not one SELECT, is wrong, names a snapshot that is not kept, or
                is beyond a limit.
            docmill.errors.StoreError: A file of the snapshot is damaged.
            docmill.errors.Transient: The process of the statement cannot be started.

        Examples:
            >>> store.sql("SELECT uri, chunks FROM documents ORDER BY uri LIMIT 1").to_pylist()
            [{'uri': 'git.md', 'chunks': 1}]
        """
        check_text(statement, "the statement")
        files = {name: self.stored.paths(name) for name in SCHEMAS}
        if _OF_VECTORS.search(statement):
            files[EMBEDDINGS] = self._packs_of_space()
        extra = {
            "snapshots": history_table(self.root, self.snapshot.number),
            "evaluations": measurements.read(self.root),
        }
        return query(files, extra, statement, past=self._past(statement))

    def _packs_of_space(self) -> list[Path]:
        """Return the packs that can hold vectors of the snapshot; others are of a model that it had before."""
        packs, dimension = self.stored.ensure_packs("embeddings"), self.snapshot.space.dimension
        return [path for path in packs if schema_of(path).field("vector").type.list_size == dimension]

    def _past(self, statement: str) -> dict[str, dict[str, list[Path]]]:
        """Return the files of the kept snapshots that a statement names in a macro such as `chunks_at(41)`."""
        found = _named_snapshots(self.root, statement)
        if not found:
            return {}
        kept = {state.number: state for state in snapshots.each(self.root) if state.number in found.values()}
        states = {at: replace(self.stored, snapshot=kept[number]) for at, number in found.items() if number in kept}
        self.stored.folder.ensure([*chain.from_iterable(state.snapshot.table_files() for state in states.values())])
        return {at: {name: state.paths(name) for name in SCHEMAS} for at, state in states.items()}

    def status(self) -> dict[str, Any]:
        """Return counts and properties of the snapshot.

        Returns:
            `store` (its path or address), `snapshot` (its number), `created` (ISO 8601, UTC), counts of `documents`, of
            `stale` ones, of those with `lost_text` (the view `warnings` says what is missing), of `chunks` and
            `rejects`, `unreadable` files and folders with the reason, counts of documents by `sources` and
            `content_types`, the embedding `model`, its `dimension`, and `bytes`, the disk use. `vectors` tells the
            `share` of the chunks with vectors, from 0 to 1, the number of `pending` chunks, and the `minutes` that a
            run needs for these, or None. A store on an object store also has `synced`: when its mirror was last in step
            with it (ISO 8601, UTC).

        Raises:
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> store.status()["documents"]
            3
        """
        return status_of(self.stored)

    def history(self) -> list[dict[str, Any]]:
        """Return the kept snapshots up to the open one.

        Returns:
            One dict for each snapshot, oldest first: its number `snapshot`, `created` (ISO 8601, UTC), the `run_id` of
            the run that committed it, the counts of its `documents`, `chunks` and `rejects`, its `vector_version`, and
            the counts of its keyword `segments` and of chunks whose vectors are `pending`. Damaged ones are left out.

        Examples:
            >>> [row["snapshot"] for row in store.history()]
            [1]
        """
        rows: list[dict[str, Any]] = history_table(self.root, self.snapshot.number).to_pylist()
        return rows


def _named_snapshots(root: Path, statement: str) -> dict[str, int]:
    """Return the numbers of the snapshots that a statement names; a number takes precedence over an equal tag."""
    named = set(_AT.findall(statement))
    known = tags.tags(root) | {str(number): number for number in snapshots.numbers(root)}
    return {at: number for at, number in known.items() if at in named}
