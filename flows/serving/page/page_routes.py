"""Page routes: what the page asks that no other client needs. They may change with the page."""

import threading
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
from fastapi import APIRouter, Response

from docmill.flows.measure.chunk_map import ChunkMap, chunk_map
from docmill.flows.serving.json_response import as_json
from docmill.flows.serving.open_stores import OpenStores

_GRID = 65_535
"""Steps of a coordinate as it is sent: a point moves by less than a pixel of any screen."""
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
                self._maps[key] = as_json({**served.head, **_columns(chunk_map(served.store))})
                while len(self._maps) > _MOST_KEPT:
                    del self._maps[next(iter(self._maps))]
            return self._maps[key]


def _columns(made: ChunkMap) -> dict[str, Any]:
    """Return a map in columns, which are a fifth of the bytes of rows."""
    steps = (made.places * _GRID).astype(int)
    return {
        "grid": _GRID,
        "chunk_id": made.chunks.column("chunk_id").to_pylist(),
        "x": steps[:, 0].tolist(),
        "y": steps[:, 1].tolist(),
        "uri": _named(made.chunks.column("uri")),
        "type": _named(made.chunks.column("content_type")),
        "strategy": _named(made.chunks.column("strategy")),
        "twice": _twice(made.chunks.column("embedding_key")),
        "labels": [asdict(label) for label in made.labels],
        "left_out": made.left_out,
    }


def _named(column: pa.ChunkedArray) -> dict[str, list[Any]]:
    """Return the values of a column once, and the number of the value of each row."""
    coded = column.combine_chunks().dictionary_encode()
    return {"names": coded.dictionary.to_pylist(), "of": coded.indices.to_pylist()}


def _twice(keys: pa.ChunkedArray) -> list[int]:
    """Return for each chunk 1 if another one has its vector, else 0."""
    numbers = keys.combine_chunks().dictionary_encode().indices.to_numpy()
    several: list[int] = (np.bincount(numbers)[numbers] > 1).astype(int).tolist()
    return several
