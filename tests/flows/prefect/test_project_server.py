"""The Prefect server of a project, with the settings that `docmill init` writes: a foreign page gets nothing from it.

A page may send any request that its browser sends without asking, and reads answers only where the server's headers
let it.
"""

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from tests.flows.prefect.test_init_project import basic, init, values

pytestmark = [pytest.mark.flow, pytest.mark.slow]

PATIENCE_S = 300.0
FOREIGN = {"Origin": "https://attacker.example", "Sec-Fetch-Site": "cross-site"}
ALLOWED = "access-control-allow-origin"


def settings(folder: Path, flag: str, home: Path, port: int) -> dict[str, str]:
    """Return the environment that a project gives its Prefect server, but on a port and with a home for the test."""
    found = values(folder / ".env")
    if flag == "--docker":
        told = yaml.safe_load((folder / "compose.yaml").read_text())["services"]["prefect"]["environment"]
        found = {name: re.sub(r"\$\{(\w+):\?[^}]*\}", lambda one: found[one[1]], text) for name, text in told.items()}
    moved = json.dumps(found).replace("4200", str(port)).replace("/var/lib/prefect", str(home))
    return {**json.loads(moved), "PREFECT_HOME": str(home)}


@contextmanager
def served(environment: dict[str, str], port: int) -> Iterator[httpx.Client]:
    """Run a Prefect server; give a client that knows no secret."""
    home = Path(environment["PREFECT_HOME"])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "DOCMILL_"))}
    command = ["prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=home, env=kept | environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
            deadline = time.monotonic() + PATIENCE_S
            while not is_healthy(client):
                assert server.poll() is None, (home / "server.log").read_text()
                assert time.monotonic() < deadline, (home / "server.log").read_text()
                time.sleep(0.2)
            yield client
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def is_healthy(client: httpx.Client) -> bool:
    try:
        return client.get("/api/health").status_code == 200
    except httpx.HTTPError:
        return False


def patient(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Return the answer of a server whose database may be busy: 503 says to ask again."""
    deadline = time.monotonic() + PATIENCE_S
    while (answer := ask()).status_code == httpx.codes.SERVICE_UNAVAILABLE and time.monotonic() < deadline:
        time.sleep(0.2)
    return answer


@pytest.mark.parametrize("flag", ["--prefect", "--docker"])
def test_a_page_of_another_site_creates_no_flow_run(
    tmp_path: Path, created_home: Path, flag: str, warm_prefect: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(warm_prefect), prepend=os.pathsep)
    init(tmp_path / "project", flag)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    own = {"Origin": f"http://127.0.0.1:{port}"}
    secret = {"Authorization": basic(values(tmp_path / "project" / ".env")["PREFECT_API_AUTH_STRING"])}
    with served(settings(tmp_path / "project", flag, created_home, port), port) as client:
        flow = client.post("/api/flows/", json={"name": "own"}, headers=secret).raise_for_status().json()["id"]
        wanted = {"flow_id": flow, "state": {"type": "SCHEDULED"}}
        text = {"Content-Type": "text/plain"}  # which a browser sends without asking
        for headers in ({}, FOREIGN, FOREIGN | text, own, {"Authorization": basic("docmill:guessed")}):
            refused = client.post("/api/flow_runs/", content=json.dumps(wanted), headers=headers)
            assert refused.status_code == 401
            assert client.post("/api/flow_runs/filter", json={}, headers=headers).status_code == 401
        asking = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        assert ALLOWED not in client.options("/api/flow_runs/", headers=FOREIGN | asking).headers
        assert ALLOWED not in client.post("/api/flow_runs/filter", json={}, headers=FOREIGN | secret).headers
        assert client.options("/api/flow_runs/", headers=own | asking).headers[ALLOWED] == own["Origin"]
        assert client.post("/api/flow_runs/filter", json={}, headers=secret).json() == []
        assert patient(lambda: client.post("/api/flow_runs/", json=wanted, headers=secret | own)).status_code == 201
        assert json.loads(client.get("/ui-settings").text)["auth"] == "BASIC"
