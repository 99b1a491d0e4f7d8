"""The filters of the page: the user's own keys beside docmill's, with counts under the present question."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from docmill.flows.serving.access import Access, TokenFile
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores, ServedStore
from docmill.flows.serving.page.report_files import write_report
from tests.kit.workbench import MakeBench, Workbench
from tests.serving.http_server import running

KEYS = {"team": "text", "tags": "list", "open": "bool", "due": "date", "price": "number"}
TOKEN = "0123456789abcdef"
PATIENCE_MS = 30_000  # the first condition starts a process for SQL


def page_of(number: int) -> str:
    team, word = ("sales", "law")[number % 2], ("mill", "river")[number % 3 == 0]
    is_open = str(number < 4).lower()
    front = f"team: {team}\ntags: [t{number % 3}, all]\nopen: {is_open}\nprice: {number}\ndue: 2027-0{number}-01"
    return f"---\n{front}\n---\n# Page {number}\n\nThe {word} of page {number}.\n"


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    files = {f"{number}.md": page_of(number) for number in range(1, 9)}
    files["secret.md"] = "---\nteam: secret\ntags: [hidden]\n---\n# Secret\n\nThe mill.\n"
    files["secret.md.meta.toml"] = 'access = ["board"]\n'
    return make_bench({**files, "plain.txt": "The mill of nobody."}, metadata=KEYS)


def counts(url: str, facet: str, **asked: str) -> dict[str, int]:
    found = httpx.get(f"{url}/facets", params=asked, timeout=60, trust_env=False).json()
    return {row["value"]: row["chunks"] for row in found["rows"] if row["facet"] == facet}


def test_facets_count_the_keys_of_the_user_of_all_or_under_a_question(served: str) -> None:
    assert counts(served, "metadata.team") == {"sales": 4, "law": 4, "secret": 1}
    assert counts(served, "metadata.tags")["all"] == 8
    assert counts(served, "metadata.open") == {"true": 3, "false": 5}
    assert counts(served, "metadata.price") == counts(served, "metadata.due") == {}
    river = {"q": "river", "mode": "keyword"}
    assert counts(served, "metadata.team", **river) == {"law": 1, "sales": 1}
    assert counts(served, "metadata.team", **river, where="metadata.team = 'law'") == {"law": 1}
    assert counts(served, "format", where="metadata.team IS NULL") == {"text": 1}
    assert counts(served, "metadata.team", where="false") == {}
    answer = httpx.get(f"{served}/facets", params=river, trust_env=False).json()
    assert (answer["keys"], answer["hits"]) == (KEYS, 2)
    refused = httpx.get(f"{served}/facets", params={"where": "colour = 1"}, trust_env=False)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (400, "QueryError")


def test_facets_of_principals_have_no_value_of_others(bench: Workbench, tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({TOKEN: ["all"]}))
    access = Access(port=0, tokens=TokenFile(path))
    app = http_app(OpenStores({"handbook": bench.root}, access.without_asker), Searching({}), access)
    with running(app, access) as url:
        for asked in ({}, {"q": "mill"}, {"where": "true"}):
            found = httpx.get(f"{url}/facets", params=asked, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
            assert found.status_code == 200
            assert not re.search("secret|hidden", found.text)


def facet(page: Any, name: str) -> dict[str, str]:
    own = page.locator(f"section[data-facet='{name}'] button")
    return {one.locator("bdi").inner_text(): one.locator(".figure").inner_text() for one in own.all()}


@pytest.mark.parametrize("kind", ["server", "report"])
def test_a_person_narrows_by_their_own_keys(
    page: Any, served: str, bench: Workbench, tmp_path: Path, kind: str
) -> None:
    from playwright.sync_api import expect

    if kind == "report":
        with bench.store as store:
            write_report(ServedStore("handbook", store), tmp_path / "report", 1000)
    begin = served if kind == "server" else (tmp_path / "report" / "index.html").as_uri()
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(f"{begin}#/search?q=mill&mode=keyword")
    page.wait_for_selector("section[data-facet='metadata.team'] button")
    page.wait_for_selector(".facets .told")
    before = facet(page, "metadata.team")
    assert before == {"sales": "3", "law": "3", "secret": "1"}
    page.locator("section[data-facet='metadata.team'] button", has_text="law").click()
    page.wait_for_selector("section[data-facet='metadata.team'] button[aria-pressed='true']")
    expect(page.locator(".hit")).to_have_count(3, timeout=PATIENCE_MS)
    assert facet(page, "metadata.team") == before, "what one may change to is still there"
    expect(page.locator("section[data-facet='metadata.tags'] button")).to_have_count(3, timeout=PATIENCE_MS)
    page.locator("section[data-facet='metadata.tags'] button", has_text="t1").click()
    expect(page.locator(".hit")).to_have_count(2, timeout=PATIENCE_MS)
    page.get_by_label("price To").fill("4")
    page.evaluate("window.dispatchEvent(new HashChangeEvent('hashchange'))")  # the page is drawn again, as by an answer
    page.wait_for_timeout(100)
    assert page.get_by_label("price To").input_value() == "4"
    page.get_by_label("price To").press("Tab")
    expect(page.locator(".hit")).to_have_count(1, timeout=PATIENCE_MS)
    assert "metadata.team.is=law" in page.url
