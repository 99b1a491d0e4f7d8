"""Measure `docmill serve` under several clients, and against the library, on a generated store.

    python -m tests.bench.serving.clients [--chunks N] [--seconds N] [--clients N ...] [--busy N] [--encode]

The server is a process of its own, with the application that `docmill serve` runs. Clients keep their connections, ask
hybrid searches for five hits, and ask again as soon as they are answered. Vectors of questions are given, so no figure
holds the encoding of a question, unless `--encode` has the packaged model encode each one.

The last rows are of clients beside busy neighbours, as many processes as `--busy` says, which compute all the time.

One client and the library in this process take turns, question by question, so that what else the machine does meets
both alike. All other clients are threads of this process.
"""

import argparse
import gc
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
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.snapshots.read.store import Store, open_store
from tests.bench.storing.keywords import make_chunks, make_queries
from tests.bench.storing.store import CHUNKS_PER_DOCUMENT, PACKAGED, Shop, timed
from tests.bench.storing.vectors import Vectors, make_vectors
from tests.bench.table import Figure, show

_SEED = 7
_QUESTIONS = 200
_HITS = 5
_WARM = 20  # searches before the first that counts: caches of files and of the interpreter fill
_MOST_OVER_MS = 5.0  # what HTTP may add to the p50 of a search
_NEIGHBOUR = "while True: pass"
_TICKS = os.sysconf("SC_CLK_TCK")


class _GivenVectors:
    """A model that knows its questions, or encodes each one and then takes the vector that it knows."""

    def __init__(self, folder: Path, encode: bool) -> None:
        self._encoder = load_encoder(PACKAGED) if encode else None
        self.questions: list[str] = json.loads((folder / "questions.json").read_text())
        self._vectors: dict[str, Vectors] = dict(zip(self.questions, np.load(folder / "questions.npy"), strict=True))

    def fits(self, texts: Sequence[str]) -> list[bool]:
        return [True] * len(texts)

    def encode_query(self, text: str) -> Vectors:
        if self._encoder is not None:
            self._encoder.encode_query(text)
        return self._vectors.get(text, self._vectors[self.questions[0]])  # the server asks one of its own to warm up

    def given_to(self, store: Store) -> Store:
        """Return a store that asks this model."""
        # Without the cache of vectors, in which each question would be from the second time on.
        vars(store._sources).update(encoder=self, query_vector=self.encode_query)
        return store


def fill(folder: Path, chunks: int) -> None:
    """Write a store of `chunks` chunks, and the questions with their vectors."""
    rng = np.random.default_rng(_SEED)
    drawn = make_vectors(chunks + _QUESTIONS)
    shop = Shop(folder / "store", [text for _, text in make_chunks(chunks, rng)], drawn[:chunks])
    shop.put(range(chunks // CHUNKS_PER_DOCUMENT))
    questions = make_queries(shop.texts, _QUESTIONS, rng)
    (folder / "questions.json").write_text(json.dumps(questions))
    np.save(folder / "questions.npy", drawn[chunks:])


def serve(folder: Path, encode: bool) -> None:
    """Serve the store of a folder until a signal; the URL is printed."""
    gc.set_threshold(start._NEW_OBJECTS)  # as the command does: with Python's 700, a request takes 8 % more CPU
    stores, access = OpenStores({"store": folder / "store"}), Access(port=0)
    _GivenVectors(folder, encode).given_to(stores.get().store)
    listen(http_app(stores, Searching({}), access), access, lambda url: print(url, flush=True))


@contextmanager
def served(folder: Path, encode: bool) -> Iterator[tuple[str, int]]:
    """Run a server for the block; give its URL and its process id."""
    command = [sys.executable, "-m", "tests.bench.serving.clients", "--serve", str(folder), *["--encode"][:encode]]
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
    """Return the CPU seconds that a process has used, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


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
    end = time.perf_counter() + seconds

    def run(number: int) -> None:
        client, place = Client(url), number * len(questions) // count
        while time.perf_counter() < end:
            found[number].append(timed(client.ask, questions[place % len(questions)]))
            place += 1

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


def measure(folder: Path, clients: Sequence[int], seconds: float, busy: int, encode: bool) -> list[Figure]:
    """Serve the store of a folder and ask it."""
    given = _GivenVectors(folder, encode)
    with served(folder, encode) as (url, pid), open_store(folder / "store") as store:
        figures = by_turns(Client(url), given.given_to(store), pid, given.questions)
        for count in clients:
            figures += under_load(url, pid, given.questions, count, seconds)
        with neighbours(busy):
            for count in clients if busy else ():
                figures += under_load(url, pid, given.questions, count, seconds, f" beside {busy} busy")
    return figures


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000, help="chunks in the store")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each number of clients asks")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16], help="clients at the same time")
    parser.add_argument("--busy", type=int, default=2, help="busy neighbours of the last rows; 0 leaves these out")
    parser.add_argument("--encode", action="store_true", help="let the packaged model encode each question")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, arguments.encode)
        return
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), arguments.chunks)
        load = os.getloadavg()[0]
        asked = (arguments.clients, arguments.seconds, arguments.busy, arguments.encode)
        show(f"Clients, load {load:.1f} before", measure(Path(folder), *asked))


if __name__ == "__main__":
    main()
