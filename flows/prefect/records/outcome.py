"""Outcome: the result of a run as the final state, events and artifacts of its flow run."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.states import Completed

from docmill.flows.runs.phases import counted, first_of
from docmill.flows.runs.report import Report, artifact_key
from docmill.flows.runs.terminal_safe_text import one_line
from docmill.storage.address import absolute
from docmill.storage.schema import RejectRow

MOST_ROWS = 1000
"""Rows in the table of rejects. Prefect's page renders them all at once, and `docmill rejects` lists the rest."""
MOST_URIS = 100  # in an event, whose size Prefect limits to 1.5 MB


SOURCE_UNREACHED = "SourceUnreached"
"""The state name of a run that could not reach a source."""
SEEN = "Items and bytes that the run listed and fetched, by source. Also: docmill sources"
MOST_NAMED = 5
"""Number of documents named in the message of a state, which is a line of a list or an alert."""


def final_state(report: Report) -> State[Report]:
    """Return the final state of a flow run: completed, with a name that automations can distinguish."""
    return Completed(name=state_name(report), message=one_line(_message(report)), data=report)


def _message(report: Report) -> str:
    """Return what a run did and what is missing, for an alert: counts, and names of sources and files."""
    said = [report.headline, *(f"source {one.source} not reached: {one.message}" for one in report.unreached)]
    bad = [*report.rejects, *report.rejected_before]
    if bad:
        names = first_of([f"{row.uri} ({row.reason})" for row in bad], MOST_NAMED)
        said.append(f"{counted(len(bad), 'documents')} rejected, {len(report.rejects):,} of them now: {names}")
    return "; ".join(said)


def state_name(report: Report) -> str:
    """Return HeldByGate, SourceUnreached, CompletedWithRejects, NothingToDo or Completed, the first that applies."""
    if report.candidate:
        return "HeldByGate"
    if report.unreached:
        return SOURCE_UNREACHED
    if report.documents.rejected or report.documents.stale:
        return "CompletedWithRejects"
    if report.snapshot is None and not report.dry_run:
        return "NothingToDo"
    return "Completed"


def leave_artifacts(report: Report, store: Path) -> None:
    """Create the summary of a run and the table of missing documents as artifacts."""
    summary = artifact_key("ingest", store)
    create_markdown_artifact(report.as_markdown(), key=summary, description="What the run did")
    rows = [_row(one) for one in (*report.rejects, *report.rejected_before)]
    create_table_artifact(rows[:MOST_ROWS], key=artifact_key("rejects", store), description=_described(len(rows)))
    seen = [{name: value for name, value in asdict(one).items() if name != "far"} for one in report.sources]
    create_table_artifact(seen, key=artifact_key("sources", store), description=SEEN)


def emit_events(report: Report, store: Path) -> None:
    """Emit events for automations: a commit, new rejects, or a snapshot that the gate held back."""
    resource = {
        "prefect.resource.id": f"docmill.store.{artifact_key('store', store).removeprefix('store-')}",
        "prefect.resource.name": store.name,
        "docmill.store.path": absolute(store),
    }
    for event, payload in _events(report):
        emit_event(f"docmill.{event}", resource, payload=payload)


def _events(report: Report) -> Iterator[tuple[str, dict[str, Any]]]:
    if report.dry_run:
        return
    if report.snapshot is not None:
        counts = {"documents": asdict(report.documents), "chunks": asdict(report.chunks)}
        yield "snapshot.committed", {"snapshot": report.snapshot, "pending": report.pending, **counts}
    if report.unreached:
        away = [asdict(one) for one in report.unreached]
        yield "sources.unreached", {"count": len(away), "sources": away}
    if report.rejects:
        some = [{"uri": row.uri, "reason": row.reason} for row in report.rejects[:MOST_URIS]]
        yield (
            "documents.rejected",
            {"count": len(report.rejects), "rejects": some, "before": len(report.rejected_before)},
        )
    if report.candidate:
        finding = asdict(report.gate) if report.gate else {}
        yield "gate.held", {"candidate": report.candidate, "gate": finding}


def _row(reject: RejectRow) -> dict[str, Any]:
    return {
        "document": one_line(reject.uri),
        "reason": reject.reason,
        "message": one_line(reject.message),
        "bytes": reject.size,
        "since": reject.first_seen,
    }


def _described(count: int) -> str:
    shown = f"; the first {MOST_ROWS:,} of them" if count > MOST_ROWS else ""
    return f"{counted(count, 'documents')} that could not be read{shown}. Also: docmill rejects"
