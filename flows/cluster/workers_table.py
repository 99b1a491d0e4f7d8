"""Workers table: the work of each worker in a run, from the receipts."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from docmill.flows.runs.phases import counted
from docmill.tasks.work.remote.parcels import Receipt


@dataclass(slots=True)
class WorkerSum:
    """The work of one worker, and how often it died.

    `seconds` is wall-clock time, `cpu` the CPU time of its process, and `pool_s` the time of its pool.
    """

    batches: int = 0
    documents: int = 0
    texts: int = 0
    tokens: int = 0
    buckets: int = 0
    bytes: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    pool_s: float = 0.0
    killed: int = 0


def by_worker(receipts: Iterable[Receipt], lost: Iterable[str] = ()) -> dict[str, WorkerSum]:
    """Return the sums of receipts by worker name, sorted; `lost` are the names of workers that died."""
    sums: dict[str, WorkerSum] = {}
    for one in receipts:
        own, counts = sums.setdefault(one.worker, WorkerSum()), one.counts
        own.batches += bool(counts.documents)
        own.documents += counts.documents
        own.texts += counts.embedded.texts
        own.tokens += counts.embedded.tokens
        own.buckets += counts.buckets
        own.bytes += one.bytes
        own.seconds += one.seconds
        own.cpu += one.cpu
        own.pool_s += _pool_seconds(one)
    for name in lost:
        sums.setdefault(name, WorkerSum()).killed += 1
    sums.pop("", None)  # the receipt of a document rejected because workers died names no worker
    return dict(sorted(sums.items()))


def rows(sums: dict[str, WorkerSum]) -> list[dict[str, Any]]:
    """Return a row for each worker, with seconds to one decimal."""
    spelled = ((name, asdict(one)) for name, one in sums.items())
    return [
        {"worker": name} | {key: round(value, 1) if isinstance(value, float) else value for key, value in one.items()}
        for name, one in spelled
    ]


def summed(sums: dict[str, WorkerSum]) -> Iterator[str]:
    """Yield a line for each worker."""
    for name, one in sums.items():
        done = f"{counted(one.documents, 'documents')} of {counted(one.batches, 'batches')}"
        embedded = f"{counted(one.texts, 'texts')} of {counted(one.tokens, 'tokens')} embedded"
        rewritten = f", {counted(one.buckets, 'buckets')} rewritten" if one.buckets else ""
        spent = f"{one.cpu:.1f} s of CPU, {one.pool_s:.1f} s of its pool, {one.bytes:,} bytes"
        died = f", died {one.killed} times" if one.killed else ""
        yield f"worker {name}: {done}, {embedded}{rewritten}, {spent}{died}"


def told(name: str, done: Receipt) -> str:
    """Return a line that describes a receipt."""
    counts = done.counts
    about = {"documents": counts.documents, "texts": counts.embedded.texts, "buckets": counts.buckets}
    made = ", ".join(counted(count, name) for name, count in about.items() if count) or done.outcome
    spent = f"{done.seconds:.1f} s, {done.cpu + _pool_seconds(done):.1f} s of CPU, {done.bytes:,} bytes"
    return f"{name}: worker {done.worker}, {made}, {spent}"


def _pool_seconds(done: Receipt) -> float:
    spent = done.counts.spent
    return spent.parse + spent.detect + spent.chunk
