"""Lance table: an export in a table of LanceDB. Each export is a new version of it."""

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from docmill.storage.errors import StoreError
from docmill.storage.exports.columns import HELD
from docmill.storage.exports.export_lock import claim
from docmill.storage.exports.last_export import Revision, Stamp, read_stamp
from docmill.storage.failpoints import boundary
from docmill.storage.files import OWNER_ONLY, explain_full_disk
from docmill.storage.search.vectors.deferred_client import import_lancedb

_KEY = "docmill_export"
"""The metadata key of the column `chunk_id` with the stamp, which is in every version and moves with the table."""
_IDS_AT_ONCE = 10_000  # in one predicate, which LanceDB parses as text


@dataclass(frozen=True, slots=True)
class LanceTable:
    """A table in a folder of LanceDB, without an index, which programs that search it create themselves."""

    folder: Path
    table: str
    takes_deltas = False
    figures = None

    @property
    def name(self) -> str:
        """The path of the table."""
        return str(self._path)

    @property
    def _path(self) -> Path:
        return self.folder / f"{self.table}.lance"

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Lock the table against other exports of this machine."""
        self.folder.mkdir(OWNER_ONLY, parents=True, exist_ok=True)
        with explain_full_disk(self._path), claim(self._path), self._explained():
            yield

    def stamp(self) -> Stamp | None:
        """Return what the table was exported with."""
        if not self._path.exists():
            return None
        names = self._table.schema.names
        found = self._table.schema.field("chunk_id").metadata if "chunk_id" in names else None
        stamp = read_stamp(((found or {}).get(_KEY.encode()) or b"").decode())
        if stamp is None:
            raise StoreError(f"{self.name} is a table that no export wrote; name another one with --table")
        return stamp

    def held(self) -> pa.Table:
        """Return the chunk ids and digests in the table."""
        table = self._table
        return table.search().select(HELD.names).limit(max(1, table.count_rows())).to_arrow().select(HELD.names)

    def apply(self, revision: Revision, rows: Iterator[pa.Table]) -> None:
        """Apply a change in one version of the table, and write the stamp in the next."""
        text = revision.stamp.as_json()
        with boundary("export lance"):
            if revision.anew:
                schema, mode = _stamped(revision.stamp.schema, text), "overwrite" if self._path.exists() else "create"
                self._database.create_table(self.table, _reader(rows, schema), schema=schema, mode=mode)
            else:
                _merge(self._table, revision, rows)
        table = self._table
        revision.check(self.name, table.count_rows())
        with boundary("export lance stamp"):
            table.update_field_metadata({"path": "chunk_id", "metadata": {_KEY: text}})
        table.optimize()  # merges the small files of many exports, and removes versions older than a week

    @property
    def _database(self) -> Any:
        return import_lancedb().connect(str(self.folder))

    @property
    def _table(self) -> Any:
        return self._database.open_table(self.table)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Convert every error of LanceDB into one that names the table."""
        try:
            yield
        except (ValueError, RuntimeError, OSError) as error:
            if os.strerror(errno.ENOSPC) in str(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.name) from error
            said = str(error).splitlines()[0]
            raise StoreError(f"{self.name}: {said}; if it is damaged, replace it with --replace") from error


def _merge(table: Any, revision: Revision, rows: Iterator[pa.Table]) -> None:
    for first in range(_IDS_AT_ONCE, len(revision.gone), _IDS_AT_ONCE):
        table.delete(_among(revision.gone[first : first + _IDS_AT_ONCE]))
    left = revision.gone[:_IDS_AT_ONCE]
    first_rows = next(rows, None)
    if first_rows is not None:
        merge = table.merge_insert("chunk_id").when_matched_update_all().when_not_matched_insert_all()
        # In one version with the new rows, so that no reader finds a document without its chunks.
        merge = merge.when_not_matched_by_source_delete(_among(left)) if left else merge
        merge.execute(_reader(chain([first_rows], rows), revision.stamp.schema))
    elif left:
        table.delete(_among(left))


def _reader(rows: Iterable[pa.Table], schema: pa.Schema) -> pa.RecordBatchReader:
    batches = (batch for table in rows for batch in table.cast(schema).to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def _stamped(schema: pa.Schema, text: str) -> pa.Schema:
    place = schema.get_field_index("chunk_id")
    return schema.set(place, schema.field(place).with_metadata({_KEY: text}))


def _among(ids: Sequence[str]) -> str:
    return "chunk_id IN (" + ",".join(f"'{one}'" for one in ids if one.isalnum()) + ")"
