"""The ways through the page: from each picture to the chunks behind it, and from a measure to its questions."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores, ServedStore
from docmill.flows.serving.page.map_columns import gaps
from docmill.flows.serving.page.report_files import held_of, values_of, write_folder
from tests.kit.workbench import MakeBench, Workbench
from tests.serving.http_server import running

GIT = "# Undo\n\nTo undo a commit, reset the branch. It is easy.\n\n## Later\n\n" + "Push it again. " * 90 + "\n"
DOCUMENTS: dict[str, str | bytes] = {
    "git.md": GIT,
    "boat.md": "# Boat\n\nIt has two masts.\n",
    "minutes/january.md": "# January\n\nThe ferry was late.\n",
    "minutes/march.pdf": "%PDF-1.4 nothing",
    "minutes/may.md": "# May\n\nThe ferry was on time.\n",
    "minutes/old/first.md": "# First\n\nThere was no ferry.\n",
    "notes.tex": "\\documentclass{article}\n" + "\\begin{itemize}\\item Grain. " * 12,
}
QUESTIONS = """question,uri,phrase
How do I undo a commit?,git.md,It is easy
Who sails with two masts?,boat.md,
zeppelin,minutes/may.md,on time
"""


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    own = make_bench(DOCUMENTS)
    own.copy(own.folder / "first")
    own.write({"git.md": GIT.replace("easy", "hard")})
    own.ingest()
    (own.folder / "q.csv").write_text(QUESTIONS)
    asked = ["evaluate", "--questions", str(own.folder / "q.csv"), "--store", str(own.root), "--mode", "keyword"]
    assert CliRunner().invoke(app, [*asked, "--measure", "RR", "--at", "1", "--at", "2"]).exit_code == 0
    return own


@pytest.fixture(scope="module")
def served(bench: Workbench) -> Iterator[str]:
    access = Access(port=0)
    stores = OpenStores({"handbook": bench.root, "first": bench.folder / "first" / "store"})
    with running(http_app(stores, Searching({}), access), access) as url:
        yield url


def test_a_map_knows_what_is_missing_beside_its_chunks(bench: Workbench) -> None:
    with bench.store as store:
        uris = [row.uri for row in store.documents()]
        found = dict(zip(uris, gaps(store, uris), strict=True))
    assert {uri: one["kind"] for uri, one in found.items() if one} == {
        "notes.tex": "read badly",
        "minutes/january.md": "beside a rejected file",
        "minutes/may.md": "beside a rejected file",
    }
    assert (found["minutes/may.md"] or {})["why"].startswith("minutes/march.pdf: ")


def test_each_picture_has_a_question_its_sql_and_a_way_to_its_chunks(page: Any, served: str) -> None:
    page.goto(served)
    page.locator(".questions a", has_text="What was read badly?").click()
    page.locator(".picture").first.locator("td", has_text="notes.tex").wait_for()  # what was asked for stands first
    page.go_back()
    page.locator(".questions a", has_text="What did the last run change?").click()
    page.locator("td", has_text="git.md").wait_for()
    page.goto(f"{served}/#/health")
    page.locator("#truncated .good", has_text="are cut by the model's limit of").wait_for()
    page.wait_for_selector("main .busy", state="detached")
    assert page.locator("#truncated .good").inner_text().startswith("0 of ")
    for picture in page.locator(".picture").all():
        assert picture.locator("h2").inner_text().endswith("?")
        assert picture.locator(".sql pre").text_content().startswith("SELECT")
    ways = ("#lengths a.box", "#kinds a.barred", "#rejects td a", "#runs .columns li:last-child a")
    for way in [page.locator(one).first.get_attribute("href") for one in ways]:
        page.goto(f"{served}/{way}")
        page.wait_for_selector("main .hit, main .uri, main .changes")


def test_a_measure_leads_to_its_questions_those_that_changed_first(page: Any, served: str) -> None:
    page.goto(f"{served}/#/health")
    page.locator("#evaluations > .trends .trend a").last.click()
    page.wait_for_url(re.compile("/questions"))
    page.locator("h1", has_text="Which questions does it answer? RR").wait_for()
    page.locator("h2", has_text="Changed since snapshot 1").wait_for()
    changed = page.locator("details", has=page.locator("h2", has_text="Changed since snapshot 1")).locator("li.hit")
    assert changed.count() == 1
    assert "not found; snapshot 1: found at rank 1" in changed.inner_text()
    missed = page.locator("li.hit", has_text="zeppelin")
    assert "Nothing: no chunk matches" in missed.inner_text()
    missed.locator("a", has_text="minutes/may.md").click()
    page.locator(".hit", has_text="The ferry was on time").wait_for()
    page.go_back()
    changed.locator("a", has_text="Ask both snapshots").click()
    page.wait_for_selector("section:nth-of-type(2) .hit")
    assert "a_at=1" in page.url


def test_two_snapshots_of_a_document_and_two_stores_are_compared(page: Any, served: str) -> None:
    page.goto(f"{served}/#/compare?what=snapshots")
    page.locator("a", has_text="chunks side by side").click()
    page.wait_for_url(re.compile("a_how=at"))
    page.wait_for_selector(".sides.row .only")
    left, right = page.locator(".sides.row .canonical").all()[:2]
    assert ("easy" in left.inner_text(), "hard" in right.inner_text()) == (True, True)
    page.locator(".folded summary", has_text="the same on both sides").click()
    page.locator(".folded .canonical", has_text="Push it again").first.wait_for()
    page.get_by_label("Split").nth(1).select_option("fixed")
    page.locator("#both").fill("undo a commit")
    page.keyboard.press("Enter")
    for side in ("Left", "Right"):
        nearest = page.locator(f"section[aria-label='{side}: nearest to the question'] .hit")
        nearest.first.wait_for()
        assert re.match(r"-?\d\.\d\d\s+characters", nearest.first.inner_text())
    page.goto("about:blank")
    page.goto(f"{served}/#/compare?q=undo&a_mode=keyword&b_mode=keyword")
    page.locator("section:nth-of-type(2) label", has_text="Store").locator("select").select_option("first")
    page.wait_for_url(re.compile("b_store=first"))
    page.locator("section:nth-of-type(2) .hit", has_text="It is easy").wait_for()
    assert "It is hard" in page.locator("section:nth-of-type(1) .hit").first.inner_text()
    page.locator("section:nth-of-type(2) .hit a").first.click()
    page.wait_for_url(re.compile("document.*store=first"))


def test_a_report_has_the_questions_and_what_changed(page: Any, bench: Workbench, tmp_path: Path) -> None:
    with bench.store as store:
        values = values_of(ServedStore("handbook", store), held_of(store, 100))
        write_folder(tmp_path / "report", islice(values, 3))  # without the map and the texts
    page.goto(f"{(tmp_path / 'report' / 'index.html').as_uri()}#/health")
    page.locator("#truncated .good", has_text="0 of ").wait_for()
    page.locator("#evaluations > .trends .trend a").last.click()
    page.locator("h2", has_text="Changed since snapshot 1").wait_for()
    assert page.locator("li.hit", has_text="zeppelin").locator("a", has_text="minutes/may.md").is_visible()
