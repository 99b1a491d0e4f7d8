"""Figures as clients see them: over HTTP, by MCP, in a report and in the files of the store."""

import base64
import json
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest
from mcp_types import ImageContent

from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.mcp.mcp_server import mcp_http_app, mcp_server
from docmill.flows.serving.open_stores import OpenStores, ServedStore
from docmill.flows.serving.page.report_files import write_report
from docmill.storage.keys import hash_bytes
from tests.kit.workbench import MakeBench, Workbench
from tests.kit.writers import figures as writers
from tests.serving.http_server import running
from tests.serving.test_mcp import ask

FIRST, SECOND = writers.drawn(1), writers.drawn(2)
KEY = hash_bytes(FIRST)


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"lagoon.html": writers.html(FIRST, SECOND), "plain.md": "# Plain\n\nNo picture.\n"})


def test_http_hands_out_a_picture_and_lets_it_run_nothing(bench: Workbench) -> None:
    access = Access(port=0)
    app = http_app(OpenStores({"handbook": bench.root}), Searching({}), access)
    with running(app, access) as url, httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        answer = client.get(f"/figures/{KEY}").raise_for_status()
        assert answer.content == FIRST
        head = answer.headers
        assert (head["content-type"], head["x-content-type-options"]) == ("image/png", "nosniff")
        assert head["content-security-policy"] == "default-src 'none'; sandbox"
        assert client.get(f"/figures/{'0' * 32}").status_code == 404
        told = client.get("/documents/lagoon.html").json()["figures"]
        assert [(one["key"], one["caption"]) for one in told] == [
            (KEY, writers.CAPTION),
            (hash_bytes(SECOND), writers.SECOND),
        ]
        assert client.get("/documents/lagoon.html", params={"end_char": 20}).json()["figures"] == []


def test_a_model_sees_the_picture(bench: Workbench) -> None:
    access = Access(port=0)
    app = mcp_http_app(mcp_server(OpenStores({"handbook": bench.root}), Searching({})), access)
    with running(app, access) as url:
        result = ask(f"{url}/mcp", lambda client: client.call_tool("get_figure", {"key": KEY}))
    text, shown = result.content
    assert isinstance(shown, ImageContent)
    assert (base64.b64decode(shown.data), shown.mime_type) == (FIRST, "image/png")
    assert json.loads(text.text)["shown"] == [
        {"uri": "lagoon.html", "start_char": 89, "page": None, "caption": writers.CAPTION, "alt": "Bars by month"}
    ]


def test_a_report_holds_the_pictures_of_its_documents(bench: Workbench, tmp_path: Path) -> None:
    with bench.store as store:
        write_report(ServedStore("handbook", store), tmp_path / "report", 10)
    script = (tmp_path / "report" / "data" / f"figure-{KEY}.js").read_text("utf-8")
    assert base64.b64encode(FIRST).decode() in script
    pack = (tmp_path / "report" / "data" / "pack-0.js").read_text("utf-8")
    assert writers.CAPTION in pack


def test_the_files_of_the_store_name_the_figures_of_each_document(bench: Workbench) -> None:
    table = pq.read_table(sorted((bench.root / "current" / "documents").glob("*.parquet")), partitioning=None)
    rows = {row["uri"]: row["figures"] for row in table.to_pylist()}
    assert [one["key"] for one in rows["lagoon.html"]] == [KEY, hash_bytes(SECOND)]
    assert rows["plain.md"] == []
