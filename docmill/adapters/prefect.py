"""Prefect: a block by which flows search a docmill store and ingest into it.

from docmill.adapters.prefect import DocmillStore

DocmillStore(store="/srv/store", sources=["/srv/docs"]).save("handbook")


@flow
def answer(question: str) -> str:
    return DocmillStore.load("handbook").search(question, k=1)[0].text
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from prefect.blocks.core import Block
from pydantic import Field, model_validator

import docmill
from docmill.adapters.asking import Asking, check_names
from docmill.flows.runs.report import Report
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.snapshots.read.store import Store

__all__ = ["DocmillStore"]


class DocmillStore(Block):
    """A docmill store that flows search, read and ingest into.

    Attributes:
        store: The path or the address of the store.
        sources: What `ingest` reads if it is given nothing else.
        options: Settings by their key in docmill.toml, such as `{"parse.workers": 2}`, for `ingest`. Keep passwords and
            keys in the environment: everyone who sees a block sees these.
    """

    _block_type_name = "docmill store"
    _block_type_slug = "docmill-store"

    store: str = Field(description="Path or address of the store.")
    sources: list[str] = Field(default_factory=list, description="Folders, files and addresses to ingest.")
    options: dict[str, Any] = Field(default_factory=dict, description="Settings of docmill by their key, for ingests.")

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: Any) -> Any:
        # Prefect's own class takes and keeps what it does not know; `block_type_slug` it adds itself.
        check_names(cls.__name__, given, [*cls.model_fields, "block_type_slug"])
        return given

    def open(self, at: int | str | None = None) -> Store:
        """Return the store at its newest snapshot, or at a number or tag, open for reading; the caller closes it."""
        return docmill.open_store(self.store, at)

    def search(self, text: str, *, at: int | str | None = None, **how: Any) -> list[Hit]:
        """Return the chunks that answer a query best; `how` are `k`, `mode`, `where` and the options of a search."""
        named: dict[str, Any] = {name: how.pop(name) for name in ("k", "mode", "where") if name in how}
        return [one.hit for one in Asking(self.store, at=at, options=how).changed(named).found(text)]

    async def asearch(self, text: str, *, at: int | str | None = None, **how: Any) -> list[Hit]:
        """Return what `search` returns, from another thread."""
        return await asyncio.to_thread(self.search, text, at=at, **how)

    def ingest(self, sources: Sequence[str] = (), **how: Any) -> Report:
        """Bring the store up to date with its sources, as `docmill.ingest` does.

        Args:
            sources: What to read; the default is `sources` of the block.
            **how: `allow_delete`, `retry` and `refresh_contexts` of `docmill.ingest`.

        Returns:
            What the run did; `exit_status` is 0 only if every document is in the store as it is now.
        """
        return docmill.ingest(sources or self.sources, store=self.store, options=self.options, **how)

    async def aingest(self, sources: Sequence[str] = (), **how: Any) -> Report:
        """Return what `ingest` returns, from another thread."""
        return await asyncio.to_thread(self.ingest, sources, **how)
