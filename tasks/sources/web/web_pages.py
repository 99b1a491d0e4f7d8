"""Web pages: what pages, sitemaps and robots.txt say: links, a page's own address, its type, and what may be read."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html.parser import HTMLParser
from io import BytesIO
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit, urlunsplit

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
"""The suffix of a page by the media type that its server states."""
_HTML = ("text/html", "application/xhtml+xml")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}$", re.IGNORECASE)
_PLAIN = "%/?:@!$&'()*+,;=~[]"
"""Characters kept in an address besides letters, digits and `_.-`; `%` begins what is already quoted."""
_BETWEEN = re.compile(r"[,\s]+")
_MOST_OF_ROBOTS = 500_000
"""Characters to read, as many as RFC 9309 requires; a longer file would slow down each page."""
_KEYS = ("allow", "disallow", "crawl-delay")

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The content of a sitemap: pages with the times that it gives, and further sitemaps."""

    pages: Mapping[str, str] = field(default_factory=dict)
    sitemaps: tuple[str, ...] = ()


class _PageNotes(HTMLParser):
    """Collects links, `rel=canonical` and the content of `meta name=robots`."""

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
    """What an HTML page says: links to other pages, its own address if it gives one, and whether to leave it out."""

    links: tuple[str, ...] = ()
    own: str = ""
    is_hidden: bool = False


def said_by(data: bytes, headers: Mapping[str, str], url: str) -> PageWords:
    """Return what a page says, or its server in `X-Robots-Tag`; anything but HTML has no links."""
    kind = headers.get("content-type", "")
    reading = _PageNotes()
    if kind_of(kind) in _HTML:
        with suppress(AssertionError):  # the parser gives up on a page with a broken declaration
            reading.feed(data.decode(_declared(kind) or "utf-8", "replace"))
    # Words before any colon in the header are for all programs; after a colon there are dates, or words for another
    # program.
    words = {*_BETWEEN.split(f"{reading.robots},{headers.get('x-robots-tag', '').lower().partition(':')[0]}")}
    base = canonical(url, reading.base) or url
    followed = () if words & {"nofollow", "none"} else reading.links
    links = dict.fromkeys(one for link in followed if (one := canonical(base, link)))
    own = canonical(base, reading.told) if reading.told else ""
    return PageWords(tuple(links), own, bool(words & {"noindex", "none"}))


def canonical(base: str, link: str) -> str:
    """Return a link in a canonical spelling, or "" if it is not a link.

    It has no fragment and no default port; blanks and non-ASCII letters are written as browsers send them.
    """
    try:
        parts = urlsplit(urldefrag(urljoin(base, link.strip())).url)
        host, port = (parts.hostname or "").rstrip(".").encode("idna").decode(), parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        return ""
    shown = f"[{host}]" if ":" in host else host
    if port and port != {"http": 80, "https": 443}[parts.scheme]:
        shown = f"{shown}:{port}"
    path, query = (quote(one, _PLAIN, errors="replace") for one in (parts.path or "/", parts.query))
    return urlunsplit((parts.scheme, shown, path, query, ""))


def kind_of(content_type: str) -> str:
    """Return the media type in a header."""
    return content_type.partition(";")[0].strip().lower()


def in_own_charset(data: bytes, content_type: str) -> bytes:
    """Return a text as UTF-8 if its server states another encoding, which the bytes alone would not show."""
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
    """Return the path of a page's document: the path on its host, with a suffix that shows its type."""
    parts = urlsplit(url)
    path = f"{parts.path}index" if parts.path.endswith("/") else parts.path
    suffix, found = SUFFIXES.get(kind_of(content_type), ""), _SUFFIX.search(path)
    own = found[0].lower() if found else ""
    if parts.query:  # with a question mark, which no plain path has
        return f"{path}?{parts.query}{suffix or own}"
    # Many servers state text/plain or XML for files whose names say more.
    is_told = bool(own) and (suffix != ".html" or own in (".html", ".htm", ".xhtml"))
    return f"{path}{'' if is_told else suffix}"


def begins_sitemap(data: bytes) -> bool:
    """Return whether a file begins like a sitemap or an index of sitemaps."""
    return re.search(rb"<(?:\w+:)?(?:urlset|sitemapindex)\b", data[:4096]) is not None


def sitemap_in(data: bytes, url: str) -> Sitemap | None:
    """Return a sitemap, or None if the file is not one; raise `SourceError` if it is damaged."""
    if not begins_sitemap(data):
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
    """Yield the name of each sitemap entry, `url` or `sitemap`, and its texts by name."""
    from lxml import etree

    # Entities are not resolved and nothing is loaded, because the file may come from anyone.
    options = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    for _, node in etree.iterparse(BytesIO(data), **options):
        name = _name(node)
        if name in ("url", "sitemap"):
            yield name, {_name(one): (one.text or "").strip() for one in node}
            node.clear()


def _name(node: Any) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules for one program: path patterns, each with whether it allows, and the seconds between requests."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay_s: float = 0.0

    def allow(self, url: str) -> bool:
        """Return whether a page may be read."""
        parts = urlsplit(url)
        path = unquote(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}")
        fitting = [(len(pattern), allows) for pattern, allows in self.rules if _fits(pattern, path)]
        return max(fitting, default=(0, True))[1]


def robots_in(text: str, agent: str) -> Robots:
    """Return the rules for a program: its own groups if there are any, else those for all programs."""
    groups = dict[str, list[tuple[str, str]]]()
    for names, key, value in _robots_lines(text[:_MOST_OF_ROBOTS]):
        for name in names:
            groups.setdefault(name, []).append((key, value))
    own = groups.get(agent, groups.get("*", []))
    delays = [0.0]
    for key, value in own:
        with suppress(ValueError):
            delays += [float(value)] if key == "crawl-delay" else []
    rules = ((unquote(value), key == "allow") for key, value in own if key in _KEYS[:2] and value)
    return Robots(tuple(dict.fromkeys(rules)), max(one for one in delays if one >= 0))


def _robots_lines(text: str) -> Iterator[tuple[frozenset[str], str, str]]:
    """Yield the lines of each group with the names of its programs; a group without lines gives ("", "")."""
    names, is_open = frozenset[str](), True
    for line in text.removeprefix("\ufeff").splitlines():
        key, _, value = (one.strip() for one in line.partition("#")[0].partition(":"))
        if key.lower() == "user-agent":
            names = (names if is_open else frozenset()) | {value.partition("/")[0].lower()}
            is_open = True
            yield names, "", ""
        elif key.lower() in _KEYS:
            is_open = False
            yield names, key.lower(), value


def _fits(pattern: str, path: str) -> bool:
    """Return whether a path begins as a pattern says; `*` matches any text, and a final `$` the end of the path.

    Each piece is searched from where the previous one ends, so that no pattern takes more than one pass.
    """
    is_whole = pattern.endswith("$")
    first, *pieces = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at, last = len(first), pieces.pop() if is_whole and pieces else None
    for piece in pieces:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    if last is not None:
        return path.endswith(last) and len(path) - len(last) >= at
    return not is_whole or at == len(path)
