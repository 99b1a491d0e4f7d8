"""A query whose language is given is read in it, where its words alone tell another; every door takes the language."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from typer.testing import CliRunner

from docmill.adapters.asking import Asking
from docmill.flows.cli.app import app
from docmill.flows.config.search_settings import how_of
from docmill.flows.config.settings import SearchSettings
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.kept_searches import KeptSearches
from docmill.flows.serving.mcp.mcp_server import mcp_http_app, mcp_server
from docmill.flows.serving.open_stores import OpenStores
from docmill.storage.errors import QueryError
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.search.keywords.analysis.language_tags import READ_AS, TAGS
from docmill.storage.search.keywords.analysis.languages import DETECTED, detect, with_given
from tests.kit.workbench import MakeBench, Workbench
from tests.serving.http_server import running

pytestmark = pytest.mark.usefixtures("fake_model")
TEXTS = {
    "fever.md": "Of the soldiers in the war, more would die of fever than of wounds, and none of them were told why.",
    "canal.md": "The canal in Ohio was dug by hand, and it has carried no boats since the railway came to it.",
    "fluss.md": "Die Brücken über den Fluss waren gesperrt, und man war froh, als der Zug wieder in der Stadt hielt.",
    "code.sql": "SELECT settings, sensors FROM stations;\n",
}
MISTAKEN = "die war"
"""Function words of German, and the two words that tell this English question from others."""
BOTH = "english+german"


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({name: text if name.endswith("sql") else f"# {name}\n\n{text}\n" for name, text in TEXTS.items()})


def first(hits: list[dict[str, Any]]) -> str:
    return str(hits[0]["uri"]) if hits else ""


def test_a_query_that_is_detected_wrongly_finds_its_document_when_its_language_is_given(bench: Workbench) -> None:
    assert detect(f"{MISTAKEN} Ohio", BOTH.split("+")) == "german"
    for mode in ("keyword", "hybrid"):
        assert bench.store.search(f"{MISTAKEN} Ohio", 1, "keyword")[0].uri == "canal.md"
        found = bench.store.search(f"{MISTAKEN} Ohio", 2, mode, language="en", cover=0)
        assert "fever.md" in {hit.uri for hit in found}, mode
    with pytest.raises(QueryError, match="is a stop word"):
        bench.store.search(MISTAKEN, mode="keyword")
    for tag in ("en", "en-GB", "EN"):
        assert bench.store.search(MISTAKEN, 1, "keyword", language=tag)[0].uri == "fever.md"
    with pytest.raises(QueryError, match="is a stop word"):
        bench.store.search(MISTAKEN, mode="keyword", language="de")


def test_a_given_language_is_read_as_its_chunks_are_and_as_those_in_doubt(bench: Workbench) -> None:
    assert bench.store.snapshot.keywords.language == BOTH
    german, english = with_given(BOTH, "german"), with_given(BOTH, "english")
    assert analyse("gesperrten", german) == [*analyse("gesperrten"), *analyse("gesperrten", "german")]
    assert analyse("gesperrten", english) == analyse("gesperrten")
    for question, uri in (("eine gesperrte Brücke", "fluss.md"), ("die settings", "code.sql")):
        assert bench.store.search(question, 1, "keyword", language="de")[0].uri == uri
    assert analyse("die war Ohio", with_given("english", "german")) == ["ohio"]
    assert analyse("was は Docker です", with_given(BOTH, "")) == analyse("was は Docker です")


def test_feedback_and_passages_read_the_query_in_its_language(bench: Workbench) -> None:
    (hit,) = bench.store.search(MISTAKEN, 1, "keyword", language="en", expand="feedback", passages=40)
    assert hit.uri == "fever.md"
    assert hit.passage is not None
    assert "die of fever" in hit.passage.text
    (said,) = (one.said for one in hit.steps if one.step == "expand")
    assert not {"die", "war"} & {*said.replace(",", "").split()}


def test_an_unknown_language_is_refused_with_those_that_are_known(bench: Workbench) -> None:
    for wrong in ("klingon", "xx-YY", None, 3):
        with pytest.raises(QueryError, match=r"^language must be one of am, ar, bn, ca, cs, da, de, .*, zh, got '"):
            bench.store.search("mill", language=wrong)  # type: ignore[arg-type]


def test_every_language_that_is_detected_can_be_given() -> None:
    assert set(TAGS) == set(DETECTED)
    assert {TAGS[language] for language in DETECTED} <= set(READ_AS)
    for tag, language in READ_AS.items():
        assert analyse("Docker 3.11", with_given(BOTH, language)), tag


def test_settings_give_the_language_of_all_questions(bench: Workbench) -> None:
    how = how_of(SearchSettings(language="en"))
    assert bench.store.search(MISTAKEN, 1, "keyword", **how)[0].uri == "fever.md"
    assert how_of(SearchSettings(language="en"), language="de", widen=None)["language"] == "de"


def test_the_command_line_takes_a_language(bench: Workbench) -> None:
    def run(*words: str) -> Any:
        return CliRunner().invoke(app, ["search", MISTAKEN, "--store", str(bench.root), "--mode", "keyword", *words])

    assert run("--json").exit_code == 1
    assert first(json.loads(run("--json", "--language", "en").stdout)) == "fever.md"
    assert first(json.loads(run("--json", "--set", "search.language=en").stdout)) == "fever.md"
    assert "one of am, ar, bn, ca" in run("--language", "klingon").output


def test_http_takes_a_language_and_keeps_answers_apart_by_it(bench: Workbench) -> None:
    access, kept = Access(port=0), KeptSearches(8, 1.0)
    served = http_app(OpenStores({"own": bench.root}), Searching({}, kept=kept), access)
    with running(served, access) as url, httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        asked = {"query": f"{MISTAKEN} Ohio", "mode": "keyword"}
        for more, found in (({"language": "en"}, True), ({"language": "de"}, False), ({}, False)):
            hits = client.post("/search", json={**asked, **more}).json()["hits"]
            assert ("fever.md" in {hit["uri"] for hit in hits}) == found
        answer = client.post("/search", json={"query": "mill", "language": "klingon"})
        assert answer.status_code == 400
        assert "one of am, ar, bn, ca" in answer.json()["error"]["message"]


def test_mcp_takes_a_language(bench: Workbench) -> None:
    async def asked(url: str, **more: str) -> Any:
        async with Client(f"{url}/mcp") as client:
            return await client.call_tool("search", {"query": MISTAKEN, "mode": "keyword", **more})

    access = Access(port=0)
    server = mcp_http_app(mcp_server(OpenStores({"own": bench.root}), Searching({})), access)
    with running(server, access) as url:
        found = asyncio.run(asked(url, language="en"))
        assert first(found.structured_content["hits"]) == "fever.md"
        assert asyncio.run(asked(url)).is_error


def test_adapters_take_a_language(bench: Workbench, tmp_path: Path) -> None:
    assert Asking(bench.root, 1, "keyword", options={"language": "en"}).found(MISTAKEN)[0].hit.uri == "fever.md"
    with pytest.raises(QueryError, match="one of am, ar, bn, ca"):
        Asking(tmp_path, options={"language": "klingon"})
