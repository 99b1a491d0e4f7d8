"""Figures of seven formats: each is once in SQL, over HTTP, for a model and in the report, and its caption finds it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
from docmill.storage.remote.mirror.open_folder import open_folder
from tests.kit.workbench import MakeBench, Workbench
from tests.kit.writers import figures as writers
from tests.serving.http_server import running
from tests.serving.test_mcp import ask

WORDS = {
    "pdf": "Salinity of the channel at low tide",
    "docx": "Eel traps along the northern dyke",
    "pptx": "Hours of sunshine on the salt pans",
    "epub": "Wingspan of the terns that were ringed",
    "html": "Chlorophyll in the lagoon by month",
    "ipynb": "Turbidity before and after dredging",
    "eml": "Ferry passengers between two regattas",
}
WRITERS: dict[str, Callable[[bytes], bytes]] = {
    "pdf": writers.pdf,
    "docx": writers.docx,
    "pptx": writers.pptx,
    "epub": writers.epub,
    "html": lambda picture: writers.html(picture, writers.drawn(77)).replace(b"Figure 2: ", b"Also, "),
    "ipynb": writers.ipynb,
    "eml": lambda picture: writers.eml(picture, b""),
}
PICTURES = {
    form: writers.drawn(seed, 400, 300, "JPEG" if form == "pdf" else "PNG") for seed, form in enumerate(WORDS, 1)
}


def written(form: str, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(writers, "CAPTION", f"Figure 1: {WORDS[form]}")
    return WRITERS[form](PICTURES[form])


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    with pytest.MonkeyPatch.context() as patch:
        files = {f"{form}/lagoon.{form}": written(form, patch) for form in WORDS}
    return make_bench(files | {"plain.md": "# Plain\n\nA page without a picture.\n"}, chunk={"figures": True})


@pytest.mark.parametrize("form", WORDS)
def test_a_figure_is_once_in_sql_and_its_caption_finds_it_first(bench: Workbench, form: str) -> None:
    with bench.store as store:
        query = f"SELECT uri, key, places FROM figures WHERE caption = 'Figure 1: {WORDS[form]}'"
        (row,) = store.sql(query).to_pylist()
        assert row == {"uri": f"{form}/lagoon.{form}", "key": hash_bytes(PICTURES[form]), "places": 1}
        assert store.figure(row["key"]).data == PICTURES[form]
        for where in (None, "role = 'figure'"):
            first = store.search(WORDS[form], k=1, where=where)[0]
            assert (first.uri, row["key"] in first.text) == (row["uri"], True)


def test_each_figure_is_on_the_page_and_in_the_report_once(bench: Workbench, tmp_path: Path) -> None:
    access = Access(port=0)
    app = http_app(OpenStores({"waters": bench.root}), Searching({}), access)
    with running(app, access) as url, httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        for form, picture in PICTURES.items():
            told = client.get(f"/documents/{form}/lagoon.{form}").json()["figures"]
            captions = [one["key"] for one in told if one["caption"] == f"Figure 1: {WORDS[form]}"]
            assert captions == [hash_bytes(picture)]
            assert client.get(f"/figures/{captions[0]}").content == picture
    with bench.store as store:
        write_report(ServedStore("waters", store), tmp_path / "report", 10)
    names = sorted(path.name for path in (tmp_path / "report" / "data").glob("figure-*.js"))
    assert {f"figure-{hash_bytes(one)}.js" for one in PICTURES.values()} <= set(names)
    packs = "".join(path.read_text("utf-8") for path in (tmp_path / "report" / "data").glob("pack-*.js"))
    assert all(words in packs for words in WORDS.values())


def told(url: str, key: str) -> list[Any]:
    """Return what the tool for a figure answers: its places, and the picture."""
    return list(ask(url, lambda client: client.call_tool("get_figure", {"key": key})).content)


def test_a_model_sees_each_figure_with_its_caption(bench: Workbench) -> None:
    access = Access(port=0)
    app = mcp_http_app(mcp_server(OpenStores({"waters": bench.root}), Searching({})), access)
    with running(app, access) as url:
        for form, picture in PICTURES.items():
            key = hash_bytes(picture)
            text, shown = told(f"{url}/mcp", key)
            assert isinstance(shown, ImageContent)
            (place,) = json.loads(text.text)["shown"]
            assert (place["uri"], place["caption"]) == (f"{form}/lagoon.{form}", f"Figure 1: {WORDS[form]}")


@pytest.mark.usefixtures("fake_model")
def test_a_hundred_figures_in_fifty_documents_take_the_room_of_a_hundred(tmp_path: Path) -> None:
    pictures = [writers.drawn(seed, 60, 60) for seed in range(100)]
    shown = "".join(f'<p><img src="{writers.data_uri(one)}" alt="Chart {n}"></p>' for n, one in enumerate(pictures))
    bench = Workbench(tmp_path)
    bench.write({f"{n}.html": f"<h1>Page {n}</h1><p>It is page {n}.</p>{shown}" for n in range(50)})
    bench.ingest()
    tables = [pq.read_table(pack, partitioning=None) for pack in open_folder(bench.root).read().packs("figures")]
    assert sum(table.num_rows for table in tables) == len(set(pictures))
    with bench.store as store:
        assert store.sql("SELECT count(*) AS n FROM figures").to_pylist() == [{"n": 50 * len(pictures)}]
