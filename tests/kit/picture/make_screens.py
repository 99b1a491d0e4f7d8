"""Pictures of the page: `python -m tests.kit.picture.make_screens [--store FOLDER] [--into FOLDER] [--all]`.

It opens the views of a store in Chromium and draws them to `docs/pictures/page-*.png`. Without `--store` it ingests the
corpus of the tests with the packaged model first. `--all` draws every view at three widths, light and dark.
"""

import argparse
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docmill import ingest
from docmill.flows.config.settings import Settings
from docmill.flows.measure.evaluation import evaluate, keep, subject_of, ways_of
from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from docmill.tasks.evaluate.questions import load_questions
from tests.kit.house import ROOT
from tests.serving.http_server import running

VIEWS = {  # what each view is called, what it opens, and what stands there once it is drawn
    "start": ("search", ".questions a"),
    "search": ("search?q=how+long+does+the+battery+last", ".hit mark"),
    "document": ("document?uri=support/faq.md", ".piece"),
    "health": ("health", "#lengths td"),
    "map": ("map", ".legend li"),
    "documents": ("documents", "tbody td"),
    "original": ("document?uri=products/ptarmigan-installation.pdf", ".sheet rect"),
    "compare": ("compare?what=settings&uri=support/faq.md&b_how=structure&b_options=size%3D60", ".row .only"),
    "rankings": ("compare?q=battery&a_mode=keyword&b_mode=vector", "section:nth-of-type(2) .hit"),
    "questions": ("health?see=evaluations", ".trend a"),
    "gaps": ("map?by=gaps", ".legend li"),
    "snapshots": ("compare?what=snapshots", "main .empty, main .told"),
    "ages": ("map?by=date", ".legend li"),
    "chunks": ("chunks?order=tokens+DESC&title=Longest+chunks", ".hit"),
}
IN_DOCS = ("search", "document", "map", "health", "original", "compare", "questions")
WIDTHS = (390, 820, 1440)
_HEIGHT = 800
_QUESTIONS = """question,uri,phrase
How long does the battery last?,support/faq.md,
Where is the accumulator charged?,support/faq.md,
How do I pair a station?,support/help-pairing.html,
May I take my dog to work?,legal/employment-terms.txt,
Which table holds the readings?,src/schema.sql,
What does a tour cost in winter?,support/faq-billing.csv,
"""
_REPAINTED_MS = 300  # until the map has its other colours


def main() -> None:
    """Draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--into", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--all", action="store_true")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        store = asked.store or Path(folder) / "store"
        if asked.store is None:
            make_store(Path(folder) / "docs", store)
        app, access = http_app(OpenStores({"handbook": store}), Searching({}), Access(port=0)), Access(port=0)
        with running(app, access) as url:
            draw(url, asked.into, asked.all)


def make_store(docs: Path, store: Path) -> None:
    """Ingest the corpus of the tests twice, with a change between, and ask both snapshots the same questions."""
    shutil.copytree(ROOT / "tests" / "corpus", docs)
    for change in (None, "support/faq.md"):
        if change:
            text = (docs / change).read_text("utf-8")
            (docs / change).write_text(text.replace("battery", "accumulator"), "utf-8")
        ingest(docs, store=store)
        questions = docs.parent / "questions.csv"
        questions.write_text(_QUESTIONS, "utf-8")
        ways = ways_of(Settings(store=store), ["hybrid"], [])
        found = evaluate(store, [None], ways, load_questions(questions), ["nDCG@10", "RR"])
        keep(store, found, subject_of(questions, None, {"depth": 10}))


def draw(url: str, into: Path, every: bool) -> None:
    """Draw the views of a server into a folder."""
    from playwright.sync_api import sync_playwright

    into.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTHS[-1], "height": _HEIGHT})
        for name in VIEWS if every else IN_DOCS:
            _open(page, url, name)
            if not every:
                page.screenshot(path=into / f"page-{name}.png")
                continue
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": _HEIGHT})
                for scheme in ("light", "dark"):
                    page.emulate_media(color_scheme=scheme)
                    page.wait_for_timeout(_REPAINTED_MS)
                    page.screenshot(path=into / f"page-{name}-{width}-{scheme}.png")
        browser.close()


def _open(page: Any, url: str, name: str) -> None:
    view, shown = VIEWS[name]
    page.set_viewport_size({"width": WIDTHS[-1], "height": _HEIGHT})
    page.goto("about:blank")
    page.goto(f"{url}/#/{view}")
    page.wait_for_selector(shown)
    if name in ("document", "original"):
        page.locator(".bound").nth(1).click()
        page.wait_for_selector("aside .nearest td, rect.chosen")
    if name == "questions":
        page.locator("#evaluations > .trends .trend a").last.click()
        page.wait_for_selector("li.hit")
    page.wait_for_load_state("networkidle")


if __name__ == "__main__":
    main()
