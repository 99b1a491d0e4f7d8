"""Fixtures that several tests ask for by name."""

import fcntl
import gc
import os
import secrets
import shutil
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import httpx._transports.default
import pytest
import typer.main
import typer.testing
from _pytest.unraisableexception import gc_collect_iterations_key

from docmill.flows.prefect.prefect_server import embedded_server
from docmill.flows.runs import run_state
from docmill.storage.files import flocked
from docmill.storage.process.library_threads import set_library_environment
from docmill.storage.search.encode import encoder, space
from docmill.storage.search.vectors.deferred_client import defer_client
from docmill.storage.snapshots.clean import verify
from docmill.storage.sql import statement_pool
from docmill.tasks.model import providers
from tests.kit import fake_encoder
from tests.kit.house import starts_processes
from tests.kit.model_server import ModelServer, model_server
from tests.kit.pages.warm import started_by, warm_program
from tests.kit.remote_bench import RemoteBench, make_bucket, object_store
from tests.kit.skips import pytest_make_collect_report, pytest_runtest_makereport
from tests.kit.workbench import Files, MakeBench, Workbench

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]  # hooks: with CI set, skips fail

# A shell ignores SIGINT for what it runs in the background, and what tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
set_library_environment()  # processes of pytest-xdist encode beside each other
defer_client()  # before the first test that imports LanceDB: a quarter of the time in which tests are collected
vars(typer.testing)["_get_command"] = cache(
    typer.main.get_command
)  # the commands of an app: 13 ms for each that is run
vars(httpx._transports.default)["create_ssl_context"] = cache(
    httpx.create_ssl_context
)  # the certificates that a client of httpx trusts: 17 ms for each client
gc.disable()  # while modules load and tests are collected: all that they make stays
DATABASE = "created.db"  # in the home of the session's server
MEMORY = Path("/dev/shm")  # Linux's file system in memory
SERVERS = {"browser", "cluster", "object_store_environment", "prefect_api", "server"}
STARTING = {*SERVERS, "installed", "pool", "site", "warm_programs", "warm_prefect"}
"""Fixtures that start a program or a server."""
MODEL = "token_counts_folder"  # who asks for it, mostly by `fake_model`, embeds texts
_NEW_OBJECTS = 10_000  # between two searches for garbage; Python's 700 are for programs with less memory
ROOM = 4 << 30  # bytes that are free there: all tests together leave 1 GB, and containers often have 64 MB


def pytest_configure(config: pytest.Config) -> None:
    """Write temporary files in memory where there is room: a commit waits for a disk four times, 10 ms each."""
    config.stash[gc_collect_iterations_key] = 1  # of 5, at the end, among all modules; PyPy needs several
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_xdist_auto_num_workers() -> int:
    """Use one process more than there are cores: while its test waits for a server or a signal, another one runs."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the fast tests. Begin with the tests of the whole: at the end all processes would wait for a long one."""
    for item in items:
        asked = {*getattr(item, "fixturenames", ())}
        marked = any(map(item.get_closest_marker, ("flow", "slow", "soak")))
        if not marked and not asked & {*STARTING, MODEL} and not starts_processes(item):
            item.add_marker("fast")
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)


def pytest_collection_finish() -> None:
    """Look for garbage less often, and not among the modules and tests, which all stay: 3 to 9 % of the CPU time."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_unconfigure() -> Iterator[None]:
    """Let all be freed at the end: a library that misses some of it says so. That takes half a second of CPU time."""
    gc.unfreeze()
    yield
    gc.freeze()  # pytest looks once more when warnings are no errors any longer


@pytest.fixture(scope="session")
def token_counts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files of the fake model."""
    return fake_encoder.write_model(tmp_path_factory.mktemp("models") / fake_encoder.NAME)


@pytest.fixture(scope="session")
def fake_model(token_counts_folder: Path, warm_programs: Path) -> Iterator[str]:
    """Make the fake model known in this process, and return its name; processes for parsing and for SQL start warm."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(space.FOLDERS, fake_encoder.NAME, lambda: token_counts_folder)
        patch.setitem(encoder.LOADERS, fake_encoder.NAME, fake_encoder.TokenCounts)
        patch.setattr(run_state, "give_back", lambda: None)  # 35 ms a step among 450 MB in pieces
        with started_by(str(warm_programs / "python")):
            yield fake_encoder.NAME


@pytest.fixture
def cold() -> Iterator[None]:
    """Let new processes for parsing and for SQL be fresh interpreters, as a user's are."""
    statement_pool._pool.close()
    with started_by(sys.executable):
        yield


@pytest.fixture(scope="module")
def cold_module(fake_model: str) -> Iterator[None]:
    """Do what `cold` does once for all tests of a module, which share processes as the statements of a user do."""
    assert fake_model
    statement_pool._pool.close()
    with started_by(sys.executable):
        yield
    statement_pool._pool.close()


@pytest.fixture(scope="module")
def make_bench(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> MakeBench:
    """Return a function that makes a store for the tests of a module; each set of files adds a snapshot to it."""
    assert fake_model

    def make(*snapshots: Files, **settings: Any) -> Workbench:
        bench = Workbench(tmp_path_factory.mktemp("bench"), settings)
        for files in snapshots:
            bench.write(files)
            bench.ingest(allow_delete=True)
        return bench

    return make


@pytest.fixture(scope="session")
def warm_programs(tmp_path_factory: pytest.TempPathFactory, token_counts_folder: Path) -> Iterator[Path]:
    """Return a folder whose `docmill` starts in a fraction of the time that a user's takes."""
    with warm_program(tmp_path_factory.mktemp("warm"), str(token_counts_folder)) as programs:
        yield programs


@pytest.fixture(scope="session")
def warm_prefect(tmp_path_factory: pytest.TempPathFactory, token_counts_folder: Path) -> Iterator[Path]:
    """Return a folder like that of `warm_programs`, whose programs start with Prefect loaded."""
    with warm_program(tmp_path_factory.mktemp("warm"), "prefect", str(token_counts_folder)) as programs:
        yield programs


@pytest.fixture
def warm_path(warm_programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test find the programs that start warm by their names."""
    monkeypatch.setenv("PATH", str(warm_programs), prepend=os.pathsep)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Run a language model's server on loopback, of which what fails is not asked again and no pause is made."""
    monkeypatch.setattr(providers, "PAUSE_S", 0.0)
    monkeypatch.setattr(providers, "RETRIES", 0)
    with model_server() as own:
        yield own


@pytest.fixture
def no_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `verify` wait 0.3 s instead of 3 until `current/` shows the newest snapshot: nobody is about to show it."""
    monkeypatch.setattr(verify, "_LOOK_S", 0.01)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the session that all processes of pytest-xdist share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def prefect_home(shared: Path) -> Path:
    """Return one home of Prefect for the session."""
    return shared / "prefect home"


@pytest.fixture(scope="session")
def prefect_api(prefect_home: Path) -> Iterator[str]:
    """Run one Prefect server for the session, or join it, and return the URL of its API."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PREFECT_")]:
            patch.delenv(name)
        patch.setenv("PREFECT_HOME", str(prefect_home))
        with embedded_server() as url:
            _keep_database(prefect_home)
            yield url


def _keep_database(home: Path) -> None:
    """Copy the database of a server that has just started, unless another process has; no test has used it yet."""
    kept = home / DATABASE
    with flocked(home / f"{DATABASE}.lock", fcntl.LOCK_EX, 0o600):
        if not kept.exists():
            draft = home / f"{DATABASE}.new"
            with closing(sqlite3.connect(home / "prefect.db")) as source, closing(sqlite3.connect(draft)) as target:
                source.backup(target)
            draft.chmod(0o600)  # as all that a server keeps
            draft.rename(kept)


@pytest.fixture
def created_home(tmp_path: Path, prefect_home: Path, prefect_api: str) -> Path:
    """Return a home of Prefect with an empty database: a server takes most of its start to create one."""
    assert prefect_api
    home = tmp_path / "prefect home"
    home.mkdir()
    shutil.copyfile(prefect_home / DATABASE, home / "prefect.db")
    return home


@pytest.fixture(scope="session")
def object_store_environment() -> Iterator[dict[str, str]]:
    """Serve an object store on loopback for the session, and return the variables that lead to it."""
    with object_store() as environment:
        yield environment


@pytest.fixture
def far(
    tmp_path: Path, object_store_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, fake_model: str
) -> RemoteBench:
    """Return a bench whose store lies in a bucket of its own; `fake_model` is known."""
    assert fake_model
    for name, value in object_store_environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{secrets.token_hex(4)}"
    make_bucket(bucket)
    return RemoteBench(tmp_path, address=f"s3://{bucket}/team/store", environment=object_store_environment)
