"""Measure what a run on two workers costs beside one on threads, and simulate more workers from its batch times.

    python -m tests.bench.storing.cluster [--data FOLDER] [--share X] [--documents N]

Scheduler and workers are processes on this machine with homes of their own. The freight lies in an object store that
this process plays, whose CPU seconds are among those of the driver. FOLDER holds `v1`; without it N pages are
generated. The model is the packaged one. On a machine whose cores the workers share nothing can get faster: the table
tells CPU seconds and bytes. The simulation repeats the recorded steps: a worker of one core takes as long over each as
its CPU seconds, and the driver, which does one thing after the other, takes its own CPU seconds in equal parts.
"""

import argparse
import heapq
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from docmill.flows.cluster.cluster_engine import ClusterEngine, joined
from docmill.flows.config.settings import Settings
from docmill.flows.runs.engine import Engine, LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.flows.runs.report import Report
from docmill.tasks.work.remote.parcels import Receipt
from tests.bench.table import Figure, show
from tests.bench.tree import Tree
from tests.kit.faults.machines import Machines, machines
from tests.kit.remote_bench import make_bucket, object_store

_THREADS = 16
_ONE_CORE = {"OMP_NUM_THREADS": "1"}
_MANY = (1, 4, 16, 64)
SIMULATED = 10_000  # documents, so that there are several steps for each of the most workers


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds of one run: this process with its children, and those of the cluster."""

    driver: float
    cluster: float
    wall: float


class Kept(ClusterEngine):
    """The engine of a cluster; `sender` stays for a look after the run."""

    @property
    def sender(self) -> Any:
        """Return what has carried the run's steps."""
        return self._sender


def measure(tree: Tree, folder: Path) -> tuple[list[Figure], list[Figure]]:
    """Ingest a tree on threads and on two workers; return the figures of both, and of the simulation."""
    docs = folder / "docs"
    tree.lay(docs)
    files = [path for path in docs.rglob("*") if path.is_file()]
    with LocalEngine() as engine:
        near, alone = _clocked(Settings(store=folder / "near"), docs, engine, None)
    with object_store() as environment:
        os.environ.update(environment)
        make_bucket("freight")
        # A core for each: on shared cores, the threads of two models would wait for each other, and spin.
        with machines(folder / "machines", None, {"one": "", "two": ""}, {**environment, **_ONE_CORE}) as cluster:
            chosen = cluster.settings.model_copy(update={"freight": "s3://freight/bench"})
            settings = Settings(store=folder / "far", engine="dask", cluster=chosen)
            with LocalEngine(threads=_THREADS) as inner, joined(settings) as workers:
                placed = Kept(inner, workers, chosen)
                far, shared = _clocked(settings, docs, placed, cluster)
                sender = placed.sender
    assert (near.documents, near.chunks) == (far.documents, far.chunks)
    figures = _figures(alone, shared, sender, sum(path.stat().st_size for path in files), len(files))
    return figures, _simulated(shared, sender.receipts, len(files))


def _clocked(settings: Settings, docs: Path, engine: Engine, cluster: Machines | None) -> tuple[Report, Spent]:
    began, own, theirs = time.perf_counter(), _own_cpu(), _cpu_of(cluster)
    report = ingest(settings, [str(docs)], engine)
    return report, Spent(_own_cpu() - own, _cpu_of(cluster) - theirs, time.perf_counter() - began)


def _own_cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _cpu_of(cluster: Machines | None) -> float:
    """Return the CPU seconds of all processes of a cluster, and of those that have ended and were waited for."""
    if cluster is None:
        return 0.0
    above = [psutil.Process(one.pid) for one in (cluster.scheduler, *cluster.workers.values())]
    every = [*above, *(child for one in above for child in one.children(recursive=True))]
    return sum(sum(one.cpu_times()[:4]) for one in every)


def _figures(alone: Spent, shared: Spent, sender: Any, raw: int, files: int) -> list[Figure]:
    fetched = sum(one.bytes for one in sender.receipts)
    return [
        Figure(f"{files:,} files, bytes of each", raw / files, "B"),
        Figure("threads: CPU", alone.driver, "s"),
        Figure("two workers: CPU of all processes", shared.driver + shared.cluster, "s"),
        Figure("of that the driver", shared.driver, "s"),
        Figure("the driver, each document", 1000 * shared.driver / files, "ms"),
        Figure("freight sent, each document", sum(sender.sent) / files, "B"),
        Figure("freight fetched, each document", fetched / files, "B"),
        Figure("freight both ways / bytes of the files", (sum(sender.sent) + fetched) / raw, ""),
        Figure("parcel and receipt, the longest", max(sender.parcels), "B", 10_000),
    ]


def _simulated(shared: Spent, receipts: Sequence[Receipt], files: int) -> list[Figure]:
    """Return how long `SIMULATED` documents would take, if their steps and the driver took what these have taken."""
    steps = [one.cpu + one.counts.spent.parse + one.counts.spent.detect + one.counts.spent.chunk for one in receipts]
    many, handing = steps * -(-SIMULATED // files), shared.driver / len(steps)
    times = {count: makespan(many, count, handing) for count in _MANY}
    spelled = (f"{count} workers: {took:,.0f} s, times faster than one" for count, took in times.items())
    return [
        Figure("CPU of workers for each document", 1000 * sum(steps) / files, "ms"),
        Figure("CPU of the driver for each document, the serial part", 1000 * shared.driver / files, "ms"),
        Figure("the most that any number of workers gains", (sum(steps) + shared.driver) / shared.driver, ""),
        *(Figure(name, times[1] / took, "") for name, took in zip(spelled, times.values(), strict=True)),
    ]


def makespan(steps: Sequence[float], workers: int, handing: float) -> float:
    """Return the seconds until all steps are done, of which the driver hands out one after the other."""
    free = [0.0] * workers
    end = at = 0.0
    for step in steps:
        at += handing
        done = max(at, heapq.heappop(free)) + step
        heapq.heappush(free, done)
        end = max(end, done)
    return end


def main() -> None:
    """Parse the arguments and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with v1")
    parser.add_argument("--share", type=float, default=1.0, help="part of the files of FOLDER")
    parser.add_argument("--documents", type=int, default=400, help="pages to generate without --data")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        costs, simulated = measure(Tree(arguments.data, arguments.documents, arguments.share), Path(folder))
    show("A run on two workers", costs)
    show(f"{SIMULATED:,} documents, simulated from its steps", simulated)


if __name__ == "__main__":
    main()
