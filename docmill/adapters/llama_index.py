"""LlamaIndex: a retriever over a docmill store.

from docmill.adapters.llama_index import DocmillRetriever

retriever = DocmillRetriever("store", k=3)
nodes = retriever.retrieve("how do I undo a commit?")
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docmill.adapters.asking import Asking, Excerpt, opened
from docmill.adapters.filters import both
from docmill.storage.process.extras import extra
from docmill.storage.schema import ChunkRow
from docmill.storage.search.rank.candidates.search_options import Mode
from docmill.storage.snapshots.read.store import Store

with extra("llama-index", "docmill.adapters.llama_index"):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import (
        NodeRelationship,
        NodeWithScore,
        ObjectType,
        QueryBundle,
        RelatedNodeInfo,
        RelatedNodeType,
        TextNode,
    )
    from llama_index.core.vector_stores import MetadataFilters

__all__ = ["DocmillRetriever"]

_TOLD = {"source", "page", "context"}
"""The metadata that LlamaIndex writes above the text for a language model; the rest is for programs."""


class DocmillRetriever(BaseRetriever):
    """A retriever over a store: `retrieve` and `aretrieve`, alone or in a query engine.

    A node's `text` is exactly the text of its document from `start_char_idx` to `end_char_idx`, in code points. Its
    metadata has `source` (the URL where a person opens the original, else the uri), `uri`, `page` (from 1), `line`,
    `headings`, `context`, `chunk_id`, `snapshot`, and the scores of `docmill.Hit`; the score of the node is its
    relevance, in [0, 1]. A language model is shown source, page and context above the text. Relationships name the
    document (by its uri), the chunks before and after it, and the chunk that contains it.

    Args:
        store: The path or the address of a store, which is then searched by its newest snapshot, or an open store.
        k: How many nodes to return at most.
        mode: `"hybrid"`, `"vector"` or `"keyword"`.
        where: An SQL predicate over the columns of chunks and documents, such as `"format = 'pdf'"`.
        at: The number or the tag of an older snapshot.
        options: Further options of `Store.search`, such as `{"rerank": "late"}`. With `passages` a node has the
            sentences that answer instead of a whole chunk.
        filters: `MetadataFilters` of LlamaIndex; they narrow what `where` leaves.
        callback_manager: That of LlamaIndex.
    """

    def __init__(
        self,
        store: str | Path | Store,
        *,
        k: int = 5,
        mode: Mode = "hybrid",
        where: str | None = None,
        at: int | str | None = None,
        options: Mapping[str, Any] | None = None,
        filters: MetadataFilters | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager)
        self._asking = Asking(store, k, mode, both(where, filters), at, options or {})

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        store = opened(self._asking.store, self._asking.at)
        found = self._asking.changed({"store": store}).found(query_bundle.query_str)
        return [NodeWithScore(node=_node(store, one), score=one.hit.relevance) for one in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(store: Store, one: Excerpt) -> TextNode:
    metadata, passage = one.metadata(), one.passage
    return TextNode(
        id_=one.hit.chunk_id,
        text=passage.text,
        start_char_idx=passage.start_char,
        end_char_idx=passage.end_char,
        metadata=metadata,
        excluded_llm_metadata_keys=[name for name in metadata if name not in _TOLD],
        excluded_embed_metadata_keys=[name for name in metadata if name != "context"],
        relationships=_relationships(store, one),
    )


def _relationships(store: Store, one: Excerpt) -> dict[NodeRelationship, RelatedNodeType]:
    around = store.neighbours(one.hit.chunk_id)
    place = next(place for place, row in enumerate(around) if row.chunk_id == one.hit.chunk_id)
    document = RelatedNodeInfo(node_id=one.hit.uri, node_type=ObjectType.DOCUMENT)
    found: dict[NodeRelationship, RelatedNodeType] = {NodeRelationship.SOURCE: document}
    if place > 0:
        found[NodeRelationship.PREVIOUS] = _related(around[place - 1])
    if place + 1 < len(around):
        found[NodeRelationship.NEXT] = _related(around[place + 1])
    if parent := around[place].parent_id:
        found[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent, node_type=ObjectType.TEXT)
    return found


def _related(row: ChunkRow) -> RelatedNodeInfo:
    span = {"start_char": row.start_char, "end_char": row.end_char}
    return RelatedNodeInfo(node_id=row.chunk_id, node_type=ObjectType.TEXT, metadata=span)
