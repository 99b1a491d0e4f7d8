"""Limits of a server: what one client can take up, and what happens to work for clients that have left."""

import asyncio
import json
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from starlette.responses import Response

from docmill.flows.serving.access import Access, Patience
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.guard import TooManyWaiting, Turns
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.mcp import mcp_tools
from docmill.flows.serving.mcp.mcp_server import mcp_http_app, mcp_server
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.page.answers_ahead import KeptAnswers
from docmill.storage.process.cancellation import Abandoned, Asker, asked_by, current_asker
from docmill.storage.sql.statement_pool import StatementPlaces
from tests.kit.workbench import MakeBench, Workbench
from tests.serving.http_server import running

JSON = {"Content-Type": "application/json"}
BUSY = {"query": "SELECT count(*) FROM range(99999999999999)", "seconds": 60}
SLOW = {"query": "SELECT pg_sleep(59)", "seconds": 60}  # which leaves the processor to the test
TOKEN = "0123456789abcdef"
STATEMENTS = "docmill.storage.sql.statement_process"
CPU_OF_START_S = 1.5  # the start of a process for statements takes half a second, on a busy machine more

pytestmark = pytest.mark.usefixtures("cold")


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"git.md": "# Undo\n\nTo undo a commit, reset the branch.\n"})


def app_of(bench: Workbench, access: Access) -> Any:
    return http_app(OpenStores({"store": bench.root}), Searching({}), access)


@pytest.fixture(scope="module")
def url(bench: Workbench) -> Iterator[str]:
    access = Access(port=0, patience=Patience(head_s=0.3, body_s=0.3))
    with running(app_of(bench, access), access) as own:
        yield own


def connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    own = socket.create_connection((parts.hostname, parts.port or 0))
    own.settimeout(60)
    return own


def request(method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """Return a request as bytes; its length is that of the body unless the headers say how its body comes."""
    named = {"Host": "localhost", **(headers or {})}
    if not named.keys() & {"Content-Length", "Transfer-Encoding"}:
        named["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def told(own: socket.socket) -> bytes:
    """Return all that a server says until it closes the connection."""
    said = b""
    try:
        while part := own.recv(65_536):
            said += part
    except ConnectionResetError:
        pass
    return said


def statement_processes() -> list[psutil.Process]:
    """Return the processes for statements of this process."""
    return [one for one in psutil.Process().children() if is_for_statements(one)]


def is_for_statements(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):  # which a zombie is, too
        return STATEMENTS in " ".join(process.cmdline())
    return False


def computes(process: psutil.Process) -> bool:
    """Return whether a process has used more of a processor than its start and what the page asks ahead."""
    with suppress(psutil.NoSuchProcess):
        return float(process.cpu_times().user) > CPU_OF_START_S
    return False


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that has to come; the limit of the test run ends it if it does not."""
    while not holds():
        time.sleep(0.02)


def test_health_is_told_and_others_ask_while_a_client_runs_44_statements(bench: Workbench) -> None:
    access = Access(port=0)
    with running(app_of(bench, access), access) as url, ExitStack() as stack:
        body = json.dumps(SLOW).encode()
        clients = [stack.enter_context(connected(url)) for _ in range(44)]
        for one in clients:
            one.sendall(request("POST", "/sql", body, headers=JSON))
        until(lambda: len(statement_processes()) >= 3)
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as other:
            for path in ("/healthz", "/", "/page/main.js"):
                assert other.get(path).status_code == 200
            proxied = {"X-Forwarded-For": "192.0.2.7"}  # as a proxy on this machine says who asks
            assert other.get("/documents", params={"where": "true"}, headers=proxied).status_code == 200
        for one in clients:
            one.setblocking(False)
            with pytest.raises(BlockingIOError):  # none has been answered yet
                one.recv(1)


@pytest.mark.parametrize("path", ["/sql", "/rows"])
def test_a_statement_ends_when_its_client_leaves(bench: Workbench, path: str) -> None:
    access = Access(port=0)
    with running(app_of(bench, access), access) as url:
        with connected(url) as own:
            own.sendall(request("POST", path, json.dumps(BUSY).encode(), headers=JSON))
            until(lambda: any(map(computes, statement_processes())))
            [process] = filter(computes, statement_processes())
        until(lambda: not process.is_running())
        answer = httpx.post(f"{url}{path}", json={"query": "SELECT 1 AS n"}, timeout=60, trust_env=False)
        assert answer.json()["rows"] == [{"n": 1}]


@pytest.mark.parametrize("far", [True, False], ids=["http", "pipe"])
def test_a_statement_of_a_model_ends_when_its_call_is_cancelled(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, far: bool
) -> None:
    monkeypatch.setattr(mcp_tools, "_SQL_S", 600.0)
    access, server = Access(port=0), mcp_server(OpenStores({"store": bench.root}), Searching({}))

    async def cancelled(place: str | MCPServer) -> None:
        async with Client(place) as client:
            call = asyncio.create_task(client.call_tool("sql", {"query": BUSY["query"]}))
            while not any(map(computes, statement_processes())):
                assert not call.done(), call
                await asyncio.sleep(0.02)
            [process] = filter(computes, statement_processes())
            call.cancel()
            while process.is_running():
                await asyncio.sleep(0.02)
            answer = await client.call_tool("sql", {"query": "SELECT 1 AS n"})
            assert (answer.structured_content or {})["rows"] == [{"n": 1}]

    if not far:
        asyncio.run(cancelled(server))
        return
    with running(mcp_http_app(server, access), access) as url:
        asyncio.run(cancelled(f"{url}/mcp"))


def test_a_statement_that_waits_for_its_turn_is_given_up_with_its_client() -> None:
    places, asker, got = StatementPlaces(1, 1), Asker("one"), list[str]()

    def wait() -> None:
        try:
            with places.taken(asker):
                got.append("a place")
        except Abandoned:
            got.append("nothing")

    with places.taken(Asker("two")):
        thread = threading.Thread(target=wait)
        thread.start()
        asker.leave()
        thread.join()
    assert got == ["nothing"]
    with places.taken(Asker("one")):
        pass


def test_a_client_takes_some_of_the_places_and_this_process_all() -> None:
    places = StatementPlaces(3, 2)
    with places.taken(Asker("one")), places.taken(Asker("one")):
        assert not places._has_place("one")
        assert places._has_place("two")
        with places.taken(Asker()):
            assert not places._has_place("")


def test_who_waits_for_an_answer_that_another_has_asked_for_gets_it_when_that_one_leaves() -> None:
    kept, asked, first = KeptAnswers(), threading.Event(), Asker("first")
    left = threading.Event()

    def ask_and_leave() -> Response:
        asked.set()
        left.wait()
        raise Abandoned

    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(kept.get, "key", ask_and_leave)
        asked.wait()
        two = threads.submit(kept.get, "key", lambda: Response(b"found"))
        left.set()
        with pytest.raises(Abandoned):
            one.result()
        assert two.result().body == b"found"
    first.leave()
    with asked_by(first), pytest.raises(Abandoned):
        kept.get("other", lambda: ended(current_asker()))


def ended(asker: Asker) -> Response:
    with asker.ended_by(lambda: None):
        return Response()


def test_turns_go_to_clients_in_rotation_and_their_lines_are_bounded() -> None:
    order: list[str] = []

    async def ask(turns: Turns, client: str, done: asyncio.Event) -> None:
        async with turns.taken(client):
            order.append(client)
            await done.wait()

    async def main() -> None:
        turns, done = Turns(most=2, most_of_client=2, most_waiting=3), asyncio.Event()
        tasks = [asyncio.create_task(ask(turns, client, done)) for client in ("a", "a", "a", "a", "a", "b", "b")]
        await asyncio.sleep(0)
        assert order == ["a", "a"]
        with pytest.raises(TooManyWaiting):
            await ask(turns, "a", done)
        tasks[3].cancel()
        done.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == ["a", "a", "a", "b", "a", "b"]
        assert not turns._waiting
        assert not turns._running

    asyncio.run(main())


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"GET /documents HT", b""),
        (b"", b""),
        (request("POST", "/search", b"{", {"Content-Length": "100"}), b"408"),
        (request("POST", "/search", b"5\r\nab", {"Transfer-Encoding": "chunked"}), b"408"),
    ],
    ids=["head", "nothing", "body", "chunks"],
)
def test_a_request_that_is_never_finished_is_given_up(url: str, sent: bytes, said: bytes) -> None:
    with connected(url) as own:
        own.sendall(sent)
        assert said in told(own)


def test_a_second_request_that_is_never_finished_is_given_up_too(url: str) -> None:
    with connected(url) as own:
        own.sendall(request("GET", "/healthz") + b"GET /hea")
        assert told(own).count(b"HTTP/1.1 200") == 1


@pytest.mark.slow
def test_a_client_that_reads_nothing_is_cut(bench: Workbench) -> None:
    access = Access(port=0, patience=Patience(head_s=0.3))
    large = {"query": "SELECT repeat('x', 4000000) AS text", "max_characters": 5_000_000}
    with running(app_of(bench, access), access) as url, connected(url) as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)  # with less, what is on its way takes minutes
        own.sendall(request("POST", "/sql", json.dumps(large).encode(), headers=JSON))
        server = psutil.Process()
        until(lambda: statuses(server, own) == {"ESTABLISHED"})
        until(lambda: not statuses(server, own))
        assert len(told(own)) < 4_000_000


def statuses(server: psutil.Process, client: socket.socket) -> set[str]:
    """Return the states of the server's end of a connection."""
    return {one.status for one in server.net_connections("tcp") if one.raddr == client.getsockname()}


@pytest.mark.slow
def test_more_half_sent_requests_than_a_process_may_open_files_lock_nobody_out(
    bench: Workbench, token_counts_folder: Path
) -> None:
    arguments = [sys.executable, "-m", "tests.kit.docmill_with_fake_model", str(token_counts_folder)]
    serve = shlex.join([*arguments, "serve", str(bench.root), "--port", "0", "--no-token"])
    command = f"ulimit -n 256; exec {serve}"
    with subprocess.Popen(["bash", "-c", command], stderr=subprocess.PIPE, text=True) as process, ExitStack() as stack:
        assert process.stderr
        try:
            line = next(line for line in process.stderr if "http://" in line)
            url = "http://" + line.split("http://")[1].strip()
            for _ in range(300):
                stack.enter_context(connected(url)).sendall(b"GET /healthz HT")
                with connected(url) as own:
                    own.sendall(request("GET", "/healthz"))
                    assert own.recv(12) == b"HTTP/1.1 200"
        finally:
            process.terminate()
            process.stderr.close()


def test_bodies_without_a_token_are_refused_before_they_are_read(bench: Workbench) -> None:
    access = Access(port=0, token=TOKEN)
    sizes = {"Content-Length": "1000000"}, {"Transfer-Encoding": "chunked"}
    with running(app_of(bench, access), access) as url:
        for path, status in (("/search", b"401"), ("/sql", b"401"), ("/healthz", b"413"), ("/", b"413")):
            for size in sizes:
                with connected(url) as own:
                    own.sendall(request("POST", path, headers=size))  # nothing of the body follows
                    assert own.recv(12) == b"HTTP/1.1 " + status, (path, size)
        large = {"Authorization": f"Bearer {TOKEN}", "Content-Length": str(2 << 20)}
        with connected(url) as own:
            own.sendall(request("POST", "/search", headers=large))
            assert own.recv(12) == b"HTTP/1.1 413"
