"""Addresses: the bytes of a picture that a document names by an address."""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Container
from urllib.parse import unquote, unquote_to_bytes

from docmill.storage.keys import hash_bytes

Loader = Callable[[str], bytes | None]
"""Returns the bytes at an address, or None if it is outside the document: nothing is fetched."""
_DATA = re.compile(r"data:image/[\w.+-]+(?:;[\w.=-]+)*?(;base64)?,", re.IGNORECASE)

_WRITTEN = re.compile(r"data:image/[\w.+-]+(?:;[\w.=-]+)*?;base64,[\w+/=%-]+", re.IGNORECASE)
"""An address as written in a text; without base64, an address has no recognisable end."""


def nowhere(_: str) -> None:
    """Return that a picture is not available, for formats whose pictures are not kept."""


def of_data_uri(address: str) -> bytes | None:
    """Return the bytes in a `data:` address, or None for other addresses; a damaged one has no bytes."""
    head = _DATA.match(address.lstrip())
    if head is None:
        return None
    told = unquote_to_bytes(address.lstrip()[head.end() :])
    if not head[1]:
        return told
    try:
        return b64decode(b"".join(told.split()) + b"==")
    except binascii.Error:
        return b""


def named_by_key(text: str, scheme: str, but: Container[str] = ()) -> tuple[str, dict[str, bytes]]:
    """Return a text with a name in place of each `data:` address, and the contents of these addresses by name.

    A name is `scheme` and the picture's key; addresses whose names are in `but` are left unchanged.
    """
    held = dict[str, bytes]()

    def name(found: re.Match[str]) -> str:
        data = of_data_uri(found[0]) or b""
        own = scheme + hash_bytes(data)
        if own in but:
            return found[0]
        held[own] = data
        return own

    return _WRITTEN.sub(name, text), held


def within(read: Loader) -> Loader:
    """Return a loader of `data:` addresses; other addresses are read by `read`, as paths without escapes."""

    def load(address: str) -> bytes | None:
        if address.lstrip()[:5].lower() == "data:":
            return of_data_uri(address)
        return read(unquote(address.strip()))

    return load
