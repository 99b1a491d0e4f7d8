"""Page routes: what the page asks that no other client needs. They may change with the page."""

import threading

from fastapi import APIRouter, Response

from docmill.flows.measure.chunk_map import chunk_map
from docmill.flows.serving.json_response import as_json
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.page.map_columns import map_columns

_MOST_KEPT = 4  # maps in memory, each some 10 MB at 100,000 chunks


class PageRoutes:
    """The paths of the page, over the stores in service."""

    def __init__(self, stores: OpenStores) -> None:
        self._stores = stores
        self._maps: dict[tuple[str, int], Response] = {}
        self._lock = threading.Lock()

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter(include_in_schema=False)
        router.add_api_route("/map", self.map, methods=["GET"])
        router.add_api_route("/newest", self.newest, methods=["GET"])
        return router

    def newest(self, store: str | None = None, at: str | None = None) -> Response:
        """Return the number of the snapshot in service. A page asks every few seconds, so this reads no file."""
        return as_json(self._stores.get(store, at).head)

    def map(self, store: str | None = None, at: str | None = None) -> Response:
        """Return the map of a snapshot. The first takes some seconds; a second request waits for it."""
        served = self._stores.get(store, at)
        key = (served.name, served.store.snapshot.number)
        with self._lock:
            if key not in self._maps:
                self._maps[key] = as_json({**served.head, **map_columns(served.store, chunk_map(served.store))})
                while len(self._maps) > _MOST_KEPT:
                    del self._maps[next(iter(self._maps))]
            return self._maps[key]
