"""Beside: the pictures that a page names by paths, which are files of the same source; nothing else is read for them.

Which files these are is decided where a source is listed, so no name leads out of what the source has.
"""

import html
import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from urllib.parse import unquote

from docmill.tasks.parse.pictures.addresses import Loader, of_data_uri
from docmill.tasks.parse.pictures.album import MOST_PICTURES

PAGE_BYTES = 16 << 20
"""Bytes of a page in which pictures are looked for. Pages of a megabyte are rare, and larger files are dumps."""
_LONGEST = 1_000  # characters of a name: no file system has longer paths by default
_IMAGE = re.compile(rb"<img\b[^<>]*?\ssrc\s*=\s*(?:\"([^\"<>]+)\"|'([^'<>]+)'|([^\s\"'<>]+))", re.IGNORECASE)
_ELSEWHERE = re.compile(rb"<base\s[^<>]*href", re.IGNORECASE)
"""What makes the paths of a page those of another place."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ENDS = re.compile(r"[?#]")


def names_in(name: str, data: bytes) -> tuple[str, ...]:
    """Return the names of pictures that the file `name` shows, if it is a page: paths relative to its folder."""
    look = _LOOKS.get(PurePosixPath(name).suffix.lower())
    if look is None:
        return ()
    found = dict.fromkeys(filter(None, map(path_of, look(data))))
    return tuple(found)[:MOST_PICTURES]


def may_show(name: str) -> bool:
    """Return whether a file of this name may show pictures beside it."""
    return PurePosixPath(name).suffix.lower() in _LOOKS


def path_of(address: str) -> str:
    """Return the path, relative to the folder of a page, that an address of it means; "" if it leads elsewhere."""
    address = address.strip()
    path = unquote(_ENDS.split(address, maxsplit=1)[0])
    if not path or _SCHEME.match(address) or path.startswith("/") or len(path) > _LONGEST or not path.isprintable():
        return ""
    return posixpath.normpath(path)


def loader_of(pictures: Mapping[str, bytes]) -> Loader:
    """Return a loader of `data:` addresses, and of pictures beside a page by their paths."""

    def load(address: str) -> bytes | None:
        path = path_of(address) if pictures else ""
        return pictures[path] if path in pictures else of_data_uri(address)

    return load


def _of_html(data: bytes) -> list[str]:
    if _ELSEWHERE.search(data):
        return []
    return [html.unescape(_text(next(filter(None, found)))) for found in _IMAGE.findall(data)]


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name.decode("latin-1")


_LOOKS: dict[str, Callable[[bytes], list[str]]] = dict.fromkeys((".htm", ".html", ".shtml", ".xhtml"), _of_html)
"""What finds the addresses of pictures in a file, by its suffix."""
