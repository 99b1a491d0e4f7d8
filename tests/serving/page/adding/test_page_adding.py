"""Adding documents on the page, in a real browser: files that are dropped or chosen, a folder, and what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.config.settings import Settings
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.page.add_documents import Adding
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import MakeBench, Workbench
from tests.serving.http_server import running
from tests.serving.page.test_page import faults

pytestmark = pytest.mark.usefixtures("fake_model")

TOKEN = "0123456789abcdef"
DROPPED = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const event = (kind) => new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data });
  const over = event("dragover");
  document.body.dispatchEvent(over);
  if (!over.defaultPrevented) throw new Error("the browser would open the file");
  document.body.dispatchEvent(event("drop"));
}"""


@pytest.fixture
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"git.md": "# Undo\n\nTo undo a commit, reset.\n"})


@pytest.fixture
def served(bench: Workbench) -> Iterator[str]:
    own: dict[str, Any] = {"embedding": {"model": NAME}, "discover": {"max_file_bytes": 5_000_000}, "engine": "local"}
    folders: dict[str, Any] = {"store": bench.root, "sources": [str(bench.docs)], "uploads": str(bench.docs / "new")}
    settings = Settings(**own, **folders)
    access = Access(port=0, token=TOKEN)
    stores = OpenStores({"handbook": bench.root}, access.without_asker)
    app = http_app(stores, Searching({}), access, settings, adding=Adding(settings, stores))
    with running(app, access) as url:
        yield f"{url}/#token={TOKEN}"


def test_files_that_are_dropped_anywhere_are_sent_and_read(served: str, page: Any, bench: Workbench) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page.goto(served)
    page.wait_for_selector("nav >> text=Add")
    padding = f"<!-- {'Of no use. ' * 150_000}-->"  # the file is sent in pieces, and has one paragraph to read
    page.evaluate(DROPPED, ["mill.html", f"<h1>Mill</h1>{padding}<p>It grinds wheat.</p>"])
    page.wait_for_selector("main >> text=1 added", timeout=60_000)
    assert page.url.endswith("#/add")
    assert "100 %" in page.inner_text(".sent")
    assert (bench.docs / "new" / "mill.html").stat().st_size > 1_000_000
    assert not [*faults(page, Axe())]
    page.set_viewport_size({"width": 390, "height": 800})
    tab = page.locator("nav a", has_text="Add").bounding_box()
    assert tab["x"] + tab["width"] <= 390  # on a phone, too, the way here is in sight
    page.click("text=See the newest documents")
    page.wait_for_selector("main a >> text=new/mill.html")


def test_files_and_folders_are_added_by_keyboard_and_refusals_are_told(
    served: str, page: Any, bench: Workbench, tmp_path: Path
) -> None:
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.4 nothing")
    (tmp_path / "x.meta.toml").write_text('access = ["all"]\n')
    (tmp_path / "large.md").write_text("x" * 5_000_001)
    page.goto(served)
    page.click("nav >> text=Add")
    page.set_input_files("input[type=file]", [tmp_path / name for name in ("bad.pdf", "x.meta.toml", "large.md")])
    page.wait_for_selector("main >> text=1 problem", timeout=60_000)
    told = page.inner_text(".sent")
    assert "such a file describes others" in told
    assert "larger than 5 MB" in told
    assert [one.name for one in (bench.docs / "new").iterdir()] == ["bad.pdf"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "wheel.md").write_text("# Wheel\n\nIt turns.\n")
    page.focus("#source")
    page.keyboard.type(str(tmp_path / "other"))
    page.keyboard.press("Enter")
    page.wait_for_selector("main >> text=1 added", timeout=60_000)
    page.fill("#source", str(tmp_path / "none"))
    page.keyboard.press("Enter")
    page.wait_for_selector(".failure >> text=does not exist", timeout=60_000)


def test_without_the_option_the_page_says_nothing_of_it(page: Any, bench: Workbench) -> None:
    access = Access(port=0)
    with running(http_app(OpenStores({"handbook": bench.root}), Searching({}), access), access) as url:
        page.goto(url)
        page.wait_for_selector("nav >> text=Compare")
        assert "Add" not in page.inner_text("header")
        page.goto("about:blank")  # it asks every few seconds, and would miss its server
