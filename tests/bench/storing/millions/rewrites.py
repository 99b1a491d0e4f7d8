"""Measure what the driver of a cluster spends on commits: alone, and with two workers that rewrite its tables.

All commit the same number of documents, in turn, into a copy of one store. Scheduler, workers and the object store for
the freight are processes of their own, so that the CPU seconds are those of the driver alone.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from docmill.flows.cluster.cluster_engine import joined
from docmill.flows.cluster.remote_rewriting import remote_rewriting
from docmill.flows.cluster.sender import Sender
from docmill.flows.config.from_settings import space_of
from docmill.flows.config.settings import Settings
from docmill.storage.remote.objects.freight import Freight
from docmill.storage.snapshots.tables.rewrite_buckets import Exchanged, Rewriting, TableChange, rewrite_here
from tests.bench.storing.millions.commits import copied_shop
from tests.bench.storing.store import CHUNKS_PER_DOCUMENT, Shop, median
from tests.bench.table import Figure
from tests.kit.faults.machines import machines
from tests.kit.house import ROOT
from tests.kit.remote_bench import make_bucket

_SEED, _TURNS, _LANES = 7, 3, 4
_SERVE = """
import json, sys
from tests.kit.remote_bench import object_store
with object_store() as environment:
    print(json.dumps(environment), flush=True)
    sys.stdin.read()
"""


@dataclass
class Clocked:
    """A `Rewriting` that counts what it is given, and the CPU seconds of this process over it."""

    inner: Rewriting
    seconds: float = 0.0
    buckets: int = 0

    def __call__(self, root: Path, change: TableChange) -> Exchanged:
        """Rewrite buckets by the inner one."""
        began = time.process_time()
        done = self.inner(root, change)
        self.seconds += time.process_time() - began
        self.buckets += len(change.buckets)
        return done


def measure(chunks: int, folder: Path) -> list[Figure]:
    """Commit 1 % of the documents by each way, in turn."""
    with copied_shop(chunks, folder) as shop, _cluster(folder) as sender:
        by_freight = remote_rewriting(sender, _LANES)
        # Any place that workers can read does: the driver's part is the same.
        from_store = remote_rewriting(replace(sender, store=str(shop.root)), _LANES)
        ways = {"alone": rewrite_here, "workers, all by freight": by_freight, "workers that read the store": from_store}
        return _compared(shop, ways, chunks // CHUNKS_PER_DOCUMENT, sender)


@contextmanager
def _cluster(folder: Path) -> Iterator[Sender]:
    with tempfile.TemporaryDirectory() as own, _object_store() as environment:
        os.environ.update(environment)
        make_bucket("freight")
        with machines(Path(own) / "apart" / "machines", None, {"one": "", "two": ""}, environment) as found:
            settings = Settings(store=folder, engine="dask", cluster=found.settings)
            with joined(settings) as workers:
                freight, drafts = Freight("s3://freight/bench", "bench"), Path(own) / "run"
                sender = Sender(workers, freight, "run", drafts, space_of(settings), "", (), str)
                sender.check()
                yield sender


@contextmanager
def _object_store() -> Iterator[dict[str, str]]:
    process = subprocess.Popen([sys.executable, "-c", _SERVE], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait()


def _compared(shop: Shop, ways: dict[str, Rewriting], documents: int, sender: Sender) -> list[Figure]:
    share = max(1, documents // 100)
    some = np.random.default_rng(_SEED).permutation(documents)[: _TURNS * len(ways) * share]
    turns = some.reshape(_TURNS, len(ways), share)
    whole: dict[str, list[float]] = {name: [] for name in ways}
    clocks = {name: Clocked(way) for name, way in ways.items()}
    for turn in turns:
        for numbers, (name, clock) in zip(turn, clocks.items(), strict=True):
            shop.rewriting = clock
            whole[name].append(shop.put(numbers.tolist(), "changed", time.process_time))
    figures = []
    for name, clock in clocks.items():
        figures += [
            Figure(f"{name}: CPU of the driver for a commit of 1 %, p50", median(whole[name]), "s"),
            Figure(f"{name}: of it the tables, mean", clock.seconds / _TURNS, "s"),
            Figure(f"{name}: of that each bucket", 1000 * clock.seconds / clock.buckets, "ms"),
        ]
    far = [one for one in sender.receipts if one.counts.buckets]
    many = sum(one.counts.buckets for one in far)
    return [
        *figures,
        Figure("buckets of both tables in a commit", clock.buckets / _TURNS, ""),
        Figure("buckets that workers have rewritten, of those", many / _TURNS / (len(ways) - 1), ""),
        Figure("CPU of a worker for each", 1000 * sum(one.cpu for one in far) / many, "ms"),
        Figure("bytes that a worker sends back for each", sum(one.bytes for one in far) / many, "B"),
        Figure("parcel and receipt, the longest", max(sender.parcels), "B", 10_000),
        Figure("parcels that failed", sum(": failed: " in line for line in sender.news), "", 0),
    ]
