"""Workers table: what each worker of a run has done, from the receipts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from docmill.flows.runs.phases import counted
from docmill.tasks.carrying.parcels import Receipt


@dataclass(slots=True)
class WorkerSum:
    """What one worker has done. `seconds` are of the wall clock, `cpu` and `pool_s` of its process and its pool."""

    batches: int = 0
    documents: int = 0
    texts: int = 0
    bytes: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    pool_s: float = 0.0


def by_worker(receipts: Iterable[Receipt]) -> dict[str, WorkerSum]:
    """Return the sums of receipts by the names of the workers, sorted."""
    sums: dict[str, WorkerSum] = {}
    for one in sorted(receipts, key=lambda receipt: receipt.worker):
        own, counts = sums.setdefault(one.worker, WorkerSum()), one.counts
        own.batches += bool(counts.documents)
        own.documents += counts.documents
        own.texts += counts.embedded.texts
        own.bytes += one.bytes
        own.seconds += one.seconds
        own.cpu += one.cpu
        own.pool_s += counts.spent.parse + counts.spent.detect + counts.spent.chunk
    return sums


def summed(receipts: Iterable[Receipt]) -> Iterator[str]:
    """Yield a line about each worker."""
    for name, one in by_worker(receipts).items():
        done = f"{counted(one.documents, 'documents')} of {one.batches:,} batches"
        spent = f"{one.cpu:.1f} s of CPU, {one.pool_s:.1f} s of its pool, {one.bytes:,} bytes"
        yield f"worker {name}: {done}, {counted(one.texts, 'texts')} embedded, {spent}"
