"""What the page explains: why a hit came first, tables, what repeats what, what was refused, what cost most."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from docmill.flows.serving.open_stores import ServedStore
from docmill.flows.serving.page.report_files import held_of, values_of
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.snapshots.read.store import open_store
from tests.kit.model_server import model_server
from tests.kit.workbench import MakeBench, Workbench
from tests.serving.page.test_page import faults

TWIN = f"# Ferry\n\nThe ferry leaves at nine and comes back at noon.\n\n## Later\n\n{'A boat sails at ten. ' * 25}\n"
ROWS = "| Thing | Price |\n| --- | --: |\n| <img src=x onerror=hacked=1> | 1 \\| 2 |\n| wheel | 30 |\n"
CALL = "# `Turnstile` <a href=x onclick=hacked=1><Icon/></a>\n\nCall `turn()` on the **turnstile**.\n\n"
DOCUMENTS: dict[str, str | bytes] = {
    "call.md": f"{CALL}```python\n# Not a heading\nturn(turnstile)\n```\n",
    "prices.md": f"# Prices\n{ROWS}\nThe wheel turns.\n",
    "rows.csv": "name,price\n" + "".join(f"thing {number},{number}\n" for number in range(300)),
    "script.py": "# A wheel\ndef wheel(turns: int) -> int:\n    return turns | 2\n\nprint(wheel(3))\n",
    "twins/one.md": TWIN,
    "twins/two.md": TWIN,
}


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Iterator[Workbench]:
    with model_server() as model:
        asked = {"provider": "openai", "model": "loopback", "base_url": f"{model.url}/v1"}
        refused = {"<b>bad</b>.pdf": "%PDF-1.4 nothing"}
        yield make_bench(DOCUMENTS, refused, model=asked, chunk={"contextualizer": "llm"})


def test_a_table_in_a_hit_is_drawn_and_its_exact_text_is_there(page: Any, url: str) -> None:
    page.goto(f"{url}#/search?q=wheel&mode=keyword")
    hit = page.locator(".hit", has_text="Thing")
    hit.locator("table").wait_for()
    assert hit.locator("th").all_inner_texts() == ["Thing", "Price"]
    assert hit.locator("td").all_inner_texts() == ["<img src=x onerror=hacked=1>", "1 | 2", "wheel", "30"]
    assert hit.locator("td mark").all_inner_texts() == ["wheel"]
    assert hit.locator(".heading").inner_text() == "Prices"
    hit.get_by_role("button", name="Exact text").click()
    hit.locator("table").wait_for(state="detached")
    assert hit.locator("p.text").inner_text().strip() == f"# Prices\n{ROWS}".strip()
    code = page.locator(".hit", has=page.locator("a", has_text="script.py"))
    assert code.locator("p.text").inner_text().strip() == str(DOCUMENTS["script.py"]).strip()
    assert url.startswith("file:") or not list(faults(page, Axe()))


def test_rows_of_a_long_table_stand_below_the_header_in_their_context(page: Any, url: str) -> None:
    page.goto(f'{url}#/chunks?is=[["uri","%3D","rows.csv"],["ordinal",">%3D",1]]')
    second = page.locator(".hit").first
    second.wait_for()
    assert second.locator("th").all_inner_texts() == ["name", "price"]
    assert re.match(r"thing \d+$", second.locator("td").first.inner_text())
    second.locator("a").click()
    page.locator("aside h3", has_text="Its table, drawn").wait_for()
    assert re.match(r"thing \d+$", page.locator("aside td").first.inner_text())


def test_a_hit_says_what_put_it_before_the_next_and_which_words_were_ignored(page: Any, url: str) -> None:
    page.goto(f"{url}#/search?q=when+does+the+wheel+and+the+price")
    page.locator(".told", has_text=re.compile(r"best in snapshot \d+(, confidence \d\.\d\d)?\s*$")).wait_for()
    hits = page.locator(".hit")
    hits.first.locator("summary").click()
    ahead = r"Ahead of #2 by \d+\.\d{3}: \d+\.\d{3} (more|less) from (the (vectors|keywords)|the word “\w+”)"
    assert re.search(ahead, hits.first.locator("details").inner_text())
    hits.last.locator("summary").click()
    assert re.search(r"(Behind|As good as) #\d", hits.last.locator("details").inner_text())
    ignored = hits.first.get_by_text("The keywords ignore")
    assert ignored.count() == (0 if url.startswith("file:") else 1)  # a report ranks by all words
    if ignored.count():
        assert [one.strip() for one in ignored.locator("q").all_inner_texts()] == ["when", "does", "the", "and"]


@pytest.mark.parametrize(
    ("text", "asked", "lit"),
    [
        ("A résumé, by the V&A", "resume V&A", ["résumé", "V&A"]),
        ("In the U.S.A., us in the US", "USA", ["U.S.A"]),
        ("Ask the WHO who", "WHO", ["WHO"]),
        ("Her Ph.D. by e-mail", "phd email", ["Ph.D", "e-mail"]),
        ("the ware-\nhouse of Øresund", "warehouse oresund", ["ware-\nhouse", "Øresund"]),
        ("كَتَبَ الطالب", "كتب", ["كَتَبَ"]),
        ("إن المنازل والحدائق ستبقى", "منازل والحدائق", ["المنازل", "والحدائق"]),
        ("図書館は来年再開します。書", "図書館", ["図書館"]),
        ("森の図", "図", ["図"]),
        ("ปิดถนน", "ถนน", ["ถนน"]),
        ("나무들이 도로가", "도로", ["도로"]),
        ("הבית הגדול", "בית", ["בית"]),
        ("کتابها", "كتابها", ["کتابها"]),
    ],
)
def test_words_are_lit_however_they_are_written(page: Any, served: str, text: str, asked: str, lit: list[str]) -> None:
    page.goto(served)
    code = """async ([text, asked, terms]) => {
        const words = await import("/page/words.js");
        const hit = { terms: Object.fromEntries(terms.map((term) => [term, 1])) };
        return words.lit(text, words.wordsOf(hit, asked)).filter((piece) => piece.lit).map((piece) => piece.text);
    }"""
    assert page.evaluate(code, [text, asked, analyse(asked)]) == lit


def test_code_and_what_is_strong_are_drawn_and_tags_in_headings_are_left_out(page: Any, url: str) -> None:
    page.goto(f"{url}#/search?q=turnstile&mode=keyword")
    hit = page.locator(".hit", has_text="Not a heading")
    hit.locator(".fenced").wait_for()
    assert hit.locator(".fenced").inner_text() == "# Not a heading\nturn(turnstile)"
    assert hit.locator(".heading").all_inner_texts() == ["Turnstile"]
    assert hit.locator(".text code").all_inner_texts() == ["turn()"]
    assert hit.locator(".text strong mark").all_inner_texts() == ["turnstile"]
    hit.get_by_role("button", name="Exact text").click()
    assert "<a href=x onclick=hacked=1><Icon/></a>" in hit.locator(".text").inner_text()


def test_words_that_keywords_ignore_are_no_failure(page: Any, served: str) -> None:
    page.goto(f"{served}/#/search?mode=keyword")
    page.locator("#q").fill("the")
    page.locator(".empty h2", has_text="Only small words so far").wait_for()
    page.locator(".empty a", has_text="the vectors answer").wait_for()
    assert page.locator(".failure").count() == 0
    assert not list(faults(page, Axe()))
    page.locator(".empty a").click()
    page.locator(".hit").first.wait_for()


def test_documents_that_repeat_each_other_are_one_row(page: Any, url: str) -> None:
    page.goto(f"{url}#/health?see=duplicates")
    row = page.locator("#duplicates tbody tr", has_text="twins/one.md")
    row.first.wait_for()
    assert row.locator("td").all_inner_texts() == ["twins/two.md", "twins/one.md", "2 of 2", "same text"]
    row.locator("td.right a").click()
    page.locator(".hit").nth(1).wait_for()
    assert page.locator(".hit h3 a").all_inner_texts() == [
        f"twins/{name}.md #{ordinal}" for ordinal in (0, 1) for name in ("one", "two")
    ]


def test_what_a_run_refused_stands_with_what_it_changed(page: Any, url: str) -> None:
    page.goto(f"{url}#/compare?what=snapshots")
    page.locator("td", has_text="<b>bad</b>.pdf").wait_for()
    assert url.startswith("file:") or not list(faults(page, Axe()))  # axe would read files of a report by fetch
    page.locator("a", has_text="All refused files").click()
    page.locator("#rejects td", has_text="<b>bad</b>.pdf").wait_for()


def test_costs_lead_to_the_run_that_cost_most(page: Any, url: str) -> None:
    page.goto(f"{url}#/health?see=costs")
    page.locator("#costs td a", has_text="snapshot 1").click()
    page.wait_for_url(re.compile("#/documents"))
    page.locator("td a", has_text="prices.md").wait_for()


def test_the_nearest_chunks_have_their_similarities(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(f"{served}/#/document?uri=prices.md")
    page.locator(".bound").first.click()
    numbers = page.locator("aside .nearest td.right")
    numbers.first.wait_for()
    assert all(re.fullmatch(r"-?[01]\.\d\d", one) for one in numbers.all_inner_texts())
    assert not list(faults(page, Axe()))
    page.goto(f"{served}/#/map")
    page.wait_for_selector(".legend li")
    box = page.locator("canvas").bounding_box()
    for share in range(1, 400):  # until the pointer meets a point
        page.mouse.move(box["x"] + box["width"] * (share % 20) / 20, box["y"] + box["height"] * (share // 20) / 20)
        if page.locator("aside h2 a").count():
            break
    page.locator("aside .nearest td.right").first.wait_for()


def test_a_report_of_the_first_snapshot_asks_nothing_about_two(bench: Workbench) -> None:
    with open_store(bench.root, 1) as store:
        values = dict(values_of(ServedStore("handbook", store), held_of(store, 100)))
    assert "refused" not in values["health"]
    with bench.store as store:
        values = dict(values_of(ServedStore("handbook", store), held_of(store, 100)))
    assert [row["uri"] for row in values["health"]["refused"]] == ["<b>bad</b>.pdf"]
