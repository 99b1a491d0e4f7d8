"""Web: pages of a site, one by one, by its sitemap or by following links; unchanged pages are not sent again."""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import partial
from urllib.parse import unquote, urljoin, urlsplit

from pydantic import Field, field_validator, model_validator

from docmill.storage.errors import DocmillError, Rejected, SourceError, Transient
from docmill.storage.keys import hash_bytes, key_of
from docmill.storage.plugins.secret import Secret
from docmill.tasks.sources.connectors.contract import OwnConnector, SourceItem, SourceListing
from docmill.tasks.sources.connectors.source_settings import WATCH_S, SourceSettings
from docmill.tasks.sources.connectors.spool import Spool
from docmill.tasks.sources.connectors.text_entries import Names
from docmill.tasks.sources.web.web_client import (
    AGENT,
    REDIRECTS,
    PageMarks,
    WebAnswer,
    WebClient,
    refused,
    told_ns,
    unpacked,
)
from docmill.tasks.sources.web.web_pages import (
    Robots,
    Sitemap,
    begins_sitemap,
    canonical,
    in_own_charset,
    path_of,
    robots_in,
    said_by,
    sitemap_in,
)

_ELSEWHERE = (*REDIRECTS, 404, 410)
"""The statuses of a page that is gone, or redirects to where the source does not read."""
_MOST_SITEMAPS = 500
"""Sitemaps that one index may name: each may have 50,000 pages."""
_UNREAD = "unread"
"""The version of an unknown page that could not be requested: fetching it gives the reason."""
_LEFT_OUT = "not read: "
"""The start of the version of the first page that a full crawl left out; fetching rejects that page with this text."""


class WebSettings(SourceSettings):
    """Pages of one host. A sitemap gives its pages, any other page itself and, with `depth`, pages linked from it."""

    url: str = Field(default="", description="The page or the sitemap. The address of the source sets it.")
    urls: tuple[str, ...] = Field(default=(), description="Further pages or sitemaps of the same host.")
    depth: int = Field(default=0, ge=0, le=50, description="How many links to follow from a page.")
    include: tuple[str, ...] = Field(
        default=(),
        description="Paths of pages to read, such as /docs/*; empty reads all. The first pages are read anyway.",
    )
    exclude: tuple[str, ...] = Field(default=(), description="Paths of pages to leave out, such as */print/*.")
    most_pages: int = Field(
        default=10_000, ge=1, description="Maximum number of pages; a reject names the omitted ones."
    )
    page_bytes: int = Field(default=50_000_000, ge=1, description="Maximum size of a page, in bytes, unpacked.")
    delay_s: float = Field(
        default=0.5,
        ge=0,
        le=60,
        description="Seconds between two requests; a longer Crawl-delay of robots.txt applies.",
    )
    timeout_s: float = Field(default=30.0, gt=0, description="Seconds to wait for an answer.")
    robots: bool = Field(default=True, description="Obey robots.txt.")
    private: bool = Field(default=False, description="Allow addresses of private networks, also after a redirect.")
    token: Secret | None = Field(default=None, description="Bearer token, sent to this host alone.")
    watch_s: float = Field(default=60.0, ge=0, description=WATCH_S)

    @model_validator(mode="after")
    def _check_hosts(self) -> "WebSettings":
        hosts = {urlsplit(one).netloc for one in self.starts}
        if len(hosts) != 1:
            raise ValueError(f"give pages of one host, got {', '.join(sorted(hosts)) or 'none'}")
        return self

    @field_validator("url", "urls")
    @classmethod
    def _check_url(cls, given: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for url in [given] if isinstance(given, str) else given:
            if url and not canonical(url, url):
                raise ValueError("write https://HOST/PATH, without user and password")
        return given

    @property
    def starts(self) -> tuple[str, ...]:
        """The first pages."""
        return tuple(canonical(one, one) for one in (self.url, *self.urls) if one)


@dataclass
class Known:
    """What is known about a page: its request headers, the path, name and version of its document, and its links.

    `own` is the address that the page or a redirect gives as its own, "" for the requested one.
    """

    path: str = ""
    name: str = ""
    version: str = ""
    etag: str = ""
    modified: str = ""
    lastmod: str = ""
    links: tuple[str, ...] = ()
    own: str = ""
    hidden: bool = False


class WebReader:
    """Reads pages. Pages that a listing had to read are kept, so that no page is requested twice."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        token = f"Bearer {settings.token.read()}" if settings.token else ""
        first = settings.starts[0]
        self._host = urlsplit(first).netloc
        self._client = WebClient(
            first, token, settings.private, settings.timeout_s, settings.delay_s, settings.page_bytes
        )
        self._spool = Spool()
        self._urls: dict[str, tuple[str, str]] = {}
        """Where each document was read, and its own address."""
        self._marks = PageMarks(self._client)

    def list(self, checkpoint: str) -> SourceListing:
        """Return all pages; the checkpoint has what is known about each."""
        before = {url: _known(told) for url, told in json.loads(checkpoint).items()} if checkpoint else {}
        self._spool.clear()
        self._urls = {}
        found = dict[str, Known]()
        state = partial(_state_of, found)
        return SourceListing(self._items(before, found), state)

    def _items(self, before: dict[str, Known], found: dict[str, Known]) -> Iterator[SourceItem]:
        """Yield the documents of pages while requesting them; record in `found` what is known about each page."""
        try:
            for url, known in self._pages(before, Names("", {known.path: known.name for known in before.values()})):
                found[url] = known
                if not known.hidden and known.name not in self._urls:
                    self._urls[known.name] = url, known.own or url
                    yield SourceItem(known.name, known.version, modified_ns=told_ns(known.modified))
        except Rejected as error:  # of robots.txt or a sitemap, without which nothing is known
            raise SourceError(error.message) from None

    def fetch(self, item: SourceItem) -> bytes:
        """Return the bytes of a page that was listed."""
        data = self._spool.get(item.name)
        if data is not None:
            return data
        if item.name not in self._urls:
            raise Rejected("unreadable", "no page of this name was listed")
        if item.version.startswith(_LEFT_OUT):
            raise Rejected("unreadable", item.version)
        try:
            answer = self._client.get(self._urls[item.name][0])
        except Transient as error:
            if item.version.startswith(_UNREAD):  # it failed in the listing, too: one page, not the source
                raise Rejected("unreadable", _message(error)) from None
            raise
        if wrong := refused(answer):
            raise Rejected("unreadable", str(wrong))
        return in_own_charset(answer.data, answer.headers.get("content-type", ""))

    def link(self, item: SourceItem) -> str:
        """Return the address of the page."""
        return self._urls.get(item.name, ("", ""))[1]

    def mark(self) -> str | None:
        """Return a text that changes with the first pages, or with the times in their sitemaps; None for a crawl."""
        if self._settings.depth:
            return None
        try:
            told = [self._told(url) for url in self._settings.starts]
        except Rejected as error:
            raise SourceError(error.message) from None
        return key_of(*(one or "" for one in told)) if all(told) else None

    def _told(self, url: str, is_inner: bool = False) -> str | None:
        """Return a text that changes with a page, or with the pages of a sitemap; None if that gives no times."""
        mark = self._marks.of(url)
        found = self._sitemap_in(mark.answer)
        if found is None:
            return None if is_inner else mark.hash
        inner = [] if is_inner else [self._told(one, is_inner=True) for one in self._inner(found)]
        return key_of(mark.hash, *filter(None, inner)) if all((*found.pages.values(), *inner)) else None

    def _inner(self, sitemap: Sitemap) -> Sequence[str]:
        """Return the sitemaps on this host that a sitemap names."""
        return [one for one in sitemap.sitemaps[:_MOST_SITEMAPS] if urlsplit(one).netloc == self._host]

    def _pages(self, before: dict[str, Known], names: Names) -> Iterator[tuple[str, Known]]:
        """Yield pages with what is now known about them, breadth first."""
        tour = _Tour(self._rules(), names)
        due = deque((url, 0, "") for url in self._settings.starts)
        seen, count = {*self._settings.starts}, 0
        while due and count < self._settings.most_pages:
            url, depth, lastmod = due.popleft()
            if not tour.rules.allow(url):
                self._refuse_start(url, depth)
                continue
            known, pages = self._look(_Due(url, depth, lastmod, before.get(url)), tour)
            if known is not None:
                count += 1
                yield url, known
                pages = dict.fromkeys(known.links, "") if depth < self._settings.depth else {}
            new = {link: time for link, time in pages.items() if link not in seen and self._is_wanted(link)}
            seen.update(new)
            due.extend((link, depth + 1, time) for link, time in new.items())
        yield from self._left_out(due, tour)

    def _left_out(self, due: Iterable[tuple[str, int, str]], tour: "_Tour") -> Iterator[tuple[str, Known]]:
        """Yield the first of the pages that were found but not read, if any, to be rejected with the reason."""
        left, most = [url for url, *_ in due if tour.rules.allow(url)], self._settings.most_pages
        if left:
            path = path_of(left[0], "text/html")
            why = f"{_LEFT_OUT}the crawl ended at {most:,} pages and had found {len(left):,} more; raise most_pages"
            yield left[0], Known(path, tour.names.of(path), why)

    def _refuse_start(self, url: str, depth: int) -> None:
        if depth == 0:
            raise SourceError(f"robots.txt of {self._host} allows no program to read {url} (robots = false ignores it)")

    def _is_wanted(self, url: str) -> bool:
        parts, settings = urlsplit(url), self._settings
        if parts.netloc != self._host:
            return False
        paths = parts.path, unquote(parts.path)
        included, excluded = (
            any(fnmatchcase(path, one) for one in patterns for path in paths)
            for patterns in (settings.include, settings.exclude)
        )
        return (included or not settings.include) and not excluded

    def _look(self, due: "_Due", tour: "_Tour") -> tuple[Known | None, Mapping[str, str]]:
        """Return what is now known about a page, None if it is gone or a sitemap, and the pages of a sitemap."""
        known = due.known
        if known and due.lastmod and known.lastmod == due.lastmod:
            return known, {}
        try:
            answer = self._asked(due, tour.rules)
            if answer.status in _ELSEWHERE:
                return None, {}
            if answer.status == _SAME and known:
                known.lastmod = due.lastmod
                return known, {}
            sitemap = self._sitemap(answer)
            self._check_host(due, answer, is_list=sitemap is not None)
            return (None, sitemap.pages) if sitemap else (self._read(due, answer, tour.names), {})
        except DocmillError as error:
            return self._unseen(due, tour.names, error), {}

    def _asked(self, due: "_Due", rules: Robots) -> WebAnswer:
        """Return the answer for a page; raise if it could not be requested. A page may be gone or redirect elsewhere.

        A first page may not, because all others would be lost with it, unless it is one of a list and was there before.
        """

        def follows(to: str) -> bool:
            is_here = urlsplit(to).netloc == self._host
            return (rules.allow(to) or not is_here) if due.depth == 0 else (rules.allow(to) and self._is_wanted(to))

        known = due.known
        answer = self._client.get(
            due.url, known.etag if known else "", known.modified if known else "", follows=follows
        )
        error = refused(answer)
        if error and (answer.status not in _ELSEWHERE or self._is_needed(due)):
            raise error
        return answer

    def _is_needed(self, due: "_Due") -> bool:
        """Return whether nothing about the source is known without this page."""
        return due.depth == 0 and (not due.known or self._settings.depth > 0 or len(self._settings.starts) == 1)

    def _check_host(self, due: "_Due", answer: WebAnswer, is_list: bool) -> None:
        """Raise `SourceError` if all pages that a first page names would be on another host."""
        if (is_list or self._settings.depth) and due.depth == 0 and urlsplit(answer.url).netloc != self._host:
            raise SourceError(f"{due.url} leads to {answer.url}, which is another host: give that address")

    def _unseen(self, due: "_Due", names: Names, error: DocmillError) -> Known:
        """Return what is known about a page that could not be requested; if nothing, that it is unread."""
        if self._is_needed(due):
            raise error if isinstance(error, Transient) else SourceError(_message(error)) from None
        path = path_of(due.url, "text/html")
        return due.known or Known(path, names.of(path), f"{_UNREAD} {key_of(_message(error))}")

    def _sitemap(self, answer: WebAnswer) -> Sitemap | None:
        """Return the sitemap in an answer, including the pages of the sitemaps that it names."""
        found = self._sitemap_in(answer)
        if not found or not found.sitemaps:
            return found
        if len(found.sitemaps) > _MOST_SITEMAPS:
            raise SourceError(f"{answer.url} names more than {_MOST_SITEMAPS} sitemaps: give some of them as urls")
        pages = dict[str, str]()
        for url in self._inner(found):
            inner = self._client.get(url)
            if error := refused(inner):
                raise Transient(f"a sitemap could not be read: {error}")
            named = self._sitemap_in(inner)
            pages |= named.pages if named else {}
        return Sitemap(pages)

    def _sitemap_in(self, answer: WebAnswer) -> Sitemap | None:
        return sitemap_in(unpacked(answer.data, self._settings.page_bytes, begins_sitemap), answer.url)

    def _read(self, due: "_Due", answer: WebAnswer, names: Names) -> Known:
        """Return what an answer shows about a page, and keep its bytes."""
        kind = answer.headers.get("content-type", "")
        data, said = in_own_charset(answer.data, kind), said_by(answer.data, answer.headers, answer.url)
        here = (one for one in (said.own, answer.url) if urlsplit(one).netloc == self._host and one != due.url)
        own = next(here, "")
        path = path_of(own or due.url, kind)
        name = names.of(path)
        if name not in self._urls:  # of pages that give the same address as their own, the first counts
            self._spool.put(name, data)
        etag, modified = answer.headers.get("etag", ""), answer.headers.get("last-modified", "")
        return Known(path, name, hash_bytes(data), etag, modified, due.lastmod, said.links, own, said.is_hidden)

    def _rules(self) -> Robots:
        """Return what robots.txt allows; raise `Transient` if it cannot be requested."""
        said = ""
        if self._settings.robots:
            answer = self._client.get(urljoin(self._settings.starts[0], "/robots.txt"))
            if answer.status >= _BROKEN:
                raise Transient(f"{answer.url} answers {answer.status}, so what may be read is not known")
            said = answer.data.decode("utf-8", "replace") if answer.status == _OK else ""
        rules = robots_in(said, AGENT)  # without rules, everything is allowed
        self._client.delay_s = max(self._settings.delay_s, min(rules.delay_s, _MOST_DELAY_S))
        return rules


@dataclass(frozen=True, slots=True)
class _Tour:
    """What a listing of a site follows: its robots.txt, and the names of its documents."""

    rules: Robots
    names: Names


@dataclass(frozen=True, slots=True)
class _Due:
    """A page to request: how many links away it was found, its time in the sitemap, and what is known about it."""

    url: str
    depth: int
    lastmod: str
    known: Known | None


_OK, _SAME, _BROKEN = 200, 304, 500
_MOST_DELAY_S = 60.0
"""Seconds of a Crawl-delay: a longer one would make a run of a hundred pages take hours."""


def _state_of(found: Mapping[str, Known]) -> str:
    return json.dumps({url: asdict(known) for url, known in found.items()})


def _known(told: dict[str, object]) -> Known:
    known = Known(**told)  # type: ignore[arg-type]
    known.links = tuple(known.links)
    return known


def _message(error: Exception) -> str:
    return error.message if isinstance(error, Rejected) else re.sub(r"\s+", " ", str(error))


CONNECTOR = OwnConnector(WebSettings, WebReader, version=2)
