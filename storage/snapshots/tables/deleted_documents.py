"""Deleted documents: keep the rows of recently deleted documents, so that `undelete` can simply restore them."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.tables.tables import read_table, write_single


def deleted_tables(
    base: StoredSnapshot | None, left: Mapping[str, pa.Table], entered: pa.Table, leaving: Collection[str], days: float
) -> dict[str, tuple[StoredFile, ...]]:
    """Return the tables `deleted` and `deleted_chunks` after a commit.

    `left` are the rows of `documents` and `chunks` that the commit removes. They enter these tables, except for
    documents that have moved: their content is also in `entered`, the documents that the commit writes. Documents in
    `leaving`, and those deleted more than `days` ago, leave the tables.
    """
    if base is None:
        return {}
    hashes = entered.column("content_hash").combine_chunks()
    fresh = left["documents"]
    fresh = fresh.filter(pc.invert(pc.is_in(fresh.column("content_hash"), value_set=hashes)))
    leaving = {*leaving, *fresh.column("document_id").to_pylist()}
    horizon = (datetime.now(UTC) - timedelta(days=days)).isoformat("T", "seconds")
    held = read_table(base, "deleted")
    # `greater`, not `greater_equal`: with 0 days, documents deleted within this second go, too.
    kept = held.filter(pc.greater(held.column("deleted"), horizon))
    kept = _without(kept, leaving)
    if not fresh.num_rows and kept.num_rows == held.num_rows:
        return {name: base.pieces(name) for name in ("deleted", "deleted_chunks") if name in base.snapshot.tables}
    now = pa.array([datetime.now(UTC).isoformat("T", "seconds")] * fresh.num_rows, pa.string())
    documents = pa.concat_tables([kept, fresh.append_column("deleted", now)])
    chunks = _among(read_table(base, "deleted_chunks"), kept.column("document_id").to_pylist())
    fresh_chunks = _among(left["chunks"], fresh.column("document_id").to_pylist())
    return {
        "deleted": write_single(base.root, "deleted", documents),
        "deleted_chunks": write_single(base.root, "deleted_chunks", pa.concat_tables([chunks, fresh_chunks])),
    }


def without_expired(base: StoredSnapshot, days: float) -> StoredSnapshot:
    """Return a snapshot without documents deleted more than `days` ago; the same object if there are none."""
    nothing = {"documents": DOCUMENTS.empty_table(), "chunks": CHUNKS.empty_table()}
    tables = deleted_tables(base, nothing, nothing["documents"], (), days)
    changed = base.changed(tables={**base.snapshot.tables, **tables})
    return base if all(tables.get(name, ()) == base.pieces(name) for name in tables) else changed


def _among(table: pa.Table, documents: Collection[str]) -> pa.Table:
    return table.filter(pc.is_in(table.column("document_id"), value_set=pa.array(list(documents), pa.string())))


def _without(table: pa.Table, documents: Collection[str]) -> pa.Table:
    found = pc.is_in(table.column("document_id"), value_set=pa.array(list(documents), pa.string()))
    return table.filter(pc.invert(found))
