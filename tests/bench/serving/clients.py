"""Measure `docmill serve` under several clients, and against the library, on a generated store.

    python -m tests.bench.serving.clients [--chunks N] [--seconds N] [--clients N ...] [--busy N] [--processes N]

The server is a process of its own, with the application that `docmill serve` runs. Clients keep their connections, ask
hybrid searches for five hits, and ask again as soon as they are answered. No question is asked again before its vector
is forgotten, so every figure holds the encoding of a question by the packaged model.

The last rows are of clients beside busy neighbours, as many processes as `--busy` says, which compute all the time.

One client and the library in this process take turns, question by question, so that what else the machine does meets
both alike. All other clients are threads of this process.
"""

import argparse
import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from docmill.flows.cli import start
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.connections import listen
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.search_pool import SearchPool, default_processes
from docmill.storage.snapshots.read.store import Store, open_store
from tests.bench.storing.keywords import make_chunks, make_queries
from tests.bench.storing.store import CHUNKS_PER_DOCUMENT, Shop, timed
from tests.bench.storing.vectors import make_vectors
from tests.bench.table import Figure, show

_SEED = 7
_QUESTIONS = 3_000  # a store keeps the vectors of the last 1,000
_IN_TURN = 200
_STARTING_S = 15.0
"""Seconds of the largest number of clients that do not count: the processes that search start meanwhile."""
_HITS = 5
_WARM = 20  # searches before the first that counts: caches of files and of the interpreter fill
_MOST_OVER_MS = 5.0  # what HTTP may add to the p50 of a search
_NEIGHBOUR = "while True: pass"
_TICKS = os.sysconf("SC_CLK_TCK")


def fill(folder: Path, chunks: int) -> list[str]:
    """Write a store of `chunks` chunks; return questions."""
    rng = np.random.default_rng(_SEED)
    shop = Shop(folder / "store", [text for _, text in make_chunks(chunks, rng)], make_vectors(chunks))
    shop.put(range(chunks // CHUNKS_PER_DOCUMENT))
    return make_queries(shop.texts, _QUESTIONS, rng)


def serve(folder: Path, processes: int) -> None:
    """Serve the store of a folder until a signal; the URL is printed."""
    gc.set_threshold(start._NEW_OBJECTS)  # as the command does: with Python's 700, a request takes 8 % more CPU
    stores, access = OpenStores({"store": folder / "store"}, pool=SearchPool(processes)), Access(port=0)
    listen(http_app(stores, Searching({}), access), access, lambda url: print(url, flush=True))


@contextmanager
def served(folder: Path, processes: int) -> Iterator[tuple[str, int]]:
    """Run a server for the block; give its URL and its process id."""
    asked = ["--serve", str(folder), "--processes", str(processes)]
    command = [sys.executable, "-m", "tests.bench.serving.clients", *asked]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Keep processors busy during the block."""
    busy = [subprocess.Popen([sys.executable, "-c", _NEIGHBOUR]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


class Client:
    """A client with a connection of its own."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = HTTPConnection(parts.hostname or "", parts.port)

    def ask(self, question: str) -> None:
        """Search, and read the answer."""
        body = json.dumps({"query": question, "k": _HITS})
        self._connection.request("POST", "/search", body, {"Content-Type": "application/json"})
        answer = json.load(self._connection.getresponse())
        assert len(answer["hits"]) == _HITS


def cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process and those that it has started have used, all their threads together."""
    started = [one for each in Path(f"/proc/{pid}/task").glob("*/children") for one in each.read_text().split()]
    used = 0.0
    for one in (str(pid), *started):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        used += (int(fields[11]) + int(fields[12])) / _TICKS
    return used


def by_turns(client: Client, store: Store, pid: int, questions: Sequence[str]) -> list[Figure]:
    """Time one client and the library in turns."""

    def search(text: str) -> float:
        began = time.process_time()
        store.search(text, _HITS)
        return 1000 * (time.process_time() - began)

    for question in questions[:_WARM]:
        client.ask(question)
        search(question)
    used = cpu_s(pid)
    rows = [(timed(client.ask, question), timed(search, question), search(question)) for question in questions]
    server_cpu = 1000 * (cpu_s(pid) - used) / len(questions)
    over_http, in_library, library_cpu = (statistics.median(times) for times in zip(*rows, strict=True))
    return [
        Figure("library, hybrid, p50", in_library, "ms"),
        Figure("one client, hybrid, p50", over_http, "ms"),
        Figure("one client over the library, p50", over_http - in_library, "ms", _MOST_OVER_MS),
        Figure("one client / library, p50", over_http / in_library, ""),
        Figure("library, CPU for a search, p50", library_cpu, "ms"),
        Figure("one client, CPU of the server for a request", server_cpu, "ms"),
    ]


def under_load(
    url: str, pid: int, questions: Sequence[str], count: int, seconds: float, beside: str = ""
) -> list[Figure]:
    """Time `count` clients that ask at the same time; `beside` names what else the machine does."""
    found: list[list[float]] = [[] for _ in range(count)]
    end, asked = time.perf_counter() + seconds, itertools.cycle(questions)

    def run(number: int) -> None:
        client = Client(url)
        while time.perf_counter() < end:
            found[number].append(timed(client.ask, next(asked)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    used, began = cpu_s(pid), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, used = time.perf_counter() - began, cpu_s(pid) - used
    times = np.array([one for each in found for one in each])
    named = f"{count} clients{beside}"
    return [
        Figure(f"{named}, p50", float(np.percentile(times, 50)), "ms"),
        Figure(f"{named}, p99", float(np.percentile(times, 99)), "ms"),
        Figure(f"{named}, requests a second", len(times) / took, ""),
        Figure(f"{named}, CPU of the server for a request", 1000 * used / len(times), "ms"),
    ]


def measure(folder: Path, questions: Sequence[str], asked: argparse.Namespace) -> list[Figure]:
    """Serve the store of a folder and ask it."""
    busy = asked.busy
    with served(folder, asked.processes) as (url, pid), open_store(folder / "store") as store:
        figures = by_turns(Client(url), store, pid, questions[:_IN_TURN])
        under_load(url, pid, questions, max(asked.clients), _STARTING_S)
        for count in asked.clients:
            figures += under_load(url, pid, questions, count, asked.seconds)
        with neighbours(busy):
            for count in asked.clients if busy else ():
                figures += under_load(url, pid, questions, count, asked.seconds, f" beside {busy} busy")
    return figures


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000, help="chunks in the store")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each number of clients asks")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16], help="clients at the same time")
    parser.add_argument("--busy", type=int, default=2, help="busy neighbours of the last rows; 0 leaves these out")
    processes = default_processes()
    parser.add_argument("--processes", type=int, default=processes, help="that search while several clients ask")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.processes)
        return
    with tempfile.TemporaryDirectory() as folder:
        questions = fill(Path(folder), arguments.chunks)
        load = os.getloadavg()[0]
        show(f"Clients, load {load:.1f} before", measure(Path(folder), questions, arguments))


if __name__ == "__main__":
    main()
