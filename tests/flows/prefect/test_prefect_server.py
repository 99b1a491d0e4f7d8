"""Prefect as it is met in earnest: the embedded server, and a server with a worker, each in its own process.

A test has a server of its own where it is about the life of that server; the others join that of the session.
"""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.prefect.server_main import ADDRESS, SERVER
from docmill.flows.prefect.server_secret import CLIENT_VARIABLE, SECRET, secret_of
from docmill.storage.snapshots.history.snapshots import numbers
from docmill.storage.snapshots.read.store import open_store
from tests.kit.remote_bench import RemoteBench

pytestmark = [pytest.mark.flow, pytest.mark.slow]

HOUSE = Path(__file__).parents[3]
PATIENCE_S = 300.0
CRON = "* * * * * */10"  # every ten seconds, which is longer than a run takes
WORDS = "# Valley\n\nThe northern valley has snow in May.\n"


@pytest.fixture(autouse=True)
def warm_path(warm_prefect: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs start with Prefect loaded."""
    monkeypatch.setenv("PATH", str(warm_prefect), prepend=os.pathsep)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with a space in its name and a source in it."""
    folder = tmp_path / "a place"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "valley.md").write_text(WORDS)
    return folder


def surroundings(home: Path, **more: str) -> dict[str, str]:
    """Return an environment without Prefect's and our own variables, but with this home for Prefect."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "DOCMILL_"))}
    return {**kept, "PREFECT_HOME": str(home), "PYTHONPATH": str(HOUSE), **more}


@pytest.fixture
def own(place: Path) -> dict[str, str]:
    """Return an environment in which no Prefect server runs."""
    return surroundings(place / "prefect home", PREFECT_RUNNER_POLL_FREQUENCY="1")


@pytest.fixture
def created(place: Path, created_home: Path, own: dict[str, str]) -> dict[str, str]:
    """Return an environment in which no Prefect server runs, but one has before."""
    created_home.rename(place / "prefect home")
    return own


@pytest.fixture
def joined(prefect_home: Path, prefect_api: str) -> dict[str, str]:
    """Return an environment whose embedded server is that of the session."""
    assert prefect_api
    return surroundings(prefect_home, PREFECT_RUNNER_POLL_FREQUENCY="1")


def ingest(place: Path) -> list[str]:
    store = str(place / "store")
    return ["docmill", "ingest", str(place / "docs"), "--store", store, "--engine", "prefect", "--json"]


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.2)
    raise TimeoutError(f"{what} did not happen within {PATIENCE_S:.0f} s")


@contextmanager
def running(arguments: list[str], log: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process for the block, and end it with all that it has started."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            arguments, env=environment, cwd=log.parent, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def server_of(place: Path) -> int | None:
    """Return the process of the embedded server, if it answers."""
    address = place / "prefect home" / ADDRESS
    return int(json.loads(address.read_bytes())["pid"]) if address.exists() else None


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_command_starts_the_embedded_server_and_leaves_none(place: Path, created: dict[str, str]) -> None:
    done = subprocess.run(ingest(place), env=created, cwd=place, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["snapshot"] == 1
    assert done.stderr == ""
    assert numbers(place / "store") == [1]
    assert open_store(place / "store").document("valley.md").text == WORDS
    assert (place / "prefect home" / SERVER).exists()
    assert server_of(place) is None


def test_the_embedded_server_ends_with_a_run_that_is_killed(place: Path, created: dict[str, str]) -> None:
    os.mkfifo(place / "hold")
    code = (
        "from docmill.flows.prefect.prefect_server import embedded_server\nwith embedded_server(): open('hold').read()"
    )
    with running(["python", "-c", code], place / "log.txt", created) as run:
        server = wait_for(lambda: server_of(place), "an embedded server")
        os.kill(run.pid, signal.SIGKILL)
        wait_for(lambda: not is_running(server), "the end of the server")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_healthy(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


@contextmanager
def plain_server(place: Path) -> Iterator[str]:
    """Run a Prefect server that knows nothing of ours, and yield the URL of its API."""
    port = free_port()
    there = surroundings(
        place / "prefect home",
        PREFECT_SERVER_ANALYTICS_ENABLED="false",
        PREFECT_SERVER_UI_V2_ENABLED="false",
        DO_NOT_TRACK="1",
    )
    arguments = ["prefect", "server", "start", "--no-ui", "--port", str(port)]
    with running(arguments, place / "server.log", there):
        wait_for(lambda: is_healthy(port), "a Prefect server")
        yield f"http://127.0.0.1:{port}/api"


@pytest.fixture(params=["the session's server", pytest.param("a plain server", marks=pytest.mark.soak)])
def api(place: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Return an environment that leads to a Prefect server."""
    with ExitStack() as stack:
        if request.param == "a plain server":
            there = {"PREFECT_API_URL": stack.enter_context(plain_server(place))}
        else:
            there = {"PREFECT_API_URL": request.getfixturevalue("prefect_api")}
            there[CLIENT_VARIABLE] = secret_of(request.getfixturevalue("prefect_home"))
        yield surroundings(
            place / "prefect home", **there, PREFECT_WORKER_QUERY_SECONDS="1", DO_NOT_TRACK="1", NO_PROXY="127.0.0.1"
        )


def prefect(environment: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(["prefect", *arguments], env=environment, cwd=HOUSE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_worker_runs_the_deployment_and_commits_a_snapshot(place: Path, api: dict[str, str]) -> None:
    prefect(api, "work-pool", "create", "docmill", "--type", "process")
    prefect(api, "--no-prompt", "deploy", "--all", "--prefect-file", "deployments/prefect.yaml")
    deployment = json.loads(prefect(api, "deployment", "inspect", "ingest/docmill", "--output", "json"))
    assert [schedule["schedule"]["cron"] for schedule in deployment["schedules"]] == ["0 3 * * *"]
    assert deployment["global_concurrency_limit"]["limit"] == 1
    assert deployment["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    with running(["prefect", "worker", "start", "--pool", "docmill"], place / "worker.log", api):
        parameters = json.dumps({"sources": [str(place / "docs")], "store": str(place / "store")})
        order = ("deployment", "run", "ingest/docmill", "--params", parameters, "--watch")
        assert "Completed" in prefect(api, *order), (place / "worker.log").read_text()
    assert numbers(place / "store") == [1]
    assert open_store(place / "store").document("valley.md").text == WORDS


def has_run(log: Path) -> bool:
    return any("Flow run" in line and "Completed" in line for line in log.read_text().splitlines())


def test_serve_runs_the_flow_on_its_schedule_until_it_is_stopped(place: Path, created: dict[str, str]) -> None:
    arguments = ["docmill", "schedule", str(place / "docs"), "--store", str(place / "store")]
    with running([*arguments, "--cron", CRON], place / "serve.log", created) as serving:
        wait_for(lambda: has_run(place / "serve.log"), "a scheduled run")
        server = server_of(place)
        serving.terminate()
        assert serving.wait(60) == 0, (place / "serve.log").read_text()
    assert (
        f"which asks for a password: the content of {place / 'prefect home' / SECRET}\n"
        in (place / "serve.log").read_text()
    )
    assert server is not None
    assert not is_running(server)
    assert numbers(place / "store") == [1]


@pytest.mark.soak
def test_two_that_serve_at_once_do_not_run_for_each_other_and_one_keeps_its_store_on_an_object_store(
    place: Path, far: RemoteBench, joined: dict[str, str]
) -> None:
    (place / "more").mkdir()
    (place / "more" / "river.md").write_text("# River\n\nThe river floods in March.\n")
    environment = {**joined, "DOCMILL_MIRRORS": str(place / "mirrors"), **far.environment}

    def serving(source: str, store: str, log: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
        arguments = ["docmill", "schedule", source, "--store", store, "--cron", CRON]
        return running(arguments, place / log, environment)

    with serving("docs", far.address, "one.log") as one, serving("more", "of more", "two.log") as two:
        wait_for(lambda: has_run(place / "one.log") and has_run(place / "two.log"), "a run of both")
        for process, log in ((one, "one.log"), (two, "two.log")):
            process.terminate()
            assert process.wait(60) == 0, (place / log).read_text()
    assert [
        store.sql("SELECT uri FROM documents").to_pylist() for store in (far.store, open_store(place / "of more"))
    ] == [
        [{"uri": "valley.md"}],
        [{"uri": "river.md"}],
    ]
    assert far.store.document("valley.md").text == WORDS
    assert not (place / "s3:").exists()


def test_a_schedule_that_watches_runs_the_flow_at_the_start_and_after_a_change(
    place: Path, joined: dict[str, str]
) -> None:
    log = place / "watch.log"
    arguments = ["docmill", "schedule", "docs", "--store", "store", "--watch", "--cron", "0 0 1 1 *"]
    with running(arguments, log, joined) as serving:
        wait_for(lambda: "docmill: watching docs" in log.read_text(), "the first run")
        (place / "docs" / "river.md").write_text("# River\n\nThe river floods in March.\n")
        wait_for(lambda: numbers(place / "store") == [1, 2], "a run after the change")
        serving.terminate()
        assert serving.wait(60) == 0, log.read_text()
    with open_store(place / "store") as store:
        assert store.document("river.md").text == "# River\n\nThe river floods in March.\n"


def test_a_schedule_that_watches_begins_with_sources_that_exist(place: Path, own: dict[str, str]) -> None:
    arguments = ["docmill", "schedule", "nowhere", "--store", "store", "--watch", "--cron", CRON]
    done = subprocess.run(
        arguments, cwd=place, env=own, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("docmill: source 'nowhere' does not exist")
    assert server_of(place) is None
