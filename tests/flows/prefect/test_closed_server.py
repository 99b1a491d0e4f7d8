"""The embedded Prefect server is closed to web pages, to other names of this machine, and to its other users."""

import os
from base64 import b64encode
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from docmill.flows.prefect.server_main import ADDRESS
from docmill.flows.prefect.server_secret import SECRET, provide, secret_of
from docmill.storage.errors import Transient

RUNS = "/api/flow_runs/filter"
EVIL = "http://evil.example"
SERVER_VARIABLE = "PREFECT_SERVER_API_AUTH_STRING"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


def basic(secret: str) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(secret.encode()).decode()}"}


class Answer(NamedTuple):
    """What the server said, as a browser sees it."""

    status: int
    allowed: str | None
    body: bytes


def ask(api: str, method: str, path: str, headers: Mapping[str, str]) -> Answer:
    body = "{}" if method == "POST" else None
    with closing(HTTPConnection(urlsplit(api).netloc, timeout=30)) as connection:
        connection.request(method, path, body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheader("Access-Control-Allow-Origin"), answer.read())


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def known(prefect_api: str, prefect_home: Path) -> dict[str, str]:
    """Return the headers of somebody who can read the secret."""
    assert prefect_api
    return basic(secret_of(prefect_home))


@pytest.mark.flow
def test_only_who_knows_the_secret_is_answered(prefect_api: str, known: dict[str, str]) -> None:
    assert ask(prefect_api, "POST", RUNS, {}).status == 401
    assert ask(prefect_api, "POST", RUNS, basic("docmill:guess")).status == 401
    assert ask(prefect_api, "POST", RUNS, {"Content-Type": "text/plain", "Origin": EVIL}).status == 401
    assert ask(prefect_api, "POST", RUNS, known).status == 200


@pytest.mark.flow
@pytest.mark.parametrize("host", ["evil.example", "evil.example:4200", "127.0.0.1.evil.example", "0.0.0.0", ""])
def test_a_foreign_host_is_refused(prefect_api: str, known: dict[str, str], host: str) -> None:
    for method, path in (("POST", RUNS), ("GET", "/"), ("GET", "/api/health")):
        assert ask(prefect_api, method, path, {**known, "Host": host}).status == 400
    assert ask(prefect_api, "GET", "/api/events/in", {**UPGRADE, "Host": host}).status == 400


@pytest.mark.flow
def test_a_page_of_another_origin_is_given_no_leave(prefect_api: str, known: dict[str, str]) -> None:
    wish = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    port = urlsplit(prefect_api).port
    for origin in (EVIL, "null", "http://localhost:1", f"http://evil.example:{port}"):
        for answer in (
            ask(prefect_api, "OPTIONS", RUNS, {"Origin": origin, **wish}),
            ask(prefect_api, "POST", RUNS, {"Origin": origin, **known}),
        ):
            assert answer.allowed is None
    own = f"http://localhost:{port}"
    assert ask(prefect_api, "OPTIONS", RUNS, {"Origin": own, **wish}).allowed == own


@pytest.mark.flow
def test_the_page_of_the_server_asks_for_the_secret(prefect_api: str) -> None:
    host = {"Host": f"localhost:{urlsplit(prefect_api).port}"}
    assert b'"auth":"BASIC"' in ask(prefect_api, "GET", "/ui-settings", host).body
    assert ask(prefect_api, "GET", "/", {"Accept": "text/html"}).status == 200


@pytest.mark.flow
def test_nobody_else_reads_what_the_server_keeps(prefect_api: str, prefect_home: Path) -> None:
    assert prefect_api
    assert mode(prefect_home) == 0o700
    kept = {path.name: mode(path) for path in prefect_home.iterdir() if path.is_file()}
    assert {SECRET, ADDRESS, "prefect.db", "docmill-server.log"} <= kept.keys()
    assert {name: oct(found) for name, found in kept.items() if found & 0o077} == {}


@pytest.mark.flow
def test_the_secret_is_on_no_command_line(prefect_api: str, prefect_home: Path) -> None:
    assert prefect_api
    secret = secret_of(prefect_home).encode()
    lines = [entry / "cmdline" for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    own = [line.read_bytes() for line in lines if line.exists() and line.stat().st_uid == os.getuid()]
    assert any(b"server_main" in line for line in own)
    assert not [line for line in own if secret in line]


def test_a_secret_is_made_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SERVER_VARIABLE, raising=False)
    first = provide(tmp_path)
    assert len(first) >= 32
    assert (secret_of(tmp_path), provide(tmp_path), mode(tmp_path / SECRET)) == (first, first, 0o600)
    (tmp_path / SECRET).write_text("")
    assert provide(tmp_path) not in (first, "")


def test_a_secret_that_others_could_read_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SERVER_VARIABLE, raising=False)
    first = provide(tmp_path)
    (tmp_path / SECRET).chmod(0o644)
    assert provide(tmp_path) != first
    assert mode(tmp_path / SECRET) == 0o600


def test_a_secret_of_the_user_is_taken_and_known_to_others_that_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SERVER_VARIABLE, "me:open sesame")
    assert provide(tmp_path) == "me:open sesame"
    monkeypatch.delenv(SERVER_VARIABLE)
    assert secret_of(tmp_path) == "me:open sesame"


def test_a_secret_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(Transient, match="end the runs that use this server"):
        secret_of(tmp_path)
