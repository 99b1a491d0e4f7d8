"""Feed: the entries of an RSS or Atom feed as documents, which stay when the feed no longer shows them."""

import json
from collections.abc import Iterator
from html import escape
from io import BytesIO
from typing import Any
from urllib.parse import urljoin

from pydantic import Field, field_validator

from docmill.storage.errors import Rejected, SourceError
from docmill.storage.keys import hash_bytes
from docmill.tasks.sources.connectors.contract import OwnConnector, SourceItem, SourceListing
from docmill.tasks.sources.connectors.source_settings import WATCH_S, SourceSettings
from docmill.tasks.sources.connectors.spool import Spool
from docmill.tasks.sources.connectors.text_entries import Names
from docmill.tasks.sources.web.web_client import PageMarks, WebClient, refused
from docmill.tasks.sources.web.web_pages import canonical

_MOST_BYTES = 50_000_000
"""Bytes of a feed: the largest in use, those of podcasts, have some ten million."""
_SAME = 304
_TEXTS = ("encoded", "content", "description", "summary")
_AUTHORS = ("author", "creator")
_DATES = ("published", "pubDate", "date", "updated")
"""The elements of an entry with its text, its author and its date; the first present one counts."""


class FeedSettings(SourceSettings):
    """An RSS or Atom feed. An entry stays in the store when the feed no longer shows it."""

    url: str = Field(description="The address of the feed.")
    private: bool = Field(default=False, description="Allow addresses of private networks, also after a redirect.")
    timeout_s: float = Field(default=30.0, gt=0, description="Seconds to wait for an answer.")
    watch_s: float = Field(default=300.0, ge=0, description=WATCH_S)

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        if not canonical(url, url):
            raise ValueError("write https://HOST/PATH, without user and password")
        return url


class FeedReader:
    """Reads a feed. Entries come with the feed, so none is fetched separately."""

    def __init__(self, settings: FeedSettings) -> None:
        self._url = settings.url
        self._client = WebClient(self._url, "", settings.private, settings.timeout_s, 0.0, _MOST_BYTES)
        self._spool = Spool()
        self._links: dict[str, str] = {}
        self._marks = PageMarks(self._client)

    def list(self, checkpoint: str) -> SourceListing:
        """Return the entries in the feed; the checkpoint has the feed's entity tag, and the links of all entries."""
        known: dict[str, Any] = json.loads(checkpoint) if checkpoint else {"etag": "", "modified": "", "links": {}}
        self._links = known["links"]
        try:
            answer = self._client.get(self._url, known["etag"], known["modified"])
        except Rejected as error:
            raise SourceError(error.message) from None
        if wrong := refused(answer):
            raise wrong
        items = {} if answer.status == _SAME else self._items(answer.data)
        tags = {"etag": answer.headers.get("etag", known["etag"])}
        tags["modified"] = answer.headers.get("last-modified", known["modified"])
        state = json.dumps({**tags, "links": self._links})
        return SourceListing(items.values(), state, gone=() if checkpoint else None)

    def fetch(self, item: SourceItem) -> bytes:
        """Return an entry as an HTML page."""
        data = self._spool.get(item.name)
        if data is None:  # an earlier run listed it
            self._items(self._client.get(self._url).data)
            data = self._spool.get(item.name)
        if data is None:
            raise Rejected("unreadable", "the feed does not show it any more")
        return data

    def mark(self) -> str:
        """Return the hash of the feed."""
        try:
            return self._marks.of(self._url).hash
        except Rejected as error:
            raise SourceError(error.message) from None

    def link(self, item: SourceItem) -> str:
        """Return the address of an entry."""
        return self._links.get(item.name, "")

    def _items(self, data: bytes) -> dict[str, SourceItem]:
        items, names = dict[str, SourceItem](), Names(".html")
        for entry in _entries(data, self._url):
            name = names.of(entry.get("id") or entry.get("guid") or entry.get("address") or entry["title"])
            page = _page(entry)
            self._spool.put(name, page)
            self._links[name] = entry["link"]
            items[name] = SourceItem(name, hash_bytes(page), len(page))
        return items


def _entries(data: bytes, url: str) -> Iterator[dict[str, str]]:
    """Yield the entries of a feed: texts by element name; raise `SourceError` if it is not a feed."""
    from lxml import etree

    # Entities are not resolved and nothing is loaded, because the file may come from anyone.
    options = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    root = ""
    try:
        for event, node in etree.iterparse(BytesIO(data), events=("start", "end"), **options):
            name = node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
            root = root or name
            if event == "end" and name in ("item", "entry"):
                yield _entry(node, url)
                node.clear()
    except etree.XMLSyntaxError as error:
        raise SourceError(f"{url} is no feed, or cut off: {error.msg}") from None
    if root not in ("rss", "feed", "RDF"):
        raise SourceError(f"{url} is no feed of RSS or Atom; its first element is <{root}>")


def _entry(node: Any, url: str) -> dict[str, str]:
    found = {"title": "", "link": ""}
    for one in node:
        name = one.tag.rpartition("}")[2] if isinstance(one.tag, str) else ""
        text = "".join(one.itertext()).strip()
        if name == "link" and one.get("rel", "alternate") == "alternate":
            named, text = _address(url, one.get("href") or text)
            found.setdefault("address", named)
        if text and not found.get(name):
            found[name] = text
    return found


def _address(url: str, link: str) -> tuple[str, str]:
    """Return a link as it identifies an entry without an id, and as it is requested; both are empty if it is none."""
    plain = canonical(url, link)
    return urljoin(url, link) if plain else "", plain


def _page(entry: dict[str, str]) -> bytes:
    """Return an entry as HTML, with title, author and date in the usual elements."""
    told = {"author": _first(entry, _AUTHORS), "date": _first(entry, _DATES)}
    notes = "".join(f'<meta name="{name}" content="{escape(value)}">' for name, value in told.items() if value)
    title, text = escape(entry["title"]), _first(entry, _TEXTS)
    head = f'<meta charset="utf-8"><title>{title}</title>{notes}'
    return f"<html><head>{head}</head><body><h1>{title}</h1>\n{text}</body></html>".encode()


def _first(entry: dict[str, str], names: tuple[str, ...]) -> str:
    return next((entry[name] for name in names if entry.get(name)), "")


CONNECTOR = OwnConnector(FeedSettings, FeedReader)
