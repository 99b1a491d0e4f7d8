"""Threads that use one object wait for what the first of them computes, on every Python."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from docmill.storage.errors import StoreError
from docmill.storage.process.computed_once import computed_once
from tests.kit.workbench import Workbench

THREADS = 8


class Opened:
    """An object whose index takes a while, and whose other one waits for a signal."""

    def __init__(self, signal: threading.Event | None = None) -> None:
        self.times = 0
        self.signal = signal
        self.fails = False

    @computed_once
    def index(self) -> object:
        """The index."""
        self.times += 1
        time.sleep(0.05)
        if self.fails:
            raise StoreError("damaged")
        return object()

    @computed_once
    def waiting(self) -> bool:
        assert self.signal
        return self.signal.wait(30)


def at_once(act: Callable[[], object]) -> list[object]:
    """Return what an action returns in each of some threads that begin it together."""
    barrier = threading.Barrier(THREADS)

    def run() -> object:
        barrier.wait(30)
        return act()

    with ThreadPoolExecutor(THREADS) as pool:
        return [one.result() for one in [pool.submit(run) for _ in range(THREADS)]]


def test_threads_that_ask_at_once_get_one_value_that_is_computed_once() -> None:
    opened = Opened()
    (value,) = set(at_once(lambda: opened.index))
    assert (opened.index is value, opened.times) == (True, 1)
    assert Opened.index.__doc__ == "The index."
    assert [name for name in vars(opened) if name.startswith("lock")] == []


def test_one_object_does_not_wait_for_another() -> None:
    signal = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lambda: Opened(signal).waiting)
        other = threading.Event()
        other.set()
        assert Opened(other).waiting
        signal.set()
        assert first.result()


def test_a_failure_is_not_kept() -> None:
    opened = Opened()
    opened.fails = True
    for _ in range(2):
        with pytest.raises(StoreError):
            opened.index  # noqa: B018
    opened.fails = False
    assert opened.index is opened.index
    assert opened.times == 3


@pytest.mark.usefixtures("fake_model")
def test_threads_that_search_a_fresh_store_share_its_indexes(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write({"mill.md": "# Mill\n\nThe wheel turns while there is water.\n"})
    bench.ingest()
    with bench.store as store:
        opened = at_once(lambda: (store._sources._keywords, store._sources._vectors, store._sources.encoder))
        assert len({tuple(map(id, one)) for one in opened}) == 1  # type: ignore[call-overload]
        assert store.search("wheel")[0].uri == "mill.md"
