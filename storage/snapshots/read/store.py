"""Store: open one snapshot of a store, search it, query it with SQL and read its documents."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from docmill.storage.access.principals import check_principals
from docmill.storage.argument_types import checked, checked_methods
from docmill.storage.process.computed_once import computed_once
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.keywords.analysis.analyser import telling_words
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.long_query import vectors_of
from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.rank.candidates.search_options import (
    Mode,
    Rewrite,
    SearchArguments,
    SearchOptions,
    check_query,
    check_text,
    check_where,
    options_of,
)
from docmill.storage.search.rank.search_pipeline import search
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.read.feedback import StoreFeedback
from docmill.storage.snapshots.read.stored_documents import SnapshotHold
from docmill.storage.snapshots.write.current_folder import follow_if_behind

if TYPE_CHECKING:
    from docmill.storage.access.principals import NarrowedStores
    from docmill.storage.exports.export import Exported
    from docmill.storage.snapshots.read.facets import ValueCount
    from docmill.storage.snapshots.read.query_analysis import ContentGap
    from docmill.storage.snapshots.read.replay import ReplayedQuery


@checked
def open_store(path: str | Path, at: int | str | None = None, *, principals: Iterable[str] | None = None) -> "Store":
    """Open one snapshot of a store for reading.

    The returned object keeps reading this snapshot, and no vacuum removes it, until the object is closed.

    Args:
        path: The folder of the store, or `s3://BUCKET/PREFIX`, whose local mirror is then brought up to date.
        at: The number or the tag of a snapshot. None takes the newest.
        principals: Who asks, such as `["sales", "all"]`: the store then answers as if it held only the documents whose
            `access` names one of them. None shows all documents.

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
    folder = open_folder(path)
    if at is None:
        follow_if_behind(folder)
    asking = None if principals is None else check_principals(principals)
    stored, handle = folder.hold(at)
    hold = SnapshotHold(handle)  # closes the file if an error follows
    return Store(stored if asking is None else _narrowed_to(stored, asking), hold)


def _narrowed_to(
    stored: StoredSnapshot, principals: Iterable[str], earlier: StoredSnapshot | None = None
) -> StoredSnapshot:
    from docmill.storage.access.visible_part import narrowed  # imports what builds indexes, which few readers need

    return narrowed(stored, principals, earlier)


def make_ahead(fresh: "Store", earlier: "Store", principals: frozenset[str]) -> "Store":
    """Return what principals see of a snapshot, building on what they saw of an earlier one."""
    return fresh._narrowed.get(principals, earlier._narrowed.held(principals))


def query_vector(store: "Store", query: str) -> npt.NDArray[np.float32] | None:
    """Return the vector of a query, (dim,) of unit L2 norm, or None if it is too long for the model.

    Raises `QueryError` and `StoreError` as a search does.
    """
    check_query(query)
    sources = store._sources
    return sources.query_vector(query) if sources.encoder.fits([query])[0] else None


_REPLAYED = 100  # frequent queries to replay unless others are given: two seconds for both snapshots
_FACET_HITS = 100
"""Hits of a query whose values are counted. Every query ranks all chunks, and further down they no longer answer it."""


@checked_methods
class Store(StoreFeedback):
    """One open snapshot of a store; `open_store` makes it.

    Tables, indexes and the model are loaded when a method first needs them. While the store is open, its snapshot is
    not removed. `close`, the end of a `with` block or the collection of the object closes it. Several threads may
    search at once.

    Examples:
        >>> with docmill.open_store("store") as store:
        ...     [hit.uri for hit in store.search("undo a commit", k=1)]
        ['git.md']
    """

    def seen_by(self, principals: Iterable[str]) -> "Store":
        """Return the snapshot as principals may see it, as if the store had only their documents.

        All methods of the returned store, including their scores and counts, use only these documents. It is made in a
        temporary folder, in seconds for 100,000 chunks, and kept for the next call with principals of equal rights. It
        has no rejects, runs, costs, evaluations, deleted documents or other snapshots. In an older snapshot, it leaves
        out documents that the newest one no longer shows to these principals.

        Args:
            principals: Who asks, such as `["sales", "all"]`. They may see a document whose `access` names one of them.

        Returns:
            The narrowed store, which can be narrowed further. It can be used until this store is closed.

        Raises:
            docmill.errors.QueryError: `principals` is one text, or has an empty one.
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> len(store.seen_by(["all"]).documents()), len(store.seen_by([]).documents())
            (3, 0)
        """
        return self._narrowed.get(check_principals(principals))

    @computed_once
    def _narrowed(self) -> "NarrowedStores[Store]":
        from docmill.storage.access.principals import NarrowedStores
        from docmill.storage.access.visible_part import named_in

        stored, hold = self.stored, self._hold  # rather than `self`, which closes itself once nobody refers to it

        def make(principals: frozenset[str], earlier: Store | None) -> Store:
            return Store(_narrowed_to(stored, principals, earlier.stored if earlier else None), hold, owns=False)

        return NarrowedStores(named_in(stored), make)

    def search(
        self,
        text: str,
        k: int = 5,
        mode: Mode = "hybrid",
        where: str | None = None,
        *,
        rewrite: Rewrite | None = None,
        principals: Iterable[str] | None = None,
        **how: Unpack[SearchArguments],
    ) -> list[Hit]:
        """Return the chunks that answer a query best.

        Args:
            text: The query, in words. If it is too long for the model, it is read in parts, and a step `query` of each
                hit says so.
            k: How many hits to return at most.
            mode: `"hybrid"` fuses the rankings of both indexes; `"vector"` and `"keyword"` use one of them.
            where: An SQL predicate over the columns of chunks and documents, such as `"content_type = 'code'"`. Both
                indexes apply it before they rank.
            rewrite: A function that returns other wordings of a query. `expand="model"` needs it.
            principals: Who asks: only documents that they may see are searched, as by `seen_by`.
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
        return self.search_all([text], k, mode, where, rewrite=rewrite, principals=principals, **how)[0]

    def search_all(
        self,
        texts: Sequence[str],
        k: int = 5,
        mode: Mode = "hybrid",
        where: str | None = None,
        *,
        rewrite: Rewrite | None = None,
        principals: Iterable[str] | None = None,
        **how: Unpack[SearchArguments],
    ) -> list[list[Hit]]:
        """Return the hits of several queries, faster than one `search` each.

        The predicate is evaluated once and all queries are encoded in one batch. The batch rounds vectors differently:
        scores can differ from those of `search` by about 1e-6.

        Args:
            texts: The queries. The other arguments are as in `search` and apply to all queries.
            k: How many hits to return at most for each query.
            mode: As in `search`.
            where: As in `search`.
            rewrite: As in `search`.
            principals: As in `search`.
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
        if principals is not None:
            return self.seen_by(principals).search_all(texts, k, mode, where, rewrite=rewrite, **how)
        options = options_of(k, mode, where, how)
        for text in texts:
            check_query(text)
        allowed = self._allowed(where) if texts else None
        at_once = len(texts) > 1 and mode != "keyword" and (allowed is None or allowed)
        vectors = vectors_of(texts, self._sources.encoder) if at_once else [None] * len(texts)
        return [
            search(Query(text, options, self._sources, allowed, own), rewrite)
            for text, own in zip(texts, vectors, strict=True)
        ]

    def similar(self, chunk_id: str, k: int = 5, where: str | None = None) -> list[Hit]:
        """Return the chunks whose vectors are nearest to the vector of a chunk.

        Args:
            chunk_id: The id of the chunk, such as `Hit.chunk_id`.
            k: How many hits to return at most, from 1.
            where: As in `search`.

        Returns:
            At most `k` hits, the nearest first, without the chunk itself. `score`, `vector_score` and `relevance` are
            cosine similarities.

        Raises:
            docmill.errors.QueryError: The snapshot has no such chunk, the chunk has no vector yet, `k` is wrong, or
                `where` cannot be evaluated.
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> hit = store.search("undo a commit", k=1)[0]
            >>> len(store.similar(hit.chunk_id, k=2))
            2
        """
        from docmill.storage.search.rank.search_pipeline import similar

        k = SearchOptions(k).k  # which checks it
        allowed = self._allowed(where)
        return similar(self._sources, self._chunk(chunk_id).chunk_id, k, allowed) if allowed != set() else []

    def facets(self, name: str, query: str | None = None, where: str | None = None) -> "list[ValueCount]":
        """Count the values of a key of `[metadata]`, or of a column such as `format`.

        Args:
            name: The key, or one of `format`, `lang`, `language`, `content_type`, `source`, `author` and `status`.
            query: Count only the documents of the 100 best hits of this query. None counts all.
            where: Count only where this predicate is true, as in `search`.

        Returns:
            One dict for each value, with its counts of `documents` and of their `chunks`, most documents first. A
            document with a list counts for each entry; one without a value counts for none.

        Raises:
            docmill.errors.QueryError: There is no such key, or `query` or `where` cannot be answered.
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> store.facets("format")
            [{'value': 'markdown', 'documents': 2, 'chunks': 2}, {'value': 'text', 'documents': 1, 'chunks': 1}]
        """
        from docmill.storage.snapshots.read.facets import value_counts

        if query is None:
            return value_counts(self.stored, name, self._allowed(where))
        return value_counts(self.stored, name, {hit.chunk_id for hit in self.search(query, _FACET_HITS, where=where)})

    def _allowed(self, where: str | None) -> set[str] | None:
        from docmill.storage.sql.statement_pool import select_ids

        check_where(where)
        if where is None:
            return None
        return select_ids(self.stored.paths("chunks"), self.stored.paths("documents"), where, self.snapshot.keys)

    def sql(self, statement: str, rows: int | None = None, seconds: float = 60.0) -> pa.Table:
        """Run one SELECT statement, which can read the store and nothing else.

        It reads the tables of the snapshot and the views that `docmill sql --tables` describes, such as `routing`,
        `snapshots`, `lengths` and `duplicates`; `neighbours(CHUNK_ID, 5)` gives the nearest chunks of one.
        `chunks_at(41)` and `chunks_at('TAG')` read `chunks` of another kept snapshot; every table has such a macro. The
        statement runs in a separate process, which is kept for the next one. It may use 2 GB for its work and 2 GB for
        its result.

        Args:
            statement: One SELECT in the SQL of DuckDB.
            rows: How many rows to return at most. None returns all.
            seconds: How long the statement may run, by the wall clock.

        Returns:
            The result, an Arrow table.

        Raises:
            docmill.errors.QueryError: The statement is not one SELECT, is wrong, names a snapshot that is not kept, or
                is beyond a limit.
            docmill.errors.StoreError: A file of the snapshot is damaged.
            docmill.errors.Transient: The process of the statement cannot be started.

        Examples:
            >>> store.sql("SELECT uri, chunks FROM documents ORDER BY uri", rows=1).to_pylist()
            [{'uri': 'git.md', 'chunks': 1}]
        """
        from docmill.storage.snapshots.read.statements import run_statement
        from docmill.storage.sql.statement import SqlLimits

        check_text(statement, "the statement")
        return run_statement(self.stored, statement, SqlLimits(seconds, rows=rows))

    def export(
        self,
        to: str | Path,
        *,
        table: str | None = None,
        where: str | None = None,
        since: int | str | None = None,
        replace: bool = False,
    ) -> "Exported":
        """Sync chunks and vectors to a file or a database of another program.

        A row has the columns that the guide on exports lists, among them the vector. The next export writes new and
        changed rows, and removes the rows of chunks that have left. It also completes an interrupted export.

        Args:
            to: `NAME.jsonl` or `NAME.parquet` for one file; `jsonl:FOLDER`, `parquet:FOLDER` or `hf:FOLDER` for a
                folder of files; `lancedb:FOLDER`, `qdrant:FOLDER`, `qdrant:http://HOST:PORT`, or
                `postgresql://HOST/DATABASE`. A password comes from the environment.
            table: The table or collection in a database. None takes `chunks`.
            where: An SQL predicate, as in `search`: only chunks for which it is true.
            since: The number or the tag of an earlier snapshot: only chunks that are new or changed since then, and the
                ids of removed ones. For files only.
            replace: Write all rows again, even if the target is an export of another store, another condition, another
                embedding model or a newer snapshot.

        Returns:
            What the export did. Chunks without a vector are left out and counted as `pending`.

        Raises:
            docmill.errors.ConfigError: `to` is not an export address, or a package or a password is missing.
            docmill.errors.QueryError: `where` cannot be evaluated within the limits of `sql`.
            docmill.errors.StoreError: The target has other contents, or was exported differently; nothing has changed.
            docmill.errors.Locked: Another export writes to the target.
            docmill.errors.Transient: The disk is full, or a server does not answer.

        Examples:
            >>> done = store.export("chunks.jsonl")
            >>> done.chunks, done.added
            (3, 3)
        """
        check_where(where)
        check_text(str(to), "the target")
        from docmill.storage.exports.export import ExportOptions, export

        return export(self.stored, str(to), ExportOptions(table, where, since, replace))

    def gaps(self, most: int = 200) -> "list[ContentGap]":
        """Return queries to which the store has no good answer, grouped by meaning.

        These had no hit of confidence .2, or a person judged that the store has no answer. They are asked again.
        Queries that this snapshot answers, or that have a passage judged right, are left out.

        Args:
            most: How many queries to ask again at most, the most frequent ones.

        Returns:
            The groups, most asked first; none for a narrowed store, which has no log.

        Raises:
            docmill.errors.StoreError: A file of the snapshot is damaged, or its embedding model has changed.

        Examples:
            >>> store.gaps()
            []
        """
        from docmill.storage.snapshots.read.query_analysis import AskingAgain, content_gaps

        if self.stored.folder.whole:
            return []
        words = partial(telling_words, language=self.snapshot.keywords.language)
        vectors = lambda texts: vectors_of(texts, self._sources.encoder)  # noqa: E731  the model loads when it is needed
        again = AskingAgain(self.search_all, vectors, words, self.snapshot.number)
        return content_gaps(self.queries(), self.judgements(), most, again)

    def replay(
        self,
        other: "Store",
        queries: Sequence[str] | None = None,
        k: int = 10,
        mode: Mode = "hybrid",
        **how: Unpack[SearchArguments],
    ) -> "list[ReplayedQuery]":
        """Ask the same queries of this snapshot and of another one, and return how the answers differ.

        Args:
            other: The snapshot to compare with, such as `open_store(path, "candidate-2")`.
            queries: The queries. None takes the 100 most frequent ones of the log.
            k: How many hits of each query to compare.
            mode: As in `search`.
            **how: As in `search`, for both snapshots.

        Returns:
            One entry for each query, the most changed first: `entered` are documents that only `other` finds.

        Raises:
            docmill.errors.QueryError: As `search`, if any of the queries cannot be answered.

        Examples:
            >>> [(one.query, one.same) for one in store.replay(store, ["undo a commit"])]
            [('undo a commit', True)]
        """
        from docmill.storage.snapshots.read.replay import replayed

        asked = self.queries()[:_REPLAYED] if queries is None else ()
        chosen = {one.query: one.times for one in asked} or dict.fromkeys(queries or (), 1)
        before, after = (one.search_all([*chosen], k, mode, **how) for one in (self, other))
        pairs = zip(chosen.items(), before, after, strict=True)
        found = [replayed(query, times, old, new) for (query, times), old, new in pairs]
        return sorted(found, key=lambda one: (one.kept, one.same, -one.times))

    def status(self) -> dict[str, Any]:
        """Return counts and properties of the snapshot.

        Returns:
            `store` (its path or address), `snapshot` (its number), `created` (ISO 8601, UTC), counts of `documents`, of
            `stale` ones, of those with `lost_text` (the view `warnings` says what is missing), of `chunks` and
            `rejects`, `unreadable` files and folders with the reason, counts of documents by `sources` and
            `content_types`, the embedding `model`, its `dimension`, and `bytes`, the disk use. `vectors` has the
            `share` of the chunks with vectors, from 0 to 1, the number of `pending` chunks, and the `minutes` that a
            run needs for these, or None. `poorly_read` has the languages that the model cannot read, by their tag: the
            number of `documents` and the `share` of their letters that are not read. A store on an object store also
            has `synced`: when its mirror was last in sync (ISO 8601, UTC). If a language model was asked, `contexts`
            counts the chunks whose answers from it are `missing`, `refused` or `stale`, with the last `reason`.

        Raises:
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> store.status()["documents"]
            3
        """
        from docmill.storage.snapshots.read.overview import status_of

        return {**status_of(self.stored), "poorly_read": self.poorly_read}

    @computed_once
    def poorly_read(self) -> dict[str, dict[str, float]]:
        """The languages that the model cannot read, as `status` has them, from a sample of the documents."""
        from docmill.storage.snapshots.read.model_reach import poorly_read

        return {one.lang: {"documents": one.documents, "share": one.share} for one in poorly_read(self.stored)}

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
        from docmill.storage.snapshots.read.overview import history_of

        return history_of(self.root, self.snapshot.number)
