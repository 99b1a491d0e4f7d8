"""Run rows: assign chunks, which are stored by content, to the documents of a run, and collect the run's changes."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import CHUNKS, DOCUMENTS, REJECTS, from_table, to_table
from docmill.storage.keys import chunk_keys, document_key
from docmill.storage.schema import DocumentRow, RejectRow, StagedDocument, indexed_text
from docmill.storage.snapshots.artifacts.staging import DRAFTS, Batch
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.tables.tables import read_buckets
from docmill.storage.timestamps import instant
from docmill.tasks.publishing.declared_metadata import declared_of
from docmill.tasks.publishing.plan import KnownDocument, Plan, PlannedFile, StoreState
from docmill.tasks.sources.access_grants import access_of
from docmill.tasks.sources.source import SourceFile
from docmill.tasks.work.document.recipe import Recipe

Result = DocumentRow | StagedDocument
_OF_CONTENT = {one.name for one in fields(DocumentRow)} & {one.name for one in fields(StagedDocument)}
"""The columns of a document that depend only on its content."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: rows of documents and rejects, and uris of documents that became stale or were removed."""

    documents: pa.Table
    rejects: list[RejectRow]
    stale: list[str]
    gone: list[str]
    parsed: int


class _Owner(NamedTuple):
    """A document that owns chunks."""

    document_id: str
    uri: str


class _OwnedRun(NamedTuple):
    """The chunks of one key in one document: `length` table rows from `first` on."""

    owner: _Owner
    first: int
    length: int


def staged_documents(batches: Iterable[Batch]) -> list[StagedDocument]:
    """Return the rows of finished batches, the latest last."""
    return [row for batch in batches for row in from_table(batch.documents(), StagedDocument)]


def settle(
    base: StoredSnapshot | None,
    state: StoreState,
    plan: Plan,
    batches: Sequence[Batch],
    recipe: Recipe,
    now: str,
) -> Outcome:
    """Return the outcome of every planned file, given the finished batches. Only one batch is in memory at a time.

    A good document that is now rejected keeps its last good version, as stale. The same holds for documents in an
    archive that is now rejected, or in a folder that cannot be listed.
    """
    tables: list[pa.Table] = []
    rejects: list[RejectRow] = []
    parsed = 0
    for part in _results(base, plan, batches):
        good = [_document(planned.file, result, recipe.keys) for planned, result in part if not _is_reject(result)]
        # As columns, which take less memory than row objects.
        tables.append(to_table(good, DOCUMENTS))
        rejects += [
            _reject(planned.file, result, state.rejects.get(planned.file.uri), recipe, now)
            for planned, result in part
            if _is_reject(result)
        ]
        parsed += _count_parsed(part)
    rejects.sort(key=lambda row: row.uri)
    stale, gone = _fallen(state, plan, rejects)
    said = _said(plan)
    rows = _rows(base, [*stale, *plan.redescribed]).values()
    tables.append(to_table([_stale(row, said.get(row.uri, row.described), recipe.keys) for row in rows], DOCUMENTS))
    return Outcome(pa.concat_tables(tables).combine_chunks(), rejects, stale, gone, parsed)


def _said(plan: Plan) -> dict[str, str]:
    """Return the new descriptions of files and of their members, by uri."""
    said = {planned.file.uri: planned.file.described for planned in plan.planned}
    return said | {uri: said[owner] for uri, owner in plan.orphaned.items() if owner in said} | plan.redescribed


def _stale(row: DocumentRow, described: str, keys: Mapping[str, str]) -> DocumentRow:
    """Return the stale row of a document, which keeps its last good version, with its new description."""
    values, warnings = declared_of(keys, row.metadata, described)
    return replace(
        row,
        status="stale",
        described=described,
        declared=values,
        metadata_warnings=warnings,
        access=access_of(described),
    )


def _is_reject(result: Result) -> TypeGuard[StagedDocument]:
    return isinstance(result, StagedDocument) and bool(result.reason)


def _count_parsed(part: Iterable[tuple[PlannedFile, Result]]) -> int:
    """Count the contents that this run parsed; files of equal content share one work item."""
    parsed = (planned.work for planned, result in part if isinstance(result, StagedDocument) and result.parsed)
    return len({work.key for work in parsed if work})


def _fallen(state: StoreState, plan: Plan, rejects: Sequence[RejectRow]) -> tuple[list[str], list[str]]:
    """Return the documents that become stale, and the ones removed with an archive that is now empty."""
    bad = {row.uri for row in rejects} | {*plan.rejected, *plan.stale}
    stale = [row.uri for row in rejects if row.uri in state.documents]
    stale += [*plan.hidden, *(uri for uri, owner in plan.orphaned.items() if owner in bad)]
    return stale, [uri for uri, owner in plan.orphaned.items() if owner not in bad]


def _results(
    base: StoredSnapshot | None, plan: Plan, batches: Sequence[Batch]
) -> Iterator[list[tuple[PlannedFile, Result]]]:
    """Yield every planned file with its result: first those without work, then batch by batch."""
    yield _known_results(base, plan)
    waiting = _waiting(plan)
    for batch in reversed(batches):
        rows = {row.work_key: row for row in staged_documents([batch])}
        yield [(planned, row) for key, row in rows.items() for planned in waiting.pop(key, ())]
    # A file lost here would silently be neither a document nor a reject.
    assert not waiting, f"no batch has done the work for {[p.file.uri for own in waiting.values() for p in own]}"


def _known_results(base: StoredSnapshot | None, plan: Plan) -> list[tuple[PlannedFile, Result]]:
    """Return the results of planned files without work. Only here are whole rows of stored documents read."""
    known = [(planned, planned.known) for planned in plan.planned if not planned.work and planned.known]
    held = _rows(base, [one.uri for _, one in known if isinstance(one, KnownDocument)])
    return [(planned, held[one.uri] if isinstance(one, KnownDocument) else one) for planned, one in known]


def _waiting(plan: Plan) -> dict[str, list[PlannedFile]]:
    """Return the planned files by the key of their pending work."""
    waiting: dict[str, list[PlannedFile]] = {}
    for planned in plan.planned:
        if planned.work:
            waiting.setdefault(planned.work.key, []).append(planned)
    return waiting


def _rows(base: StoredSnapshot | None, uris: Collection[str]) -> dict[str, DocumentRow]:
    """Return document rows of a snapshot, by uri."""
    if base is None or not uris:
        return {}
    tables = read_buckets(base, "documents", [document_key(uri) for uri in uris])
    return {row.uri: row for table in tables for row in from_table(table, DocumentRow)}


def _document(file: SourceFile, known: Result, keys: Mapping[str, str]) -> DocumentRow:
    declared = declared_of(keys, known.metadata, file.described)
    return DocumentRow(
        document_id=document_key(file.uri),
        uri=file.uri,
        source=file.source,
        mtime_ns=file.mtime_ns,
        status="ok",
        parent=file.parent,
        source_url=file.link,
        created_at=instant(known.created),
        modified_at=instant(known.modified),
        described=file.described,
        declared=declared.values,
        metadata_warnings=declared.warnings,
        access=access_of(file.described),
        **{name: getattr(known, name) for name in _OF_CONTENT},
    )


def _reject(file: SourceFile, staged: StagedDocument, before: RejectRow | None, recipe: Recipe, now: str) -> RejectRow:
    return RejectRow(
        uri=file.uri,
        source=file.source,
        content_hash=staged.content_hash,
        size=staged.size,
        reason=staged.reason,
        message=staged.message,
        parser=staged.parser,
        attempt_key=recipe.attempt_key(staged.reason, staged.parser, file.uri),
        first_seen=before.first_seen if before else now,
        last_seen=now,
    )


def reject_table(state: StoreState, plan: Plan, outcome: Outcome) -> pa.Table:
    """Return the rejects after a run, without files that are good again or gone."""
    settled = {planned.file.uri for planned in plan.planned} | set(plan.forgotten) | set(plan.unchanged)
    kept = [row for uri, row in state.rejects.items() if uri not in settled]
    return to_table([*kept, *outcome.rejects], REJECTS)


def chunk_tables(
    base: StoredSnapshot | None, batches: Sequence[Batch], state: StoreState, documents: pa.Table
) -> Iterator[pa.Table]:
    """Yield the documents' chunks as rows, from finished batches and from documents in the store."""
    owners: dict[str, list[_Owner]] = {}
    names = ("chunk_key", "chunks", "document_id", "uri")
    for key, count, *owner in zip(*(documents.column(name).to_pylist() for name in names), strict=True):
        # No batch has rows for a document without chunks, so its key would never be found.
        if count:
            owners.setdefault(key, []).append(_Owner(*owner))
    stored = {row.chunk_key: row.document_id for row in (*state.documents.values(), *state.elsewhere)}
    for drafts in _drafts(base, batches, set(owners), stored):
        yield _bound(drafts, owners)


def _bound(drafts: pa.Table, owners: Mapping[str, Sequence[_Owner]]) -> pa.Table:
    """Return the chunks, grouped by key and in order, as rows of every document that has them."""
    keys = drafts.column("chunk_key").to_numpy(zero_copy_only=False)
    runs = [_OwnedRun(one, *run) for key, *run in zip(*_runs(keys), strict=True) for one in owners[key]]
    table = drafts.take(pa.array(_order(runs)))
    rows = [run.owner for run in runs for _ in range(run.length)]
    ids, parents = _chunk_ids(table, runs), _parents(table)
    bound = {
        "chunk_id": pa.array(ids, pa.string()),
        "parent_id": pa.array([ids[row] if row >= 0 else "" for row in parents], pa.string()),
        "children": _children(ids, parents),
        "document_id": pa.array([row.document_id for row in rows], pa.string()),
        "uri": pa.array([row.uri for row in rows], pa.string()),
    }
    return pa.table([bound[name] if name in bound else table.column(name) for name in CHUNKS.names], schema=CHUNKS)


def _order(runs: Iterable[_OwnedRun]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the row numbers of the runs; a run that several documents own is repeated for each."""
    return np.concatenate([np.zeros(0, np.int64), *(np.arange(run.first, run.first + run.length) for run in runs)])


def _chunk_ids(table: pa.Table, runs: Iterable[_OwnedRun]) -> list[str]:
    """Return the id of each row of a table of consecutive runs: a hash of the document and the chunk."""
    indexed = map(indexed_text, *(table.column(name).to_pylist() for name in ("context", "text", "unread")))
    found = (chunk_keys(run.owner.document_id, itertools.islice(indexed, run.length)) for run in runs)
    return list(itertools.chain.from_iterable(found))


def _parents(table: pa.Table) -> list[int]:
    """Return the row of each row's parent, -1 if none; `above` is the distance to it."""
    return [row - above if above else -1 for row, above in enumerate(table.column("above").to_pylist())]


def _children(ids: Sequence[str], parents: Sequence[int]) -> pa.Array:
    """Return, for each row, the ids of its child rows."""
    found: list[list[str]] = [[] for _ in ids]
    for chunk_id, parent in zip(ids, parents, strict=True):
        if parent >= 0:
            found[parent].append(chunk_id)
    return pa.array(found, pa.list_(pa.string()))


def _runs(keys: "np.ndarray[tuple[int], np.dtype[np.object_]]") -> tuple[list[str], list[int], list[int]]:
    """Return each distinct key of a sorted column, with the start and the length of its run."""
    if not len(keys):
        return [], [], []
    firsts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])
    return keys[firsts].tolist(), firsts.tolist(), np.diff([*firsts, len(keys)]).tolist()


def _drafts(
    base: StoredSnapshot | None, batches: Sequence[Batch], wanted: set[str], stored: Mapping[str, str]
) -> Iterator[pa.Table]:
    """Yield the chunks of the wanted keys, sorted by key and position; a key is never split over two tables.

    `stored` maps keys to documents in the store; documents of equal key have equal chunks, so any one will do.
    """
    left = set(wanted)
    for batch in reversed(batches):
        table = batch.chunks()
        here = set(pc.unique(table.column("chunk_key")).to_pylist()) & left
        left -= here
        if here:
            yield _sorted(_only(table, "chunk_key", here))
    if base is not None and left:
        yield from map(_sorted, _committed(base, {key: stored[key] for key in left}))


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([("chunk_key", "ascending"), ("ordinal", "ascending")])


def _only(table: pa.Table, column: str, values: Iterable[str]) -> pa.Table:
    return table.filter(pc.is_in(table.column(column), value_set=pa.array(list(values), pa.string())))


def _committed(base: StoredSnapshot, wanted: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield committed chunks with the key of their document; `wanted` gives one document id for each key."""
    keys = {document_id: chunk_key for chunk_key, document_id in wanted.items()}
    for table in read_buckets(base, "chunks", keys):
        column = pa.array([keys[key] for key in table.column("document_id").to_pylist()], pa.string())
        yield table.append_column("chunk_key", column).select(DRAFTS.names)
