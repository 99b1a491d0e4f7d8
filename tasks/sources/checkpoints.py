"""Checkpoints: what sources listed before, so that they can be asked for changes only.

They are in `cache/sources/`, one file for each source; losing one costs a full listing but no document.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.files import write_whole
from docmill.storage.stated_metadata import record_of, record_text
from docmill.tasks.sources.connectors.contract import SourceItem

_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("version", pa.string()),
        ("size", pa.int64()),
        ("modified_ns", pa.int64()),
        ("metadata", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All items of a source as of `state`, a text that only the source understands; `key` identifies its settings."""

    key: str = ""
    state: str = ""
    items: Mapping[str, SourceItem] = field(default_factory=dict)


class Checkpoints:
    """The last listing of each source; in memory only, unless a store's folder is given."""

    def __init__(self, store: Path | None = None) -> None:
        self._folder = store / "cache" / "sources" if store else None
        self._fresh: dict[str, Checkpoint] = {}

    def of(self, source: str, key: str) -> Checkpoint:
        """Return the last checkpoint of a source with these settings, or an empty one."""
        known = self._fresh.get(source) or self._read(source)
        return known if known.key == key else Checkpoint(key)

    def note(self, source: str, checkpoint: Checkpoint) -> None:
        """Note the checkpoint of a listing; `save` writes it."""
        self._fresh[source] = checkpoint

    def save(self) -> None:
        """Write changed checkpoints; call this once what was listed is in the store."""
        for source, checkpoint in self._fresh.items() if self._folder else ():
            if checkpoint != self._read(source):
                self._write(source, checkpoint)

    def _write(self, source: str, checkpoint: Checkpoint) -> None:
        rows = [_row(item) for item in checkpoint.items.values()]
        columns = [pa.array([row[i] for row in rows], column.type) for i, column in enumerate(_SCHEMA)]
        told = {"docmill.key": checkpoint.key, "docmill.state": checkpoint.state}
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns, schema=_SCHEMA.with_metadata(told)), sink, compression="zstd")
        write_whole(self._path(source), sink.getvalue().to_pybytes())

    def _read(self, source: str) -> Checkpoint:
        try:
            table = pq.read_table(self._path(source), partitioning=None) if self._folder else _SCHEMA.empty_table()
        except (OSError, pa.ArrowInvalid):
            return Checkpoint()
        told = table.schema.metadata or {}
        if not table.schema.equals(_SCHEMA) or told.keys() < {b"docmill.key", b"docmill.state"}:
            return Checkpoint()
        items = [SourceItem(**{**row, "metadata": record_of(row["metadata"])}) for row in table.to_pylist()]
        key, state = told[b"docmill.key"].decode(), told[b"docmill.state"].decode()
        return Checkpoint(key, state, {item.name: item for item in items})

    def _path(self, source: str) -> Path:
        assert self._folder
        return self._folder / f"{source}.parquet"


def _row(item: SourceItem) -> tuple[str | int, ...]:
    return item.name, item.version, item.size, item.modified_ns, record_text(item.metadata)
