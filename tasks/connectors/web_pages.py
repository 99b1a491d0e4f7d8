"""Web pages: what a page or a sitemap says: links, its own address, and what it is."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from io import BytesIO
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit, urlunsplit

from docmill.storage.errors import SourceError

SUFFIXES: Mapping[str, str] = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
}
"""The suffix of a page by what its server says it is."""
_HTML = ("text/html", "application/xhtml+xml")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}$", re.IGNORECASE)
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What a sitemap lists: pages with the time that it says, and further sitemaps."""

    pages: Mapping[str, str] = field(default_factory=dict)
    sitemaps: tuple[str, ...] = ()


class _PageNotes(HTMLParser):
    """Collects links, `rel=canonical` and what `meta name=robots` says."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.told, self.robots, self.base = "", "", ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if note := self._NOTES.get(tag):
            note(self, {name: value or "" for name, value in attributes})

    def _link(self, found: Mapping[str, str]) -> None:
        if "href" in found and "nofollow" not in found.get("rel", "").lower():
            self.links.append(found["href"])

    def _relation(self, found: Mapping[str, str]) -> None:
        if "canonical" in found.get("rel", "").lower().split():
            self.told = self.told or found.get("href", "")

    def _meta(self, found: Mapping[str, str]) -> None:
        if found.get("name", "").lower() == "robots":
            self.robots = found.get("content", "").lower()

    def _base(self, found: Mapping[str, str]) -> None:
        self.base = self.base or found.get("href", "")

    _NOTES = {"a": _link, "link": _relation, "meta": _meta, "base": _base}  # noqa: RUF012


@dataclass(frozen=True, slots=True)
class PageWords:
    """What a page of HTML says: links to other pages, its own address if it gives one, and whether to leave it out."""

    links: tuple[str, ...] = ()
    own: str = ""
    is_hidden: bool = False


def said_by(data: bytes, content_type: str, url: str) -> PageWords:
    """Return what a page says; nothing if it is not HTML."""
    if kind_of(content_type) not in _HTML:
        return PageWords()
    reading = _PageNotes()
    reading.feed(data.decode(_declared(content_type) or "utf-8", "replace"))
    base = urljoin(url, reading.base)
    followed = () if "nofollow" in reading.robots or "none" in reading.robots else reading.links
    links = dict.fromkeys(one for link in followed if (one := canonical(base, link)))
    hidden = "noindex" in reading.robots or "none" in reading.robots
    return PageWords(tuple(links), canonical(base, reading.told) if reading.told else "", hidden)


def canonical(base: str, link: str) -> str:
    """Return a link as one spelling of its address: without fragment and default port, or "" if it is none."""
    try:
        parts = urlsplit(urldefrag(urljoin(base, link.strip())).url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        return ""
    shown = f"[{host}]" if ":" in host else host
    if port and port != {"http": 80, "https": 443}[parts.scheme]:
        shown = f"{shown}:{port}"
    return urlunsplit((parts.scheme, shown, parts.path or "/", parts.query, ""))


def kind_of(content_type: str) -> str:
    """Return the media type that a header gives."""
    return content_type.partition(";")[0].strip().lower()


def in_own_charset(data: bytes, content_type: str) -> bytes:
    """Return a text in UTF-8 where its server says another encoding, which the bytes alone would not tell."""
    charset = _declared(content_type)
    if not charset or charset == "utf-8" or not kind_of(content_type).startswith(("text/", "application/xhtml")):
        return data
    return _BOM + data.decode(charset, "replace").encode()


def _declared(content_type: str) -> str:
    found = _CHARSET.search(content_type)
    try:
        return "" if found is None else "utf-8" if not b"".decode(found[1]) and _is_utf8(found[1]) else found[1]
    except LookupError:
        return ""


def _is_utf8(name: str) -> bool:
    return name.lower().replace("_", "-") in ("utf-8", "utf8", "us-ascii")


def path_of(url: str, content_type: str) -> str:
    """Return the path of the document of a page: that on its host, with a suffix that tells its type."""
    parts = urlsplit(url)
    path = f"{parts.path}index" if parts.path.endswith("/") else parts.path
    suffix, found = SUFFIXES.get(kind_of(content_type), ""), _SUFFIX.search(path)
    own = found[0].lower() if found else ""
    if parts.query:
        return f"{path}-{parts.query}{suffix or own}"
    # Many servers say text/plain or XML of files whose names tell more.
    is_told = bool(own) and (suffix != ".html" or own in (".html", ".htm", ".xhtml"))
    return f"{path}{'' if is_told else suffix}"


def sitemap_in(data: bytes, url: str) -> Sitemap | None:
    """Return a sitemap, or None if the file is none; raise `SourceError` if it is damaged."""
    if not re.search(rb"<(?:\w+:)?(?:urlset|sitemapindex)\b", data[:4096]):
        return None
    from lxml import etree

    pages, sitemaps = dict[str, str](), list[str]()
    try:
        for name, told in _entries(data):
            link = canonical(url, told["loc"]) if told.get("loc") else ""
            if link:
                pages[link] = told.get("lastmod", "")
                sitemaps += [link] if name == "sitemap" else []
    except etree.XMLSyntaxError as error:
        raise SourceError(f"the sitemap {url} is damaged or cut off: {error.msg}") from None
    return Sitemap({} if sitemaps else pages, tuple(sitemaps))


def _entries(data: bytes) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the name of each entry of a sitemap, `url` or `sitemap`, and the texts in it by name."""
    from lxml import etree

    # Entities are not resolved and nothing is loaded: the file comes from anybody.
    options = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    for _, node in etree.iterparse(BytesIO(data), **options):
        name = _name(node)
        if name in ("url", "sitemap"):
            yield name, {_name(one): (one.text or "").strip() for one in node}
            node.clear()


def _name(node: Any) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
