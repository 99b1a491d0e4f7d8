"""Undelete: restore recently deleted documents with their chunks and vectors, without parsing or embedding."""

import difflib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import DOCUMENTS
from docmill.storage.errors import QueryError
from docmill.storage.remote.mirror.mirror_folder import open_folder
from docmill.storage.snapshots.change.run_rows import run_of
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.history.snapshots import Snapshot
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.commit import Changes, commit
from docmill.storage.snapshots.write.current_folder import writing


def undelete(
    store: str | Path | StoreFolder, uris: Sequence[str], retention: Retention, wait_s: float = 0.0
) -> Snapshot:
    """Commit a snapshot with the documents restored unchanged, with the status `restored`.

    They stay although their files are gone; if a file appears again, its document follows the file.
    """
    folder = open_folder(store).existing()
    with writing(folder, wait_s):
        # A mirror may lack the tables that are read below.
        folder.complete()
        base = folder.read()
        held = read_table(base, "deleted")
        _check(uris, set(held.column("uri").to_pylist()), retention)
        rows = held.filter(pc.is_in(held.column("uri"), value_set=pa.array(list(uris), pa.string())))
        status = DOCUMENTS.get_field_index("status")
        documents = rows.select(DOCUMENTS.names)
        documents = documents.set_column(status, "status", pa.array(["restored"] * len(rows), pa.string()))
        chunks = read_table(base, "deleted_chunks")
        changes = Changes(
            gone=frozenset(),
            documents=documents,
            chunks=chunks.filter(pc.is_in(chunks.column("document_id"), value_set=rows.column("document_id"))),
            rejects=read_table(base, "rejects"),
            artifacts={},
            space=base.snapshot.space,
            undelete_days=retention.undelete_days,
            # A reembed since may have left them without vectors of today's model; the next run makes those.
            partial=True,
        )
        return commit(folder, base, changes, run_of("undelete", added=len(rows)))[0].snapshot


def _check(uris: Sequence[str], held: set[str], retention: Retention) -> None:
    for uri in uris:
        if uri not in held:
            # Any distance: even a poor match shows what the uris of this store look like.
            near = difflib.get_close_matches(uri, held, n=3, cutoff=0.0)
            there = f"; there are {', '.join(near)}" if near else ""
            raise QueryError(
                f"no document {uri!r} was deleted within {retention.undelete_days:g} days{there}; "
                "all of them: docmill sql 'SELECT uri, deleted FROM deleted'"
            )
