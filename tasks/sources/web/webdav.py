"""WebDAV: the files below a server's folder, listed folder by folder, and fetched if their entity tag changes."""

import posixpath
from base64 import b64encode
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit

from pydantic import Field, field_validator

from docmill.storage.errors import Rejected, SourceError, Transient
from docmill.storage.plugins.secret import Secret
from docmill.tasks.sources.connectors.contract import OwnConnector, SourceItem, SourceListing
from docmill.tasks.sources.connectors.source_settings import WATCH_S, SourceSettings
from docmill.tasks.sources.web.web_client import WebAnswer, WebClient, refused, told_ns
from docmill.tasks.sources.web.web_pages import canonical

_ASKED = b"""<?xml version="1.0"?><propfind xmlns="DAV:"><prop><resourcetype/><getetag/><getcontentlength/>\
<getlastmodified/></prop></propfind>"""
_MANY, _GONE = 207, (404, 410)
_MOST_FOLDERS = 100_000
"""Folders of a source: a server that invents folders without end is stopped after some hours."""


class WebDavSettings(SourceSettings):
    """A folder of a WebDAV server, such as Nextcloud, Apache or SharePoint. docmill only reads."""

    url: str = Field(default="", description="dav+https://HOST/PATH. The address of the source sets it.")
    user: str = Field(default="", description="User, where the server wants a name and a password.")
    password: Secret | None = Field(default=None, description="Password of the user, sent to this host alone.")
    token: Secret | None = Field(default=None, description="Bearer token, in place of a password.")
    private: bool = Field(default=False, description="Allow addresses of private networks, also after a redirect.")
    file_bytes: int = Field(default=100_000_000, ge=1, description="Maximum size of a file, in bytes.")
    connections: int = Field(default=4, ge=1, le=64, description="Maximum number of concurrent requests.")
    timeout_s: float = Field(default=30.0, gt=0, description="Seconds to wait for an answer.")
    watch_s: float = Field(default=60.0, ge=0, description=WATCH_S)

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        if not url.startswith(("dav+https://", "dav+http://")) or not canonical("", url.removeprefix("dav+")):
            raise ValueError("write dav+https://HOST/PATH, without user and password")
        return url

    @property
    def root(self) -> str:
        """The address of the folder, with a final slash."""
        return _plain(canonical("", self.url.removeprefix("dav+")), is_folder=True)

    def credentials(self) -> str:
        """Return the value of the Authorization header, "" without a credential."""
        if self.token:
            return f"Bearer {self.token.read()}"
        if self.password:
            return f"Basic {b64encode(f'{self.user}:{self.password.read()}'.encode()).decode()}"
        return ""


@dataclass(frozen=True, slots=True)
class _DavEntry:
    """What a server lists for a file or folder: its address and properties."""

    url: str
    is_folder: bool
    tag: str = ""
    size: int = 0
    modified: str = ""


class WebDavReader:
    """Reads a folder. Each subfolder is requested separately, because many servers refuse to list all at once."""

    def __init__(self, settings: WebDavSettings) -> None:
        self._root = settings.root
        self._client = WebClient(
            self._root, settings.credentials(), settings.private, settings.timeout_s, 0.0, settings.file_bytes,
            settings.connections,
        )  # fmt: skip

    def list(self, checkpoint: str) -> SourceListing:  # noqa: ARG002  it lists everything
        """Return all files; the version of each is its entity tag, or else its size and time."""
        return SourceListing(self._items())

    def fetch(self, item: SourceItem) -> bytes:
        """Return the bytes of a file."""
        answer = self._client.get(self.link(item))
        if answer.status in _GONE:
            raise Rejected("unreadable", "the file was removed after it was listed")
        if error := refused(answer):
            raise Rejected("unreadable", str(error))
        if item.size and len(answer.data) != item.size:
            raise Transient(f"{item.name} has {len(answer.data)} bytes and was listed with {item.size}")
        return answer.data

    def link(self, item: SourceItem) -> str:
        """Return the address of the file."""
        return self._root + quote(item.name)

    def _items(self) -> Iterator[SourceItem]:
        due, seen = deque([self._root]), {self._root}
        while due:
            folder = due.popleft()
            for entry in self._folder(folder):
                if entry.is_folder and entry.url not in seen:
                    seen.add(entry.url)
                    due.append(entry.url)
                elif not entry.is_folder:
                    yield self._item(entry)
            if len(seen) > _MOST_FOLDERS:
                raise SourceError(f"{self._root} has more than {_MOST_FOLDERS} folders")

    def _item(self, entry: _DavEntry) -> SourceItem:
        if not (entry.tag or entry.modified):
            raise SourceError(f"{entry.url} has neither an entity tag nor a time, so that no change would be noticed")
        name = unquote(entry.url.removeprefix(self._root))
        return SourceItem(name, entry.tag or f"{entry.size} {entry.modified}", entry.size, told_ns(entry.modified))

    def _folder(self, url: str) -> Sequence[_DavEntry]:
        """Return the contents of a folder; nothing for a subfolder that is gone meanwhile."""
        try:
            answer = self._client.get(url, method="PROPFIND", body=_ASKED)
        except Rejected as error:
            raise SourceError(error.message) from None
        if answer.status in _GONE and url != self._root:
            return []
        if urljoin(answer.url, "/") != urljoin(url, "/"):
            raise SourceError(f"{url} leads to {answer.url}, on another server: give that address")
        if answer.status != _MANY:
            raise refused(answer) or SourceError(f"{url} is no folder of WebDAV: it answers {answer.status}")
        return [one for one in _entries(answer) if one.url != url and self._is_below(one.url, url)]

    def _is_below(self, url: str, folder: str) -> bool:
        """Return whether an address is directly in a folder: a server may send any address."""
        rest = url.removeprefix(folder).rstrip("/")
        return url.startswith(folder) and bool(rest) and "/" not in rest


def _entries(answer: WebAnswer) -> Iterator[_DavEntry]:
    """Yield the entries of an answer; raise `SourceError` if it is damaged."""
    from lxml import etree

    # Entities are not resolved and nothing is loaded, because the answer may come from anyone.
    try:
        root = etree.fromstring(answer.data, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise SourceError(f"the listing of {answer.url} is damaged or cut off: {error.msg}") from None
    for one in root.iterfind("{DAV:}response"):
        href, found = one.findtext("{DAV:}href", ""), _properties(one)
        is_folder = found.find("{DAV:}resourcetype/{DAV:}collection") is not None if found is not None else False
        url = canonical(answer.url, href.strip())
        if url and found is not None:
            size = found.findtext("{DAV:}getcontentlength", "").strip()
            yield _DavEntry(
                _plain(url, is_folder), is_folder, found.findtext("{DAV:}getetag", "").strip(),
                int(size) if size.isdigit() else 0, found.findtext("{DAV:}getlastmodified", "").strip(),
            )  # fmt: skip


def _properties(response: Any) -> Any:
    """Return the properties of an entry that the server gives; None if it may not be read."""
    for one in response.iterfind("{DAV:}propstat"):
        if " 200 " in f"{one.findtext('{DAV:}status', '')} ":
            return one.find("{DAV:}prop")
    return None


def _plain(url: str, is_folder: bool) -> str:
    """Return an address in the spelling that is used here; folders have a final slash."""
    parts = urlsplit(url)
    path = quote(posixpath.normpath(unquote(parts.path)))
    return urljoin(url, f"{path.rstrip('/')}/" if is_folder else path)


CONNECTOR = OwnConnector(WebDavSettings, WebDavReader)
