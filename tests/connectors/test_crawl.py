"""Crawls of sites as they are: odd pages, redirects, rules for programs, and addresses that look alike."""

import gzip
import time
from collections.abc import Callable, Iterator

import pytest

from docmill.storage.errors import SourceError
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.web.web_pages import robots_in
from tests.connectors.test_web import ALL, QUICK, listed, moved, opened, page
from tests.kit.site import Site, site_on_loopback
from tests.kit.workbench import Workbench, summary


@pytest.fixture
def site() -> Iterator[Site]:
    with site_on_loopback() as made:
        made.pages |= {
            "/": page("Start", "/a", "/deep/b.html"),
            "/a": page("Auk"),
            "/deep/b.html": page("Bee"),
            "/deep/d": page("Dove"),
            "/private/c": page("Cat"),
            "/robots.txt": "User-agent: *\nDisallow: /private/\n",
        }
        yield made


@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        ("text/html", b"<![bad[ <p>It declares nothing."),
        ("text/html", b"<base href='http://[bad'><p>It has no base."),
        ("text/html", b"<pre><urlset> is the <p> of sitemaps</pre>"),
        ("application/gzip", b"\x1f\x8b" + b"not packed" * 9),
        ("application/gzip", gzip.compress(b"a" * 2_000_000)),
    ],
)
def test_one_odd_page_does_not_stop_a_crawl(site: Site, kind: str, odd: bytes) -> None:
    site.pages["/odd"], site.types["/odd"] = odd, kind
    site.pages["/"] = page("Start", "/odd", "/a")
    found = listed(site.url, depth=1, page_bytes=1_000_000)
    assert sorted(one.partition(".")[0] for one in found) == ["a", "index", "odd"]


def test_a_link_is_asked_for_as_browsers_spell_it(site: Site, bench: Callable[..., Workbench]) -> None:
    site.pages["/"] = page("Start", "/a b?c=d e", "/a%20b?c=d%20e", "/ü", "/%C3%BC", "http://[bad/", "/%7e")
    site.pages["/a%20b?c=d%20e"], site.pages["/%C3%BC"], site.pages["/%7e"] = (
        page("Blank"),
        page("Umlaut"),
        page("Home"),
    )
    work = bench(site={**QUICK, "depth": 1, "include": ["/ü", "/a*", "/%7e"]})
    assert summary(work.ingest(f"site={site.url}/")) == {"added": 4, "parsed": 4, "embedded": 4}
    with work.store as store:
        links = store.sql("SELECT source_url AS link FROM documents ORDER BY 1").column("link").to_pylist()
    assert links == [f"{site.url}{path}" for path in ("/", "/%7e", "/%C3%BC", "/a%20b?c=d%20e")]


def test_an_address_that_is_too_long_stops_no_other_page(site: Site, bench: Callable[..., Workbench]) -> None:
    site.pages["/"] = page("Start", f"/long?q={'x' * 3000}", "/a")
    work = bench(site={**QUICK, "depth": 1})
    report = work.ingest(f"site={site.url}/")
    assert (report.documents.added, [row.reason for row in report.rejects]) == (2, ["unreadable"])


def test_a_redirect_leads_to_one_document_and_around_no_rule(site: Site) -> None:
    site.pages |= {
        "/": page("Start", "/old", "/secret", "/away", "/left", "/a"),
        "/old": moved("/a"), "/secret": moved("/private/c"),
        "/away": moved(f"http://127.0.0.2:{site.port}/a"), "/left": moved("/deep/d"),
    }  # fmt: skip
    assert listed(site.url, depth=1, exclude=["/deep/*"]) == ["a.html", "index.html"]
    assert "/private/c" not in site.asked
    assert "/deep/d" not in site.asked
    site.pages["/"] = moved(f"http://127.0.0.2:{site.port}/a")
    assert listed(site.url) == ["index.html"]
    with pytest.raises(SourceError, match=r"leads to http://127.0.0.2:\d+/a, which is another host: give that address"):
        listed(site.url, depth=1)


def test_of_two_pages_with_one_address_of_their_own_the_first_one_is_read(site: Site) -> None:
    site.pages["/print"] = page("Print", head=f'<link rel="canonical" href="{site.url}/a">')
    site.pages["/"] = page("Start", "/a", "/print")
    source = opened(f"{site.url}/", depth=1)
    files = {file.uri: file.item for file in source.list(ALL, Checkpoints()).found}
    assert [*files] == ["site/a.html", "site/index.html"]
    assert files["site/a.html"]
    assert b"On Auk" in source.reader.fetch(files["site/a.html"])  # type: ignore[attr-defined]


def test_the_longest_rule_of_robots_txt_counts_and_stars_are_any_text(site: Site) -> None:
    rules = ("Allow: /", "Disallow: /deep", "Allow: /deep/d$", "Disallow: /*?print", "Crawl-delay: 0.25", "Disallow:")
    site.pages |= {
        "/robots.txt": "\n".join(["User-agent: *", "Disallow: /", "", "User-agent: DocMill/1 # ours", *rules]),
        "/": page("Start", "/a", "/a?print", "/deep/b.html", "/deep/d", "/deep/d2"), "/a?print": page("Print"),
    }  # fmt: skip
    site.pages["/deep/d2"] = page("Two")
    source = opened(f"{site.url}/", depth=1)
    assert [file.uri for file in source.list(ALL, Checkpoints()).found] == [
        "site/a.html", "site/deep/d.html", "site/index.html",
    ]  # fmt: skip
    assert source.reader._client.delay_s == 0.25  # type: ignore[attr-defined]


def test_a_pattern_of_robots_txt_takes_one_pass() -> None:
    began = time.process_time()
    rules = robots_in(f"User-agent: *\nDisallow: /{'*a' * 200}b", "docmill")
    assert rules.allow(f"https://example.org/{'a' * 1_900}")
    assert not rules.allow(f"https://example.org/{'a' * 1_900}b")
    assert time.process_time() - began < 1


def test_a_header_may_leave_a_page_out(site: Site) -> None:
    told = ("noindex, unavailable_after: 25 Jun 2030", "googlebot: noindex", "max-snippet:5")
    for number, words in enumerate(told):
        site.pages[f"/{number}"] = lambda request, words=words: request.answer(  # type: ignore[misc]
            200, b"%PDF-1.4", Content_Type="application/pdf", X_Robots_Tag=words
        )
    site.pages["/"] = page("Start", "/0", "/1", "/2")
    assert listed(site.url, depth=1) == ["1.pdf", "2.pdf", "index.html"]


def test_pages_whose_addresses_look_alike_are_documents_of_their_own(
    site: Site, bench: Callable[..., Workbench]
) -> None:
    site.pages |= {"/": page("Start", "/x-y=1"), "/x-y=1": page("One"), "/x?y=1": page("Two")}
    work = bench(site={**QUICK, "depth": 1})
    work.ingest(f"site={site.url}/")
    site.pages["/"] = page("Start", "/x?y=1", "/x-y=1")  # the new one comes first, and takes no name from the other
    assert summary(work.ingest(f"site={site.url}/")) == {
        "added": 1,
        "changed": 1,
        "unchanged": 1,
        "parsed": 2,
        "embedded": 2,
    }
    with work.store as store:
        titles = dict(store.sql("SELECT uri, title FROM documents").to_pandas().itertuples(index=False))
    assert titles.pop("site/x-y=1.html") == "One"
    assert sorted(titles.values()) == ["Start", "Two"]
    assert all(uri.endswith(".html") for uri in titles)


def test_a_page_of_a_list_may_go_and_another_fail(site: Site, bench: Callable[..., Workbench]) -> None:
    pages = [f"{site.url}{path}" for path in ("/a", "/deep/b.html", "/deep/d", "/private/c")]
    work = bench(site={**QUICK, "urls": pages, "robots": False})
    work.ingest("web://site")
    del site.pages["/a"]
    site.pages["/deep/d"] = lambda request: request.answer(500)
    assert summary(work.ingest("web://site")) == {"deleted": 1, "unchanged": 3}
    with pytest.raises(SourceError, match="/never answers 404"):
        bench(site={**QUICK, "urls": [f"{site.url}/never", *pages[1:]]}).ingest("web://site")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_new_page_that_does_not_answer_is_one_reject_until_it_does(
    site: Site, bench: Callable[..., Workbench], status: int
) -> None:
    site.pages["/a"] = lambda request: request.answer(status, Retry_After="0")
    work = bench(site={**QUICK, "depth": 1})
    report = work.ingest(f"site={site.url}/")
    assert (summary(report), report.exit_status) == ({"added": 2, "rejected": 1, "parsed": 2, "embedded": 2}, 3)
    assert any(f"{site.url}/a answers {status}" in row.message for row in report.rejects)
    site.pages["/a"] = page("Auk")
    assert summary(work.ingest(f"site={site.url}/")) == {"added": 1, "unchanged": 2, "parsed": 1, "embedded": 1}


def test_a_page_of_several_packed_parts_is_read_whole(site: Site) -> None:
    site.pages["/a"] = lambda request: request.answer(
        200, gzip.compress(b"<p>One.") + gzip.compress(b"<p>Two.") + b"\0" * 9, Content_Encoding="gzip"
    )
    source = opened(f"{site.url}/a")
    (file,) = source.list(ALL, Checkpoints()).found
    assert file.item
    assert source.reader.fetch(file.item) == b"<p>One.<p>Two."  # type: ignore[attr-defined]
