"""Overview: statistics of a snapshot, and the list of kept snapshots."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.files import disk_use
from docmill.storage.schema import CONTEXT_STATES
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import Snapshot
from docmill.storage.snapshots.history.source_log import logged_sources
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.sql.document_warnings import lost_text


def status_of(stored: StoredSnapshot) -> dict[str, Any]:
    """Return counts and properties of a snapshot, as `Store.status` explains them."""
    documents = read_table(stored, "documents", ["content_type", "status", "source", "metadata"])
    when = stored.folder.synced
    return {
        "store": stored.folder.name,
        "snapshot": stored.snapshot.number,
        "created": stored.snapshot.created,
        "documents": documents.num_rows,
        "stale": pc.sum(pc.equal(documents.column("status"), "stale")).as_py() or 0,
        "lost_text": sum(map(lost_text, documents.column("metadata").to_pylist())),
        "chunks": stored.snapshot.rows("chunks"),
        "rejects": stored.snapshot.rows("rejects"),
        "unreadable": _unreadable(read_table(stored, "rejects", ["uri", "reason", "message"])),
        "sources": _counts(documents.column("source")),
        "source_runs": [asdict(one) for one in logged_sources(stored.root).values()],
        "content_types": _counts(documents.column("content_type")),
        "model": stored.snapshot.space.model,
        "dimension": stored.snapshot.space.dimension,
        "vectors": stored.snapshot.vector_state(),
        **_contexts(stored),
        "bytes": disk_use(stored.root),
        **({"synced": when.isoformat("T", "seconds")} if when else {}),
    }


def _contexts(stored: StoredSnapshot) -> dict[str, Any]:
    """Return how many chunks lack a context from a language model, and why; empty if no model was asked."""
    if not stored.snapshot.rows("costs"):
        return {}
    states = read_table(stored, "chunks", ["context_state"]).column("context_state")
    found = {name: pc.sum(pc.equal(states, name)).as_py() or 0 for name in CONTEXT_STATES if name}
    reasons = read_table(stored, "costs", ["run_id", "reason"]).sort_by("run_id").column("reason").to_pylist()
    last = [reason for reason in reasons if reason][-1:] if any(found.values()) else []
    return {"contexts": found | ({"reason": last[0]} if last else {})}


def _unreadable(rejects: pa.Table) -> dict[str, str]:
    return {row["uri"]: row["message"] for row in rejects.to_pylist() if row["reason"] == "unreadable"}


def history_of(root: Path, last: int) -> list[dict[str, Any]]:
    """Return one row for each kept snapshot up to number `last`."""
    return [_history_row(snapshot) for snapshot in snapshots.each(root, last)]


def snapshots_table(root: Path, last: int) -> pa.Table:
    """Return the SQL view `snapshots`: the rows of `history_of` with the token limit of each snapshot's model."""
    kept = snapshots.each(root, last)
    return pa.Table.from_pylist([{**_history_row(one), "token_limit": one.space.token_limit} for one in kept])


def _history_row(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "snapshot": snapshot.number,
        "created": snapshot.created,
        "run_id": snapshot.run_id,
        "documents": snapshot.rows("documents"),
        "chunks": snapshot.rows("chunks"),
        "rejects": snapshot.rows("rejects"),
        "vector_version": snapshot.vectors.version,
        "segments": len(snapshot.keywords.segments),
        "pending": snapshot.pending.chunks if snapshot.pending else 0,
    }


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    pairs = sorted(
        ((pair["values"], pair["counts"]) for pair in pc.value_counts(column).to_pylist()), key=lambda p: -p[1]
    )
    return dict(pairs)
