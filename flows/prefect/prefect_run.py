"""Prefect run: run the flow in this process with an existing or new server, and wait until its records are saved."""

import logging
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from docmill.flows.config.settings import Settings
from docmill.flows.prefect.prefect_server import embedded_server, environment
from docmill.flows.runs.engine import configured_api
from docmill.flows.runs.report import Report
from docmill.flows.runs.run_context import RunContext, hold
from docmill.storage.errors import Transient

RECORDS_S = 60.0
"""Seconds to wait until the server has saved the records of all tasks. Records that arrive later are lost."""
RECORDS_OF_A_FAILURE_S = 3.0  # some tasks never ran, so their number is unknown
CONNECT_S = 10.0
"""Seconds for a configured API to accept a connection before the run gives up."""
QUIET = {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_LOGGERS_PREFECT_FLOW_RUNS_LEVEL": "INFO",  # the log of a run, for the server
}


def run_prefect(
    settings: Settings,
    sources: Sequence[str],
    *,
    dry_run: bool = False,
    allow_delete: bool = False,
    retry: bool = False,
    refresh_contexts: bool = False,
) -> Report:
    """Run the flow `ingest` in this process, with the configured API or else an embedded server.

    The API records the flow run, its task runs and artifacts. Raises the pipeline's errors, and `Transient` if no
    server is available.
    """
    url = configured_api()
    with ExitStack() as stack:
        stack.enter_context(environment({name: os.environ.get(name, value) for name, value in QUIET.items()}))
        if url:
            check_reachable(url, "unset PREFECT_API_URL, or take --engine local")
        else:
            stack.enter_context(embedded_server())
        from docmill.flows.ingest import ingest

        own = RunContext(settings)
        try:
            with hold(own), _quiet_console():
                done: Any = ingest(
                    list(sources), str(settings.store), allow_delete, dry_run, retry, refresh_contexts=refresh_contexts
                )
                return cast(Report, done)  # Prefect returns the data of the state
        finally:
            _send_records()
            if url is None:
                _wait_for_records(own)


def check_reachable(url: str, otherwise: str) -> None:
    """Raise `Transient` unless a compatible Prefect API answers; `otherwise` is an alternative for the message."""
    try:
        _connect(url)
        from prefect import get_client

        with get_client(sync_client=True) as client:
            client.raise_for_api_version_mismatch()
    except Exception as error:  # from the socket, the client, or another server there
        raise Transient(f"Prefect's API at {url} cannot be used ({error}); start it, {otherwise}") from None


def _connect(url: str) -> None:
    """Fail sooner than Prefect would if the host is unreachable. With a proxy, the check is skipped."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if not any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        socket.create_connection((parts.hostname or "", port), CONNECT_S).close()


@contextmanager
def _quiet_console() -> Iterator[None]:
    """Keep the flow's log off the terminal, because the caller prints the errors that are raised."""

    def others(record: logging.LogRecord) -> bool:
        return not record.name.startswith(("prefect.flow_runs", "prefect.task_runs"))

    handlers = logging.getLogger().handlers[:]
    for handler in handlers:
        handler.addFilter(others)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(others)


def _send_records() -> None:
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    EventsWorker.drain_all(at_exit=False)
    APILogWorker.drain_all(at_exit=False)


def _wait_for_records(own: RunContext) -> None:
    """Wait until the server has saved all task runs, because it drops unsaved ones on exit."""
    deadline = time.monotonic() + (RECORDS_S if own.done else RECORDS_OF_A_FAILURE_S)
    while own.flow_run_id and _saved(own) < own.tasks and time.monotonic() < deadline:
        time.sleep(0.2)


def _saved(own: RunContext) -> int:
    """Return the number of finished task runs that the server has saved."""
    from prefect import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    assert own.flow_run_id is not None
    this_run = FlowRunFilter(id=FlowRunFilterId(any_=[own.flow_run_id]))
    with get_client(sync_client=True) as client:
        pages = range(0, own.tasks, 200)
        runs = [client.read_task_runs(flow_run_filter=this_run, limit=200, offset=offset) for offset in pages]
    return sum(run.state is not None and run.state.is_final() for page in runs for run in page)
