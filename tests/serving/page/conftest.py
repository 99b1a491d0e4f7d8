"""A browser for the tests of the page, and its addresses."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores, ServedStore
from docmill.flows.serving.page.report_files import write_report
from tests.kit.workbench import Workbench
from tests.serving.http_server import running

NAMES = ("chromium", "chromium-browser", "google-chrome")  # as .ci/programs knows them
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
SIZE = {"width": 1280, "height": 720}  # of a new tab
EXPECTED = re.compile(r"^\[\.WebGL")
"""Messages of a browser that are no faults: how fast a machine without a GPU draws."""


@pytest.fixture(scope="module")  # Playwright's event loop runs meanwhile, and other tests have their own
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine; CHROMIUM may name one")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield own
        own.close()


@pytest.fixture(scope="module")
def tab(browser: Any) -> Any:
    """The tab of a module: a new one for each test would take a third of a second of CPU time."""
    return browser.new_context().new_page()


@pytest.fixture
def page(tab: Any, tmp_path: Path) -> Iterator[Any]:
    """A tab as a new one is, which must log no error and run nothing of a document, and of which nothing stays.

    `tmp_path` stays until the tab has left it: a report loads its files ahead.
    """
    assert tmp_path
    problems: list[str] = []
    heard = {
        "console": lambda message: problems.append(message.text) if message.type in ("error", "warning") else None,
        "pageerror": lambda error: problems.append(str(error)),
    }
    for event, hear in heard.items():
        tab.on(event, hear)
    tab.set_default_timeout(15_000)
    tab.set_viewport_size(SIZE)
    tab.emulate_media(color_scheme="null")
    tab.mouse.move(0, 0)
    yield tab
    try:
        assert tab.evaluate("globalThis.hacked") is None
        assert not [one for one in problems if not EXPECTED.search(one)], "the console of the browser"
    finally:
        for event, hear in heard.items():
            tab.remove_listener(event, hear)
        _forget(tab)


@pytest.fixture(scope="module")
def served(bench: Workbench) -> Iterator[str]:
    """The address of a server of the module's `bench`."""
    access = Access(port=0)
    with running(http_app(OpenStores({"handbook": bench.root}), Searching({}), access), access) as url:
        yield url


@pytest.fixture(scope="module")
def report(bench: Workbench, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of the module's `bench`, written as files."""
    with bench.store as store:
        done = write_report(ServedStore("handbook", store), tmp_path_factory.mktemp("written") / "report", 100)
    return (done.folder / "index.html").as_uri()


@pytest.fixture(params=["served", "report"])
def url(request: pytest.FixtureRequest) -> str:
    """The address of the page of a server, and of the same page as files."""
    return str(request.getfixturevalue(request.param))


def _forget(tab: Any) -> None:
    """Close all tabs but this one, leave its page, and drop what pages have kept."""
    for other in tab.context.pages:
        if other != tab:
            other.close()
    if not tab.url.startswith(("about:", "chrome")):
        tab.evaluate("globalThis.sessionStorage?.clear()")
    tab.goto("about:blank")
    devtools = tab.context.new_cdp_session(tab)
    devtools.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    devtools.send("Network.clearBrowserCache")
    devtools.detach()
