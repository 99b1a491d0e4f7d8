"""Metrics: the counters of a server, as text for Prometheus."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from docmill.flows.serving.audit import AuditLog
from docmill.flows.serving.guard import App, Message, Receive, Scope, Send
from docmill.flows.serving.kept_searches import KeptSearches, Outcome
from docmill.flows.serving.open_stores import OpenStores
from docmill.storage.errors import DocmillError
from docmill.storage.process.cancellation import current_asker

_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Bounds of latencies in seconds: from a search of a small store to a statement that is stopped."""
_UNKNOWN = "other"  # the path of requests without a route, because a client could invent any number of paths
_FAILED = 400  # statuses from here on are failures
_TABLES = ("documents", "chunks", "rejects")


class Metrics:
    """The counters of one server."""

    def __init__(self, stores: OpenStores, kept: KeptSearches | None = None) -> None:
        self._stores = stores
        self._registry = CollectorRegistry()
        if kept is not None:
            self._registry.register(_CachedSearches(kept))
        self._requests = Counter(
            "docmill_requests", "Requests, by path and status.", ("path", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "docmill_request_seconds", "Time to answer.", ("path",), buckets=_BUCKETS, registry=self._registry
        )
        self._searches = Counter(
            "docmill_searches", "Searches, by store and mode.", ("store", "mode"), registry=self._registry
        )
        self._rows = {name: self._gauge(f"docmill_{name}", f"Rows of {name} in the snapshot.") for name in _TABLES}
        self._number = self._gauge("docmill_snapshot", "Number of the snapshot in service.")
        self._age = self._gauge("docmill_snapshot_age_seconds", "Seconds since the snapshot was committed.")

    def _gauge(self, name: str, meaning: str) -> Gauge:
        return Gauge(name, meaning, ("store",), registry=self._registry)

    def answered(self, path: str | None, status: int, seconds: float) -> None:
        """Count a request; the path is None if it has no route."""
        self._seconds.labels(path or _UNKNOWN).observe(seconds)
        self._requests.labels(path or _UNKNOWN, str(status)).inc()

    def searched(self, store: str, mode: str) -> None:
        """Count a search."""
        self._searches.labels(store, mode).inc()

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        for name in self._stores.names:
            self._look(name)
        return generate_latest(self._registry)

    def _look(self, name: str) -> None:
        """Update the values of a store from its snapshot; a store that cannot be opened keeps its last values."""
        try:
            snapshot = self._stores.get(name).store.snapshot
        except DocmillError:
            return
        for table, gauge in self._rows.items():
            gauge.labels(name).set(snapshot.rows(table))
        self._number.labels(name).set(snapshot.number)
        self._age.labels(name).set((datetime.now(UTC) - datetime.fromisoformat(snapshot.created)).total_seconds())


class _CachedSearches(Collector):
    """Counts the outcomes of the cache of answers; `same` and `alike` are cache hits."""

    def __init__(self, kept: KeptSearches) -> None:
        self._kept = kept

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Yield the counter."""
        family = CounterMetricFamily(
            "docmill_cached_searches", "Searches of the cache of answers, by what it had.", labels=("found",)
        )
        for outcome in get_args(Outcome):
            family.add_metric((outcome,), self._kept.counts[outcome])
        yield family


class CountingApp:
    """An ASGI application around another, which counts and times its answers, and writes the audit log if there is one.

    It is inside the guard, which knows who asks.
    """

    def __init__(self, app: App, metrics: Metrics, audit: AuditLog | None) -> None:
        self._app, self._metrics, self._audit = app, metrics, audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), [500]

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                status.append(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            path = getattr(scope.get("route"), "path", None)
            self._metrics.answered(path, status[-1], time.perf_counter() - began)
            if self._audit is not None and path is not None:  # otherwise a client could write any path into the log
                failed = str(status[-1]) if status[-1] >= _FAILED else ""
                self._audit.note(f"{scope['method']} {path}", current_asker(), failed)
