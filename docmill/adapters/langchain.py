"""LangChain: a retriever and a document loader over a docmill store.

from docmill.adapters.langchain import DocmillRetriever

retriever = DocmillRetriever(store="store", k=3)
documents = retriever.invoke("how do I undo a commit?")
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from docmill.adapters.asking import Asking, Excerpt, check_names, opened
from docmill.adapters.filters import both
from docmill.storage.process.extras import extra
from docmill.storage.search.rank.candidates.search_options import Mode, check_where
from docmill.storage.snapshots.read.document import Document as StoredDocument
from docmill.storage.snapshots.read.document import whole_documents
from docmill.storage.snapshots.read.store import Store

with extra("langchain", "docmill.adapters.langchain"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.document_loaders import BaseLoader
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

__all__ = ["DocmillLoader", "DocmillRetriever"]

_AT_ONCE = 64  # documents whose texts are read together and held in memory


class DocmillRetriever(BaseRetriever):
    """A retriever over a store: `invoke`, `ainvoke`, `batch` and all else that LangChain's retrievers have.

    `invoke` takes each of the attributes below but `store` and `with_context` for one question, too:
    `retriever.invoke("undo", k=3)`.

    Attributes:
        store: The path or the address of a store, which is then searched by its newest snapshot, or an open store.
        k: How many documents to return at most.
        mode: `"hybrid"`, `"vector"` or `"keyword"`.
        where: An SQL predicate over the columns of chunks and documents, such as `"format = 'pdf'"`.
        at: The number or the tag of an older snapshot.
        options: Further options of `Store.search`, such as `{"rerank": "late"}`. With `passages` a document has the
            sentences that answer instead of a whole chunk.
        with_context: Whether `page_content` begins with the context of the text: its document and the headings above.
            Without it, `page_content` is exactly the document's text from `start_index` to `end_char`.
        filter: A filter as a dict, such as `{"team": "sales", "price": {"$lt": 9}}`; it narrows what `where` leaves.

    The metadata of a document has `source` (the URL where a person opens the original, else the uri), `uri`, `page`
    (from 1) and `line`, `start_index` and `end_char` (code points), `headings`, `chunk_id`, `snapshot`, `relevance` (in
    [0, 1]) and the scores of `docmill.Hit`.
    """

    store: str | Path | Store
    k: int = 5
    mode: Mode = "hybrid"
    where: str | None = None
    at: int | str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    with_context: bool = True
    filter: dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: Any) -> Any:
        # LangChain's own class drops what it does not know, and an unfiltered answer looks like a filtered one.
        check_names(cls.__name__, given, [*cls.model_fields])
        check_where(given.get("where"))
        return given

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        self._asking()
        return self

    def _asking(self) -> Asking:
        return Asking(self.store, self.k, self.mode, self.where, self.at, self.options)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  LangChain passes it by this name
        **changes: Any,
    ) -> list[Document]:
        given = changes.pop("filter", None)
        asking = self._asking().changed(changes)
        # The retriever's own filter always applies: a question may narrow it, not widen it.
        asking = asking.changed({"where": both(both(asking.where, self.filter), given)})
        return [self._document(one) for one in asking.found(query)]

    def _document(self, one: Excerpt) -> Document:
        metadata = {**one.metadata(), "start_index": one.passage.start_char}
        return Document(one.content(self.with_context), id=one.hit.chunk_id, metadata=metadata)


class DocmillLoader(BaseLoader):
    """A loader of the documents of a store: each with its text as docmill read it, and what its file says of itself.

    Args:
        store: The path or the address of a store, whose newest snapshot is read, or an open store.
        where: An SQL predicate over the columns of documents, such as `"format = 'pdf'"`. None loads all.
        at: The number or the tag of an older snapshot.
    """

    def __init__(self, store: str | Path | Store, *, where: str | None = None, at: int | str | None = None) -> None:
        self._store = store
        self._where = where
        self._at = at

    def lazy_load(self) -> Iterator[Document]:
        """Yield the documents by uri, a few at a time in memory."""
        store = opened(self._store, self._at)
        rows = store.documents(self._where)
        for start in range(0, len(rows), _AT_ONCE):
            some = whole_documents(store.stored, rows[start : start + _AT_ONCE])
            yield from (_loaded(one, store.snapshot.number) for one in some)


def _loaded(one: StoredDocument, snapshot: int) -> Document:
    row = one.row
    place = {"source": row.source_url or row.uri, "uri": row.uri, "title": one.title, "format": row.format}
    metadata = {**one.metadata, **place, "snapshot": snapshot}
    return Document(one.text, id=row.document_id, metadata=metadata)
