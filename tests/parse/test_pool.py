"""The pool loses a bad document and nothing else, and leaves no process behind."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import chardet.models
import pytest

from docmill.storage.errors import ConfigError, Rejected, Transient
from docmill.tasks.parse.decode import decode
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.memory_release import release, resident
from docmill.tasks.work.pool.pool import Pool, shared_pool
from docmill.tasks.work.pool.worker import announce
from tests.kit.skips import on_linux

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("cold")


def double(number: int) -> int:
    return number * 2


def size(allocate: bool) -> int:
    """Return how many bytes the process holds, having let go of 100 MB but for what stands at their end."""
    if allocate:
        kept.extend([bytes(1_000) for _ in range(100_000)][-1:])
    return resident()


kept: list[bytes] = []


def has_loaded(module: str) -> tuple[bool, int]:
    return module in sys.modules, os.getpid()


def warm_up(module: str) -> None:
    import_module(module)


def misbehave(how: str) -> str:
    if how == "hang":
        time.sleep(60)
    if how == "abort":
        os.abort()
    if how == "segfault":
        ctypes.string_at(0)
    if how == "eat":
        return "".join(chr(number % 1000) * 1_000_000 for number in range(4_000))
    if how == "refuse":
        raise Rejected("corrupt", "not one of ours")
    if how == "raise":
        raise ValueError("a fault\nof two lines")
    if how == "leave":
        sys.exit(3)
    if how == "lambda":
        return lambda: how  # type: ignore[return-value]
    if how == "write":
        Path(tempfile.mkdtemp(), "left").write_bytes(b"x")
        return f"{how} {tempfile.gettempdir()}"
    if how == "large":
        return "x" * (401 << 20)
    if how == "announce":
        announce("pdf 7")
        os.abort()
    if how == "child":
        child = subprocess.Popen(["sh", "-c", "sleep 300 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        return f"{how} {tempfile.gettempdir()} {child.pid} {child.stdout.readline().strip()}"
    if how == "connect":
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    if how == "resolve":
        socket.getaddrinfo("example.org", 80)
    return f"{how} by {os.getpid()}"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Limits(workers=2, timeout_s=3, memory_mb=300)) as pool:
        yield pool


@pytest.fixture(scope="module")
def patient() -> Iterator[Pool]:
    """Yield a pool in which no document is late, however busy the machine is."""
    with Pool(Limits(workers=2, timeout_s=60, memory_mb=300)) as pool:
        yield pool


def reason(result: str | Rejected) -> str:
    return result.reason if isinstance(result, Rejected) else result.split()[0]


def test_results_come_in_the_order_of_the_items(pool: Pool) -> None:
    assert list(pool.map(double, range(100))) == [number * 2 for number in range(100)]


def test_nothing_gives_nothing(pool: Pool) -> None:
    assert list(pool.map(double, [])) == []


@pytest.mark.parametrize(
    ("how", "expected", "message"),
    [
        ("hang", "timeout", "3 seconds"),
        ("abort", "crashed", "SIGABRT"),
        ("segfault", "crashed", "SIGSEGV"),
        ("eat", "memory", "300 MB"),
        ("refuse", "corrupt", "not one of ours"),
        ("raise", "crashed", "ValueError: a fault of two lines"),
        ("leave", "crashed", "SystemExit: 3"),
        ("lambda", "crashed", "lambda"),
        ("large", "memory", "300 MB"),
        ("connect", "crashed", "no network"),
        ("resolve", "crashed", "no network"),
    ],
)
def test_a_bad_document_is_lost_alone_with_its_reason(
    pool: Pool, patient: Pool, how: str, expected: str, message: str
) -> None:
    chosen = pool if how == "hang" else patient
    results = list(chosen.map(misbehave, ["good", how, "well", "fine"]))
    assert [reason(result) for result in results] == ["good", expected, "well", "fine"]
    assert message in str(results[1])


@pytest.mark.slow
def test_documents_that_a_dead_worker_was_given_ahead_are_done_by_the_next() -> None:
    items = ["good", "good", "abort", "hang", "fine", "abort", "abort", "well", *["good"] * 8]
    with Pool(Limits(workers=1, timeout_s=3, recycle=5)) as pool:
        results = [reason(result) for result in pool.map(misbehave, items)]
    assert results == [{"abort": "crashed", "hang": "timeout"}.get(item, item) for item in items]


def test_many_threads_may_use_one_pool(pool: Pool) -> None:
    with ThreadPoolExecutor(8) as threads:
        maps = [threads.submit(lambda: list(pool.map(double, range(50)))) for _ in range(8)]
        assert all(done.result() == [number * 2 for number in range(50)] for done in maps)


def test_a_consumer_that_stops_early_cancels_what_is_left(pool: Pool) -> None:
    results = pool.map(misbehave, ["good"] + ["hang"] * 50)
    assert reason(next(results)) == "good"
    results.close()  # type: ignore[attr-defined]
    assert list(pool.map(double, [1])) == [2]


def test_workers_are_replaced_after_so_many_documents() -> None:
    with Pool(Limits(workers=1, recycle=2)) as pool:
        workers = [str(result).split()[-1] for result in pool.map(misbehave, ["a", "b", "c", "d", "e"])]
    assert [workers[0] == workers[1], workers[1] == workers[2], workers[2] == workers[3]] == [True, False, True]


@on_linux("other systems give memory back by themselves, or not at all")
def test_a_worker_gives_back_the_memory_that_a_document_took() -> None:
    with Pool(Limits(workers=1)) as pool:
        before, left, after = (one for one in pool.map(size, [False, True, False]) if isinstance(one, int))
    assert left - before > 80 << 20, "else the C library gave it back by itself"
    assert after - before < 20 << 20


def test_a_large_process_drops_the_tables_of_encodings_and_loads_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Řeka pramení v horách a teče přes tři města, než se stočí k moři; žluťoučký kůň ji přešel. " * 20
    assert decode(text.encode("cp1250")).text == text
    assert chardet.models.get_enc_index.cache_info().currsize
    monkeypatch.setattr("docmill.tasks.work.pool.memory_release._after", 0)
    monkeypatch.setattr("docmill.tasks.work.pool.memory_release._MODEST", 0)
    monkeypatch.setattr("docmill.tasks.work.pool.memory_release._LARGE", 0)
    release()
    assert not chardet.models.get_enc_index.cache_info().currsize
    assert decode(text.encode("cp1250")).text == text


@pytest.mark.parametrize(
    ("warm_up", "module", "loaded"),
    [(__name__, "colorsys", True), (__name__, "no.such.module", False), ("no.such.warm_up", "colorsys", False)],
)
def test_a_worker_that_starts_ahead_of_its_work_has_warmed_up(warm_up: str, module: str, loaded: bool) -> None:
    with Pool(Limits(workers=2)) as pool:
        for _ in range(2):
            pool.start_ahead(warm_up, module)
        (first,) = pool.map(has_loaded, [module])
        (second,) = pool.map(has_loaded, [module])
        assert first == second, "one worker does what comes, while it starts and after"
        assert first[0] is loaded  # type: ignore[index]


def test_a_pool_that_closes_while_a_worker_starts_ahead_leaves_nothing() -> None:
    pool = Pool(Limits(workers=1))
    pool.start_ahead(__name__, "colorsys")
    pool.close()
    pool.start_ahead(__name__, "colorsys")
    assert not any(thread.is_alive() for thread in pool._threads)


def test_light_items_are_left_to_one_worker_unless_they_are_many() -> None:
    with Pool(Limits(workers=2)) as pool:
        assert len({pid for _, pid in pool.map(has_loaded, ["os"] * 64, light=True)}) == 1  # type: ignore[misc]
        assert len(pool._threads) == 1
        list(pool.map(has_loaded, ["os"] * 400, light=True))
        assert len(pool._threads) == 2


def test_a_closed_pool_takes_no_work() -> None:
    pool = Pool(Limits(workers=1))
    pool.close()
    with pytest.raises(Transient, match="closed"):
        list(pool.map(double, [1]))


def test_limits_that_allow_nothing_cannot_be_built() -> None:
    with pytest.raises(ConfigError, match="workers must be above 0, got 0"):
        Limits(workers=0)


def test_equal_limits_share_a_pool() -> None:
    assert shared_pool(Limits(workers=1, timeout_s=9)) is shared_pool(Limits(workers=1, timeout_s=9))


@pytest.mark.slow
def test_an_answer_that_is_too_large_is_a_reason() -> None:
    with Pool(Limits(workers=1)) as pool:
        assert reason(next(pool.map(misbehave, ["large"]))) == "too_large"


def test_a_death_names_the_parser_that_was_at_work(pool: Pool) -> None:
    died, well = pool.map(misbehave, ["announce", "good"])
    assert isinstance(died, Rejected)
    assert (died.reason, died.parser, reason(well)) == ("crashed", "pdf 7", "good")


@pytest.mark.slow
def test_each_worker_has_a_folder_of_its_own_that_goes_with_it() -> None:
    with Pool(Limits(workers=1, recycle=1, timeout_s=5)) as pool:  # in which each worker also imports this module
        results = [*pool.map(misbehave, ["write", "write", "hang"])]
    assert [reason(result) for result in results] == ["write", "write", "timeout"]
    folders = [Path(str(result).split()[1]) for result in results[:2]]
    assert folders[0] != folders[1]
    assert not any(map(Path.exists, folders))


def test_a_worker_ends_with_all_that_it_has_started() -> None:
    with Pool(Limits(workers=1, recycle=1)) as pool:
        _, _, *pids = str(next(pool.map(misbehave, ["child"]))).split()
    assert _gone([int(pid) for pid in pids])


_SCRIPT = """
import sys, time
sys.path.insert(0, {root!r})
from docmill.tasks.work.pool.pool import shared_pool
from docmill.tasks.work.pool.limits import Limits
from tests.parse.test_pool import misbehave
pool = shared_pool(Limits(workers=2))
for result in pool.map(misbehave, ["one", "two", "three", "four"]):
    print(result.split()[-1], flush=True)
{then}
"""


def _children_of_a_program(then: str, kill: bool) -> list[int]:
    """Run a program that has no main guard; return the pids of its workers after its end."""
    script = _SCRIPT.format(root=str(ROOT), then=then)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        pids = [int(program.stdout.readline()) for _ in range(4)]
        if kill:
            program.kill()
        program.wait(30)
    return sorted(set(pids))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] not in "ZX"
    except OSError:
        return False


def _gone(pids: list[int]) -> bool:
    return _soon(lambda: not any(map(_alive, pids)))


def _soon(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


@on_linux("reads /proc")
def test_workers_end_with_a_parent_that_is_killed() -> None:
    assert _gone(_children_of_a_program("list(pool.map(misbehave, ['hang']))", kill=True))


_STARTS_CHILDREN = """
import sys
sys.path.insert(0, {root!r})
from docmill.tasks.work.pool.pool import shared_pool
from docmill.tasks.work.pool.limits import Limits
from tests.parse.test_pool import misbehave
pool = shared_pool(Limits(workers=1))
print(next(pool.map(misbehave, ["child"])), flush=True)
next(pool.map(misbehave, ["hang"]))
"""


@on_linux("reads /proc")
def test_what_workers_have_started_ends_with_a_parent_that_is_killed_and_their_folders_go() -> None:
    script = _STARTS_CHILDREN.format(root=str(ROOT))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        _, folder, *pids = program.stdout.readline().split()
        assert all(_alive(int(pid)) for pid in pids)
        program.kill()
    assert _gone([int(pid) for pid in pids])
    assert _soon(lambda: not Path(folder).exists())


@on_linux("reads /proc")
def test_workers_end_with_a_parent_that_ends_by_itself() -> None:
    assert _gone(_children_of_a_program("", kill=False))


def test_workers_ignore_the_interrupt_of_a_terminal(pool: Pool) -> None:
    worker = int(str(next(pool.map(misbehave, ["good"]))).split()[-1])
    os.kill(worker, signal.SIGINT)
    assert reason(next(pool.map(misbehave, ["good"]))) == "good"
