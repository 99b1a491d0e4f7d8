"""MCP tools: what a language model can ask of the stores. The model reads their docstrings."""

import asyncio
import functools
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from typing import Annotated, Any, cast

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ImageContent, TextContent
from pydantic import Field

from docmill.flows.serving import answers
from docmill.flows.serving.answers import AskedChunk, AskedPage, AskedSearch, Searching
from docmill.flows.serving.audit import AuditLog, show
from docmill.flows.serving.json_text import json_text
from docmill.flows.serving.open_stores import SEES_ALL, OpenStores, ServedStore
from docmill.storage.errors import DocmillError, QueryError
from docmill.storage.process.cancellation import Asker, asked_by, current_asker
from docmill.storage.search.rank.candidates.search_options import Mode, SearchArguments

Answer = Annotated[CallToolResult, dict[str, Any]]

_SQL_S = 20.0
"""Seconds that a statement may run: clients give up on a tool after 30 to 60."""
_BRIEF = (
    "rank", "relevance", "confidence", "chunk_id", "uri", "source_url", "start_char", "end_char", "line", "page",
    "headings", "content_type", "context", "text", "text_left_out", "matched",
)  # fmt: skip
"""The fields of a hit that a model needs to answer and to cite; `explain` returns all."""

Where = Annotated[
    str | None,
    Field(
        description="SQL condition on columns of chunks and documents, such as: format = 'pdf' AND uri LIKE"
        " 'handbook/%'. Columns: uri, title, format, content_type, lang, author, modified, source, page, tokens."
    ),
]
At = Annotated[int | str | None, Field(description="Number or tag of an older snapshot. Leave out for the newest.")]
StoreName = Annotated[str | None, Field(description="Name of the store. Leave out for the first one.")]
Most = Annotated[
    int, Field(ge=1000, le=200_000, description="Characters of the answer at most; `left_out` says what did not fit.")
]
Uri = Annotated[str, Field(description="Name of a document, as hits and list_documents give it.")]
ChunkId = Annotated[str, Field(description="Id of a chunk, 32 hex digits, as hits give it.")]
Hits = Annotated[int, Field(ge=1, le=100, description="How many hits to return.")]


def told(tool: Callable[..., CallToolResult]) -> Callable[..., Awaitable[CallToolResult]]:
    """Return a tool that runs in a thread, and stops when its client cancels the call or disconnects.

    The model gets the messages of expected errors, without folder names of this machine.
    """

    @functools.wraps(tool)
    async def wrapped(own: "StoreTools", *given: Any, **named: Any) -> CallToolResult:
        sender = current_asker()
        call = Asker(sender.client, own.principals)
        failed = ""
        with sender.ended_by(call.leave), asked_by(call):
            try:
                return await asyncio.to_thread(tool, own, *given, **named)
            except asyncio.CancelledError:
                call.leave()
                raise
            except DocmillError as error:
                failed = type(error).__name__
                raise ToolError(own.without_folders(str(error))) from error
            finally:
                own.note(tool.__name__, call, failed)

    return wrapped


def as_result(answer: dict[str, Any]) -> CallToolResult:
    """Return an answer as JSON for programs, and the same JSON as text for models."""
    show(answer)
    text = json_text(answer)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=json.loads(text))


class StoreTools:
    """The tools that read a store. Each answer names the store and the snapshot that it comes from."""

    def __init__(self, stores: OpenStores, searching: Searching, audit: AuditLog | None = None) -> None:
        self._stores = stores
        self._searching = searching
        self._audit = audit

    def note(self, verb: str, asker: Asker, failed: str = "") -> None:
        """Log an answer to an asker, if the server has an audit log."""
        if self._audit is not None:
            self._audit.note(verb, asker, failed)

    def without_folders(self, message: str) -> str:
        """Return a message with store names instead of their folders."""
        return self._stores.without_folders(message)

    @property
    def principals(self) -> frozenset[str]:
        """The principals of the current question."""
        return self._stores.principals

    def at(self, store: str | None, at: int | str | None = None) -> ServedStore:
        """Return the snapshot to answer from, which is the newest at this moment."""
        self._stores.take_up()
        return self._stores.get(store, at)

    @told
    def search(
        self,
        query: Annotated[str, Field(description="A question or keywords, in the language of the documents.")],
        k: Hits = 8,
        mode: Annotated[
            Mode,
            Field(description="hybrid: meaning and words. vector: meaning. keyword: exact words, codes, names."),
        ] = "hybrid",
        where: Where = None,
        at: At = None,
        min_confidence: Annotated[
            float | None, Field(ge=0, le=1, description="Leave out hits whose confidence is below this, such as 0.3.")
        ] = None,
        language: Annotated[
            str | None, Field(max_length=35, description="Language of the query, such as de; else detected.")
        ] = None,
        explain: Annotated[bool, Field(description="Return scores and all other fields of each hit.")] = False,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """Find passages that answer a question.

        Returns `hits`, best first. Each has `text`, `context` (title and headings above it), `uri`, `source_url` (where
        a person opens the original; may be empty), `page`, `line`, `headings`, `confidence` (how likely it answers, 0
        to 1; if all are below 0.2, the documents may not say), and its span: `text` is the document's text from
        `start_char` to `end_char`. Cite a hit by its uri with page or line. Read on with get_chunk or get_section when
        a passage breaks off; call again in other words when nothing fits.

        Examples:
            {"query": "how long does the battery last without sun?"}
            {"query": "ERR-4012", "mode": "keyword"}
            {"query": "notice period", "where": "format = 'pdf' AND uri LIKE 'legal/%'", "k": 3}
        """
        searching, given = self._searching, {"min_confidence": min_confidence, "language": language}
        own = {name: value for name, value in given.items() if value is not None}
        searching = replace(searching, how=cast(SearchArguments, {**searching.how, **own}))
        asked = AskedSearch(query, k, mode, where, searching, max_characters)
        return as_result(_brief(answers.found(self.at(store, at), asked), explain))

    @told
    def similar(
        self,
        chunk_id: ChunkId,
        k: Hits = 8,
        where: Where = None,
        at: At = None,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """Find passages whose meaning is nearest to that of a passage, such as other places that treat one subject.

        Returns hits as `search` does; `relevance` is the cosine similarity.

        Example:
            {"chunk_id": "0b5c7a3e9d2f48615c0e7a9b3d1f2468", "k": 5}
        """
        return as_result(_brief(answers.similar(self.at(store, at), chunk_id, k, where, max_characters), False))

    @told
    def get_document(
        self,
        uri: Uri,
        start_char: Annotated[int, Field(ge=0, description="Offset at which to start, in characters.")] = 0,
        end_char: Annotated[
            int | None, Field(ge=0, description="Offset before which to stop; none for the end.")
        ] = None,
        at: At = None,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """Read a document as Markdown: whole, or from one offset to another.

        Returns `document` (title, format, author, dates, source_url, and `warnings` about text that was lost), `text`,
        its span, and the `figures` in it, which get_figure shows. If the text does not fit,
        `left_out.next_start_char` says where to go on. For a long document call get_outline first and read the section
        that you need.

        Examples:
            {"uri": "handbook/onboarding.md"}
            {"uri": "legal/terms.pdf", "start_char": 12000, "end_char": 15000}
        """
        return as_result(answers.document(self.at(store, at), uri, start_char, end_char, max_characters))

    @told
    def get_outline(self, uri: Uri, at: At = None, store: StoreName = None, max_characters: Most = 20_000) -> Answer:
        """List the headings of a document, each with its number, level, span, size in characters, and pages.

        A section contains its subsections. Number "0" is the text before the first heading, or all text of a document
        without headings.

        Example:
            {"uri": "handbook/onboarding.md"}
        """
        return as_result(answers.outline(self.at(store, at), uri, max_characters))

    @told
    def get_section(
        self,
        uri: Uri,
        section: Annotated[str, Field(description="Number in the outline, such as 2.1, or the words of the heading.")],
        at: At = None,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """Read one section of a document with its subsections, as Markdown, with its span and pages.

        Examples:
            {"uri": "handbook/onboarding.md", "section": "2.1"}
            {"uri": "handbook/onboarding.md", "section": "First week"}
        """
        return as_result(answers.section(self.at(store, at), uri, section, max_characters))

    @told
    def get_chunk(
        self,
        chunk_id: ChunkId,
        before: Annotated[int, Field(ge=0, le=50, description="Chunks before it to return.")] = 1,
        after: Annotated[int, Field(ge=0, le=50, description="Chunks after it to return.")] = 1,
        parent: Annotated[
            bool, Field(description="Return the larger chunk that contains it, if there is one.")
        ] = False,
        at: At = None,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """Read a passage with what is around it: the chunks before and after it, or the chunk that contains it.

        Examples:
            {"chunk_id": "0b5c7a3e9d2f48615c0e7a9b3d1f2468"}
            {"chunk_id": "0b5c7a3e9d2f48615c0e7a9b3d1f2468", "before": 0, "after": 3}
            {"chunk_id": "0b5c7a3e9d2f48615c0e7a9b3d1f2468", "before": 0, "after": 0, "parent": true}
        """
        asked = AskedChunk(chunk_id, before, after, parent, max_characters)
        return as_result(answers.chunk(self.at(store, at), asked))

    @told
    def get_figure(
        self,
        key: Annotated[str, Field(description="Key of a figure: 32 hex digits after `docmill:figure/` in a text.")],
        at: At = None,
        store: StoreName = None,
    ) -> Answer:
        """Look at a figure: the picture that a text shows as `![words](docmill:figure/KEY)`.

        Returns the picture, its size in pixels, and the documents that show it, each with caption and page.

        Example:
            {"key": "f78f2962db408065978c900177515a57"}
        """
        served = self.at(store, at)
        picture = served.store.figure(key)
        shown = ImageContent(type="image", data=b64encode(picture.data).decode(), mime_type=picture.media_type)
        told = as_result(answers.figure(served, picture))
        return CallToolResult(content=[*told.content, shown], structured_content=told.structured_content)

    @told
    def list_documents(
        self,
        where: Annotated[
            str | None, Field(description="SQL condition on columns of documents, such as: format = 'pdf'.")
        ] = None,
        prefix: Annotated[str, Field(description="Only documents whose uri begins so, such as handbook/.")] = "",
        after: Annotated[str, Field(description="`next` of the answer before, to get the next page.")] = "",
        limit: Annotated[int, Field(ge=1, le=1000, description="How many documents to return.")] = 50,
        at: At = None,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """List documents by uri, with title, format, size, author, dates and source_url, a page at a time.

        `next` is not null if there are more: pass it as `after`.

        Examples:
            {"prefix": "handbook/"}
            {"where": "format = 'pdf' AND modified > '2026-01-01'", "limit": 20}
        """
        asked = AskedPage(where, prefix, after, limit, max_characters)
        return as_result(answers.documents(self.at(store, at), asked))

    @told
    def facets(
        self,
        name: Annotated[str, Field(description="A key of metadata, or format, lang, content_type, source, author.")],
        query: Annotated[str | None, Field(description="Count only the 100 best hits of this query.")] = None,
        where: Where = None,
        at: At = None,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """Count the documents, and their passages, of each value of a key, such as all teams.

        Examples:
            {"name": "format"}
            {"name": "lang", "query": "notice period"}
        """
        return as_result(answers.facets(self.at(store, at), name, query, where, max_characters))

    @told
    def sql(
        self,
        query: Annotated[str, Field(description="One SELECT in the SQL of DuckDB.")],
        max_rows: Annotated[int, Field(ge=1, le=10_000, description="How many rows to return.")] = 100,
        at: At = None,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """Count, group or join the rows of the store with one SELECT. It cannot change anything.

        Tables: documents (uri, title, format, content_type, characters, chunks, status, author, modified, ...), chunks
        (chunk_id, uri, ordinal, text, context, headings, page, line, content_type, strategy, tokens, ...), rejects
        (uri, reason, message), figures (uri, key, caption, alt, page), runs, snapshots, duplicates, lengths, freshness.
        `SHOW TABLES` lists all, `DESCRIBE chunks` the columns of one. chunks_at(41) reads another snapshot. A statement
        may run for 20 seconds.

        Examples:
            {"query": "SELECT format, count(*) AS files FROM documents GROUP BY ALL ORDER BY files DESC"}
            {"query": "SELECT uri, reason, message FROM rejects ORDER BY uri"}
        """
        return as_result(answers.sql(self.at(store, at), query, max_rows, _SQL_S, max_characters))

    @told
    def status(self, at: At = None, store: StoreName = None, max_characters: Most = 20_000) -> Answer:
        """Show what a store contains: its snapshot and its time, counts of documents, chunks and rejects, formats.

        `stores` names all stores of this server.

        Example:
            {}
        """
        return as_result({**answers.status(self.at(store, at), max_characters), "stores": self._stores.names})

    @told
    def diff(
        self,
        old: Annotated[int | str, Field(description="Number or tag of the earlier snapshot.")],
        new: Annotated[int | str | None, Field(description="The later one. Leave out for the newest.")] = None,
        text: Annotated[bool, Field(description="Show the changed lines of chunks.")] = False,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """Report what changed between two snapshots: documents and chunks that were added, removed, changed or moved.

        Examples:
            {"old": 41}
            {"old": "release-1", "new": "release-2", "text": true}
        """
        later = self.at(store, new)
        return as_result(answers.difference(later, self._stores.get(store, old), text, max_characters))

    @told
    def asked_queries(
        self,
        unanswered: Annotated[
            bool, Field(description="Only queries that the documents do not answer, grouped by subject.")
        ] = False,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """List what people ask most, or what the documents do not answer, if the server logs queries.

        Returns `queries`, most frequent first, or `gaps`: groups of queries about one subject, with its words.

        Example:
            {"unanswered": true}
        """
        self._check_whole()
        said = answers.gaps if unanswered else answers.queries
        return as_result(said(self.at(store), max_characters))

    @told
    def replay(
        self,
        old: Annotated[int | str, Field(description="Number or tag of the earlier snapshot.")],
        new: Annotated[int | str | None, Field(description="The later one. Leave out for the newest.")] = None,
        store: StoreName = None,
        max_characters: Most = 20_000,
    ) -> Answer:
        """Ask the 100 most frequent queries of two snapshots, and show what moved: documents that entered and left.

        Example:
            {"old": 41}
        """
        self._check_whole()
        later = self.at(store, new)
        return as_result(answers.replay(later, self._stores.get(store, old), self._searching, max_characters))

    def _check_whole(self) -> None:
        if self._stores.principals != SEES_ALL:
            raise QueryError("only a client that sees all documents may read what others ask")

    @told
    def judge(
        self,
        query: Annotated[str, Field(description="The query that a person asked.")],
        relevant: Annotated[bool, Field(description="Whether the passage answers it.")],
        by: Annotated[str, Field(max_length=200, description="Name of the person whose judgement it is.")],
        chunk_id: Annotated[str, Field(description="The judged passage; leave out if nothing answers.")] = "",
        quotation: Annotated[str, Field(description="Words of the passage that answer, if not all of it does.")] = "",
        note: Annotated[str, Field(description="Why.")] = "",
        store: StoreName = None,
    ) -> Answer:
        """Save a person's judgement of an answer: a passage is right or wrong, or no passage answers.

        Only call this when the user says so; do not judge on your own. Leave out chunk_id with relevant false to say
        that nothing in the store answers.

        Examples:
            {"query": "notice period", "relevant": true, "by": "Ada", "chunk_id": "0b5c7a3e9d2f48615c0e7a9b3d1f2468"}
            {"query": "parking", "relevant": false, "by": "Ada"}
        """
        own = self.at(store)
        made = own.store.judge(query, chunk_id or None, relevant, by=by, quotation=quotation, note=note)
        return as_result({**own.head, "judgement": asdict(made)})


def _brief(answer: dict[str, Any], explain: bool) -> dict[str, Any]:
    """Return an answer whose hits have only the fields that a model needs; with `explain`, all fields."""
    if explain:
        return answer
    hits = [{name: hit[name] for name in _BRIEF if hit.get(name) not in (None, "")} for hit in answer["hits"]]
    return {**answer, "hits": hits}
