"""Scheduled runs: `docmill schedule`, in one process on one machine, with its own server if no API is configured."""

import fcntl
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from docmill.flows.config.configuration import keys
from docmill.flows.config.settings import Settings
from docmill.flows.prefect.prefect_run import check_reachable
from docmill.flows.prefect.prefect_server import embedded_server, environment, prefect_home
from docmill.flows.prefect.server_secret import SECRET
from docmill.flows.runs.engine import configured_api
from docmill.flows.runs.report import artifact_key
from docmill.flows.watching.watch import Observer
from docmill.storage.address import absolute
from docmill.storage.errors import ConfigError, Locked
from docmill.storage.files import flocked
from docmill.storage.keys import key_of

PORT = 4200  # Prefect's default port, where people expect its UI
HOUSE = Path(__file__).parents[2]
LOCALTIME = Path("/etc/localtime")


def serve(
    settings: Settings, sources: Sequence[str], cron: str, observer: Observer | None = None, learns: Path | None = None
) -> None:
    """Ingest `sources` on the schedule `cron`, in local time, until the process is stopped.

    With an `observer`, runs also start at once and after changes. With `learns`, a docmill.toml, runs learn from judged
    queries instead, with the settings of only that file, because learning changes it.

    Serves the flow as a deployment of the configured Prefect API, or else of an embedded server, which ends with the
    last process that uses it. Runs never overlap: a run that is due during another one is cancelled. Raises `Locked` if
    the same sources and store are already served, in this or another process.
    """
    url = configured_api()
    name, kind = deployment_name(settings.store, sources), "learn" if learns else "ingest"
    with ExitStack() as stack:
        stack.enter_context(alone(name, kind))
        stack.enter_context(environment(_surroundings(settings, url, learns is not None)))
        schedule = _schedule(cron)
        if url is None:
            page = stack.enter_context(embedded_server(PORT)).removesuffix("/api")
            page += f", which asks for a password: the content of {prefect_home() / SECRET}"
        else:
            check_reachable(url, "or unset PREFECT_API_URL")
            page = url.removesuffix("/api")
        print(f"{kind}/{name}: {cron} ({schedule.timezone}); runs are shown on {page}", file=sys.stderr)
        from docmill.flows.prefect.due_runs import poll
        from docmill.flows.prefect.watched_runs import WatchedRuns

        watched = WatchedRuns(name, observer) if observer else None
        parameters: dict[str, Any] = {"sources": list(sources), "store": absolute(settings.store)}
        if learns:
            parameters["config"] = str(learns)
        poll(name, schedule, parameters, watched, kind)


def deployment_name(store: Path, sources: Sequence[str]) -> str:
    """Return a name that depends only on the store and the sources.

    Two processes that share a deployment would run with each other's parameters and pause each other's schedule.
    """
    return f"{artifact_key('serve', store)}-{key_of(absolute(store), str(Path.cwd()), *sources)[:8]}"


@contextmanager
def alone(name: str, kind: str = "ingest") -> Iterator[None]:
    """Hold the lock of a deployment during the block; raise `Locked` if it is already held on this machine."""
    with ExitStack() as stack:
        try:
            stack.enter_context(flocked(prefect_home() / _lock_of(name, kind), fcntl.LOCK_EX | fcntl.LOCK_NB, 0o600))
        except BlockingIOError:
            raise Locked(f"these sources are served into this store already, as {kind}/{name}; stop it first") from None
        yield


def _lock_of(name: str, kind: str) -> str:
    return f"docmill-{name}.lock" if kind == "ingest" else f"docmill-{kind}-{name}.lock"


def _schedule(cron: str) -> Any:
    from prefect.schedules import Cron

    try:
        return Cron(cron, timezone=_local_zone())
    except ValueError:
        raise ConfigError(
            f"--cron {cron!r} is not a cron expression; one for 3 o'clock every day is '0 3 * * *'"
        ) from None


def _local_zone() -> str:
    """Return the name of this machine's time zone, or UTC if it has none."""
    named = os.environ.get("TZ", "").lstrip(":") or str(LOCALTIME.resolve()).partition("/zoneinfo/")[2]
    try:
        return ZoneInfo(named).key
    except (ValueError, OSError, KeyError):
        return "UTC"


def _surroundings(settings: Settings, url: str | None, by_file: bool = False) -> dict[str, str]:
    """Return the variables that pass this code to a run's process, and the settings unless a file has them."""
    path = os.pathsep.join(filter(None, (str(HOUSE), os.environ.get("PYTHONPATH"))))
    home = {} if url else {"PREFECT_HOME": str(prefect_home())}
    return {"PYTHONPATH": path, **home, **({} if by_file else variables_of(settings))}


def variables_of(settings: Settings) -> dict[str, str]:
    """Return the environment variables that pass these settings to another process of docmill."""
    values: dict[str, str] = {}
    for key in keys():
        value: Any = settings.model_dump(mode="json")
        for step in key.path:
            value = value[step]
        if value != "":
            values[key.variable] = value if isinstance(value, str) else json.dumps(value)
    return {**values, "DOCMILL_STORE": absolute(settings.store)}
