"""Exact listing: the objects of a bucket by their exact keys, those that are no paths among them.

Whoever can write to a bucket may choose a key such as `docs//c.md` or `docs/`. obstore reads keys as paths: it gives up
a listing at a key with an empty step, and leaves out a slash at the end.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_plus

from docmill.storage.errors import StoreError, Transient

_PAUSES_S = (1.0, 2.0, 4.0)  # between the tries of a page: a server that starts again needs seconds
_PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
"""Statuses after which a page is tried again, besides those from 500."""

Sign = Callable[[Mapping[str, str]], str]
"""Returns the signed URL of a question to the bucket, such as `{"list-type": "2"}`."""


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """An object in a listing: `bytes` long and last put at `modified`, by the clock of the object store.

    `tag` is its entity tag; another tag means that the content may have changed.
    """

    key: str
    bytes: int
    modified: datetime
    tag: str = ""


def list_exactly(sign: Sign, prefix: str, seconds: float) -> Iterator[ObjectEntry]:
    """Yield the objects whose keys begin with `prefix`; it is left out of the keys.

    Each page may take so many `seconds`. Raises `Transient` if the object store does not answer.
    """
    asked = {"list-type": "2", "prefix": prefix, "encoding-type": "url"}
    more = True
    while more:
        page = _parsed(_answer(sign(asked), seconds))
        encoded = page.findtext("{*}EncodingType", "") == "url"  # a server may not know it
        for one in page.iterfind("{*}Contents"):
            key, size, modified, tag = (
                one.findtext(f"{{*}}{name}", "") for name in ("Key", "Size", "LastModified", "ETag")
            )
            key = unquote_plus(key) if encoded else key
            yield ObjectEntry(key.removeprefix(prefix), int(size), datetime.fromisoformat(modified), tag)
        token = page.findtext("{*}NextContinuationToken", "")
        more = bool(token)
        asked |= {"continuation-token": token}


def _parsed(answer: bytes) -> Any:
    from lxml import etree

    try:
        return etree.fromstring(answer, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise StoreError(f"its listing is no XML ({error}); a key may have a control character") from error


def _answer(url: str, seconds: float) -> bytes:
    """Return what a server answers; ask again while it is overloaded or away. No message has the URL: it is signed."""
    from urllib.error import HTTPError
    from urllib.request import urlopen

    why = ""
    for pause in (0.0, *_PAUSES_S):
        time.sleep(pause)
        try:
            with urlopen(url, timeout=seconds) as answer:
                return bytes(answer.read())
        except HTTPError as error:
            if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and error.code not in _PASSING:
                raise StoreError(f"it refuses to list its keys: {error}") from None
            why = str(error)
        except OSError as error:
            why = str(error)
    raise Transient(f"it does not list its keys: {why}; run again")
