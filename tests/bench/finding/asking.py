"""Ingest a judged set by the real pipeline, and ask its questions in several ways by the real search."""

import json
import resource
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.space import model_dir
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.evaluate.excerpts import only_passages
from docmill.tasks.work.pool import pool
from tests.bench.finding.remembering import MODEL, Remembering
from tests.bench.finding.results import Costs, WayResult
from tests.bench.sets.collection import Asked, Collection, JudgedSet

NAMED: Mapping[str, Mapping[str, Any]] = {"default": {}, "vectors": {"mode": "vector"}, "keywords": {"mode": "keyword"}}
_AT_ONCE = 256
"""Documents to tokenize at once: more only take memory."""


def read_way(said: str) -> dict[str, Any]:
    """Return the options of a search: those of a name, or `option=value` with commas between them."""
    if said in NAMED:
        return dict(NAMED[said])
    options = dict(one.split("=", 1) for one in said.split(","))
    return {name.strip(): read_value(value.strip()) for name, value in options.items()}


def read_value(said: str) -> Any:
    """Return a value as JSON would, or as a number such as `.3`, else as text."""
    for read in (json.loads, float):
        try:
            return read(said)
        except ValueError:
            continue
    return said


def nested(settings: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """Return settings with changes such as `chunk.contextualizer=none`."""
    found = json.loads(json.dumps(settings))
    for change in changes:
        key, value = change.split("=", 1)
        *sections, last = key.split(".")
        place = found
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = read_value(value)
    return dict(found)


@dataclass
class Clock:
    """CPU seconds of this process and of those that it started and that have ended."""

    spent: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Add what is spent within the block."""
        before = self._now()
        yield
        self.spent += self._now() - before

    def _now(self) -> float:
        uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(use.ru_utime + use.ru_stime for use in uses)


def build(one: JudgedSet, collection: Collection, folder: Path, changes: Sequence[str]) -> tuple[Store, Costs]:
    """Return the store of a set and its costs; what a kept store did not cost this time is known from its first run."""
    known, settings = folder / "costs.json", nested(one.settings, changes)
    said = json.dumps(settings, sort_keys=True)
    if known.exists() and json.loads(known.read_text())["settings"] != said:
        shutil.rmtree(folder)
    collection.write(folder / "docs")
    chosen, encoder, clock = Settings(store=folder / "store", **settings), load_encoder(MODEL), Clock()
    assert isinstance(encoder, Remembering)
    embedding = encoder.spent
    with clock.running(), LocalEngine() as engine:
        report = ingest(chosen, [str(folder / "docs")], engine)
        _end_workers()
    store = open_store(chosen.store)
    chunks = store.sql("SELECT count(*) FROM chunks").column(0)[0].as_py()
    if report.snapshot is None and known.exists():
        return store, Costs(**json.loads(known.read_text())["costs"])
    seconds = clock.spent - (encoder.spent - embedding)
    costs = Costs(chunks, report.tokens_embedded, tokens_of(collection), seconds)
    if report.documents.unchanged:  # a part of the work was there already
        return store, Costs(chunks, None, costs.tokens, None)
    known.write_text(json.dumps({"settings": said, "costs": asdict(costs)}))
    return store, costs


def _end_workers() -> None:
    """End the worker processes, as their time counts only then; the next ingest starts others."""
    pool.close_pools()
    pool._shared.clear()


def tokens_of(collection: Collection) -> int:
    """Return how many tokens of the model the documents have, as they are written."""
    tokenizer, texts = load_tokenizer(str(model_dir(MODEL))), list(collection.documents.values())
    found = 0
    for first in range(0, len(texts), _AT_ONCE):
        batch = tokenizer.encode_batch(texts[first : first + _AT_ONCE], add_special_tokens=False)
        found += sum(map(len, batch))
    return found


@dataclass(frozen=True)
class Trial:
    """A set in its store, and the questions of it that are asked."""

    kind: JudgedSet
    collection: Collection
    store: Store
    asked: Sequence[Asked]

    def ask(self, options: Mapping[str, Any]) -> WayResult:
        """Return what each question's hits are worth, and the medians of the time in ms, without that of its vector."""
        load_encoder(MODEL).encode_queries([question.text for question in self.asked])
        values = dict[str, dict[str, float]]()
        times, busy = list[float](), list[float]()
        for question in self.asked:
            start, work = time.perf_counter(), time.process_time()
            found = self.hits(question, options)
            times.append(1000 * (time.perf_counter() - start))
            busy.append(1000 * (time.process_time() - work))
            for measure, value in self.kind.worth(question, found).items():
                values.setdefault(measure, {})[question.key] = value
        return WayResult(values, median(times), median(busy))

    def hits(self, question: Asked, options: Mapping[str, Any]) -> list[Hit]:
        """Return the hits that are judged, as many as the option `k` or the set says; with `passages`, only these."""
        more = dict(options)
        k = int(more.pop("k", self.kind.k))
        found = self.store.search(question.text, k * (2 if question.besides else 1), **more)
        judged = [hit for hit in found if hit.uri not in question.besides][:k]
        return only_passages(judged) if options.get("passages") else judged
