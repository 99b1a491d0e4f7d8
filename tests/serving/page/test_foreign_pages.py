"""Foreign pages in a real browser: what a page of another site or port learns of a server on this machine: nothing."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest

from docmill.flows.serving.access import Access
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from tests.kit.workbench import MakeBench, Workbench
from tests.serving.http_server import running

TOKEN = "0123456789abcdef"
TRUE, FALSE = (f"CASE WHEN {holds} THEN true ELSE error('no')::BOOLEAN END" for holds in ("true", "false"))
"""Conditions that tell one bit of the store by the status of the answer."""
LOOK = """
const observed = {};
const told = (name) => (how) => { observed[name] ??= how?.type ?? how; };
const add = (name, made) => new Promise((done) => {
  made.onload = (event) => done(told(name)(event));
  made.onerror = (event) => done(told(name)(event));
  document.body.append(made);
  setTimeout(() => done(told(name)("silent")), 60000);
});
const ask = (name, asked, how) => fetch(asked, how).then((one) => told(name)(one.type), () => told(name)("failed"));
const make = (tag, values) => Object.assign(document.createElement(tag), values);
const url = TARGET;
const post = POSTED;
async function look() {
  await Promise.all([
    add("object", make("object", { data: url })),
    add("embed", make("embed", { src: url })),
    add("img", make("img", { src: url })),
    add("script", make("script", { src: url })),
    add("style", make("link", { rel: "stylesheet", href: url })),
    add("frame", make("iframe", { src: url })),
    add("video", make("video", { src: url, autoplay: true })),
    ask("no-cors", url, { mode: "no-cors" }),
    ask("cors", url, {}),
    ask("posted", post.url, { method: "POST", mode: "no-cors", body: post.body }),
  ]);
  const form = make("form", { action: post.url, method: "POST", enctype: "text/plain", target: "hidden" });
  const frame = make("iframe", { name: "hidden" });
  form.append(make("input", { name: post.body, value: "" }));
  document.body.append(frame, form);
  const sent = new Promise((done) => { frame.onload = () => done(told("form")("load")); });
  form.submit();
  await sent;
  const shown = document.querySelector("object");
  observed.sizes = [shown.offsetWidth, shown.offsetHeight, document.querySelector("img").naturalWidth];
  observed.frames = [...document.querySelectorAll("iframe")].map((one) => one.contentWindow?.length ?? 0);
  let timed = [];  // the browser lists a load some time after its end: read until the list stays as it is
  for (let same = 0; same < 10; await new Promise((done) => setTimeout(done, 30))) {
    const now = performance.getEntriesByType("resource");
    same = now.length === timed.length ? same + 1 : 0;
    timed = now;
  }
  observed.timed = timed.map((one) => [one.initiatorType, one.responseStatus, one.transferSize]).sort();
  return observed;
}
"""


class _Foreign(BaseHTTPRequestHandler):
    """A site of somebody else: an empty page, and a note of what browsers send to it."""

    received: list[str]

    def do_GET(self) -> None:
        self.received.append(f"{self.path}\n{self.headers}")
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>foreign</title><body></body>")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def foreign_site() -> Iterator[tuple[int, list[str]]]:
    """Serve the pages of somebody else on another port; give the port, and what browsers send."""
    received: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Foreign", (_Foreign,), {"received": received}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port, received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    return make_bench({"git.md": "# Undo\n\nTo undo a commit, reset the branch.\n"})


def observed(page: Any, served: str, where: str) -> dict[str, Any]:
    """Return all that the page, of another site, can observe of a condition."""
    body = json.dumps({"query": f"SELECT 1 FROM documents WHERE {where}"})
    script = LOOK.replace("TARGET", json.dumps(f"{served}/documents?where={quote(where)}"))
    script = script.replace("POSTED", json.dumps({"url": f"{served}/sql", "body": body}))
    found = page.evaluate(f"async () => {{ {script}; return await look(); }}")
    assert isinstance(found, dict)
    return found


def counted(served: str) -> dict[str, float]:
    """Return how many requests for each path have got past the guard."""
    text = httpx.get(f"{served}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False).text
    found = re.findall(r'^docmill_requests_total\{path="([^"]+)",status="\d+"\} (\S+)', text, re.MULTILINE)
    return {path: float(count) for path, count in found if path != "/metrics"}


async def _telltale(scope: Any, _: Any, send: Any) -> None:
    """Answer as a server without a guard does: whether the condition holds shows in the status."""
    if scope["type"] != "http":
        return
    holds = b"false" not in scope["query_string"]
    kind = (b"content-type", b"text/html")
    await send({"type": "http.response.start", "status": 200 if holds else 400, "headers": [kind]})
    await send({"type": "http.response.body", "body": b"{}"})


def test_without_a_guard_a_foreign_page_would_learn_a_bit(browser: Any) -> None:
    with running(_telltale, Access(port=0)) as served, foreign_site() as (port, _):
        page, learnt = browser.new_page(), []
        for where in (TRUE, FALSE):
            page.goto(f"http://localhost:{port}/")
            learnt.append(observed(page, served, where))
        assert learnt[0]["object"] != learnt[1]["object"]
        page.close()


@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize(("site", "called"), [("localhost", "127.0.0.1"), ("127.0.0.1", "127.0.0.1")])
def test_a_foreign_page_learns_nothing(browser: Any, bench: Workbench, token: str, site: str, called: str) -> None:
    access = Access(port=0, token=token)
    app = http_app(OpenStores({"handbook": bench.root}), Searching({}), access)
    with running(app, access) as url, foreign_site() as (port, _):
        served = url.replace("127.0.0.1", called)
        context = browser.new_context()
        page = context.new_page()
        if token:
            page.goto(f"{served}/#token={token}")  # the browser is let in, and the foreign page must not share that
            page.locator(".where", has_text="snapshot 1").wait_for()
        before = counted(served)
        learnt = []
        for where in (TRUE, FALSE):
            page.goto(f"http://{site}:{port}/")
            learnt.append(observed(page, served, where))
        assert learnt[0] == learnt[1]
        assert (learnt[0]["cors"], learnt[0]["img"], learnt[0]["script"]) == ("failed", "error", "error")
        for path in ("/documents", "/sql", "/newest", "/openapi.json"):
            assert counted(served).get(path, 0.0) == before.get(path, 0.0), path
        context.close()


def test_a_link_of_a_foreign_page_leads_to_the_page_alone(browser: Any, bench: Workbench) -> None:
    access, paths = Access(port=0), ("status", f"documents?where={quote(TRUE)}", "openapi.json", "metrics", "healthz")
    with running(http_app(OpenStores({"h": bench.root}), Searching({}), access), access) as url, foreign_site() as one:
        page = browser.new_page()
        for target, status in (*((f"{url}/{path}", 403) for path in paths), (f"{url}/", 200)):
            page.goto(f"http://localhost:{one[0]}/")
            with page.expect_navigation(url=re.compile("127")) as answered:
                page.evaluate("(target) => { location.href = target; }", target)
            assert answered.value.status == status, target
        page.locator(".where", has_text="snapshot 1").wait_for()
        page.goto(f"http://localhost:{one[0]}/")
        with page.context.expect_page() as opened:
            page.evaluate("(target) => { globalThis.opened = open(target); }", f"{url}/#/search?q=undo")
        opened.value.locator(".hit").first.wait_for()
        assert page.evaluate("opened.closed") is True, "a page that opens docmill keeps no hold on its tab"
        page.context.close()


def test_the_address_with_the_token_opens_the_page_in_every_tab(browser: Any, bench: Workbench) -> None:
    access = Access(port=0, token=TOKEN)
    with running(http_app(OpenStores({"h": bench.root}), Searching({}), access), access) as url:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{url}/")
        page.locator("label", has_text="The token of this server").wait_for()
        page.goto("about:blank")
        page.goto(f"{url}/#token={TOKEN}")
        page.locator(".where", has_text="snapshot 1").wait_for()
        assert TOKEN not in page.url
        page.go_back()
        assert page.url == "about:blank"
        page.go_forward()
        assert TOKEN not in page.url
        other = context.new_page()
        other.goto(f"{url}/#/documents")
        other.locator("tbody td", has_text="git.md").first.wait_for()
        other.goto("about:blank")
        other.goto(f"{url}/#token={'f' * 32}")  # as a link of a foreign site may say
        other.locator(".where", has_text="snapshot 1").wait_for()
        context.close()


def test_a_server_on_another_port_never_gets_the_token(browser: Any, bench: Workbench) -> None:
    access = Access(port=0, token=TOKEN)
    app = http_app(OpenStores({"h": bench.root}), Searching({}), access)
    with running(app, access) as url, foreign_site() as (port, received):
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{url}/#token={TOKEN}")
        page.locator(".where", has_text="snapshot 1").wait_for()
        other = f"http://{urlsplit(url).hostname}:{port}"
        page.goto(f"{other}/")
        page.reload()
        page.evaluate("fetch('/again', { credentials: 'include' })")
        assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie.length]") == [0, 0, 0]
        assert context.cookies() == []
        assert len(received) >= 3
        assert not [one for one in received if TOKEN in one]
        context.close()
