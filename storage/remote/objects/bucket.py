"""Bucket: read and write objects below one prefix; with `providers` the only importer of `obstore`.

All decisions are made by conditional puts. All other objects except the lease are written once and never change.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus, urlencode, urlsplit

from docmill.storage.errors import StoreError, Transient
from docmill.storage.failpoints import boundary
from docmill.storage.process.extras import extra
from docmill.storage.process.shutdown import one_change
from docmill.storage.remote.objects.providers import PROVIDERS, SCHEME_OF_STORES

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from obstore.store import ObjectStore

_PAUSES_S = (1.0, 2.0, 4.0)  # between tries of a page: a restarting server needs seconds
_PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
"""Statuses after which a page is tried again, besides 500 and above."""

Sign = Callable[[Mapping[str, str]], str]
"""Returns the signed URL of a query to the bucket, such as `{"list-type": "2"}`."""


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """An object in a listing: `bytes` long and last written at `modified`, by the clock of the object store.

    `tag` is its entity tag; a different tag means that the content may have changed.
    """

    key: str
    bytes: int
    modified: datetime
    tag: str = ""


def list_exactly(sign: Sign, prefix: str, seconds: float) -> Iterator[ObjectEntry]:
    """Yield the objects whose keys begin with `prefix`, which is removed from the keys.

    Each page may take `seconds`. Raises `Transient` if the object store does not answer.
    """
    asked = {"list-type": "2", "prefix": prefix, "encoding-type": "url"}
    more = True
    while more:
        page = _parsed(_answer(sign(asked), seconds))
        encoded = page.findtext("{*}EncodingType", "") == "url"  # a server may not support it
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
    """Return a server's answer; retry while it is overloaded or unreachable. No message shows the signed URL."""
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


KNOCK_S = 4
"""Seconds within which an object store must answer a reader, who otherwise uses the mirror. Users wait this long, and
a distant store answers a request without content in well under a second."""
_CONNECT_S = 2  # of these seconds for a connection, so that a lost packet is sent again
_KNOCKS = 2  # tries after the first one: a restarting server refuses some connections

REQUEST_S = 20
"""Seconds that a critical request, such as a conditional put, may take with all retries; a lease lasts longer."""

_TRANSFER_S = 900  # seconds that the transfer of one file may take, however large it is
_TRIES = 10  # of a request that fails, within its time
_ANY_KEY = "store.json"  # any answer is enough, whether the object exists or not
_PIECE = 4 << 20  # bytes of a download in memory at a time
_YES = ("1", "true", "on", "yes", "y")
_NOBODY = {"access_key_id": "-", "secret_access_key": "-", "skip_signature": False}  # to get the URL of a bucket
_ROLE = re.compile(r"https?://(?:169\.254\.\d+\.\d+|metadata)[/.]")
"""Where a machine in a cloud gets the credentials of its role, if the environment has none."""


class Vanished(StoreError):
    """An object no longer exists: a vacuum has removed it."""


class NoPath(StoreError):
    """An object has a key that is not a path, such as one with an empty step."""


@dataclass(frozen=True, slots=True)
class Version:
    """The content of an object at some time, and its entity tag `tag`."""

    data: bytes
    tag: str
    modified: datetime


class Objects:
    """The objects of one store. Keys are relative to its prefix. Thread-safe."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._provider = PROVIDERS.get(url.partition("://")[0])
        self._store = _connect(url, REQUEST_S)
        self._transfers = _connect(url, _TRANSFER_S)
        self._prompt = _connect(url, KNOCK_S, connect_s=_CONNECT_S, tries=_KNOCKS)
        self._silence: tuple[float, str] = (0.0, "")  # its end by the monotonic clock, and the reason

    def knock(self) -> None:
        """Raise `Transient` if the object store does not answer within `KNOCK_S` seconds.

        After that, it is not tried again for the same time, because a command calls this several times.
        """
        import obstore

        until, why = self._silence
        if time.monotonic() < until:
            raise Transient(why)
        try:
            with self._explained(_ANY_KEY):
                obstore.head(self._prompt, _ANY_KEY)
        except Transient as error:
            self._silence = (time.monotonic() + KNOCK_S, str(error))
            raise
        except StoreError:
            return  # it answers, and the next request will report what is wrong

    def read(self, key: str) -> bytes:
        """Return the content of an object; raise `Vanished` if it does not exist."""
        return self.version(key).data

    def version(self, key: str) -> Version:
        """Return the content of an object and its entity tag."""
        import obstore

        with self._explained(key):
            found = obstore.get(self._store, key)
            data = bytes(found.bytes())
        return Version(data, found.meta["e_tag"] or "", found.meta["last_modified"])

    def put(self, key: str, data: bytes) -> None:
        """Write an object or overwrite an existing one."""
        import obstore

        with self._explained(key), boundary(f"remote write {key.split('/')[0]}"), one_change():
            obstore.put(self._store, key, data)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Write an object unless it exists; return whether it was written, even if the first answer was lost."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._explained(key):
            try:
                with boundary(f"remote put {key.split('/')[0]}"), one_change():
                    obstore.put(self._store, key, data, mode="create")
            except AlreadyExistsError:
                return self.read(key) == data
        return True

    def put_if_same(self, key: str, data: bytes, tag: str) -> bool:
        """Replace an object if it still has the entity tag `tag`; return whether it was replaced.

        `data` must differ from all earlier contents of the object; otherwise the tag proves nothing.
        """
        import obstore
        from obstore.exceptions import PreconditionError

        version: UpdateVersion = {"e_tag": tag}
        with self._explained(key):
            try:
                # No `one_change`: this also releases a lease during shutdown, when nothing else may change.
                with boundary(f"remote replace {key}"):
                    obstore.put(self._store, key, data, mode=version)
            except PreconditionError:
                return self.read(key) == data
        return True

    def sizes(self) -> dict[str, int]:
        """Return the size of every object in bytes, by key."""
        return {entry.key: entry.bytes for entry in self.listing()}

    def listing(self, folder: str = "") -> list[ObjectEntry]:
        """Return the objects below a folder, or all objects."""
        import obstore

        with self._explained(folder):
            found = [entry for page in obstore.list(self._store, folder or None) for entry in page]
        return [ObjectEntry(one["path"], one["size"], one["last_modified"], one["e_tag"] or "") for one in found]

    def exact_listing(self) -> list[ObjectEntry]:
        """Return all objects by their exact keys, including those whose keys are no paths and that cannot be read."""
        try:
            found = self.listing()
        except NoPath:
            if not self._has_s3_protocol:
                raise
            return self.listed_exactly()
        # Otherwise `x` and `x/` look the same.
        if len({entry.key for entry in found}) == len(found):
            return found
        if self._has_s3_protocol:
            return self.listed_exactly()
        return list({one.key: one for one in sorted(found, key=lambda one: one.bytes)}.values())

    def listed_exactly(self, key: str = "") -> list[ObjectEntry]:
        """Return the objects whose exact keys begin with `key`, or all, as the bucket lists them.

        This works only with servers of S3's protocol; for others, the result is empty.
        """
        if not self._has_s3_protocol:
            return []
        prefix = self.url.partition("://")[2].partition("/")[2]
        with self._explained(key):
            found = list_exactly(self._signed, f"{prefix}/{key}" if prefix else key, REQUEST_S)
            return [replace(entry, key=f"{key}{entry.key}") for entry in found]

    def _signed(self, question: Mapping[str, str]) -> str:
        """Return the URL of a query to the bucket, signed if necessary with the credentials that obstore finds.

        obstore signs only the URLs of objects, so the query becomes part of the endpoint, and the key that is signed
        with it the value of a meaningless parameter.
        """
        bucket = "/".join(self.url.split("/")[:3])
        public = os.environ.get("AWS_SKIP_SIGNATURE", "").lower() in _YES
        some = urlsplit(_sign(bucket, _NOBODY if public else {}))
        endpoint = f"{some.scheme}://{some.netloc}{some.path.removesuffix(f'/{_ANY_KEY}')}?{urlencode(question)}"
        own = {"endpoint": f"{endpoint}&x-key=", "virtual_hosted_style_request": True}
        return endpoint if public else _sign(bucket, own)

    @property
    def _has_s3_protocol(self) -> bool:
        return self._provider is not None and self._provider.client == PROVIDERS[SCHEME_OF_STORES].client

    def has(self, key: str) -> bool:
        """Return whether an object exists."""
        import obstore

        try:
            with self._explained(key):
                obstore.head(self._store, key)
        except Vanished:
            return False
        return True

    def upload(self, path: Path, key: str) -> None:
        """Upload a file as an object atomically."""
        import obstore

        with self._explained(key), boundary(f"remote upload {key.split('/')[0]}"), one_change():
            obstore.put(self._transfers, key, path)

    def download(self, key: str, path: Path) -> None:
        """Download an object into a file."""
        with path.open("wb") as file:
            for piece in self.pieces(key):
                file.write(piece)

    def pieces(self, key: str) -> Iterator[bytes]:
        """Yield the content of an object in pieces of a few MiB."""
        import obstore

        with self._explained(key):
            for piece in obstore.get(self._transfers, key).stream(_PIECE):
                yield bytes(piece)

    def copy(self, key: str, to: str) -> None:
        """Copy an object on the object store, overwriting an existing one."""
        import obstore

        with self._explained(key), boundary(f"remote copy {to.split('/')[0]}"), one_change():
            obstore.copy(self._transfers, key, to)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects in one request; missing ones are no error."""
        import obstore

        with self._explained(keys[0]), boundary("remote delete"), one_change():
            obstore.delete(self._store, list(keys))

    @property
    def _credentials(self) -> str:
        return self._provider.credentials if self._provider else "the rights of the folder"

    @contextmanager
    def _explained(self, key: str) -> Iterator[None]:
        """Convert errors of obstore into errors that say what to do."""
        from obstore import exceptions

        try:
            yield
        except (FileNotFoundError, exceptions.NotFoundError) as error:
            raise Vanished(f"{self.url}/{key} is not there") from error
        except (PermissionError, exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            what = f"refuses the credentials of the environment ({self._credentials})"
            raise StoreError(f"{self.url}/{key} {what}: {_first_line(error)}") from error
        except exceptions.InvalidPathError as error:
            what = "an object there has a name that is no path; rename or delete it"
            raise NoPath(f"{self.url}: {what}: {_first_line(error)}") from error
        except (exceptions.BaseError, ConnectionError, TimeoutError) as error:
            if _ROLE.search(str(error)):
                raise StoreError(f"{self.url}: no credentials: set {self._credentials}") from error
            if "NoSuchBucket" in str(error):
                raise StoreError(f"{self.url}: there is no such bucket; create it first") from error
            raise Transient(f"{self.url}/{key}: {_first_line(error)}; run again") from error


def _first_line(error: Exception) -> str:
    line = str(error).strip().split("\n", 1)[0][:300]
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)  # the line may quote the key of an object


def connect(url: str) -> Objects:
    """Return the objects of a store; raise `ConfigError` if the package obstore is not installed."""
    provider = PROVIDERS.get(url.partition("://")[0])
    variables = ("AWS_", provider.variables) if provider else ()
    settings = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(variables)))
    return _connected(url, settings)


@lru_cache(maxsize=8)
def _connected(url: str, _settings: tuple[tuple[str, str], ...]) -> Objects:
    return Objects(url)


def _sign(bucket: str, own: Mapping[str, Any]) -> str:
    """Return the signed URL of some object of a bucket, with the options `own` of obstore."""
    import obstore

    store: Any = _connect(bucket, REQUEST_S, own=own)
    url: str = obstore.sign(store, "GET", _ANY_KEY, timedelta(seconds=10 * REQUEST_S))
    return url


def _connect(
    url: str, seconds: int, connect_s: int = 0, tries: int = _TRIES, own: Mapping[str, Any] = MappingProxyType({})
) -> "ObjectStore":
    scheme, separator, rest = url.partition("://")
    if not separator:
        with extra("s3", url):
            from obstore.store import LocalStore
        return LocalStore(url, automatic_cleanup=True, mkdir=True)  # a folder that several machines share
    bucket, _, prefix = rest.partition("/")
    client: dict[str, Any] = {"timeout": timedelta(seconds=seconds)}
    if connect_s:
        client["connect_timeout"] = timedelta(seconds=connect_s)
    retries = {"retry_timeout": timedelta(seconds=seconds), "max_retries": tries}
    opened: ObjectStore = PROVIDERS[scheme].opened(bucket, prefix, client, retry_config=retries, **own)
    return opened
