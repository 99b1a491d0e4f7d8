"""Page routes: paths that only the page uses. They may change together with the page."""

import threading
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Response

from docmill.flows.config.settings import Settings
from docmill.flows.measure.chunk_map import chunk_map
from docmill.flows.serving import answers
from docmill.flows.serving.json_response import as_json, ready_json
from docmill.flows.serving.open_stores import OpenStores, ServedStore, asked_store
from docmill.flows.serving.page.add_documents import Adding
from docmill.flows.serving.page.answers_ahead import (
    AnswersAhead,
    AskedFacets,
    facet_rows,
    identity,
    keep_answer,
    read_answer,
)
from docmill.flows.serving.page.map_columns import map_columns
from docmill.flows.serving.page.originals import Originals, as_answer, places, refusal
from docmill.flows.serving.page.page_questions import MOST, Question, RowsQuestion, TrialQuestion, Uri, Where
from docmill.flows.serving.page.split_trial import AskedTrial, SplitTrials, strategies
from docmill.storage.errors import ConfigError, QueryError, Rejected
from docmill.storage.schema import Draft
from docmill.storage.search.keywords.analysis.analyser import load_analyser
from docmill.storage.search.keywords.analysis.separation import separate
from docmill.storage.search.rank.candidates.search_options import Mode
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.stored_documents import chunks_in, row_of

_MOST_CHARACTERS = 5_000_000  # the limit of an answer, as in the API
_NEAR = 5
_CHUNK = (
    "chunk_id", "ordinal", "start_char", "end_char", "content_type", "strategy", "tokens", "page", "line", "role",
    "depth", "note", "context", "headings", "parent_id", "children", "phrasings",
)  # fmt: skip
"""The columns of a chunk that the document view shows; its text is a part of the document's."""
_MOST_KEPT = 4  # maps in memory, each some 10 MB at 100,000 chunks


class PageRoutes:
    """The paths of the page over the served stores; `settings` say how documents are read and split.

    `adding` handles added documents, if people may add any.
    """

    def __init__(self, stores: OpenStores, settings: Settings, adding: Adding | None = None) -> None:
        self._stores = stores
        self._adding = adding
        self._originals = Originals(settings)
        self._trials = SplitTrials(settings)
        self.ahead = AnswersAhead(stores)
        self._maps: dict[tuple[object, ...], Response] = {}
        self._lock = threading.Lock()

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter(include_in_schema=False)
        for answer in (self.facets, self.map, self.newest, self.outline, self.ignored, self.cuts, self.places,
                       self.original, self.strategies):  # fmt: skip
            router.add_api_route(f"/{answer.__name__}", answer, methods=["GET"])
        router.add_api_route("/near/{chunk_id}", self.near, methods=["GET"])
        router.add_api_route("/rows", self.rows, methods=["POST"])
        router.add_api_route("/trial", self.trial, methods=["POST"])
        return router

    def newest(self, store: str | None = None, at: str | None = None) -> Response:
        """Return the current snapshot. A page asks every few seconds, so this reads a snapshot's files only once."""
        self.ahead.note_page()
        served = asked_store(self._stores, store, at)
        snapshot = served.store.snapshot
        counts = {name: snapshot.rows(name) for name in ("documents", "chunks")}
        vectors = snapshot.vector_state()
        status = {"snapshot": snapshot.number, "created": snapshot.created, **counts, "vectors": vectors}
        status["poorly_read"] = served.store.poorly_read
        may_add = self._adding.told() if self._adding and at is None else None
        return as_json({**served.head, "status": status, "stores": self._stores.names, "adding": may_add})

    def rows(self, asked: RowsQuestion) -> Response:
        """Return the rows of a statement as `/sql` does, from the cache if possible: charts repeat their statements."""
        return self.ahead.rows(asked_store(self._stores, asked.store, asked.at), asked)

    def facets(
        self,
        q: Question = "",
        mode: Mode = "hybrid",
        where: Where = "",
        store: str | None = None,
        at: str | None = None,
    ) -> Response:
        """Return how many chunks each value of a facet has, among all chunks or the best hits of a question."""
        served, asked = asked_store(self._stores, store, at), AskedFacets(q, mode, where)
        return as_json(facet_rows(served, asked)) if q or where else self.ahead.facets(served)

    def near(self, chunk_id: str, store: str | None = None, at: str | None = None) -> Response:
        """Return the chunks nearest to a chunk by vectors."""
        return as_json(answers.similar(asked_store(self._stores, store, at), chunk_id, _NEAR, None, MOST))

    def ignored(self, q: Question, store: str | None = None, at: str | None = None) -> Response:
        """Return the distinct words of a question that the keyword index ignores."""
        served = asked_store(self._stores, store, at)
        terms = load_analyser(served.store.snapshot.keywords.language)
        words = dict.fromkeys(word for word in separate(q).split() if any(map(str.isalnum, word)) and not terms[word])
        return as_json({**served.head, "ignored": [*words]})

    def cuts(self, uri: Uri, store: str | None = None, at: str | None = None) -> Response:
        """Return a document's chunks without texts, and its regions. Not by SQL, which would read all documents."""
        served = asked_store(self._stores, store, at)
        row = row_of(served.store, uri)
        shown = [{**one, "children": len(one["children"])} for one in chunks_in(served.store, row, _CHUNK)]
        return as_json({**served.head, "chunks": shown, "regions": sorted(row.regions, key=_start)})

    def outline(self, uri: Uri, store: str | None = None, at: str | None = None) -> Response:
        """Return the headings of a document, with the span of each section."""
        return as_json(answers.outline(asked_store(self._stores, store, at), uri, _MOST_CHARACTERS))

    def places(self, uri: Uri, store: str | None = None, at: str | None = None) -> Response:
        """Return the places of a document's elements on its pages."""
        served = asked_store(self._stores, store, at)
        return as_json({**served.head, "places": places(served.store.document(uri))})

    def original(self, uri: Uri, page: int = 1, store: str | None = None, at: str | None = None) -> Response:
        """Return the picture of a page, or the reason why there is none, which does not count as a server failure."""
        served = asked_store(self._stores, store, at)
        row = row_of(served.store, uri)
        try:
            drawn = self._originals.page(served.store, row, page)
        except Rejected as why:
            return as_json({**served.head, "refused": refusal(row, page, why)})
        return as_json({**served.head, **as_answer(drawn)})

    def strategies(self) -> Response:
        """Return the strategies with their options."""
        return as_json({"strategies": strategies()})

    def trial(self, asked: TrialQuestion) -> Response:
        """Return the spans of the chunks that a strategy would make of a document; nothing is stored."""
        served = asked_store(self._stores, asked.store, asked.at)
        try:
            drafts = self._trials.split(served.store, AskedTrial(asked.uri, asked.strategy, asked.options))
        except ConfigError as error:
            raise QueryError(str(error)) from error
        near = self._trials.nearness(served.store, drafts, asked.query) if asked.query else [None] * len(drafts)
        scored = zip(_spans(drafts), near, strict=True)
        return as_json({**served.head, "chunks": [{**span, "score": score} for span, score in scored]})

    def map(self, store: str | None = None, at: str | None = None) -> Response:
        """Return the map of a snapshot. Making it takes some seconds; a second request waits for the first."""
        served = asked_store(self._stores, store, at)
        key = identity(served)
        with self._lock:
            if key not in self._maps:
                self._maps[key] = _map(served)
                while len(self._maps) > _MOST_KEPT:
                    del self._maps[next(iter(self._maps))]
            return self._maps[key]


def _map(served: ServedStore) -> Response:
    """Return the map that an earlier server kept, or a new one."""
    # The kept snapshots are part of the key, because the map shows since which of them a chunk has existed.
    asked = f"map with named hills since {snapshots.numbers(served.store.root)}"
    if kept := read_answer(served, asked):
        return ready_json(kept)
    made = as_json({**served.head, **map_columns(served.store, chunk_map(served.store))})
    keep_answer(served, asked, bytes(made.body))
    return made


def _start(region: dict[str, Any]) -> int:
    return int(region["start_char"])


def _spans(drafts: Sequence[Draft]) -> list[dict[str, Any]]:
    """Return the spans of chunks; chunks that contain others are not leaves."""
    above = {number - one.above for number, one in enumerate(drafts) if one.above}
    names = ("start_char", "end_char", "content_type", "strategy", "tokens", "role", "note")
    return [
        {"ordinal": number, "leaf": number not in above, **{name: getattr(one, name) for name in names}}
        for number, one in enumerate(drafts)
    ]
