"""The limits of a statement bind each call of a function in it, and its process leaves nothing behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.arrow_schema import CHUNKS
from docmill.storage.errors import QueryError
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.sql import process_handle
from docmill.storage.sql.statement import SqlLimits, Statement
from docmill.storage.sql.statement_pool import StatementPool, query, select_ids
from tests.kit.skips import on_linux
from tests.kit.workbench import Workbench

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("cold_module")
SHORT = SqlLimits(seconds=0.5, memory_mb=100)
NARROW = SqlLimits(memory_mb=100)  # with time enough on a busy machine
PATIENCE_S = 60.0  # of a busy machine, far below what the call takes that is interrupted
ON_LINUX = on_linux("reads /proc, or needs its limits on memory")

SLOW = r"ran for more than 0\.5 s and was stopped"
LARGE = "needed more than 100 MB and was stopped"
LARGE_BY_DEFAULT = ["length(repeat('x', 4000000000))", "list_sum(range(1000000000))"]
CALLS = [
    ("pg_sleep(600)", SHORT, SLOW),
    ("levenshtein(repeat('ab', 1000000), repeat('ba', 1000000))", SHORT, SLOW),
    *((call, NARROW, LARGE) for call in LARGE_BY_DEFAULT),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, cold_module: None) -> Path:
    """Make a store of two documents; searches in it are by keywords."""
    assert cold_module is None
    bench = Workbench(tmp_path_factory.mktemp("limits"), {})
    bench.write({"a.md": "# Apples\n\nA red apple.\n", "b.md": "# Pears\n\nA green pear.\n"})
    bench.ingest()
    return bench.root


def children(parent: int) -> set[int]:
    """Return the processes that a process has started and that still run or were not waited for."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if stat.read_text().rpartition(")")[2].split()[1] == str(parent):
                found.add(int(stat.parent.name))
        except OSError:
            continue
    return found


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def soon(holds: Callable[[], object]) -> bool:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return bool(holds())


@ON_LINUX
@pytest.mark.parametrize(("call", "limits", "message"), CALLS)
def test_limits_bind_one_call_in_a_statement(call: str, limits: SqlLimits, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        query({}, {}, f"SELECT {call}", limits)
    assert query({}, {}, "SELECT 1 AS n", NARROW).to_pylist() == [{"n": 1}]


@ON_LINUX
@pytest.mark.parametrize(("call", "limits", "message"), CALLS)
def test_limits_bind_one_call_in_a_predicate(root: Path, call: str, limits: SqlLimits, message: str) -> None:
    with open_store(root) as store:
        chunks = store.stored.paths("chunks")
    with pytest.raises(QueryError, match=message):
        select_ids(chunks, [], f"({call})::VARCHAR = text", {}, limits)
    assert len(select_ids(chunks, [], "true", {}, NARROW)) == 2


@ON_LINUX
@pytest.mark.parametrize("call", LARGE_BY_DEFAULT)
def test_limits_bind_stores_and_commands(root: Path, call: str) -> None:
    message = "the statement needed more than 2048 MB and was stopped; make it smaller"
    with open_store(root) as store:
        with pytest.raises(QueryError, match=message):
            store.sql(f"SELECT {call}")
        with pytest.raises(QueryError, match=message):
            store.search("apple", mode="keyword", where=f"{call} > 0")
        assert [hit.uri for hit in store.search("apple", mode="keyword", where="uri = 'a.md'")] == ["a.md"]
    for command in (["sql", f"SELECT {call}"], ["search", "apple", "--mode", "keyword", "--where", f"{call} > 0"]):
        done = CliRunner().invoke(app, [*command, "--store", str(root)])
        assert done.exit_code == 1
        assert message in done.stderr


@ON_LINUX
@pytest.mark.parametrize("how", ["sql", "search"])
def test_an_interrupt_ends_a_statement_at_once(root: Path, how: str) -> None:
    asked = {
        "sql": ["sql", "SELECT pg_sleep(600)"],
        "search": ["search", "apple", "--mode", "keyword", "--where", "pg_sleep(600) IS NULL"],
    }
    command = [sys.executable, "-m", "docmill.flows.cli.app", *asked[how], "--store", str(root)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert soon(lambda: any(at_work(pid) for pid in children(program.pid)))
        (child,) = children(program.pid)
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=PATIENCE_S)
    assert program.returncode == 130
    assert "Traceback" not in errors
    assert soon(lambda: not runs(child))


def at_work(pid: int) -> bool:
    """Return whether a statement process has been given a statement: it limits its memory only then."""
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return not any(line.split()[:4] == ["Max", "address", "space", "unlimited"] for line in limits)


PROGRAM = """
import sys, threading, time
from docmill.storage.sql.statement_pool import query
query({{}}, {{}}, "SELECT 1")
threading.Timer(0.5, print, ["asked"], {{"flush": True}}).start()
{then}
time.sleep(60)
"""


@ON_LINUX
@pytest.mark.parametrize("then", ["", "query({}, {}, 'SELECT pg_sleep(600)')"], ids=["idle", "at work"])
def test_no_process_outlives_a_parent_that_is_killed(then: str) -> None:
    command = [sys.executable, "-c", PROGRAM.format(then=then)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "asked\n"
        (child,) = children(program.pid)
        assert runs(child)
        program.kill()
    assert soon(lambda: not runs(child))


@ON_LINUX
def test_no_process_outlives_a_parent_that_ends_and_none_is_there_without_sql(root: Path) -> None:
    program = """
import os, sys
from docmill.storage.snapshots.read.store import open_store
from tests.store.test_sql_limits import children
with open_store(sys.argv[1]) as store:
    store.search("apple", mode="keyword")
    print(*children(os.getpid()))
    store.sql("SELECT 1")
    print(*children(os.getpid()))
"""
    command = [sys.executable, "-W", "error", "-c", program, str(root)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert before == ""
    assert soon(lambda: not runs(int(after)))
    assert done.stderr == ""


@pytest.fixture
def pool() -> Iterator[StatementPool]:
    made = StatementPool()
    yield made
    made.close()


def numbers(pool: StatementPool, sql: str, limits: SqlLimits = SqlLimits()) -> list[object]:  # noqa: B008
    found: list[object] = pool.ask(Statement(sql, {}, limits), {}).column(0).to_pylist()
    return found


@ON_LINUX
def test_threads_do_not_wait_for_a_statement_that_takes_long(pool: StatementPool) -> None:
    before = children(os.getpid())
    stopped: list[str] = []

    def wait_long() -> None:
        with pytest.raises(QueryError) as caught:
            numbers(pool, "SELECT pg_sleep(600)")
        stopped.append(str(caught.value))

    def ask(number: int) -> list[object]:
        return numbers(pool, f"SELECT {number} FROM range(3)")

    slow = threading.Thread(target=wait_long)
    slow.start()
    assert soon(lambda: any(at_work(pid) for pid in children(os.getpid()) - before))
    (busy,) = children(os.getpid()) - before
    with ThreadPoolExecutor(8) as others:
        assert list(others.map(ask, range(16))) == [[number] * 3 for number in range(16)]
    assert not stopped
    os.kill(busy, signal.SIGKILL)
    slow.join()
    assert "its process died: SIGKILL" in stopped[0]
    assert len(children(os.getpid()) - before) <= 3


@ON_LINUX
def test_a_process_stays_for_the_next_statement_and_is_replaced_when_it_was_killed(
    pool: StatementPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_handle, "_GRACE_S", PATIENCE_S)
    before = children(os.getpid())
    assert numbers(pool, "SELECT 1") == [1]
    (first,) = children(os.getpid()) - before
    with pytest.raises(QueryError):
        numbers(pool, "SELECT * FROM nothing")
    with pytest.raises(QueryError):
        numbers(pool, "SELECT count(*) FROM range(1000000000000)", SHORT)  # DuckDB stops this by itself
    assert children(os.getpid()) - before == {first}
    os.kill(first, signal.SIGKILL)
    assert soon(lambda: not runs(first))
    assert numbers(pool, "SELECT 2") == [2]
    (second,) = children(os.getpid()) - before
    assert second != first
    pool.close()
    assert children(os.getpid()) == before


@ON_LINUX
def test_a_process_that_dies_at_work_is_an_error_that_names_the_limit(pool: StatementPool) -> None:
    before = children(os.getpid())
    assert numbers(pool, "SELECT 1") == [1]
    (child,) = children(os.getpid()) - before
    threading.Timer(0.5, os.kill, [child, signal.SIGSEGV]).start()
    with pytest.raises(QueryError, match=r"needed more than 2048 MB .*\(its process died: SIGSEGV\)"):
        numbers(pool, "SELECT pg_sleep(600)")
    assert numbers(pool, "SELECT 1") == [1]


FORKS = """
import os, signal
from docmill.storage.sql.statement_pool import query
from tests.store.test_sql_limits import children, runs
query({}, {}, "SELECT 1")
(own,) = children(os.getpid())
if not (fork := os.fork()):
    assert query({}, {}, "SELECT 2 AS n").to_pylist() == [{"n": 2}]
    assert runs(own) and own not in children(os.getpid())
    raise SystemExit(7)
_, status = os.waitpid(fork, 0)
assert os.waitstatus_to_exitcode(status) == 7
assert query({}, {}, "SELECT 3 AS n").to_pylist() == [{"n": 3}]
assert children(os.getpid()) == {own}
"""


@ON_LINUX
def test_a_fork_has_processes_of_its_own() -> None:
    # From Python 3.12 on, a fork of a process with threads warns, whatever its child does.
    quiet = ("-W", "ignore:This process:DeprecationWarning")
    done = subprocess.run([sys.executable, *quiet, "-c", FORKS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_results_arrive_as_they_were_made() -> None:
    table = pa.table({"n": [1, None], "words": [["a"], []]})
    sql = """
        SELECT n, words, n AS n, 'a'::ENUM ('a', 'b') AS enum, DATE '2026-01-02' AS day, {'x': [1, NULL]} AS struct,
               MAP {'k': 1.5} AS map, uuid() IS NULL AS flag, 'x'::BLOB AS bytes, NULL AS nothing
        FROM given ORDER BY n
    """
    found = query({}, {"given": table}, sql)
    assert found.column_names == ["n", "words", "n", "enum", "day", "struct", "map", "flag", "bytes", "nothing"]
    assert [str(column[0]) for column in found.columns[3:5]] == ["a", "2026-01-02"]
    assert found.column(1).to_pylist() == [["a"], []]
    assert query({}, {}, "SELECT * FROM range(100001)").num_rows == 100_001
    none = query({"chunks": []}, {}, "FROM chunks")
    assert (none.num_rows, none.schema) == (0, CHUNKS)


def test_an_error_after_the_first_rows_is_an_error_of_the_whole() -> None:
    with pytest.raises(QueryError, match="Could not convert string"):
        query({}, {}, "SELECT repeat('y', 100), CAST(CASE WHEN range > 90000 THEN 'x' END AS INT) FROM range(100000)")


def test_a_store_is_found_by_a_relative_path_from_any_working_folder(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert query({}, {}, "SELECT 1 AS n").num_rows == 1  # the process has the working folder of its start
    (tmp_path / "near").symlink_to(root.parent)
    monkeypatch.chdir(tmp_path / "near")
    with open_store(root.name) as store:
        assert store.sql("SELECT count(*) AS n FROM documents").to_pylist() == [{"n": 2}]
        assert [hit.uri for hit in store.search("apple", mode="keyword", where="uri = 'a.md'")] == ["a.md"]
