"""Freight: what a driver and its workers send each other through an object store or a shared folder.

```
<store>/<run>/sent/<name>            what a worker needs for a step
<store>/<run>/made/<name>-<try>      what a try of the step has made; no two tries share a name
<store>/<run>/done/<name>            the receipt of the first try that ended
```
A result counts when its receipt exists. So a second or failed try does no harm, and the next driver takes over what
workers have finished after the first driver died.
"""

import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from docmill.storage.errors import Transient
from docmill.storage.failpoints import boundary
from docmill.storage.files import hash_file
from docmill.storage.remote.objects.bucket import Objects, connect

_DELETED_AT_ONCE = 1000  # keys that an object store deletes in one request


@dataclass(frozen=True)
class Freight:
    """The freight of one store; `url` is `s3://BUCKET/PREFIX` or the path of a folder that all machines share."""

    url: str
    store: str

    @cached_property
    def _objects(self) -> Objects:
        return connect(self.url)

    def send(self, run: str, name: str, path: Path) -> str:
        """Upload what a step needs; return its key."""
        key = f"{self.store}/{run}/sent/{name}"
        self._objects.upload(path, key)
        return key

    def fetch(self, key: str, path: Path, content_hash: str) -> None:
        """Download an object into a file; raise `Transient` unless it has the given hash."""
        with boundary("fetch freight"):
            self._objects.download(key, path)
        if (found := hash_file(path)) != content_hash:
            raise Transient(f"{self.url}/{key} has the hash {found}, not {content_hash}; run again")

    def keep(self, run: str, name: str, path: Path) -> str:
        """Upload the result of a try under a unique name; return its key."""
        key = f"{self.store}/{run}/made/{name}-{secrets.token_hex(8)}"
        self._objects.upload(path, key)
        return key

    def confirm(self, run: str, name: str, receipt: bytes) -> bytes:
        """Write the receipt of a step if it has none; return the valid one, which may be that of another try."""
        key = f"{self.store}/{run}/done/{name}"
        return receipt if self._objects.put_if_absent(key, receipt) else self._objects.read(key)

    def receipts(self, run: str) -> dict[str, bytes]:
        """Return the receipts of a run by step name."""
        keys = [entry.key for entry in self._objects.listing(f"{self.store}/{run}/done")]
        return {key.rpartition("/")[2]: self._objects.read(key) for key in keys}

    def runs(self) -> list[str]:
        """Return the runs that have freight."""
        return sorted({entry.key.split("/")[1] for entry in self._objects.listing(self.store)})

    def drop(self, keys: list[str]) -> None:
        """Remove existing objects."""
        self._objects.delete(keys)

    def sweep(self, run: str = "") -> None:
        """Remove all freight of a run, or of the store."""
        keys = [entry.key for entry in self._objects.listing("/".join(filter(None, (self.store, run))))]
        for first in range(0, len(keys), _DELETED_AT_ONCE):
            self._objects.delete(keys[first : first + _DELETED_AT_ONCE])
