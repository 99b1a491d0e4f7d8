"""Pages of web sites: only changed ones are sent again, and hostile servers end in one clear line."""

import gzip
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from docmill.storage.errors import ConfigError, Rejected, SourceError, Transient
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions, Source
from docmill.tasks.sources.web import web_client
from docmill.tasks.sources.web.web_client import is_public
from docmill.testing import SourceSuite
from tests.kit.servers.faults import FAULTS, at_fault
from tests.kit.site import Site, site_on_loopback
from tests.kit.workbench import Workbench, summary
from tests.kit.writers.certificates import write_certificates

ALL = DiscoverOptions(may_be_empty=True)


def page(title: str, *links: str, head: str = "") -> str:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    body = f"<h1>{title}</h1><p>On {title}. {anchors}</p>"
    return f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


def sitemap(site: Site, pages: dict[str, str]) -> bytes:
    rows = "".join(f"<url><loc>{site.url}{path}</loc><lastmod>{time}</lastmod></url>" for path, time in pages.items())
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'.encode()


@pytest.fixture
def site() -> Iterator[Site]:
    with site_on_loopback() as made:
        made.pages |= {
            "/": page("Start", "/a", "/deep/b.html#part", "https://elsewhere.example/x", "/private/c"),
            "/a": page("Auk", "/", "/deep/d"),
            "/deep/b.html": page("Bee"),
            "/deep/d": page("Dove"),
            "/private/c": page("Cat"),
            "/robots.txt": "User-agent: *\nDisallow: /private/\n",
        }
        yield made


QUICK = {"private": True, "delay_s": 0, "timeout_s": 2}


def opened(url: str, **more: Any) -> Source:
    return open_source(f"site={url}", {"site": {**QUICK, **more}})


def listed(url: str, **more: Any) -> list[str]:
    return [file.uri.partition("/")[2] for file in opened(url, **more).list(ALL, Checkpoints()).found]


def test_one_page_a_list_and_a_crawl_of_a_depth(site: Site) -> None:
    assert listed(f"{site.url}/a") == ["a.html"]
    assert listed(f"{site.url}/a", urls=[f"{site.url}/deep/b.html"]) == ["a.html", "deep/b.html"]
    assert listed(site.url, depth=1) == ["a.html", "deep/b.html", "index.html"]
    assert listed(site.url, depth=2) == ["a.html", "deep/b.html", "deep/d.html", "index.html"]
    assert listed(site.url, depth=2, include=["/deep/*"]) == ["deep/b.html", "index.html"]
    assert listed(site.url, depth=2, exclude=["/deep/*"]) == ["a.html", "index.html"]
    assert "private/c.html" in listed(site.url, depth=1, robots=False)


def test_a_crawl_that_ends_at_its_limit_says_so(site: Site, bench: Callable[..., Workbench]) -> None:
    work = bench(site={**QUICK, "depth": 9, "most_pages": 2})
    report = work.ingest(f"site={site.url}/")
    assert [row.uri for row in work.chunks()] == ["site/a.html", "site/index.html"]
    assert [(row.uri, row.reason) for row in report.rejects] == [("site/deep/b.html", "unreadable")]
    assert "ended at 2 pages and had found 2 more; raise most_pages" in report.rejects[0].message
    assert "/deep/b.html" not in site.sent
    work.settings["source"]["site"]["most_pages"] = 4  # all but what robots.txt forbids
    assert not work.ingest(f"site={site.url}/").rejects
    assert len(work.chunks()) == 4


def test_an_index_of_too_many_sitemaps_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmill.tasks.sources.web.web._MOST_SITEMAPS", 1)
    rows = "".join(f"<sitemap><loc>{site.url}/{name}.xml</loc></sitemap>" for name in "ab")
    site.pages["/all.xml"] = f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</sitemapindex>'
    site.pages["/a.xml"] = site.pages["/b.xml"] = sitemap(site, {"/a": "2026-01-01"})
    with pytest.raises(SourceError, match="more than 1 sitemaps"):
        listed(f"{site.url}/all.xml")


def test_only_changed_pages_are_sent_again(site: Site, bench: Callable[..., Workbench]) -> None:
    work = bench(site={**QUICK, "depth": 5})
    source = f"site={site.url}/"
    assert summary(work.ingest(source)) == {"added": 4, "parsed": 4, "embedded": 4}
    assert sorted(site.sent) == ["/", "/a", "/deep/b.html", "/deep/d", "/robots.txt"]
    with work.store as store:
        rows = store.sql("SELECT title, source_url FROM documents WHERE uri LIKE '%/a.html'").to_pylist()
    assert rows == [{"title": "Auk", "source_url": f"{site.url}/a"}]
    site.clear()
    assert work.ingest(source).snapshot is None
    assert site.sent == ["/robots.txt"]
    site.pages["/a"] = page("Awl", "/", "/deep/d")
    site.clear()
    assert summary(work.ingest(source)) == {"changed": 1, "unchanged": 3, "parsed": 1, "embedded": 1}
    assert site.sent == ["/robots.txt", "/a"]


def test_a_sitemap_with_times_asks_for_changed_pages_alone(site: Site, bench: Callable[..., Workbench]) -> None:
    times = {"/a": "2026-01-01", "/deep/b.html": "2026-01-01", "/private/c": "2026-01-01"}
    site.types["/sitemap.xml"] = "application/xml"
    site.pages["/sitemap.xml"] = sitemap(site, times)
    work = bench(site=QUICK)
    source = f"site={site.url}/sitemap.xml"
    assert work.ingest(source).documents.added == 2
    site.clear()
    assert work.ingest(source).snapshot is None
    assert site.asked == ["/robots.txt", "/sitemap.xml"]
    site.pages["/a"] = page("Awl")
    site.pages["/sitemap.xml"] = sitemap(site, times | {"/a": "2026-02-01"})
    site.clear()
    assert summary(work.ingest(source)) == {"changed": 1, "unchanged": 1, "parsed": 1, "embedded": 1}
    assert site.asked == ["/robots.txt", "/sitemap.xml", "/a"]


def test_an_index_of_packed_sitemaps_is_read(site: Site) -> None:
    index = f"<sitemapindex><sitemap><loc>{site.url}/one.xml.gz</loc></sitemap></sitemapindex>"
    site.pages["/sitemap.xml"], site.pages["/one.xml.gz"] = index, gzip.compress(sitemap(site, {"/a": ""}))
    assert listed(f"{site.url}/sitemap.xml") == ["a.html"]
    for cut in (gzip.compress(sitemap(site, {"/a": ""})[:-30]), gzip.compress(sitemap(site, {"/a": ""}))[:-12]):
        site.pages["/one.xml.gz"] = cut
        with pytest.raises(SourceError, match=r"the sitemap \S+/one.xml.gz is damaged or cut off"):
            listed(f"{site.url}/sitemap.xml")


def test_gone_is_told_from_could_not_look(site: Site, bench: Callable[..., Workbench]) -> None:
    work = bench(site={**QUICK, "depth": 5})
    source = f"site={site.url}/"
    work.ingest(source)
    site.pages["/a"] = lambda request: request.answer(500)
    assert work.ingest(source, allow_delete=True).snapshot is None  # what /a links to is still there as well
    del site.pages["/deep/b.html"]
    assert work.ingest(source).documents.deleted == 1
    kept = site.pages.pop("/robots.txt")
    site.pages["/robots.txt"] = lambda request: request.answer(500)
    with pytest.raises(Transient, match="so what may be read is not known"):
        work.ingest(source, allow_delete=True)
    site.pages["/robots.txt"] = kept
    del site.pages["/"]
    with pytest.raises(SourceError, match="answers 404"):
        work.ingest(source, allow_delete=True)


def test_a_page_that_could_never_be_looked_at_is_a_reject(site: Site, bench: Callable[..., Workbench]) -> None:
    site.pages["/a"] = lambda request: request.answer(403)
    report = bench(site={**QUICK, "depth": 1}).ingest(f"site={site.url}/")
    assert [(one.reason, "answers 403: it wants credentials" in one.message) for one in report.rejects] == [
        ("unreadable", True)
    ]


def test_a_busy_server_is_given_the_time_that_it_asks_for(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    answers = [("429", "7"), ("503", "2")]

    def busy(request: Any) -> None:
        if answers:
            status, wait = answers.pop(0)
            request.answer(int(status), Retry_After=wait)
        else:
            request.page(b"<p>At last.</p>")

    site.pages["/a"] = busy
    assert listed(f"{site.url}/a") == ["a.html"]
    assert [wait for wait in waits if wait >= 1] == [7.0, 2.0]
    answers.append(("429", "86400"))
    with pytest.raises(Transient, match="answers 429; it is asked again at the next run"):
        listed(f"{site.url}/a")


def test_a_page_has_one_document_under_its_own_address_and_its_charset(site: Site) -> None:
    own = f'<link rel="canonical" href="{site.url}/a">'
    site.pages["/a?utm=1"] = page("Auk", head=own)
    site.pages["/"] = page("Start", "/a", "/a?utm=1", "/hidden")
    site.pages["/hidden"] = page("Hidden", head='<meta name="robots" content="noindex">')
    assert listed(site.url, depth=1) == ["a.html", "index.html"]
    site.pages["/l"], site.types["/l"] = "<p>Grüße</p>".encode("latin-1"), "text/html; charset=iso-8859-1"
    source = opened(f"{site.url}/l")
    (file,) = source.list(ALL, Checkpoints()).found
    assert file.item
    assert source.reader.fetch(file.item).decode("utf-8-sig") == "<p>Grüße</p>"  # type: ignore[attr-defined]


def moved(to: str) -> Callable[[Any], None]:
    return lambda request: request.answer(302, Location=to)


BOMB = gzip.compress(b"a" * 50_000_000)


def bomb(request: Any) -> None:
    request.answer(200, BOMB, Content_Encoding="gzip")


def twice_packed(request: Any) -> None:
    request.answer(200, gzip.compress(gzip.compress(b"a")), Content_Encoding="gzip, gzip")


def endless(request: Any) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(10 * 1024**3))
    request.end_headers()
    try:
        while True:
            request.wfile.write(b"a" * 65_536)
    except OSError:
        pass


def cut_off(request: Any) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b"half")


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (moved("/a"), SourceError, "redirects more than 5 times"),
        (moved("file:///etc/passwd"), SourceError, r"'file:///etc/passwd' is no address of the web"),
        (moved("http://me:secret@127.0.0.1/"), SourceError, "is no address of the web"),
        (moved("/account/login?next=a"), SourceError, "leads to a login page"),
        (bomb, SourceError, "has more than 1000000 bytes"),
        (twice_packed, SourceError, "is packed by 'gzip, gzip', which nobody asked for"),
        (endless, SourceError, "has more than 1000000 bytes"),
        (cut_off, Transient, "does not answer: peer closed connection"),
        (lambda request: request.answer(401), SourceError, "answers 401: it wants credentials"),
        (lambda request: request.answer(404), SourceError, "answers 404"),
    ],
)
def test_what_a_hostile_server_does_ends_in_one_line(
    site: Site, answer: Callable[[Any], None], error: type[Exception], message: str
) -> None:
    site.pages["/a"] = answer
    with pytest.raises(error, match=message) as caught:
        listed(f"{site.url}/a", page_bytes=1_000_000)
    assert "\n" not in str(caught.value)


def test_no_address_of_a_private_network_is_asked_also_after_a_redirect(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError, match=r"127.0.0.1 is an address of a private network \(private = true"):
        listed(f"{site.url}/a", private=False)
    assert site.asked == []
    monkeypatch.setattr(web_client, "is_public", lambda address: address == "127.0.0.2")
    for to in ("http://169.254.169.254/latest/meta-data/", f"{site.url}/deep/d", "http://[::1]/"):
        site.clear()
        site.pages["/moved"] = moved(to)
        with pytest.raises(SourceError, match="an address of a private network"):
            listed(f"http://127.0.0.2:{site.port}/moved", private=False)
        assert site.asked == ["/robots.txt", "/moved"]


def test_a_second_answer_of_the_name_service_is_never_asked_for(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    found, answers = socket.getaddrinfo, ["127.0.0.2", "127.0.0.2"]

    def rebinding(host: Any, *more: Any, **named: Any) -> Any:
        if host == "rebind.example":
            return found(answers.pop(0) if answers else "127.0.0.1", *more, **named)
        return found(host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(web_client, "is_public", lambda address: address == "127.0.0.2")
    assert listed(f"http://rebind.example:{site.port}/a", private=False) == ["a.html"]
    assert site.places == ["127.0.0.2", "127.0.0.2"]  # robots.txt and the page: two look-ups, and two connections
    with pytest.raises(SourceError, match=r"rebind.example is 127.0.0.1, an address of a private network"):
        listed(f"http://rebind.example:{site.port}/a", private=False)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        *((one, False) for one in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1")),
        *(
            (one, False)
            for one in ("::1", "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1")
        ),
    ],
)
def test_private_addresses_are_known_in_all_their_spellings(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_token_stays_with_its_host(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens: list[str | None] = []

    def told(request: Any) -> None:
        tokens.append(request.headers.get("Authorization"))
        request.page(b"<p>Told.</p>")

    monkeypatch.setenv("SITE_TOKEN", "hunter2-hunter2")
    site.pages["/a"] = moved(f"http://127.0.0.2:{site.port}/b")
    site.pages["/b"] = told
    token = {"token": {"env": "SITE_TOKEN"}}
    listed(f"{site.url}/b", **token)
    listed(f"{site.url}/a", **token)
    assert tokens == ["Bearer hunter2-hunter2", None]


def test_a_token_is_sent_to_no_other_port_and_never_less_encrypted(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths, context = write_certificates(tmp_path), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(paths["tls_cert"], paths["tls_key"])
    tokens: list[str | None] = []

    def told(request: Any) -> None:
        tokens.append(request.headers.get("Authorization"))
        request.page(b"<p>Told.</p>")

    site.pages["/plain"] = told
    monkeypatch.setenv("SITE_TOKEN", "hunter2-hunter2")
    with site_on_loopback() as other, site_on_loopback(context) as secure:
        other.pages["/"] = secure.pages["/"] = moved(f"{site.url}/plain")
        for first in (f"{other.url}/", f"https://127.0.0.1:{secure.port}/"):
            source = opened(first, token={"env": "SITE_TOKEN"})
            client = source.reader._client  # type: ignore[attr-defined]
            client._client = httpx.Client(verify=False)  # its certificate is the test's own
            client.get(first)
    assert tokens == [None, None]


@pytest.mark.parametrize(
    ("url", "more", "message"),
    [
        ("https://me:secret@example.org/", {}, "write https://HOST/PATH, without user and password"),
        (
            "https://example.org/",
            {"urls": ["https://other.example/"]},
            "give pages of one host, got example.org, other",
        ),
        ("https://example.org/", {"dept": 2}, "no such key; the nearest is 'depth'"),
    ],
)
def test_wrong_settings_are_told(url: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        opened(url, **more)
    assert "secret" not in str(caught.value)


def test_a_host_that_is_not_there_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: Any, **__: Any) -> Any:
        raise socket.gaierror("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    with pytest.raises(Transient, match=r"there is no host 'no-such-host.example'"):
        listed("https://no-such-host.example/")


def test_an_item_that_is_fetched_later_is_asked_for(site: Site) -> None:
    source, checkpoints = opened(f"{site.url}/a"), Checkpoints()
    source.list(ALL, checkpoints)
    (file,) = source.list(ALL, checkpoints).found  # it is the same, so it was not sent
    assert file.item
    assert b"Auk" in source.reader.fetch(file.item)  # type: ignore[attr-defined]
    del site.pages["/a"]
    with pytest.raises(Rejected, match="answers 404"):
        source.reader.fetch(file.item)  # type: ignore[attr-defined]


def test_hostile_names_of_pages_are_safe_names_of_documents(site: Site, bench: Callable[..., Workbench]) -> None:
    paths = [
        "/%2e%2e/%2e%2e/etc/passwd",
        "/a%00b",
        "/..%5c..%5cwin",
        f"/{'x' * 1500}",
        "/con.html",
        "/%1b%5b2J",
        "/.hidden",
    ]
    for path in paths:
        site.pages[path] = page("Odd")
    site.pages["/"] = page("Start", *paths)
    work = bench(site={**QUICK, "depth": 1})
    report = work.ingest(f"site={site.url}/")
    assert not report.rejects
    with work.store as store:
        uris = [row["uri"] for row in store.sql("SELECT uri FROM documents").to_pylist()]
    assert len(uris) == len(paths) + 1
    assert all(uri.startswith("site/") and uri.isprintable() and len(uri) < 1_024 for uri in uris)
    assert not [uri for uri in uris if ".." in uri.split("/") or "\\" in uri]


def test_a_certificate_that_is_not_accepted_is_told(tmp_path: Path) -> None:
    paths = write_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(paths["tls_cert"], paths["tls_key"])
    with site_on_loopback(context) as secure:
        secure.pages["/a"] = page("Auk")
        with pytest.raises(
            SourceError, match=r"the certificate of 127\.0\.0\.1 is not accepted: .*CERTIFICATE_VERIFY"
        ) as caught:
            listed(f"https://127.0.0.1:{secure.port}/a")
        assert secure.asked == []
    assert "\n" not in str(caught.value)


class TestWeb(SourceSuite):
    """The properties of all sources."""

    @pytest.fixture(autouse=True)
    def _serve(self, site: Site) -> None:
        self._site = site

    source = "web://site"

    def table(self) -> dict[str, Any]:
        return {**QUICK, "timeout_s": 1, "url": self._site.url, "depth": 2}

    def faults(self) -> Mapping[str, AbstractContextManager[None]]:
        return {name: at_fault(self._site, fault) for name, fault in FAULTS.items()}
