"""Feeds: their entries are documents, and stay when the feed no longer shows them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import pytest

from docmill.storage.errors import SourceError, Transient
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions
from docmill.testing import SourceSuite
from tests.kit.servers.faults import FAULTS, at_fault
from tests.kit.site import Site, site_on_loopback
from tests.kit.workbench import Workbench, summary

ALL = DiscoverOptions(may_be_empty=True)
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Farm</title><entry><id>urn:farm:1</id>
<title>Auk &amp; owl</title>
<link rel="alternate" href="/auk"/><author><name>Ada</name></author><updated>2026-01-01T00:00:00Z</updated>
<content type="html">&lt;p&gt;The auk growls.&lt;/p&gt;</content></entry></feed>"""


def rss(*entries: str) -> str:
    items = "".join(
        f"<item><guid>{one}</guid><title>{one}</title><link>https://farm.example.org/{one}</link>"
        f"<description>&lt;p&gt;About the {one}.&lt;/p&gt;</description></item>"
        for one in entries
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>Farm</title>{items}</channel></rss>'


@pytest.fixture
def site() -> Iterator[Site]:
    with site_on_loopback() as made:
        made.pages["/feed"] = rss("auk", "bee")
        yield made


def table(site: Site, **more: Any) -> dict[str, Any]:
    return {"url": f"{site.url}/feed", "private": True, "timeout_s": 2, **more}


def listed(site: Site) -> list[str]:
    source = open_source("feed://news", {"news": table(site)})
    return [file.uri for file in source.list(ALL, Checkpoints()).found]


def test_entries_are_read_once_and_stay(site: Site, bench: Callable[..., Workbench]) -> None:
    work = bench(news=table(site))
    assert summary(work.ingest("feed://news")) == {"added": 2, "parsed": 2, "embedded": 2}
    site.clear()
    assert work.ingest("feed://news").snapshot is None
    assert (site.asked, site.sent) == (["/feed"], [])
    site.pages["/feed"] = rss("bee", "cat")
    assert summary(work.ingest("feed://news")) == {"added": 1, "unchanged": 2, "parsed": 1, "embedded": 1}
    with work.store as store:
        rows = store.sql("SELECT uri, source_url FROM documents ORDER BY uri").to_pylist()
    assert [(row["uri"], row["source_url"]) for row in rows] == [
        (f"news/{one}.html", f"https://farm.example.org/{one}") for one in ("auk", "bee", "cat")
    ]


def test_an_atom_feed_has_titles_authors_and_links(site: Site, bench: Callable[..., Workbench]) -> None:
    site.pages["/feed"] = ATOM
    work = bench(news=table(site))
    work.ingest("feed://news")
    with work.store as store:
        (row,) = store.sql("SELECT title, author, source_url FROM documents").to_pylist()
        (chunk,) = store.sql("SELECT text FROM chunks").to_pylist()
    assert row == {"title": "Auk & owl", "author": "Ada", "source_url": f"{site.url}/auk"}
    assert "The auk growls." in chunk["text"]


def test_what_is_no_feed_is_told_in_one_line_and_deletes_nothing(site: Site, bench: Callable[..., Workbench]) -> None:
    work = bench(news=table(site))
    work.ingest("feed://news")
    for answer, error, message in (
        ("<html><body>Log in</body></html>", SourceError, "is no feed of RSS or Atom; its first element is <html>"),
        (rss("auk")[:-20], SourceError, "is no feed, or cut off"),
        (lambda request: request.answer(503, Retry_After="999"), Transient, "answers 503"),
        (lambda request: request.answer(404), SourceError, "answers 404"),
        (lambda request: request.answer(302, Location="http://[::1"), Transient, "Invalid URL in location header"),
    ):
        site.pages["/feed"] = answer
        with pytest.raises(error, match=message) as caught:
            work.ingest("feed://news", allow_delete=True)
        assert "\n" not in str(caught.value)
    with work.store as store:
        assert store.sql("SELECT count(*) AS n FROM documents").to_pylist() == [{"n": 2}]


def test_a_bomb_of_entities_is_stopped(site: Site) -> None:
    lines = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    site.pages["/feed"] = f'<!DOCTYPE rss [<!ENTITY e0 "aaaaaaaaaa">{lines}]>{rss("auk").partition("?>")[2]}'.replace(
        "About the", "&e11;"
    )
    with pytest.raises(SourceError, match="Maximum entity amplification factor exceeded"):
        listed(site)


class TestFeed(SourceSuite):
    """The properties of all sources."""

    source = "feed://news"

    @pytest.fixture(autouse=True)
    def _serve(self, site: Site) -> None:
        self._site = site

    def table(self) -> dict[str, Any]:
        return table(self._site, timeout_s=1)

    def faults(self) -> Mapping[str, AbstractContextManager[None]]:
        return {name: at_fault(self._site, fault) for name, fault in FAULTS.items()}
