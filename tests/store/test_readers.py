"""Ten readers beside a writer: each sees one snapshot or another, never a mix, and none waits or stays."""

import gc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from docmill.storage.errors import QueryError
from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention, is_held
from docmill.storage.snapshots.read.store import Store, open_store
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

READERS = 10
COMMITS = 6
PAGES = 5
PAUSE_S = 0.1  # between two looks of a reader: ten that never rest leave the writer a tenth of the processors


def write(bench: Workbench, number: int) -> None:
    """Write pages that all say the same number."""
    bench.write({f"page-{page}.md": f"# Page {page}\n\nThe state of all is number{number}.\n" for page in range(PAGES)})


def look(root: Path) -> int:
    """Open the store, hold all its parts against each other, and return the number that all of them say."""
    store = open_store(root)
    rows = store.sql("SELECT DISTINCT regexp_extract(text, 'number[0-9]+') AS state FROM chunks").to_pylist()
    assert len(rows) == 1, "pages of two snapshots"
    (state,) = rows[0].values()
    for mode in ("keyword", "vector", "hybrid"):
        hits = store.search(f"page state of {state}", k=PAGES, mode=mode)
        assert {hit.uri for hit in hits} == {f"page-{page}.md" for page in range(PAGES)}
        assert all(state in hit.text for hit in hits)
    assert all(store.document(f"page-{page}.md").text.count(state) == 1 for page in range(PAGES))
    assert store.sql("SELECT count(*) AS n FROM documents").to_pylist() == [{"n": PAGES}]
    return int(state.removeprefix("number"))


@pytest.mark.slow
def test_ten_readers_beside_a_writer_never_see_a_mix(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    write(bench, 0)
    bench.ingest()
    done = threading.Event()

    def read() -> list[int]:
        seen = [look(bench.root)]
        while not done.wait(PAUSE_S):
            seen.append(look(bench.root))
        return [*seen, look(bench.root)]

    with ThreadPoolExecutor(READERS) as pool:
        reading = [pool.submit(read) for _ in range(READERS)]
        try:
            for number in range(1, COMMITS + 1):
                write(bench, number)
                bench.ingest()
                if number % 3 == 0:
                    compact(bench.root, Retention(keep_snapshots=1))
        finally:
            done.set()
        seen = [future.result() for future in reading]
    for numbers in seen:
        assert numbers == sorted(numbers), "no reader goes back"
        assert numbers[-1] == COMMITS
    gc.collect()  # from Python 3.12 on, a query of LanceDB now and then leaves its callers' frames to the collector
    compact(bench.root, Retention(keep_snapshots=1))
    assert len(snapshots.numbers(bench.root)) == 1


def fail(store: Store) -> None:
    with pytest.raises(QueryError):
        store.document("missing.md")


USES: dict[str, Callable[[Store], object]] = {
    "keyword": lambda store: store.search("wheel", mode="keyword"),
    "vector": lambda store: store.search("wheel", mode="vector"),
    "hybrid": lambda store: store.search("wheel", where="uri = 'mill.md'"),
    "similar": lambda store: store.similar(store.search("wheel")[0].chunk_id),
    "sql": lambda store: store.sql("SELECT uri FROM chunks"),
    "document": lambda store: store.document("mill.md").text,
    "documents": lambda store: store.documents(),
    "history": lambda store: (store.status(), store.history()),
    "failure": fail,
}


def test_a_store_that_is_dropped_holds_its_snapshot_no_longer(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write({"mill.md": "# Mill\n\nThe wheel turns while there is water.\n", "snow.md": "# Snow\n\nIt melts.\n"})
    bench.ingest()

    def use(act: Callable[[Store], object]) -> bool:
        store = open_store(bench.root)
        act(store)
        return is_held(bench.root, 1)

    gc.disable()  # it would hide that a store waits for it
    try:
        held = {name: (use(act), is_held(bench.root, 1)) for name, act in USES.items()}
    finally:
        gc.enable()
    assert held == dict.fromkeys(USES, (True, False))
