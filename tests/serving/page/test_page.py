"""The page of `docmill serve` in a real browser: every view, three widths, light and dark, hostile documents."""

import csv
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores, ServedStore
from docmill.flows.serving.page.report_files import write_report
from tests.kit.pdf_pages import two_pages
from tests.kit.workbench import MakeBench, Workbench
from tests.kit.writers.hostile_pdf import giant
from tests.serving.http_server import running

TOKEN = "0123456789abcdef"
HOSTILE = "<img src=x onerror=hacked=1> <script>hacked=1</script> \x1b[31mred\x1b[0m javascript:hacked=1"
WIDTHS = (390, 820, 1400)
SCHEMES: dict[Any, dict[str, Any]] = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}
"""The rules of axe for each scheme, which differ in their colours alone; all rules take seconds for each view."""
TABLES = '[["content_type","=","table"]]'


DOCUMENTS: dict[str, str | bytes] = {
    "git.md": "# Undo\n\nTo undo a commit, reset the branch. 😀 It is easy.\n\n## Later\n\nPush it again.\n",
    "<b onmouseover=hacked=1>x.md": f"# {HOSTILE}\n\n{HOSTILE}\n\nUndo it.\n",
    "long/line.txt": "undo " + "x" * 10_000,
    "עברית.md": "# שלום\n\nשלמה כתב. undo.\n",
    "table.csv": "name,price\n" + "".join(f"thing {number},{number}\n" for number in range(400)),
    "bad.pdf": "%PDF-1.4 nothing",
    "paper.pdf": two_pages(),
    "plan.pdf": giant(),
    "many.txt": "\n\n".join(f"Paragraph {number}. {'The mill turns its wheel by day. ' * 20}" for number in range(120)),
}


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    own = make_bench()
    own.write(DOCUMENTS)
    for name in ("paper.pdf", "plan.pdf"):
        os.utime(own.docs / name, (1, 1))  # a run remembers only files that have rested
    own.ingest()
    own.write({"git.md": str(DOCUMENTS["git.md"]).replace("easy", "hard")})
    own.ingest()
    return own


@pytest.fixture(scope="module")
def served(bench: Workbench) -> Iterator[str]:
    access = Access(port=0)
    with bench.store as store:
        store.log_query("knitting", [])
    with running(http_app(OpenStores({"handbook": bench.root}), Searching({}), access), access) as url:
        yield url


def address(served: str, view: str) -> str:
    return f"{served}/#/{view}"


def faults(page: Any, axe: Any) -> Iterator[str]:
    """Yield what is wrong with a view: at which widths it does not fit, and what axe finds serious."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            yield f"it is wider than {width}"
    page.evaluate(axe.axe_script)
    for scheme, rules in SCHEMES.items():
        page.emulate_media(color_scheme=scheme)
        options = {"resultTypes": ["violations"], **rules}
        for one in page.evaluate("options => axe.run(options).then(({violations}) => violations)", options):
            if one["impact"] in ("serious", "critical"):
                yield f"{scheme}: {one['id']} at {one['nodes'][0]['html'][:120]}"


def test_every_view_opens_at_three_widths_light_and_dark(page: Any, served: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    hostile = httpx.get(f"{served}/documents", trust_env=False).json()["documents"][0]["uri"]
    views = {
        "search?q=undo": ".hit mark",
        "search?q=undo&mode=beside": "section:nth-of-type(3) .hit",
        "documents": "tbody tr:nth-child(4)",
        "health": "#evaluations p",
        "map": ".legend li",
        "compare?q=undo&a_mode=keyword": "section:nth-of-type(2) .hit",
        "compare?what=snapshots": ".changes .new",
        "document?uri=git.md": ".piece",
        "document?uri=git.md&since=1": ".changes .new",
        "document?uri=paper.pdf": ".sheet rect",
        "compare?what=settings&uri=paper.pdf&b_options=size%3D60": ".row .only",
        f"document?uri={hostile.replace('<', '%3C').replace('=', '%3D')}": ".piece",
        "document?uri=long/line.txt": ".piece",
        "chunks?where=content_type%3D'table'": ".hit",
        "judgements": ".empty",
        "asked": "main td",
        "search?q=undo&by=document": ".below",
        "document?uri=git.md&as=drawn&q=undo": ".drawing .bound",
    }
    found = []
    for view, shown in views.items():
        page.goto("about:blank")
        page.goto(address(served, view))
        page.wait_for_selector(shown)
        page.wait_for_selector("main .busy", state="detached")  # it fades in, and is paler meanwhile
        found += [f"{view}: {fault}" for fault in faults(page, Axe())]
    assert not found, "\n".join(found)


def test_a_search_follows_the_keys_and_leads_to_its_document(page: Any, served: str) -> None:
    page.goto(served)
    page.wait_for_selector("#q")
    page.locator("main").focus()
    page.keyboard.press("/")
    page.keyboard.type("undo a commit")
    page.wait_for_selector(".told:has-text('best in snapshot 2')")
    page.wait_for_url(re.compile(r"q=undo\+a\+commit"))
    first = page.locator(".hit").first
    first.locator("summary").click()
    assert "of the keyword score, in text" in first.inner_text()
    page.locator(".facets button", has_text="csv").click()
    page.wait_for_url(re.compile("format=csv"))
    page.go_back()
    page.wait_for_url(re.compile("q=undo[^=]*$"))
    page.get_by_label("Date To", exact=True).fill("1900-01-01")
    page.wait_for_selector(".empty:has-text('take back a facet')")
    page.go_back()
    page.wait_for_url(re.compile("q=undo[^=]*$"))
    page.locator(".hit a", has_text="git.md").first.click()
    page.wait_for_selector(".piece.chosen")
    page.locator("aside h2", has_text="Chunk 0").wait_for()
    assert "😀" in page.locator(".canonical").inner_text()


def test_hits_are_grouped_saved_and_found_again_on_the_way_back(page: Any, served: str) -> None:
    page.goto(address(served, "search?q=mill+wheel+thing"))
    page.get_by_role("button", name="More hits").click()
    page.wait_for_selector(".told:has-text('30 best')")
    page.get_by_role("button", name="By document").click()
    page.locator(".others summary", has_text="many.txt").first.wait_for()
    for kind, read in (("JSON", json.loads), ("CSV", lambda text: {"hits": [*csv.DictReader(text.splitlines())]})):
        with page.expect_download() as saved:
            page.get_by_role("button", name=f"Save as {kind}").click()
        hits = read(Path(saved.value.path()).read_text("utf-8"))["hits"]
        assert (len(hits), str(hits[0]["rank"])) == (30, "1")
    page.get_by_role("button", name="By document").click()
    hit = page.locator(".hit").nth(20)
    own = hit.get_attribute("id")
    hit.locator("h3 a").click()
    page.wait_for_selector(".piece.chosen")
    page.get_by_role("textbox", name="Question").wait_for()
    assert page.get_by_role("textbox", name="Question").input_value() == "mill wheel thing"
    page.go_back()
    page.locator(f"#{own} a:focus").wait_for()
    assert page.evaluate("scrollY > 500")


def test_a_chunk_is_judged_where_it_is_read_and_words_are_explained(page: Any, served: str, bench: Workbench) -> None:
    page.goto(address(served, "document?uri=git.md"))
    page.locator(".bound").first.click()
    page.locator("summary", has_text="Does it answer").click()
    page.get_by_role("textbox", name="Question").fill("how to undo")
    page.get_by_role("button", name="Right").click()
    page.get_by_role("button", name="Right", pressed=True).wait_for()
    with bench.store as store:
        (made,) = store.judgements("how to undo")
    assert (made.judgement.verdict, made.uri) == ("right", "git.md")
    page.get_by_role("button", name="Right").click()
    page.get_by_role("button", name="Right", pressed=False).wait_for()
    page.get_by_role("button", name="Strategy").click()
    page.locator(".meaning", has_text="was split into chunks").wait_for()
    page.locator("label", has_text="Drawn").click()
    page.locator(".drawing .heading", has_text="Later").wait_for()


def test_what_people_ask_and_find_not_is_shown(page: Any, served: str) -> None:
    page.goto(address(served, "asked"))
    page.locator("td", has_text="knitting").first.wait_for()
    page.get_by_role("button", name="Ask again").click()
    page.locator(".hit a", has_text="knitting").wait_for()
    page.locator("select").last.select_option("1")
    page.get_by_text("moved").last.wait_for()


def test_on_a_phone_the_header_is_one_row(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(address(served, "documents"))
    page.wait_for_selector("tbody tr")
    assert page.locator("header").bounding_box()["height"] < 60


def test_hits_are_judged_marked_disputed_and_taken_back(page: Any, served: str, bench: Workbench) -> None:
    page.goto(address(served, "search?q=undo+a+commit"))
    hit = page.locator(".hit", has_text="git.md").first
    page.get_by_label("You judge as").fill("Ada")
    hit.get_by_role("button", name="Right").click()
    hit.get_by_role("button", name="Right", pressed=True).wait_for()
    hit.get_by_text("Ada: right").wait_for()
    page.get_by_label("You judge as").fill("Bo")
    hit.get_by_role("button", name="Wrong").click()
    hit.get_by_text("disputed").wait_for()
    hit.get_by_role("button", name="The answer is here").click()
    hit.get_by_text("Mark the passage in the text above first").wait_for()
    page.get_by_role("button", name="Not in this store").click()
    page.get_by_text("Bo: not in this store").wait_for()
    with bench.store as store:
        assert sorted((one.judgement.judged_by, one.judgement.verdict) for one in store.judgements()) == [
            ("Ada", "right"), ("Bo", "absent"), ("Bo", "wrong"),
        ]  # fmt: skip
    hit.locator("p, .text").filter(has_text="To undo a commit").first.evaluate(
        "one => getSelection().selectAllChildren(one)"
    )
    hit.get_by_role("button", name="The answer is here").click()
    hit.get_by_text("Bo: the answer is here").wait_for()
    page.get_by_role("link", name="All judgements").click()
    page.get_by_role("button", name="Take back").first.wait_for()
    for left in range(page.get_by_role("button", name="Take back").count(), 0, -1):
        page.get_by_role("button", name="Take back").first.click()
        page.wait_for_function("left => document.querySelectorAll('.hit button').length < left", arg=left)
    page.get_by_text("Nothing yet").wait_for()


def test_the_text_of_a_document_is_whole_and_each_chunk_is_marked(page: Any, served: str, bench: Workbench) -> None:
    page.goto(address(served, "document?uri=git.md"))
    page.wait_for_selector(".piece")
    marks = page.locator(".bound").all_inner_texts()
    with bench.store as store:
        text = store.document("git.md").text
        count = store.sql("SELECT count(*) AS n FROM chunks WHERE uri = 'git.md'").to_pylist()[0]["n"]
    assert len(marks) == count
    shown = page.evaluate(
        "(() => { const own = document.querySelector('.canonical').cloneNode(true);"
        " own.querySelectorAll('button').forEach((one) => one.remove()); return own.textContent; })()"
    )
    assert shown == text
    page.locator(".outline button", has_text="Later").click()
    page.locator(".piece.chosen", has_text="Push it again").wait_for()


def test_a_long_document_opens_at_a_chunk_and_is_whole(page: Any, served: str, bench: Workbench) -> None:
    with bench.store as store:
        text = store.document("many.txt").text
        rows = store.sql("SELECT chunk_id FROM chunks WHERE uri = 'many.txt' ORDER BY ordinal").to_pylist()
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto(address(served, f"document?uri=many.txt&chunk={rows[-8]['chunk_id']}"))
    page.wait_for_selector(".piece.chosen")
    shown, aside = page.locator(".piece.chosen").first.bounding_box(), page.locator("aside.open").bounding_box()
    assert 0 <= shown["y"] < aside["y"]  # on a phone the chosen chunk stands above what is told of it
    assert page.evaluate("getSelection().isCollapsed && find('Paragraph 3. ')")  # wherever the browser has drawn so far
    bounds = page.locator(".bound")
    bounds.nth(len(rows) - 1).wait_for(state="attached")  # by no script, which the page's CSP would not let wait
    assert bounds.count() == len(rows)
    whole = page.evaluate(
        "(() => { const own = document.querySelector('.canonical').cloneNode(true);"
        " own.querySelectorAll('button').forEach((one) => one.remove()); return own.textContent; })()"
    )
    assert whole == text


def test_a_page_and_the_text_read_of_it_lead_to_each_other(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(address(served, "document?uri=paper.pdf"))
    sheet = page.locator(".sheet rect")
    sheet.first.wait_for()
    count = sheet.count()
    assert count > 1
    sheet.last.click()
    page.locator("rect.chosen").wait_for()
    last = page.locator(".bound").nth(count - 1)
    assert page.locator(".piece.chosen .bound").inner_text() == last.inner_text()
    page.locator("figcaption button").last.click()
    page.wait_for_url(re.compile("page=2"))
    page.locator("img[alt^='Page 2']").wait_for()
    before = last.bounding_box()
    last.click()
    page.locator("img[alt^='Page 1']").wait_for()
    assert last.bounding_box() == before  # what is pressed stays under the pointer


def test_a_page_that_cannot_be_drawn_says_so_beside_its_text(page: Any, served: str) -> None:
    page.goto(address(served, "document?uri=plan.pdf"))
    page.locator("aside .told", has_text="Page 1 of the original cannot be shown: the page is too large").wait_for()
    page.locator(".piece", has_text="the mill at the river").first.wait_for()
    page.get_by_label("Page after").click()
    page.locator("img[alt^='Page 2']").wait_for()


def test_two_ways_to_split_a_document_stand_side_by_side(page: Any, served: str) -> None:
    page.goto(address(served, "compare?what=settings&uri=paper.pdf"))
    page.get_by_label("Split").nth(1).select_option("settings")
    page.locator(".empty h2", has_text="No difference").wait_for()
    page.get_by_label("Split").nth(1).select_option("fixed")
    page.locator(".row .only").first.wait_for()
    page.get_by_label("Options").fill("size=0")
    page.keyboard.press("Enter")
    page.locator(".failure", has_text="size must be").wait_for()
    page.locator("#document").fill("able.cs")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("uri=table.csv"))


def test_a_bar_leads_to_its_chunks_and_a_torn_table_is_found(page: Any, served: str) -> None:
    page.goto(address(served, "health"))
    page.locator("#torn a", has_text="table.csv").wait_for()
    page.locator("#rejects td", has_text="bad.pdf").wait_for()  # each picture is asked for on its own
    page.locator("#torn td.right a").first.click()
    page.wait_for_selector(".hit")
    page.locator("h1", has_text="A table of table.csv").wait_for()


def test_the_map_tells_what_a_point_is_and_what_a_line_encircles(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto(address(served, "map"))
    page.wait_for_selector(".legend li")
    page.locator("canvas").focus()
    for key in ("-", "-", "-"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Encircle").click()
    page.locator("button[aria-pressed=true]", has_text="Encircle").wait_for()
    page.locator("canvas:not([style*=translate])").wait_for()  # a slow picture is moved as a whole before it is redrawn
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in ((0.99, 0.01), (0.99, 0.99), (0.01, 0.99)):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    page.mouse.up()
    chunks = len(httpx.get(f"{served}/map", trust_env=False).json()["chunk_id"])
    page.locator("aside h2", has_text=f"{chunks} chunks of").wait_for()
    page.locator("aside a", has_text="Read").click()
    page.wait_for_selector(".hit")
    page.goto(address(served, "map?by=gaps"))
    page.locator("main p", has_text="Where is something missing, or read badly?").wait_for()
    page.locator(".legend button", has_text="beside a rejected file").click()  # bad.pdf stands between two documents
    page.locator("aside a", has_text="Read").click()
    page.locator(".hit a", has_text="git.md").first.wait_for()


def test_a_page_follows_its_store_and_offers_the_others(browser: Any, tmp_path: Path, bench: Workbench) -> None:
    own, access = bench.copy(tmp_path / "copy"), Access(port=0)
    stores = OpenStores({"copy": own.root, "handbook": bench.root})
    with running(http_app(stores, Searching({}), access), access) as url:
        page = browser.new_page()
        page.goto(address(url, "search?q=zeppelin&mode=keyword"))
        page.locator(".told", has_text="Nothing found in snapshot 2").wait_for()
        own.write({"ship.md": "# Ship\n\nA zeppelin lands.\n"})
        own.ingest()
        page.locator(".hit a", has_text="ship.md").wait_for()
        page.get_by_label("Store").select_option("handbook")
        page.wait_for_url(re.compile("store=handbook"))
        page.locator(".where", has_text="snapshot 2").wait_for()
        page.close()


def test_a_server_with_a_token_asks_for_it_once(browser: Any, bench: Workbench) -> None:
    access = Access(port=0, token=TOKEN)
    with running(http_app(OpenStores({"handbook": bench.root}), Searching({}), access), access) as url:
        answer = httpx.get(url, trust_env=False)
        assert answer.status_code == 200
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert httpx.get(f"{url}/status", trust_env=False).status_code == 401
        page = browser.new_page()
        page.goto(url)
        page.fill("[name=token]", "wrong-wrong-wrong-wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=alert]")
        page.fill("[name=token]", TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("#q")
        page.close()


def test_a_report_opens_from_disk_and_needs_nothing_else(page: Any, bench: Workbench, tmp_path: Path) -> None:
    with bench.store as store:
        done = write_report(ServedStore("handbook", store), tmp_path / "report", 100)
        hostile = next(row.uri for row in store.documents() if row.uri.startswith("<b"))
    assert (done.documents, done.held) == (len(DOCUMENTS) - 1, len(DOCUMENTS) - 1)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    address = (done.folder / "index.html").as_uri()
    views = {
        "search?q=undoing+commits": ".hit mark",
        "search?q=undo&format=csv": ".empty",
        "documents?part=git": "tbody td",
        "health": "#evaluations p",
        "map": ".legend li",
        "map?by=since": ".legend li:nth-child(2)",
        "compare": ".changes .new",
        "document?uri=git.md&since=1": ".changes .new",
        f"document?uri={quote(hostile)}": ".piece",
        "document?uri=long/line.txt": ".piece",
        f"chunks?is={quote(TABLES)}": ".hit",
        "chunks?where=true": ".empty",
    }
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    for view, shown in views.items():
        page.goto("about:blank")
        page.goto(f"{address}#/{view}")
        page.wait_for_selector(shown)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    assert {one.split(":")[0] for one in asked} == {"file"}
