"""An object store on loopback, and workbenches whose store lies on it, each with the mirrors of several machines."""

import os
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from docmill.storage.address import at_hand
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects.bucket import Objects, connect
from docmill.storage.schema import ChunkRow
from tests.kit.servers.s3_server import buckets_on_loopback
from tests.kit.workbench import Workbench


@contextmanager
def object_store(asked: list[str] | None = None) -> Iterator[dict[str, str]]:
    """Serve an empty object store and yield the environment that leads to it; `asked` gets its requests."""
    with buckets_on_loopback(asked) as port:
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "a key",
            "AWS_SECRET_ACCESS_KEY": "a secret",
            "AWS_REGION": "us-east-1",
        }


def make_bucket(name: str) -> None:
    """Make a bucket on the object store of the environment."""
    request = urllib.request.Request(f"{os.environ['AWS_ENDPOINT_URL']}/{name}", method="PUT")
    urllib.request.urlopen(request).close()


@dataclass
class RemoteBench(Workbench):
    """`root` is the mirror of the store at `address` on the machine `machine`; `environment` leads to the store."""

    address: str = ""
    machine: str = "one"
    environment: dict[str, str] = field(default_factory=dict)

    def on(self, machine: str) -> "RemoteBench":
        """Return the same source and store on another machine."""
        return replace(self, machine=machine)

    @property
    def root(self) -> Path:
        os.environ.update(self.environment)
        return at_hand(self.address, self.folder / "mirrors" / self.machine)

    @property
    def objects(self) -> Objects:
        """Return what lies on the object store."""
        return connect(self.address)

    def keys(self, folder: str = "") -> set[str]:
        """Return the keys of the objects below a folder."""
        return {entry.key for entry in self.objects.listing(folder)}

    def chunks(self) -> list[ChunkRow]:
        open_folder(self.root).refresh()
        open_folder(self.root).complete()
        return super().chunks()
