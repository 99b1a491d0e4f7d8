"""Figures in hits: a picture of a Markdown file is drawn where its markup stands, from the store and nowhere else."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.kit.site import site_on_loopback
from tests.kit.workbench import MakeBench, Workbench
from tests.kit.writers.figures import data_uri, drawn
from tests.serving.page.test_page import faults

ONE, TWO, THREE = (drawn(number, 300, 200) for number in (1, 2, 3))
README = f"""# Lagoon 😀

![Bars by month](pics/one.png "Figure 1: Bloom")

The bloom of **June** 😀 is in ![Depth | of [each] buoy][two], of May in ![May](pics/gone.png) and FAR.

| name | shown |
| --- | --- |
| held | ![Held]({data_uri(THREE)}) |
| tag | <img src="pics/one.png" alt="Tag"> |

```
![no](pics/one.png)
```

[two]: pics/two.png
"""


@pytest.fixture(scope="module")
def asked_far() -> Iterator[Any]:
    with site_on_loopback() as site:
        site.pages["/far.png"] = TWO
        yield site


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench, asked_far: Any) -> Workbench:
    far = f"![Far]({asked_far.url}/far.png)"
    files = {"readme.md": README.replace("FAR", far), "pics/one.png": ONE, "pics/two.png": TWO}
    return make_bench(files, parse={"ocr": False})


def test_a_hit_of_a_readme_shows_its_pictures_and_asks_nobody_else(page: Any, url: str, asked_far: Any) -> None:
    page.goto(f"{url}#/search?q=bloom+of+June&mode=keyword")
    hit = page.locator(".hit", has_text="readme.md")
    shown = hit.locator("img.pictured")
    hit.locator("img.pictured[src]").nth(3).wait_for()
    assert [one.get_attribute("alt") for one in shown.all()] == ["Bars by month", "Depth of each buoy", "Held", "Tag"]
    assert shown.evaluate_all("all => all.every((one) => one.naturalWidth === 300)")
    assert re.search(r"^The bloom of June 😀 is in\s+, of May in", hit.inner_text(), re.MULTILINE)
    assert hit.locator("td img").count() == 2
    assert hit.locator("pre").inner_text() == "![no](pics/one.png)"
    for kept in ("![May](pics/gone.png)", f"![Far]({asked_far.url}/far.png)"):
        assert kept in hit.inner_text(), "what the store has no picture of stays as it is written"
    assert asked_far.asked == []
    if not url.startswith("file:"):
        assert not list(faults(page, Axe()))
    hit.get_by_role("button", name="Exact text").click()
    shown.first.wait_for(state="detached")
    assert '![Bars by month](pics/one.png "Figure 1: Bloom")' in hit.locator("p.text").inner_text()


@pytest.mark.parametrize("view", ["document?uri=readme.md&as=drawn", "chunks?where=uri%3D'readme.md'"])
def test_other_views_show_them_too(page: Any, served: str, view: str) -> None:
    page.goto(f"{served}#/{view}")
    place = page.locator(".drawing" if "drawn" in view else ".hit").first
    place.locator("img.pictured[src]").nth(3).wait_for()
    assert place.locator("img.pictured").count() == 4
