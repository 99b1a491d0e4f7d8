"""A browser for the tests of the page."""

import os
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")  # as .ci/programs knows them
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
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
def window(browser: Any) -> Any:
    """A window for the tabs of a module: to open and close another one takes three times as long as a tab does."""
    return browser.new_context()


@pytest.fixture
def page(window: Any) -> Iterator[Any]:
    """A tab, which must log no error and run nothing of a document, and of which nothing stays in the window."""
    own = window.new_page()
    problems: list[str] = []
    own.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    own.on("pageerror", lambda error: problems.append(str(error)))
    own.set_default_timeout(15_000)
    yield own
    try:
        assert own.evaluate("globalThis.hacked") is None
        assert not [one for one in problems if not EXPECTED.search(one)], "the console of the browser"
    finally:
        devtools = window.new_cdp_session(own)
        devtools.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
        devtools.send("Network.clearBrowserCache")
        for tab in window.pages:
            tab.close()
