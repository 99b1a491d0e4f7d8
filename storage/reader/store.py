"""The store as its readers see it: one snapshot, searched, queried and read."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Unpack
from weakref import finalize

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.artifacts.packs import Packs, decode_parsed
from docmill.storage.columns import SCHEMAS, from_table
from docmill.storage.errors import QueryError
from docmill.storage.files import disk_use
from docmill.storage.history import measurements, snapshots, tags
from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.history.snapshots import Snapshot
from docmill.storage.mirror.mirror_folder import open_folder
from docmill.storage.retrieval.candidates.hit import Hit
from docmill.storage.retrieval.candidates.query import Query
from docmill.storage.retrieval.candidates.search_options import (
    Mode,
    Rewrite,
    SearchArguments,
    SearchOptions,
    check_query,
)
from docmill.storage.retrieval.candidates.snapshot_sources import SnapshotReader
from docmill.storage.retrieval.search_pipeline import search
from docmill.storage.schema import ChunkRow, DocumentRow, Element
from docmill.storage.sql.sandbox import query, select_ids
from docmill.storage.tables.tables import read_table

_AT = re.compile(rf"\b(?:{'|'.join(SCHEMAS)})_at\s*\(\s*'?([\w.-]+)'?\s*\)", re.IGNORECASE)
_ID = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a snapshot with its canonical text.

    For each of its chunks `text[chunk.start_char:chunk.end_char] == chunk.text`. Offsets are half-open, in code points.
    `elements` are its typed spans, such as headings, paragraphs and tables, in the order of the text. `metadata` is
    what the file says about itself. `row` is its row in the table `documents`.
    """

    uri: str
    title: str
    text: str
    elements: tuple[Element, ...]
    metadata: dict[str, Any]
    row: DocumentRow


def open_store(path: str | Path, at: int | str | None = None) -> "Store":
    """Open the newest snapshot of the store at `path`, or the one that `at` names by number or tag.

    `path` is a folder or `s3://BUCKET/PREFIX`; the mirror of the latter is brought up to date.

    An open store stays as it is while others write, compact and vacuum, as long as the object is there.
    Raises `StoreError` where there is no store.
    """
    return Store(*open_folder(path).hold(at))


class Store:
    """One snapshot of a store. Nothing is read before it is asked for.

    A store that is open keeps its snapshot from being removed. It is closed by `close`, at the end of a `with` block,
    or when the object goes. Searches may run in several threads at once.

    Example:
        >>> with docmill.open_store("store") as store:
        ...     [hit.uri for hit in store.search("undo a commit", k=1)]
        ['git.md']
    """

    def __init__(self, stored: StoredSnapshot, handle: int | None = None) -> None:
        self.stored = stored
        self._release = finalize(self, os.close, handle) if handle is not None else None

    @property
    def root(self) -> Path:
        """The folder of the store; of one on an object store its mirror."""
        return self.stored.root

    @property
    def snapshot(self) -> Snapshot:
        """What the snapshot consists of."""
        return self.stored.snapshot

    def close(self) -> None:
        """Let the snapshot go; what is asked afterwards may fail once a vacuum has removed its files."""
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
        """Return the `k` chunks that answer `text` best, best first; `how` are the options of `SearchOptions`.

        `where` is an SQL predicate over the columns of chunks and documents, applied before ranking in both indexes.
        `rewrite` gives other wordings of a query, for `expand="model"`.
        Raises `QueryError` for a query that cannot be asked and for a predicate that cannot be evaluated.
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
        """Return the hits of each query, in their order: as `search`, with the predicate evaluated once.

        All are encoded at once, which is quicker, and rounds the vectors otherwise (1e-6).
        """
        options = SearchOptions(k, mode, where, **how)
        for text in texts:
            check_query(text)
        allowed = self._allowed(where) if texts else None
        at_once = len(texts) > 1 and mode != "keyword" and (allowed is None or allowed)
        vectors = self._sources.encoder.encode_queries(texts) if at_once else [None] * len(texts)
        return [
            search(Query(text, options, self._sources, allowed, vector), rewrite)
            for text, vector in zip(texts, vectors, strict=True)
        ]

    def _allowed(self, where: str | None) -> set[str] | None:
        if where is None:
            return None
        return set(select_ids(self.stored.paths("chunks"), self.stored.paths("documents"), where))

    @cached_property
    def _sources(self) -> SnapshotReader:
        return SnapshotReader(self.stored)

    def chunks(self, ids: Sequence[str]) -> dict[str, ChunkRow]:
        """Return the chunks that exist, by id."""
        return self._sources.rows([key for key in ids if _ID.fullmatch(key)])

    def document(self, uri: str) -> Document:
        """Return the document at `uri` with its canonical text; raise `QueryError` where there is none."""
        table = read_table(self.stored, "documents")
        rows = from_table(table.filter(pc.equal(table.column("uri"), uri)), DocumentRow)
        if not rows:
            raise QueryError(f"no document {uri!r} in snapshot {self.snapshot.number}")
        texts = Packs(self.stored.ensure_packs("texts"))
        parsed = decode_parsed(texts.take([rows[0].text_key]).to_pylist()[0])
        return Document(uri, rows[0].title, parsed.text, parsed.elements, parsed.metadata, rows[0])

    def sql(self, statement: str) -> pa.Table:
        """Run one SELECT over the tables, `routing`, `snapshots` and `evaluations`, and nothing else.

        `chunks_at(41)` and `chunks_at('TAG')` are the table of that snapshot; the other tables have such a name, too.
        """
        files = {name: self.stored.paths(name) for name in SCHEMAS}
        extra = {
            "snapshots": history_table(self.root, self.snapshot.number),
            "evaluations": measurements.read(self.root),
        }
        return query(files, extra, statement, past=self._past(statement))

    def _past(self, statement: str) -> dict[str, dict[str, list[Path]]]:
        """Return the files of the kept snapshots that a statement names in a call of a macro."""
        found = _named_snapshots(self.root, statement)
        if not found:
            return {}
        kept = {state.number: state for state in snapshots.each(self.root) if state.number in found.values()}
        states = {at: replace(self.stored, snapshot=kept[number]) for at, number in found.items() if number in kept}
        self.stored.folder.ensure([*chain.from_iterable(state.snapshot.table_files() for state in states.values())])
        return {at: {name: state.paths(name) for name in SCHEMAS} for at, state in states.items()}

    def status(self) -> dict[str, Any]:
        """Return what the snapshot holds, in numbers."""
        documents = read_table(self.stored, "documents", ["content_type", "status", "source"])
        return {
            "store": self.stored.folder.name,
            "snapshot": self.snapshot.number,
            "created": self.snapshot.created,
            "documents": documents.num_rows,
            "stale": pc.sum(pc.equal(documents.column("status"), "stale")).as_py() or 0,
            "chunks": self.snapshot.rows("chunks"),
            "rejects": self.snapshot.rows("rejects"),
            "sources": _counts(documents.column("source")),
            "content_types": _counts(documents.column("content_type")),
            "model": self.snapshot.space.model,
            "dimension": self.snapshot.space.dimension,
            "bytes": disk_use(self.root),
        }

    def history(self) -> list[dict[str, Any]]:
        """Return the kept snapshots, oldest first, with what each run changed."""
        rows: list[dict[str, Any]] = history_table(self.root, self.snapshot.number).to_pylist()
        return rows


def _named_snapshots(root: Path, statement: str) -> dict[str, int]:
    """Return the numbers of the snapshots that a statement names; a number wins over a tag that looks like it."""
    named = set(_AT.findall(statement))
    known = tags.tags(root) | {str(number): number for number in snapshots.numbers(root)}
    return {at: number for at, number in known.items() if at in named}


def history_table(root: Path, last: int) -> pa.Table:
    """Return one row for each kept snapshot up to number `last`."""
    return pa.Table.from_pylist([_history_row(snapshot) for snapshot in snapshots.each(root, last)])


def _history_row(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "snapshot": snapshot.number,
        "created": snapshot.created,
        "run_id": snapshot.run_id,
        "documents": snapshot.rows("documents"),
        "chunks": snapshot.rows("chunks"),
        "rejects": snapshot.rows("rejects"),
        "vector_version": snapshot.vectors.version,
        "segments": len(snapshot.keywords.segments),
    }


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    pairs = sorted(
        ((pair["values"], pair["counts"]) for pair in pc.value_counts(column).to_pylist()), key=lambda p: -p[1]
    )
    return dict(pairs)
