"""What a newcomer to the page stumbled over: names, order, room, and words that nobody explained."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from docmill.tasks.detect.content_types import CONTENT_TYPES
from tests.kit.workbench import MakeBench
from tests.serving.http_server import running

STATIC = Path(__file__).parents[3] / "flows" / "serving" / "page" / "static"
CODE = "".join(f"def grind_{name}(wheat: int) -> int:\n    return wheat + 1\n\n\n" for name in "abcdefgh")
GUIDE = "# Guide\n\n" + "".join(f"## Wheel {number}\n\nThe wheel {number} turns by day.\n\n" for number in range(9))
BROKEN = """The editor broke this line somewhere after its sixtieth
letter and went on.

A verse is short
and stays as it is.
"""
NAMES = """() => { const holder = document.querySelector('.canvas').getBoundingClientRect();
  return [...document.querySelectorAll('.names span')].filter((one) => one.style.visibility !== 'hidden')
    .map((one) => one.getBoundingClientRect())
    .map((one) => [one.left - holder.left, one.right - holder.left, one.top - holder.top, one.bottom - holder.top]) }"""


@pytest.fixture(scope="module")
def served(make_bench: MakeBench) -> Iterator[str]:
    pages = {f"mill/{number}.md": f"# Mill {number}\n\nThe mill grinds wheat {number}.\n" for number in range(30)}
    bench = make_bench({"mill.py": CODE, "guide.md": GUIDE, "broken.md": BROKEN, **pages})
    access = Access(port=0)
    with running(http_app(OpenStores({"handbook": bench.root}), Searching({}), access), access) as url:
        yield url


def test_a_pointer_that_rests_on_the_hits_holds_no_answer_to_the_next_question_back(page: Any, served: str) -> None:
    page.goto(f"{served}/#/search?q=wheat")
    hit = page.locator(".hit").first
    hit.get_by_role("button", name="Right").click()
    hit.get_by_role("button", name="Right", pressed=True).wait_for()
    page.keyboard.press("/")
    page.keyboard.type("which wheel turns")
    page.wait_for_url(re.compile("wheel"))
    page.locator(".told", has_text=re.compile(r"best in snapshot \d+, confidence \d\.\d\d$")).wait_for()
    assert page.get_by_role("button", name="Show the better order").count() == 0
    assert page.get_by_text("by keyword so far").count() == 0


def test_who_judges_is_asked_above_the_hits(page: Any, served: str) -> None:
    page.goto(f"{served}/#/search?q=wheat")
    name = page.get_by_label("You judge as")
    name.wait_for()
    assert name.bounding_box()["y"] < page.locator(".hit").first.bounding_box()["y"]
    page.get_by_label("Question", exact=True).fill("wheel")  # while the next question is typed, nothing jumps
    page.locator("mark", has_text="wheel").first.wait_for()
    assert name.is_visible()


def test_chunks_nearest_to_one_are_named_by_their_headings(page: Any, served: str) -> None:
    page.goto(f"{served}/#/document?uri=guide.md")
    page.locator(".bound").first.click()
    names = page.locator(".nearest td a")
    names.first.wait_for()
    assert re.match(r"(Guide|Mill)", names.first.inner_text())
    assert page.locator(".nearest td small", has_text=re.compile(r"\.md|\.py")).count() == names.count()


def test_source_has_letters_of_one_width_in_hits_and_as_exact_text(page: Any, served: str) -> None:
    page.goto(f"{served}/#/search?q=grind_a")
    page.locator(".hit .text.source", has_text="def grind_a").first.wait_for()
    page.goto(f"{served}/#/search?q=wheel")
    hit = page.locator(".hit", has_text="Wheel").first
    hit.get_by_role("button", name="Exact text").click()
    hit.locator(".text.source", has_text="## Wheel").wait_for()


def test_names_on_the_map_cover_no_point(page: Any, served: str) -> None:
    made = httpx.get(f"{served}/map", timeout=120, trust_env=False).json()
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("about:blank")
        page.goto(f"{served}/#/map")
        page.wait_for_selector(".legend li")
        page.wait_for_timeout(300)
        shown = page.evaluate(NAMES)
        assert shown, "at least one cluster has room for its name"
        box = page.locator("canvas").bounding_box()
        unit = min(box["width"], box["height"]) * 0.94 / made["grid"]
        points = [
            (box["width"] / 2 + (x - made["grid"] / 2) * unit, box["height"] / 2 - (y - made["grid"] / 2) * unit)
            for x, y in zip(made["x"], made["y"], strict=True)
        ]
        covered = [
            (x, y)
            for left, right, top, bottom in shown
            for x, y in points
            if left + 2 < x < right - 2 and top + 2 < y < bottom - 2
        ]
        assert not covered


def test_on_a_phone_every_view_is_named_in_the_header_and_tables_show_that_they_go_on(page: Any, served: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{served}/#/documents")
    page.wait_for_selector("tbody tr")
    assert page.locator("header nav").evaluate("one => one.scrollWidth <= one.clientWidth")
    assert "gradient" in page.locator(".scrolled").first.evaluate("one => getComputedStyle(one).backgroundImage")


def test_words_of_docmill_are_explained_where_they_are(page: Any, served: str) -> None:
    page.goto(f"{served}/#/documents")
    page.locator("th").get_by_role("button", name="Type").click()
    page.locator(".meaning", has_text="detected from the content").wait_for()
    assert page.locator("td .type").first.get_attribute("title") in CONTENT_TYPES.values()
    page.goto(f"{served}/#/search?q=wheat")
    assert "merged" in page.locator("label", has_text="Hybrid").get_attribute("title")
    page.goto(f"{served}/#/compare?q=wheat")
    label = page.locator(".ways label", has_text="Share of neighbouring chunks").first
    assert "neighbours" in label.get_attribute("title")


def test_the_page_says_of_each_content_type_what_docmill_says() -> None:
    text = (STATIC / "types.js").read_text("utf-8")
    found = re.search(r"TYPES = \{(.*?)\n\};", text, re.DOTALL)
    assert found
    own = {name: json.loads(said) for name, said in re.findall(r'^  (\w+): (".*"),$', found[1], re.MULTILINE)}
    assert own == CONTENT_TYPES


def test_lines_that_an_editor_broke_flow_together_and_others_stay(page: Any, served: str) -> None:
    page.goto(f"{served}/#/search?q=editor+verse")
    hit = page.locator(".hit", has_text="The editor broke").first
    text = hit.locator(".text").first.inner_text()
    assert "somewhere after its sixtieth letter and went on" in text
    assert "A verse is short\nand stays" in text
    hit.get_by_role("button", name="Exact text").click()
    assert "sixtieth\nletter" in hit.locator(".text").first.inner_text()
