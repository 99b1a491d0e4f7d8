"""Haystack: a component that retrieves from a docmill store.

    from docmill.adapters.haystack import DocmillRetriever

    retriever = DocmillRetriever("store", top_k=3)
    documents = retriever.run("how do I undo a commit?")["documents"]

Haystack reports its use to its makers unless set otherwise. Where docmill is imported before Haystack, it does not,
unless you set `HAYSTACK_TELEMETRY_ENABLED` yourself.
"""

import asyncio
from typing import Any

from docmill.adapters.asking import Asking, Excerpt, opened
from docmill.adapters.filters import both
from docmill.storage.process.extras import extra
from docmill.storage.search.rank.candidates.search_options import Mode

with extra("haystack", "docmill.adapters.haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict

__all__ = ["DocmillRetriever"]


@component
class DocmillRetriever:
    """A component that finds documents for a `query`; it runs alone or in a pipeline, which may be saved and loaded.

    A document has the `relevance` of its hit as score, in [0, 1]. Its `meta` has `source` (the URL where a person
    opens the original, else the uri), `uri`, `page` (from 1), `line`, `start_char` and `end_char` (code points),
    `headings`, `context`, `chunk_id`, `snapshot`, and the scores of `docmill.Hit`.

    Args:
        store: The path or the address of a store, which is searched by its newest snapshot.
        top_k: How many documents to return at most.
        mode: `"hybrid"`, `"vector"` or `"keyword"`.
        where: An SQL predicate over the columns of chunks and documents, such as `"format = 'pdf'"`.
        at: The number or the tag of an older snapshot.
        options: Further options of `Store.search`, such as `{"rerank": "late"}`. With `passages` a document has the
            sentences that answer instead of a whole chunk.
        with_context: Whether `content` begins with the context of the text: its document and the headings above.
            Without it, `content` is exactly the document's text from `start_char` to `end_char`.
    """

    def __init__(
        self,
        store: str,
        *,
        top_k: int = 5,
        mode: Mode = "hybrid",
        where: str | None = None,
        at: int | str | None = None,
        options: dict[str, Any] | None = None,
        with_context: bool = True,
    ) -> None:
        self.asking = Asking(str(store), top_k, mode, where, at, options or {})
        self.with_context = with_context

    def warm_up(self) -> None:
        """Open the store and load its indexes and its model, before the first question waits for them."""
        opened(self.asking.store, self.asking.at)

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        top_k: int | None = None,
        where: str | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Return the documents of a query, best first. The other arguments apply to this query only.

        `filters` are those of Haystack: `{"field": "meta.team", "operator": "==", "value": "sales"}`. They narrow what
        `where` leaves.
        """
        asking = self.asking.changed({"k": top_k, "where": where})
        found = asking.changed({"where": both(asking.where, filters)}).found(query)
        return {"documents": [self._document(one) for one in found]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        top_k: int | None = None,
        where: str | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Return what `run` returns, from another thread."""
        return await asyncio.to_thread(self.run, query, top_k, where, filters)

    def _document(self, one: Excerpt) -> Document:
        content = one.content(self.with_context)
        return Document(id=one.hit.chunk_id, content=content, meta=one.metadata(), score=one.hit.relevance)

    def to_dict(self) -> dict[str, Any]:
        """Return the component as a pipeline saves it."""
        own = self.asking
        how = {"mode": own.mode, "where": own.where, "at": own.at, "options": dict(own.options)}
        return default_to_dict(self, store=own.store, top_k=own.k, **how, with_context=self.with_context)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "DocmillRetriever":
        """Return the component that a pipeline has saved."""
        return default_from_dict(cls, data)
