"""Feedback: what people say about a store's answers, and what they ask, stored next to its snapshots."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.search.rank.candidates.search_options import Mode, check_query
from docmill.storage.snapshots.read.stored_documents import StoredDocuments

if TYPE_CHECKING:
    from docmill.storage.snapshots.history.judgements import Judgement
    from docmill.storage.snapshots.history.query_log import LoggedQuery
    from docmill.storage.snapshots.read.judging import JudgedPassage
    from docmill.storage.snapshots.read.query_analysis import FrequentQuery


class StoreFeedback(StoredDocuments):
    """The judgements and the log of queries of a store, seen from one open snapshot."""

    def judge(
        self,
        query: str,
        hit: Hit | str | None = None,
        relevant: bool = True,
        *,
        by: str = "",
        uri: str = "",
        quotation: str = "",
        note: str = "",
    ) -> "Judgement":
        """Say whether a passage answers a query, for `docmill evaluate` and `docmill tune`.

        The judgement is stored next to the snapshots, with a quotation of the passage, so that later snapshots find it
        again. Judging the same passage again replaces the person's earlier judgement.

        Args:
            query: The query, in words.
            hit: A hit of a search, or the id of a chunk. With neither `hit` nor `uri`, nothing in the store answers the
                query; `relevant` must then be False.
            relevant: Whether the passage answers the query.
            by: The name of the person who judges; it is not checked.
            uri: The document of a passage that is not a hit; it needs a `quotation`.
            quotation: The words of the document that answer, instead of the whole hit.
            note: Why it was judged so.

        Returns:
            The judgement, as it is stored.

        Raises:
            docmill.errors.QueryError: The snapshot lacks the chunk, the document or the quotation, a text is too long,
                or the store has 20,000 judgements.

        Examples:
            >>> hit = store.search("undo a commit", k=1)[0]
            >>> store.judge("undo a commit", hit, by="Ada").verdict
            'right'
        """
        from docmill.storage.snapshots.history import judgements
        from docmill.storage.snapshots.read.judging import Opinion, judgement_of

        made = judgement_of(self, Opinion(query, hit, relevant, by, uri, quotation, note))
        judgements.keep(self.stored.folder.beside, made)
        return made

    def withdraw(self, judgement_id: str) -> "Judgement":
        """Take a judgement back, with earlier ones of the same person about the same passage.

        Args:
            judgement_id: Its id, as in `Judgement.judgement_id`.

        Returns:
            The judgement, as it was.

        Raises:
            docmill.errors.QueryError: The store has no such judgement.

        Examples:
            >>> hit = store.search("undo a commit", k=1)[0]
            >>> made = store.judge("undo a commit", hit, False, by="Bo")
            >>> store.withdraw(made.judgement_id).verdict
            'wrong'
        """
        from docmill.storage.snapshots.read.judging import withdraw

        return withdraw(self, judgement_id)

    def judgements(self, query: str | None = None) -> "list[JudgedPassage]":
        """Return what people have judged, each with the place of its passage in this snapshot.

        Args:
            query: Only judgements of this query, ignoring case and white space. None takes all.

        Returns:
            The judgements, oldest first: only each person's newest about a passage. `state` says whether the passage
            was found again, and `disputed` whether two people disagree.

        Raises:
            docmill.errors.StoreError: A file of the snapshot is damaged.

        Examples:
            >>> hit = store.search("undo a commit", k=1)[0]
            >>> _ = store.judge("undo a commit", hit, by="Ada")
            >>> [(one.judgement.verdict, one.state) for one in store.judgements("Undo a commit")]
            [('right', 'found')]
        """
        from docmill.storage.snapshots.read.judging import judged_passages

        return judged_passages(self, query)

    def log_query(
        self,
        query: str,
        hits: Sequence[Hit],
        mode: Mode = "hybrid",
        *,
        filtered: bool = False,
        keep_days: float = 90.0,
    ) -> None:
        """Log a query and how well it was answered, without any text of a document.

        `docmill search`, `serve` and `mcp` do so with `queries.log = true`. Your own program has to call this.

        Args:
            query: The query. 500 characters of it are kept.
            hits: What the search returned.
            mode: The mode of the search.
            filtered: Whether a condition narrowed the search.
            keep_days: How many days logged queries are kept; older ones are removed.

        Raises:
            docmill.errors.QueryError: The query is empty or too long.
            docmill.errors.StoreError: The log cannot be written.

        Examples:
            >>> store.log_query("undo a commit", store.search("undo a commit"))
            >>> [(one.query, one.times) for one in store.queries()]
            [('undo a commit', 1)]
        """
        from docmill.storage.snapshots.history import query_log
        from docmill.storage.snapshots.history.query_log import LogBounds

        check_query(query)
        query_log.append(self.stored.folder.beside, [logged(self, query, hits, mode, filtered)], LogBounds(keep_days))

    def queries(self) -> "list[FrequentQuery]":
        """Return the logged queries, most frequent first; case and white space do not make them differ.

        Returns:
            The queries of the log; none for a narrowed store, because its principals may not see what others ask.

        Raises:
            OSError: The log cannot be read.

        Examples:
            >>> store.log_query("grind wheat", [])
            >>> [(one.query, one.hits) for one in store.queries() if one.hits == 0]
            [('grind wheat', 0)]
        """
        from docmill.storage.snapshots.history import query_log
        from docmill.storage.snapshots.read.query_analysis import frequent

        return [] if self.stored.folder.whole else frequent(query_log.read(self.stored.folder.root))


def logged(
    store: StoredDocuments, query: str, hits: Sequence[Hit], mode: Mode, filtered: bool = False, door: str = "python"
) -> "LoggedQuery":
    """Return the row of the log for a query that was asked now."""
    from docmill.storage.snapshots.history import query_log
    from docmill.storage.snapshots.history.query_log import MOST_CHARACTERS, LoggedQuery
    from docmill.storage.snapshots.read.query_analysis import best_of

    text, snapshot = query.strip()[:MOST_CHARACTERS], store.snapshot.number
    restricted = store.stored.folder.whole is not None
    return LoggedQuery(query_log.now(), text, mode, snapshot, len(hits), *best_of(hits), filtered, restricted, door)
