"""While the object store does not answer, a mirror that is whole is searched, quickly and with a word about its age."""

import json
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import Transient
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.read.store import open_store
from tests.kit.remote_bench import RemoteBench, make_bucket, object_store

MOST_KNOCKS = 4
"""Connections of a search to an object store that does not answer: with default retries there would be dozens."""


@pytest.fixture
def laid(far: RemoteBench) -> RemoteBench:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n"})
    far.ingest()
    return far


@pytest.fixture
def silent() -> Iterator[str]:
    """Return the address of a server that takes connections and never answers; few may come."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.setblocking(False)
        assert connections(server) <= MOST_KNOCKS


def connections(server: socket.socket) -> int:
    """Return how many clients have connected to a server that has accepted none."""
    found = 0
    with suppress(BlockingIOError):
        while True:
            server.accept()[0].close()
            found += 1
    return found


@pytest.fixture
def refusing() -> str:
    """Return an address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(params=["silent", "refusing"])
def nowhere(request: pytest.FixtureRequest) -> str:
    address: str = request.getfixturevalue(request.param)
    return address


def test_a_whole_mirror_is_searched_while_the_object_store_is_down(
    laid: RemoteBench, nowhere: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    root = laid.root
    before = [hit.text for hit in open_store(root).search("red knob", k=2)]
    hour_ago = time.time() - 2 * 3600 - 5
    os.utime(root / "synced", (hour_ago, hour_ago))
    monkeypatch.setenv("AWS_ENDPOINT_URL", nowhere)
    with caplog.at_level(logging.WARNING, "docmill.remote"), open_store(root) as store:
        assert [hit.text for hit in store.search("red knob", k=2)] == before
        assert store.document("guide.md").text == "# Guide\n\nTurn the red knob.\n"
        assert store.status()["synced"].startswith(time.strftime("%Y-%m-%dT%H:", time.gmtime(hour_ago)))
    assert (
        f"{laid.address} does not answer; this machine's mirror of it is used, last in step 2 hours ago" in caplog.text
    )


def test_a_mirror_that_lacks_files_says_so(laid: RemoteBench, refusing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two = laid.on("two")
    root = two.root
    monkeypatch.setenv("AWS_ENDPOINT_URL", refusing)
    with pytest.raises(Transient, match=f"{laid.address}/store.json: .*run again"):
        open_store(root)
    monkeypatch.setenv("AWS_ENDPOINT_URL", laid.environment["AWS_ENDPOINT_URL"])
    open_folder(root).refresh()
    monkeypatch.setenv("AWS_ENDPOINT_URL", refusing)
    with pytest.raises(Transient, match="mirror lacks the list of its vector files, without which snapshot 1 "):
        open_store(root)
    monkeypatch.setenv("AWS_ENDPOINT_URL", laid.environment["AWS_ENDPOINT_URL"])
    open_store(root)
    next((root / "tables" / "chunks").glob("*.parquet")).unlink()
    monkeypatch.setenv("AWS_ENDPOINT_URL", refusing)
    with pytest.raises(Transient, match=r"mirror lacks 1 of \d+ files"):
        open_store(root)


def test_the_command_line_searches_on_after_the_object_store_went_down(
    laid: RemoteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCMILL_MIRRORS", str(laid.folder / "reader"))
    asked = ["search", "red knob", "-k", "1", "--mode", "keyword", "--store", "s3://short-lived/store"]
    with object_store() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        make_bucket("short-lived")
        own = RemoteBench(laid.folder, address="s3://short-lived/store", environment=environment)
        own.ingest()
        online = CliRunner().invoke(app, [*asked, "--json"])
    offline = CliRunner().invoke(app, [*asked, "--json"])
    assert (online.exit_code, offline.exit_code) == (0, 0), offline.output
    assert json.loads(offline.stdout) == json.loads(online.stdout)
    (said,) = offline.stderr.splitlines()
    assert "does not answer; this machine's mirror of it is used, last in step less than a minute ago" in said
    plain = CliRunner().invoke(app, asked)
    assert "guide.md" in plain.stdout, "the line number needs a text that this mirror has never fetched"
    assert plain.exit_code == 0
    status = json.loads(CliRunner().invoke(app, ["status", "--json", "--store", "s3://short-lived/store"]).stdout)
    assert status["synced"]
