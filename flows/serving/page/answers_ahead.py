"""Answers ahead: prepare answers to the page's questions about a snapshot before a person waits for them.

Answers are cached in memory. Those about the newest snapshot are also kept in the cache folder of its store, for when
the server restarts.
"""

import math
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from starlette.responses import Response

from docmill.flows.serving import answers
from docmill.flows.serving.json_response import as_json, ready_json
from docmill.flows.serving.open_stores import SEES_ALL, OpenStores, ServedStore
from docmill.flows.serving.page.page_bundle import questions
from docmill.flows.serving.page.page_questions import RowsQuestion
from docmill.storage.errors import DocmillError
from docmill.storage.files import write_whole
from docmill.storage.process.cancellation import Abandoned
from docmill.storage.schema_evolution import schema_key
from docmill.storage.search.rank.candidates.search_options import Mode, check_where
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.facets import facet_counts
from docmill.storage.sql.statement_pool import select_ids


def read_answer(served: ServedStore, asked: str) -> bytes | None:
    """Return the kept answer to a question about a snapshot, or None."""
    with suppress(OSError):
        return _path(served, asked).read_bytes()
    return None


def keep_answer(served: ServedStore, asked: str, answer: bytes) -> None:
    """Keep an answer if it is about the newest snapshot, and remove those about others.

    Nothing is kept in a read-only store.
    """
    if served.store.snapshot.number != snapshots.numbers(served.store.root)[-1]:
        return
    path = _path(served, asked)
    if path.exists():
        return
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, answer)
        for other in path.parent.parent.iterdir():
            if other.name != path.parent.name:
                shutil.rmtree(other, ignore_errors=True)


def _path(served: ServedStore, asked: str) -> Path:
    """Return the file of an answer; it differs for a recreated store, or another version of docmill."""
    snapshot = served.store.snapshot
    own = "\n".join((served.name, snapshot.created, version("docmill"), schema_key(), asked))
    name = sha256(own.encode()).hexdigest()[:32]
    return served.store.root / "cache" / "page" / str(snapshot.number) / f"{name}.json"


_KEPT_S = 60.0
"""Seconds that an answer is kept. A snapshot does not change, but ages do, and evaluations may be added to it."""
_MOST_BYTES = 30_000_000  # of all answers: some hundred pictures


class KeptAnswers:
    """A cache of answers by question; thread-safe. If the same question is asked twice at once, it is answered once."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[float, Response]] = OrderedDict()
        self._under_way: dict[Hashable, Future[Response]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, answer: Callable[[], Response], kept_s: float = _KEPT_S) -> Response:
        """Return the cached answer, or else call `answer` and cache its result for `kept_s` seconds."""
        while True:
            with self._lock:
                until, kept = self._kept.get(key, (0.0, None))
                if kept is not None and time.monotonic() < until:
                    self._kept.move_to_end(key)
                    return kept
                awaited = self._under_way.get(key)
                own = awaited or self._under_way.setdefault(key, Future())
            if not awaited:
                return self._answered(key, answer, kept_s, own)
            with suppress(Abandoned):  # the first asker has disconnected, so ask again
                return own.result()

    def _answered(
        self, key: Hashable, answer: Callable[[], Response], kept_s: float, own: "Future[Response]"
    ) -> Response:
        try:
            found = answer()
        except BaseException as error:
            self._end(key)
            own.set_exception(error)
            raise
        self._keep(key, found, time.monotonic() + kept_s)
        self._end(key)
        own.set_result(found)
        return found

    def _end(self, key: Hashable) -> None:
        with self._lock:
            del self._under_way[key]

    def _keep(self, key: Hashable, answer: Response, until: float) -> None:
        """Cache an answer; drop the least recently used ones if all of them take too much memory."""
        with self._lock:
            self._kept[key] = (until, answer)
            self._kept.move_to_end(key)
            while sum(len(one.body) for _, one in self._kept.values()) > _MOST_BYTES:
                self._kept.popitem(last=False)


_OPEN_S = 15.0
"""A page counts as open for this many seconds after its last request, of which it sends one every 5 s. If no page is
open, nothing is prepared for later snapshots: it takes 2 s of CPU for 100,000 chunks, and a watched folder may have a
new snapshot every few seconds."""
_SETTLE_S = 2.0
"""Seconds after switching to a snapshot, or opening a first view, before the rest is prepared, because at first the
page itself needs the processors."""
_FACETS = "facets and keys"
"""The question of a page's first view. It is answered while the browser starts: 0.25 s of CPU for 100,000 chunks."""
_DAY_S = 86_400
_FEW = 20_000  # with more chunks, the page asks for duplicates only on request (`MANY` in health.js)
_ROWS, _CHARACTERS = 100_000, 5_000_000  # as in ask.js
_CHUNK = (
    "chunk_id", "uri", "ordinal", "start_char", "end_char", "content_type", "strategy", "tokens", "page", "context",
)  # fmt: skip
"""The columns that a list of chunks shows besides the text."""
_READY_S = 45.0
"""While a page is open, the statement process is used at least this often, in seconds. It ends 60 s after its last
statement, and a person who clicks on a bar would have to wait for a new one, which takes 0.7 s of CPU."""
_READY = "SELECT 1"


class AnswersAhead:
    """The rows of statements about the served snapshots, cached and prepared ahead; thread-safe."""

    def __init__(self, stores: OpenStores, settle_s: float = _SETTLE_S) -> None:
        self._stores = stores
        self._settle_s = settle_s
        self._kept = KeptAnswers()
        self._seen = self._ready = self._viewed = -math.inf
        self._done: dict[str, tuple[object, ...]] = {}
        self._since: dict[str, tuple[tuple[object, ...], float]] = {}
        self._closed = False

    def note_page(self) -> None:
        """Record that a page is open."""
        self._seen = time.monotonic()

    def close(self) -> None:
        """Stop preparing answers."""
        self._closed = True

    def rows(self, served: ServedStore, asked: RowsQuestion, **kept: float) -> Response:
        """Return the rows of a statement as `/sql` does. Errors are those of `Store.sql`."""
        key = (*identity(served), _spelled(served, asked))
        return self._kept.get(key, lambda: _found(served, asked), **kept)

    def facets(self, served: ServedStore) -> Response:
        """Return how many chunks of a snapshot each value of a facet has, for the first view of a page."""
        self._viewed = time.monotonic()
        return self._counted(served)

    def _counted(self, served: ServedStore, **kept: float) -> Response:
        return self._kept.get((*identity(served), _FACETS), lambda: _facets(served), **kept)

    def begin(self) -> None:
        """Prepare the answer for the first view."""
        if self._stores.principals != SEES_ALL:
            return
        with suppress(DocmillError, OSError):  # the asking client gets the error
            self._keep_facets(self._stores.get())

    def look(self) -> None:
        """Prepare answers about the first snapshot of each store, and about later ones while a page is open.

        If clients have different rights, nothing is prepared, because it is unknown who will ask.
        """
        for name in self._stores.names if self._stores.principals == SEES_ALL else ():
            with suppress(DocmillError, OSError):  # the asking client gets the error
                served = self._stores.get(name)
                if self._done.get(name) != identity(served):
                    self._prepare(served)
                elif self._is_open() and time.monotonic() - self._ready > _READY_S:
                    self._ready = time.monotonic()
                    served.store.sql(_READY)

    def _is_open(self) -> bool:
        return time.monotonic() - self._seen < _OPEN_S

    def _prepare(self, served: ServedStore) -> None:
        """Prepare the answer for the first view immediately, and the rest after a while without a first view."""
        if served.name in self._done and not self._is_open():
            return
        seen, since = self._since.get(served.name, ((), 0.0))
        if seen != identity(served):
            since = time.monotonic()
            self._since[served.name] = identity(served), since
            self._keep_facets(served)
        if time.monotonic() - max(since, self._viewed) >= self._settle_s:
            self._answer(served)

    def _answer(self, served: ServedStore) -> None:
        self._done[served.name] = identity(served)
        for statement in _asked(served.store.snapshot.rows("chunks")):
            if self._closed:
                return
            if time.monotonic() - self._viewed < self._settle_s:
                del self._done[served.name]  # a page was opened meanwhile, so the rest waits; cached answers stay
                return
            self._keep(served, statement)

    def _keep_facets(self, served: ServedStore) -> None:
        keep_answer(served, _FACETS, bytes(self._counted(served, kept_s=math.inf).body))

    def _keep(self, served: ServedStore, statement: str) -> None:
        asked = RowsQuestion(query=statement, max_rows=_ROWS, max_characters=_CHARACTERS, seconds=60)
        answer = self.rows(served, asked, kept_s=math.inf)
        keep_answer(served, _spelled(served, asked), bytes(answer.body))


def _facets(served: ServedStore) -> Response:
    """Return the facets that an earlier server kept, or count them."""
    if kept := read_answer(served, _FACETS):
        return ready_json(kept)
    return as_json(facet_rows(served, AskedFacets()))


def _found(served: ServedStore, asked: RowsQuestion) -> Response:
    """Return the rows of a statement that an earlier server kept, or run the statement."""
    if kept := read_answer(served, _spelled(served, asked)):
        return ready_json(kept)
    found = answers.sql(served, asked.query, asked.max_rows, asked.seconds, asked.max_characters)
    return as_json({**found, "rows": _chunks(served, found["rows"], asked.texts)} if asked.texts else found)


def _chunks(served: ServedStore, rows: Sequence[Mapping[str, Any]], most: int) -> list[dict[str, Any]]:
    """Return the chunks that rows name by `chunk_id`, with the first `most` characters of their texts."""
    ids = [str(row.get("chunk_id")) for row in rows]
    held = served.store.chunks(ids)
    shown = [(held[key], {name: getattr(held[key], name) for name in _CHUNK}) for key in ids if key in held]
    return [{**own, "text": row.text[:most], "cut": len(row.text) > most} for row, own in shown]


def _spelled(served: ServedStore, asked: RowsQuestion) -> str:
    """Return a question as text, with everything that its answer depends on besides the snapshot."""
    root = served.store.root
    besides = [state(root) for name, state in _BESIDES.items() if name in asked.query]
    return f"{asked.max_rows} {asked.max_characters} {asked.texts} {besides} {asked.query}"


def _evaluations(root: Path) -> list[tuple[str, int]]:
    return sorted((path.name, path.stat().st_mtime_ns) for path in (root / "evaluations").glob("*.parquet"))


_BESIDES: Mapping[str, Callable[[Path], object]] = {
    "freshness": lambda _: time.time() // _DAY_S,  # ages in days
    "evaluations": _evaluations,
    "asked_questions": _evaluations,
    "snapshots": snapshots.numbers,  # a vacuum removes some
}
"""What a view depends on besides the snapshot, by the name of the view."""


def _asked(chunks: int) -> Iterator[str]:
    """Yield the statements that the page runs on each snapshot, in the order in which people usually see them."""
    for name, statement in {**questions("LISTS"), **questions()}.items():
        if name != "duplicates" or chunks <= _FEW:
            yield statement


def identity(served: ServedStore) -> tuple[object, ...]:
    """Return a key that distinguishes a snapshot from all others, even if a recreated store counts from 1 again.

    The part of it that some principals see differs by its folder.
    """
    snapshot = served.store.snapshot
    return served.name, snapshot.number, snapshot.created, served.store.root


MOST_HITS = 100
"""Hits of a question whose values are counted. Every question ranks all chunks, and later hits do not answer it."""


@dataclass(frozen=True, slots=True)
class AskedFacets:
    """A question and a condition; "" asks for all chunks."""

    query: str = ""
    mode: Mode = "hybrid"
    where: str = ""


def facet_rows(served: ServedStore, asked: AskedFacets) -> dict[str, Any]:
    """Return the counts, the types of the keys of [metadata], and the number of hits counted; None for all chunks."""
    among = _among(served, asked)
    rows = facet_counts(served.store.stored, among)
    hits = len(among) if asked.query and among is not None else None
    return {**served.head, "rows": rows, "keys": served.store.snapshot.keys, "hits": hits}


def _among(served: ServedStore, asked: AskedFacets) -> set[str] | None:
    store, where = served.store, asked.where or None
    if asked.query:
        return {hit.chunk_id for hit in store.search(asked.query, MOST_HITS, asked.mode, where)}
    if where is None:
        return None
    check_where(where)
    return select_ids(store.stored.paths("chunks"), store.stored.paths("documents"), where, store.snapshot.keys)
