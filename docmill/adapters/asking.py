"""Asking: the shared parts of the adapters: a search of a store, and the data of each hit for a framework."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from docmill.flows.serving.open_stores import OpenStores
from docmill.storage.address import absolute
from docmill.storage.errors import ConfigError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.rank.candidates.hit import Hit, HitPassage
from docmill.storage.search.rank.candidates.search_options import Mode, options_of
from docmill.storage.snapshots.read.store import Store

_OF_CALL = {"rewrite", "principals"}
"""Options of `Store.search` besides those of `SearchOptions`."""
_MOST_OPEN = 8
"""Stores that stay open in a process for the next query. Each keeps its indexes in memory."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A hit for a framework: the text for the model, its span, and the data for citations."""

    hit: Hit
    snapshot: int

    @property
    def passage(self) -> HitPassage:
        """The text of the hit and its span, or the sentences that answer if the search returns passages."""
        return self.hit.passage or HitPassage(self.hit.text, self.hit.start_char, self.hit.end_char)

    def content(self, with_context: bool) -> str:
        """Return the text, after the context with the document and section."""
        above = f"{self.hit.context}\n\n" if with_context and self.hit.context else ""
        return above + self.passage.text

    def metadata(self) -> dict[str, Any]:
        """Return the place and scores of the hit as JSON values, without missing ones, such as pages."""
        hit, passage = self.hit, self.passage
        place = {"source": hit.source_url or hit.uri, "uri": hit.uri, "page": hit.page, "line": self._line}
        span = {"start_char": passage.start_char, "end_char": passage.end_char, "headings": list(hit.headings)}
        what = {"context": hit.context, "content_type": hit.content_type, "chunk_id": hit.chunk_id}
        scores = {"relevance": hit.relevance, "confidence": hit.confidence, "score": hit.score}
        by_index = {"vector_score": hit.vector_score, "keyword_score": hit.keyword_score}
        every = {**place, **span, **what, "snapshot": self.snapshot, **scores, **by_index}
        return {name: value for name, value in every.items() if value is not None}

    @property
    def _line(self) -> int:
        """The line on which the text starts, which is after that of the hit if the text is a part of it."""
        return self.hit.line + self.hit.text.count("\n", 0, self.passage.start_char - self.hit.start_char)


@dataclass(frozen=True, slots=True)
class Asking:
    """How an adapter searches.

    Attributes:
        store: An open store, or the path or address of one, whose newest snapshot is then searched.
        k: How many hits to return at most.
        mode: `"hybrid"`, `"vector"` or `"keyword"`.
        where: An SQL predicate over the columns of chunks and documents.
        at: The number or the tag of an older snapshot of a store that is given by its path.
        options: Further options of `Store.search`, by name.
    """

    store: str | Path | Store
    k: int = 5
    mode: Mode = "hybrid"
    where: str | None = None
    at: int | str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        options_of(self.k, self.mode, self.where, {name: self.options[name] for name in self.options.keys() - _OF_CALL})

    def changed(self, given: Mapping[str, Any]) -> Self:
        """Return a copy with other values. None, which a framework passes for missing arguments, changes nothing.

        Raises `TypeError` for an unknown name, because an ignored filter would show too much.
        """
        check_names("a search", given, [one.name for one in fields(self)])
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    def found(self, text: str) -> list[Excerpt]:
        """Return the hits of a query, best first.

        With the option `passages`, hits without one are left out, because better sentences used up the budget.
        """
        store = opened(self.store, self.at)
        hits = store.search(text, self.k, self.mode, self.where, **self.options)
        kept = (hit for hit in hits if hit.passage or not self.options.get("passages"))
        return [Excerpt(hit, store.snapshot.number) for hit in kept]


def check_names(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise `TypeError` for an argument that is not among those `known`."""
    for name in given:
        if name not in known:
            raise TypeError(f"{what} takes no {name!r}; it takes {', '.join(known)}. A filter is `where`, in SQL")


def opened(store: str | Path | Store, at: int | str | None = None) -> Store:
    """Return a store to read from: the given one, or the snapshot at `at`, else the newest, of the one at a path.

    Raises:
        docmill.errors.ConfigError: `store` is open already, and `at` is given.
        docmill.errors.StoreError: There is no store or no such snapshot.
    """
    if not isinstance(store, Store):
        served = _served(absolute(store))
        served.take_up()
        return served.get(at=at).store
    if at is not None:
        raise ConfigError(f"an open store reads snapshot {store.snapshot.number}; give its path to read {at!r}")
    return store


@lru_cache(_MOST_OPEN)
def _served(name: str) -> OpenStores:
    """Return the store at a path or an address, shared by all adapters of the process and their copies."""
    return OpenStores({"store": open_folder(name).root})
