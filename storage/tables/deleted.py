"""Deleted documents: keep the rows of recently deleted documents, so that `undelete` restores them without work."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import CHUNKS, DELETED
from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.history.snapshots import StoredFile
from docmill.storage.tables.row_reader import OpenedTable
from docmill.storage.tables.tables import read_table, write_single


def deleted_tables(
    base: StoredSnapshot | None, gone: Collection[str], written: pa.Table, days: float
) -> dict[str, tuple[StoredFile, ...]]:
    """Return the tables `deleted` and `deleted_chunks` after a commit.

    The documents `gone` enter unless they are also `written`. Documents `written` again, and those deleted more than
    `days` ago, leave.
    """
    if base is None:
        return {}
    back = set(written.column("document_id").to_pylist())
    leaving = set(gone) - back if days > 0 else set()
    horizon = (datetime.now(UTC) - timedelta(days=days)).isoformat("T", "seconds")
    held = read_table(base, "deleted")
    kept = held.filter(pc.greater_equal(held.column("deleted"), horizon))
    kept = _without(kept, back | leaving)
    if not leaving and kept.num_rows == held.num_rows:
        return {name: base.pieces(name) for name in ("deleted", "deleted_chunks") if name in base.snapshot.tables}
    fresh = pa.concat_tables([DELETED.remove(DELETED.get_field_index("deleted")).empty_table(),
                              _rows(base, "documents", leaving)])  # fmt: skip
    now = pa.array([datetime.now(UTC).isoformat("T", "seconds")] * fresh.num_rows, pa.string())
    documents = pa.concat_tables([kept, fresh.append_column("deleted", now)])
    chunks = _among(read_table(base, "deleted_chunks"), kept.column("document_id").to_pylist())
    return {
        "deleted": write_single(base.root, "deleted", documents),
        "deleted_chunks": write_single(
            base.root,
            "deleted_chunks",
            pa.concat_tables([CHUNKS.empty_table(), chunks, _rows(base, "chunks", leaving)]),
        ),
    }


def _rows(base: StoredSnapshot, name: str, documents: Collection[str]) -> pa.Table:
    """Return the rows of documents; of the files of their buckets, only the row groups with such rows are read."""
    return OpenedTable(base, name).rows("document_id", documents)


def _among(table: pa.Table, documents: Collection[str]) -> pa.Table:
    return table.filter(pc.is_in(table.column("document_id"), value_set=pa.array(list(documents), pa.string())))


def _without(table: pa.Table, documents: Collection[str]) -> pa.Table:
    found = pc.is_in(table.column("document_id"), value_set=pa.array(list(documents), pa.string()))
    return table.filter(pc.invert(found))
