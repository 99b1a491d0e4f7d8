"""The page, the report and the map while a first run is under way, or after it was stopped: vectors are pending."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.config.settings import Settings
from docmill.flows.measure.chunk_quality import Looking, chunk_quality
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.page.page_bundle import questions
from tests.kit.counting_encoder import LONG_RUN, PAGES, interrupt
from tests.kit.workbench import MakeBench, Workbench
from tests.serving.http_server import running


@pytest.fixture(scope="module", params=[0.0, 0.5], ids=["hardly any vector", "half of the vectors"])
def halfway(request: pytest.FixtureRequest, make_bench: MakeBench) -> Workbench:
    """Return a store whose first run was stopped; the tests only read it."""
    own = make_bench(**LONG_RUN)
    own.write(dict(PAGES))
    interrupt(own, request.param)
    assert own.store.snapshot.pending
    return own


@pytest.fixture
def pending(halfway: Workbench) -> int:
    with halfway.store as store:
        return int(store.snapshot.vector_state()["pending"] or 0)


@pytest.fixture
def client(halfway: Workbench) -> Iterator[TestClient]:
    served = http_app(OpenStores({"birds": halfway.root}), Searching({}), Access(port=0))
    with TestClient(served, "http://127.0.0.1") as own:
        yield own


def command(*words: str, store: Path) -> Any:
    return CliRunner().invoke(app, [*words, "--store", str(store)])


def test_each_view_of_the_page_is_answered(halfway: Workbench, client: TestClient, pending: int) -> None:
    chunks = halfway.chunks()
    made = client.get("/map").json()
    assert len(made["chunk_id"]) == len(chunks) - pending
    assert (made["left_out"], made["pending"]) == (pending, pending)
    assert client.get("/newest").json()["status"]["vectors"]["pending"] == pending
    for path in ("/facets", "/outline?uri=owl.txt", "/cuts?uri=owl.txt", "/status", f"/near/{made['chunk_id'][0]}"):
        assert client.get(path).status_code == 200, path
    for name, statement in questions().items():
        asked = {"query": statement, "max_rows": 100, "max_characters": 100_000, "seconds": 60}
        assert client.post("/rows", json=asked).status_code == 200, name


def test_a_report_leaves_pending_chunks_out_of_its_map_and_says_so(
    halfway: Workbench, tmp_path: Path, pending: int
) -> None:
    done = command("report", "--html", str(tmp_path / "report"), store=halfway.root)
    assert done.exit_code == 0, done.output
    assert f"left out of the map, as they wait for their vectors: {pending} chunks" in done.stderr
    about = json.loads(json.loads((tmp_path / "report" / "data" / "about.js").read_text("utf-8")[22:-3]))
    assert about["status"]["vectors"]["pending"] == pending


def test_an_atlas_leaves_pending_chunks_out_and_ends_as_partly_done(
    halfway: Workbench, tmp_path: Path, pending: int
) -> None:
    done = command("export", "--atlas", str(tmp_path / "one.parquet"), "--json", store=halfway.root)
    assert done.exit_code == command("export", str(tmp_path / "one.jsonl"), store=halfway.root).exit_code != 0
    written = json.loads(done.stdout)
    assert (written["points"], written["pending"]) == (len(halfway.chunks()) - pending, pending)
    assert f"left out, as they wait for their vectors: {pending} chunks" in done.stderr


def test_near_duplicates_are_measured_among_the_chunks_that_have_a_vector(halfway: Workbench) -> None:
    with halfway.store as store:
        found = chunk_quality(
            Settings.model_validate(halfway.settings | {"store": halfway.root}),
            store,
            Looking(coherence=False, needles=False),
        )
    assert any(name.startswith("near duplicates") for name in found)
    done = command("evaluate", "chunks", "--no-coherence", "--no-needles", store=halfway.root)
    assert "near duplicates are measured among the chunks that have one" in done.stderr


def test_the_header_says_how_many_vectors_there_are(page: Any, halfway: Workbench) -> None:
    access = Access(port=0)
    share = halfway.store.snapshot.vector_state()["share"] or 0
    with running(http_app(OpenStores({"birds": halfway.root}), Searching({}), access), access) as url:
        page.goto(f"{url}/#/map")
        page.get_by_text(f"vectors: {int(100 * share)} %, keywords answer").wait_for()
        page.get_by_text("wait for their vectors").wait_for()
        page.goto("about:blank")  # it asks every few seconds, and would miss its server
