"""Qdrant collection: an export in a collection of a Qdrant server, or of a folder in the client's local mode."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, UUID, uuid5

import pyarrow as pa

from docmill.storage.errors import ConfigError, Locked, StoreError, Transient
from docmill.storage.exports.columns import HELD
from docmill.storage.exports.last_export import Revision, Stamp, read_stamp
from docmill.storage.failpoints import boundary
from docmill.storage.files import OWNER_ONLY
from docmill.storage.process.extras import extra

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

STAMPS = "docmill_exports"
"""The collection with the stamp of each exported collection, which itself has no place for one."""
KEY_VARIABLE = "QDRANT_API_KEY"
_POINTS_AT_ONCE = 256  # in a request of about 3 MB; servers accept 32
_READ_AT_ONCE = 4_096
_TIMEOUT_S = 60


@dataclass(slots=True)
class QdrantCollection:
    """A collection of points. The id of a point is the chunk id as a UUID, and its payload all columns but the vector.

    Points are written before others are deleted, a few hundred at a time, and readers see each step.
    """

    place: str
    table: str
    takes_deltas = False
    figures = None
    _client: "QdrantClient | None" = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The place and the collection."""
        return f"qdrant:{self.place} {self.table}"

    @property
    def _is_server(self) -> bool:
        return "://" in self.place

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Connect to the server or open the folder, which the client locks against other processes."""
        with extra("qdrant", "an export to Qdrant"):
            import qdrant_client
        with self._explained():
            if self._is_server:
                key = os.environ.get(KEY_VARIABLE) or None
                # Its check of versions runs in a thread, which crashes a process that ends meanwhile.
                client = qdrant_client.QdrantClient(
                    url=self.place, api_key=key, timeout=_TIMEOUT_S, check_compatibility=False
                )
            else:
                Path(self.place).mkdir(OWNER_ONLY, parents=True, exist_ok=True)
                client = qdrant_client.QdrantClient(path=self.place)
            self._client = client
            try:
                yield
            finally:
                client.close()
                self._client = None

    def stamp(self) -> Stamp | None:
        """Return the stamp of the collection's last or unfinished export."""
        found = self._stamp()
        exists = self._open.collection_exists(self.table)
        if exists and found is None:
            raise StoreError(f"{self.name} is a collection that no export wrote; name another one with --table")
        return found if exists else None

    def held(self) -> pa.Table:
        """Return the chunk ids and digests in the collection."""
        found, place = [HELD.empty_table()], None
        while True:
            points, place = self._open.scroll(
                self.table, limit=_READ_AT_ONCE, offset=place, with_payload=HELD.names, with_vectors=False
            )
            rows = [[(point.payload or {}).get(name) for point in points] for name in HELD.names]
            found.append(pa.table([pa.array(column, pa.string()) for column in rows], schema=HELD))
            if place is None:
                return pa.concat_tables(found)

    def apply(self, revision: Revision, rows: Iterator[pa.Table]) -> None:
        """Write the new points, delete the removed ones, and write the stamp."""
        if revision.anew:
            self._create(revision.stamp)
        for table in rows:
            for first in range(0, table.num_rows, _POINTS_AT_ONCE):
                with boundary("export qdrant points"):
                    self._open.upsert(self.table, _points(table.slice(first, _POINTS_AT_ONCE)), wait=True)
        for first in range(0, len(revision.gone), _POINTS_AT_ONCE):
            with boundary("export qdrant delete"):
                ids: list[Any] = [str(UUID(key)) for key in revision.gone[first : first + _POINTS_AT_ONCE]]
                self._open.delete(self.table, ids, wait=True)
        revision.check(self.name, self._open.count(self.table, exact=True).count)
        self._write_stamp(revision.stamp)

    def _create(self, stamp: Stamp) -> None:
        """Create the collection. The stamp comes first, so that the collection counts as an export at once."""
        from qdrant_client.models import Distance, VectorParams

        self._write_stamp(stamp)
        with boundary("export qdrant create"):
            self._open.delete_collection(self.table)
            self._open.create_collection(
                self.table, vectors_config=VectorParams(size=stamp.dimension, distance=Distance.COSINE)
            )

    @property
    def _open(self) -> "QdrantClient":
        assert self._client is not None, "called within the block of `claimed`"
        return self._client

    @property
    def _point(self) -> str:
        return str(uuid5(NAMESPACE_URL, f"docmill:{self.table}"))

    def _stamp(self) -> Stamp | None:
        if not self._open.collection_exists(STAMPS):
            return None
        found = self._open.retrieve(STAMPS, [self._point], with_payload=True)
        return read_stamp((found[0].payload or {}).get("stamp")) if found else None

    def _write_stamp(self, stamp: Stamp) -> None:
        from qdrant_client.models import PointStruct

        with boundary("export qdrant stamp"):
            if not self._open.collection_exists(STAMPS):
                self._open.create_collection(STAMPS, vectors_config={})
            payload = {"collection": self.table, "stamp": stamp.as_json()}
            self._open.upsert(STAMPS, [PointStruct(id=self._point, vector={}, payload=payload)], wait=True)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Convert every error of the client into one that names the collection."""
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        try:
            yield
        except ResponseHandlingException as error:
            raise Transient(f"{self.name}: {error.source}; export again to finish") from error
        except UnexpectedResponse as error:
            if error.status_code in (401, 403):
                raise ConfigError(f"{self.name}: the server refuses this user; set {KEY_VARIABLE}") from error
            raise StoreError(f"{self.name}: {error.status_code} {error.reason_phrase}") from error
        except (OSError, sqlite3.Error) as error:  # the local mode stores points in SQLite
            raise StoreError(f"{self.name}: {error}; free some space if there is none, and export again") from error
        except RuntimeError as error:
            if "already accessed" not in str(error):
                raise
            raise Locked(
                f"{self.name} is open elsewhere, in this or another process; wait until it is closed"
            ) from error


def _points(table: pa.Table) -> Sequence[Any]:
    from qdrant_client.models import PointStruct

    vectors = table.column("vector").to_pylist()
    payloads = table.drop_columns(["vector"]).to_pylist()
    return [
        PointStruct(id=str(UUID(payload["chunk_id"])), vector=vector, payload=payload)
        for payload, vector in zip(payloads, vectors, strict=True)
    ]
