"""The processes that search beside a server: they find what the server finds, and nothing is lost with them."""

import gc
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from docmill.errors import QueryError
from docmill.flows.serving import search_pool
from docmill.flows.serving.open_stores import OpenStores, ServedStore
from docmill.flows.serving.search_pool import SearchPool, default_processes
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.snapshots.read.store import Store
from tests.access.company import files, founded
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")
_WAIT_S = 120.0


@contextmanager
def crowd(pool: SearchPool, served: ServedStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a search under way during the block, and the processes of the pool started."""
    monkeypatch.setattr(search_pool, "_CROWD", 1)
    with pool._counted(served.store):
        for _ in range(pool._most):
            find(served, "mill")
        wait_until(lambda: len(pool._ready) == pool._most)
        yield
        pool.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + _WAIT_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def find(served: ServedStore, query: str) -> list[Hit]:
    return served.search(query, 5, "keyword", None, None)  # the fake model is in this process alone


def only_there(patch: pytest.MonkeyPatch) -> None:
    """Let no search run in this process."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("searched here")

    patch.setattr(Store, "search", fail)


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    own = Workbench(tmp_path)
    own.write({"git.md": "# Undo\n\nTo undo a commit, reset.\n", "mill.md": "# Mill\n\nIt grinds wheat.\n"})
    own.ingest()
    return own


def test_a_process_finds_what_the_store_finds(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = SearchPool(1)
    served = OpenStores({"handbook": bench.root}, pool=pool).get()
    expected = [find(served, query) for query in ("undo a commit", "grinds", "nothing")]
    with crowd(pool, served, monkeypatch), monkeypatch.context() as patch:
        only_there(patch)
        assert [find(served, query) for query in ("undo a commit", "grinds", "nothing")] == expected
    assert expected[0][0].uri == "git.md"


def test_one_client_starts_no_process(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_pool, "_CROWD", 1)
    pool = SearchPool(2)
    served = OpenStores({"handbook": bench.root}, pool=pool).get()
    for _ in range(20):
        find(served, "undo")
    assert pool._started == 0


def test_a_few_questions_at_once_start_no_process(bench: Workbench) -> None:
    pool = SearchPool(2)
    served = OpenStores({"handbook": bench.root}, pool=pool).get()
    for _ in range(3):
        with pool._counted(served.store):
            for _ in range(search_pool._CROWD - 1):
                find(served, "undo")
        find(served, "undo")
    assert pool._started == 0


def test_a_wrong_question_has_the_error_of_the_store(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = SearchPool(1)
    served = OpenStores({"handbook": bench.root}, pool=pool).get()
    with crowd(pool, served, monkeypatch):
        with monkeypatch.context() as patch:
            only_there(patch)
            with pytest.raises(QueryError, match="weight must be in"):
                served.search("undo", 5, "keyword", None, None, weight=2.0)
        assert len(pool._ready) == 1  # it can be asked again


def test_a_search_whose_process_dies_is_done_here(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = SearchPool(1)
    served = OpenStores({"handbook": bench.root}, pool=pool).get()
    expected = find(served, "undo")
    with crowd(pool, served, monkeypatch):
        (process,) = pool._ready
        os.kill(process.child.pid, signal.SIGKILL)
        process.child.wait()
        monkeypatch.setattr(pool, "_most", 0)
        assert find(served, "undo") == expected
        wait_until(lambda: not pool._ready)
        assert find(served, "undo") == expected


def test_without_a_program_for_processes_all_is_searched_here(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(search_pool, "_CROWD", 1)
    monkeypatch.setattr(search_pool, "PYTHON", ["/bin/false"])
    pool = SearchPool(2)
    served = OpenStores({"handbook": bench.root}, pool=pool).get()
    with pool._counted(served.store):
        wait_until(lambda: find(served, "undo")[0].uri == "git.md" and pool._most == 0)
        assert find(served, "undo")[0].uri == "git.md"
    assert "no process for them starts" in caplog.text
    wait_until(lambda: pool._started == 0)


@pytest.mark.parametrize("first", ["/bin/false", "/nowhere/python"])
def test_a_process_that_does_not_start_once_is_followed_by_another(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setattr(search_pool, "_CROWD", 1)
    pool = SearchPool(1)
    served = OpenStores({"handbook": bench.root}, pool=pool).get()
    with pool._counted(served.store):
        with monkeypatch.context() as patch:
            patch.setattr(search_pool, "PYTHON", [first])
            find(served, "undo")
            wait_until(lambda: pool._failed == 1 and pool._started == 0)
        wait_until(lambda: find(served, "undo")[0].uri == "git.md" and bool(pool._ready))
        pool.close()


def test_a_search_with_a_condition_stays_here(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = SearchPool(1)
    served = OpenStores({"handbook": bench.root}, pool=pool).get()
    with crowd(pool, served, monkeypatch), monkeypatch.context() as patch:
        only_there(patch)
        with pytest.raises(AssertionError, match="searched here"):
            served.search("undo", 5, "keyword", "format = 'markdown'", None)


def test_a_new_snapshot_is_open_in_every_process_before_it_is_served(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = SearchPool(2)
    stores = OpenStores({"handbook": bench.root}, pool=pool)
    served, other = stores.get(), OpenStores({"other": bench.root}, pool=pool).get()
    with crowd(pool, other, monkeypatch):
        bench.write({"git.md": "# Undo\n\nTo undo a commit, revert.\n"})
        bench.ingest()
        stores.take_up()
        fresh = stores.get()
        assert fresh.head["snapshot"] == 2
        number = pool._numbers[fresh.store]
        assert all(number in process.opened for process in pool._ready)
        assert "revert" in find(fresh, "undo")[0].text
        assert "reset" in find(served, "undo")[0].text  # who still holds the old one
        assert [len(process.opened) for process in pool._ready] == [3, 3]
        del served, fresh
        gc.collect()
        find(stores.get(), "undo")
        left = {number, pool._numbers[other.store]}
        assert left in [process.opened for process in pool._ready]  # the old one is closed


def test_a_process_shows_to_nobody_what_they_may_not_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    company, pool = founded(tmp_path / "company", files()), SearchPool(1)
    whole = OpenStores({"handbook": company.root}, pool=pool).get()
    narrowed = [OpenStores({"handbook": company.root}, frozenset({name}), pool).get() for name in ("board", "all")]
    expected = [find(one, "mill") for one in (whole, *narrowed)]
    with crowd(pool, whole, monkeypatch), monkeypatch.context() as patch:
        only_there(patch)
        assert [find(one, "mill") for one in (whole, *narrowed)] == expected
    assert len({tuple(hit.uri for hit in hits) for hits in expected}) > 1


def test_a_store_in_a_bucket_is_searched_in_a_process(far: RemoteBench, monkeypatch: pytest.MonkeyPatch) -> None:
    far.write({"git.md": "# Undo\n\nTo undo a commit, reset.\n"})
    far.ingest()
    pool = SearchPool(1)
    served = OpenStores({"store": open_folder(far.address).root}, pool=pool).get()
    expected = find(served, "undo")
    with crowd(pool, served, monkeypatch), monkeypatch.context() as patch:
        only_there(patch)
        assert find(served, "undo") == expected


def test_searches_in_line_are_asked_together_and_a_wrong_one_fails_alone(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = SearchPool(1)
    served = OpenStores({"handbook": bench.root}, pool=pool).get()
    queries = ["undo", "", "grinds", "commit", "wheat", "reset"]
    with crowd(pool, served, monkeypatch), ThreadPoolExecutor(len(queries) + 1) as threads:
        (process,) = pool._ready
        sizes, ask, go_on = [], process.ask, Event()

        def ask_later(request: bytes) -> Any:
            sizes.append(len(pickle.loads(request)[3]))
            assert go_on.wait(_WAIT_S)
            return ask(request)

        monkeypatch.setattr(process, "ask", ask_later)
        first = threads.submit(find, served, "mill")
        wait_until(lambda: sizes == [1])
        asked = [threads.submit(find, served, query) for query in queries]
        wait_until(lambda: len(pool._line) == len(queries))
        go_on.set()
        assert first.result()
        with pytest.raises(QueryError, match="empty"):
            asked[1].result()
        found = [[hit.uri for hit in one.result()] for one in asked if one is not asked[1]]
    assert found == [["git.md"], ["mill.md"], ["git.md"], ["mill.md"], ["git.md"]]
    assert sizes == [1, 4, 2]


def test_an_idle_process_ends(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_pool, "_IDLE_S", 0.2)
    pool = SearchPool(1)
    served = OpenStores({"handbook": bench.root}, pool=pool).get()
    with crowd(pool, served, monkeypatch):
        wait_until(lambda: not pool._ready and pool._started == 0)
        assert find(served, "undo")[0].uri == "git.md"


def test_no_more_processes_are_started_than_there_are_processors_and_none_for_one() -> None:
    with pytest.MonkeyPatch.context() as patch:
        for own, most in ((1, 0), (2, 2), (64, 4)):
            patch.setattr(search_pool, "processors", lambda own=own: own)
            assert default_processes() == most
