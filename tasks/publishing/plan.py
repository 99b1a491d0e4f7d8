"""Plan: compare the files in the sources with the documents in the store, and decide what to do.

A file whose content is already in the store, under any name, is not read again: its rows are copied (renamed, copied,
restored), or only its chunks are made again (other route or strategy).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from docmill.storage.errors import ALLOW_DELETE, Rejected, SourceError
from docmill.storage.schema import RejectRow, StagedDocument
from docmill.tasks.parse.formats import FileType
from docmill.tasks.paths.content import content_of
from docmill.tasks.publishing.declared_metadata import Declared, declared_of
from docmill.tasks.sources.source import UNREADABLE, Listing, Source, SourceFile
from docmill.tasks.work.document.recipe import Recipe, suffix_of
from docmill.tasks.work.document.work_item import WorkItem, rejected_row


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """The fields of a `DocumentRow` that a plan needs; only these, because a store may hold very many documents."""

    document_id: str
    uri: str
    source: str
    content_hash: str
    size: int
    format: str
    language: str
    text_key: str
    chunk_key: str
    status: str
    metadata: str
    content_types: tuple[str, ...]
    parent: str
    source_url: str
    described: str
    declared: str
    metadata_warnings: tuple[str, ...]


Known = KnownDocument | StagedDocument


@dataclass(frozen=True, slots=True)
class StoreState:
    """The store and its staging before a run; rows by uri.

    `documents` omits those known to be unchanged. `outdated` are unchanged documents to split again, because their
    contexts are stale. `elsewhere` are further documents that may have the content or the chunks of a file. `held`
    counts the documents of each source.
    """

    documents: Mapping[str, KnownDocument]
    rejects: Mapping[str, RejectRow]
    staged: Sequence[StagedDocument] = ()
    outdated: frozenset[str] = frozenset()
    elsewhere: Sequence[KnownDocument] = ()
    held: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file to ingest, either by `work` or from the `known` row with the same content."""

    file: SourceFile
    content_hash: str
    work: WorkItem | None
    known: Known | None


@dataclass(slots=True)
class Plan:
    """What a run will do. Every uri of the sources is in one list; `moved` maps new names to old ones.

    `rechunked` are those of `planned` that have unchanged content but are split again by another route. `orphaned` maps
    a document whose archive is no longer one to that file, whose outcome decides what happens to the document.
    `redescribed` maps stale documents to their new description. `hidden` are good documents in folders that cannot be
    listed; they become stale. `settled` counts unchanged documents that never reached the plan and are in no list.
    """

    unchanged: list[str] = field(default_factory=list)
    planned: list[PlannedFile] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)
    rechunked: list[str] = field(default_factory=list)
    orphaned: dict[str, str] = field(default_factory=dict)
    redescribed: dict[str, str] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    settled: int = 0

    @property
    def works(self) -> list[WorkItem]:
        """Return the distinct work items, in the order of their files."""
        return list({p.work.key: p.work for p in self.planned if p.work is not None}.values())

    @property
    def empty(self) -> bool:
        """Return whether there is nothing to commit."""
        changed = self.planned or self.deleted or self.forgotten or self.orphaned or self.hidden
        return not (changed or self.redescribed)

    @property
    def lost(self) -> set[str]:
        """Return the documents that are removed rather than renamed."""
        return set(self.deleted) - set(self.moved.values())


def plan(state: StoreState, sources: Sequence[tuple[Source, Listing]], recipe: Recipe, retry: bool) -> Plan:
    """Return the plan for the files of `sources`; `retry` tries rejects again."""
    result = Plan()
    contents = KnownContents(state, recipe)
    files = _unique(file for source, found in sources for file in (*found.found, *found.unseen_files(source)))
    for uri, file in files.items():
        row, content_hash = state.documents.get(uri), file.content_hash
        # Two sources that claim one name would delete each other's documents in turn.
        _check_owner(file, row)
        if not retry and _still_rejected(state.rejects.get(uri), file, content_hash, recipe):
            _pass_over(file, row, result)
        elif file.reason:
            result.planned.append(PlannedFile(file, content_hash, None, _refused(file, content_hash)))
        else:
            _place(file, content_hash, row, contents, result)
    _place_absent(_absent(state.documents, files, sources), state, files, result)
    _place_hidden(state, files, sources, result)
    result.forgotten = _absent(state.rejects, files, sources)
    result.moved = _pair_moves(state, result)
    return result


def _pass_over(file: SourceFile, row: KnownDocument | None, result: Plan) -> None:
    """Leave a file that would be rejected again as it is; it may have a stale document."""
    if row is None:
        result.rejected.append(file.uri)
        return
    result.stale.append(row.uri)
    if row.described != file.described:  # the description may say who has access
        result.redescribed[row.uri] = file.described


def _unique(found: Iterable[SourceFile]) -> dict[str, SourceFile]:
    files: dict[str, SourceFile] = {}
    for file in found:
        other = files.setdefault(file.uri, file)
        if (other.path, other.place) != (file.path, file.place) and not other.reason == file.reason == UNREADABLE:
            raise SourceError(
                f"{file.uri!r} comes from {other.path} and from {file.path}; give one source a name: NAME=PATH"
            )
    return files


def _check_owner(file: SourceFile, row: KnownDocument | None) -> None:
    if row is not None and row.source != file.source:
        raise SourceError(f"{file.uri!r} is a document of source {row.source!r}; give this one a name: NAME=PATH")


def _still_rejected(before: RejectRow | None, file: SourceFile, content_hash: str, recipe: Recipe) -> bool:
    """Return whether a file was rejected before and this recipe would reject it again."""
    if before is None or (file.reason and before.reason != file.reason):
        return False
    key = recipe.attempt_key(before.reason, before.parser, file.uri)
    return (before.content_hash, before.attempt_key) == (content_hash, key)


def _refused(file: SourceFile, content_hash: str) -> StagedDocument:
    """Return the row of a file that could not be extracted, or of an archive that could not be opened."""
    work = WorkItem(key="", uri=file.uri, path=file.path, size=file.size, content_hash=content_hash)
    return replace(rejected_row(work, Rejected(file.reason, file.message)), parsed=False)


class KnownContents:
    """Stored contents by (content hash, suffix), and the keys of all existing chunks."""

    def __init__(self, state: StoreState, recipe: Recipe) -> None:
        self.recipe = recipe
        self._outdated = state.outdated
        staged = [row for row in state.staged if not row.reason]
        self._known: dict[tuple[str, str], Known] = {(row.content_hash, row.suffix): row for row in staged}
        stored = [*state.documents.values(), *state.elsewhere]
        # Committed rows win over staged ones.
        self._known |= {(row.content_hash, suffix_of(row.uri)): row for row in stored}
        self._by_chunks: dict[str, Known] = {row.chunk_key: row for row in staged}
        self._by_chunks |= {row.chunk_key: row for row in stored}

    def content(self, file: SourceFile, row: KnownDocument | None) -> Known | None:
        """Return a row of this content whose text is what today's parsers would produce."""
        digest, uri = file.content_hash, file.uri
        # The suffix is part of the content's identity: the same bytes are another document as .csv than as .txt.
        known = row if row and row.content_hash == digest else self._known.get((digest, suffix_of(uri)))
        if known is None:
            return None
        is_current = self.recipe.is_current(uri, file.content, file_type(known), known.text_key, known.metadata)
        return known if is_current else None

    def chunks(self, uri: str, known: Known) -> Known | None:
        """Return a row that has the chunks of this text under the route of `uri`, unless they are stale."""
        return None if uri in self._outdated else self._by_chunks.get(self._chunk_key(uri, known))

    def lacking(self, file: SourceFile, row: KnownDocument | None) -> str:
        """Return the key of the chunks of this content under a file's route if no known row has them, else ""."""
        known = self.content(file, row)
        key = self._chunk_key(file.uri, known) if known else ""
        return "" if key in self._by_chunks else key

    def declares(self, row: KnownDocument) -> bool:
        """Return whether the stored values of the [metadata] keys are up to date."""
        known = Declared(row.declared, row.metadata_warnings)
        return declared_of(self.recipe.keys, row.metadata, row.described) == known

    def _chunk_key(self, uri: str, known: Known) -> str:
        return self.recipe.chunk_key(known.text_key, uri, known.content_types, known.metadata)


def file_type(known: Known) -> FileType:
    """Return the file type that a row was parsed as."""
    return FileType(known.format, known.language)


def _place(
    file: SourceFile, content_hash: str, row: KnownDocument | None, contents: KnownContents, result: Plan
) -> None:
    """Look a file up among the known contents, and add it to the matching list of the plan."""
    known = contents.content(file, row)
    chunked = contents.chunks(file.uri, known) if known else None
    held = _held(row, content_hash)
    # Another document may have the chunks, made by a route that this document has not had yet.
    if held and chunked and held.chunk_key == chunked.chunk_key:
        if held.source_url == file.link and held.described == file.described and contents.declares(held):
            result.unchanged.append(file.uri)
        else:  # the link or the description has changed, or an older docmill wrote the row
            result.planned.append(PlannedFile(file, content_hash, None, chunked))
        return
    if held and known:
        result.rechunked.append(file.uri)
    work = None if chunked else _work(file, content_hash, known, contents.recipe)
    result.planned.append(PlannedFile(file, content_hash, work, chunked))


def _held(row: KnownDocument | None, content_hash: str) -> KnownDocument | None:
    """Return the row of a document if it is good and has this content."""
    return row if row and row.status == "ok" and row.content_hash == content_hash else None


def _work(file: SourceFile, content_hash: str, known: Known | None, recipe: Recipe) -> WorkItem:
    text_key = known.text_key if known else ""
    identity = content_hash or file.path  # an unreadable file differs from every other
    return WorkItem(
        key=recipe.work_key(file.uri, content_of(identity, file.pictures), text_key),
        uri=file.uri,
        path=file.path,
        place=file.place,
        size=file.size or (known.size if known else 0),
        content_hash=content_hash,
        text_key=text_key,
        format=known.format if known else "",
        language=known.language if known else "",
        reach=file.reach,
        pictures=file.pictures,
    )


def _absent(
    rows: Mapping[str, KnownDocument] | Mapping[str, RejectRow],
    files: Mapping[str, SourceFile],
    sources: Sequence[tuple[Source, Listing]],
) -> list[str]:
    """Return the rows whose files are gone from the sources of this run."""
    return [uri for uri, row in rows.items() if uri not in files and _is_expected(uri, row, sources)]


def _is_expected(uri: str, row: KnownDocument | RejectRow, sources: Sequence[tuple[Source, Listing]]) -> bool:
    """Return whether the sources would list a file if it existed; an unreachable source proves nothing."""
    if getattr(row, "status", "") == "restored":  # restored by undelete: stays until its file is back
        return False
    return any(s.name == row.source and s.covers(uri) and not listing.hides(uri) for s, listing in sources)


def _place_hidden(
    state: StoreState,
    files: Mapping[str, SourceFile],
    sources: Sequence[tuple[Source, Listing]],
    result: Plan,
) -> None:
    """Keep documents as stale that may still exist where the sources could not look."""
    partly_seen = [(source, listing) for source, listing in sources if listing.unseen]
    for uri, row in state.documents.items() if partly_seen else ():
        if uri not in files and row.status != "restored" and _is_hidden(uri, row, partly_seen):
            (result.stale if row.status == "stale" else result.hidden).append(uri)


def _is_hidden(uri: str, row: KnownDocument, sources: Sequence[tuple[Source, Listing]]) -> bool:
    """Return whether a document is from a source that could not look at its place."""
    return any(s.name == row.source and s.covers(uri) and listing.hides(uri) for s, listing in sources)


def _place_absent(absent: Sequence[str], state: StoreState, files: Mapping[str, SourceFile], result: Plan) -> None:
    """Separate deleted documents from members of a file that may still contain them."""
    tried = {*result.rejected, *result.stale}
    owners = _orphaned(state, absent, files, result)
    for uri in absent:
        if uri not in owners:
            result.deleted.append(uri)
        elif owners[uri] in tried and state.documents[uri].status != "ok":
            _pass_over(files[owners[uri]], state.documents[uri], result)
        else:
            result.orphaned[uri] = owners[uri]


def _orphaned(
    state: StoreState, absent: Iterable[str], files: Mapping[str, SourceFile], result: Plan
) -> dict[str, str]:
    """Return documents mapped to the file that contained them, unless that file is known to be empty."""
    open_ends = _open_ends(files, result)
    owners = {uri: _owner(uri, files) for uri in absent if state.documents[uri].parent}
    return {uri: owner for uri, owner in owners.items() if owner in open_ends}


def _open_ends(files: Mapping[str, SourceFile], result: Plan) -> set[str]:
    """Return the files that are still to be read or were rejected; an empty file is settled."""
    waiting = (planned.file.uri for planned in result.planned if planned.work or planned.file.reason)
    return {uri for uri in (*waiting, *result.rejected, *result.stale) if files[uri].reason != "empty"}


def _owner(uri: str, files: Mapping[str, SourceFile]) -> str:
    """Return the source file that contains the member `uri`."""
    return next((above for above in map(str, PurePosixPath(uri).parents) if above in files), "")


def _pair_moves(state: StoreState, result: Plan) -> dict[str, str]:
    """Pair each new name of some content with an old name that is gone."""
    gone: dict[tuple[str, str], list[str]] = {}
    for uri in reversed(result.deleted):
        gone.setdefault((state.documents[uri].content_hash, suffix_of(uri)), []).append(uri)
    moves = {}
    for planned in result.planned:
        names = gone.get((planned.content_hash, suffix_of(planned.file.uri)))
        if planned.file.uri not in state.documents and names and not planned.file.reason:
            moves[planned.file.uri] = names.pop()
    return moves


def excessive_losses(state: StoreState, lost: Iterable[str], limit: float) -> dict[str, str]:
    """Return a message, by source, for each that would lose more than the fraction `limit` of its documents."""
    return {
        source: f"source {source!r} would lose {count} of {state.held[source]} documents, more than "
        f"max_delete_fraction = {limit:g}; check that it is mounted, or {ALLOW_DELETE}"
        for source, count in _count(state.documents[uri].source for uri in lost).items()
        if count > limit * state.held[source]
    }


def unmatched(state: StoreState, sources: Sequence[tuple[Source, Listing]]) -> Iterator[str]:
    """Yield a message for each empty source whose name is that of another source with uris that lack the name."""
    for source, listing in sources:
        count = 0 if listing.found or not source.prefix else state.held.get(source.name, 0)
        if count and not any(source.covers(uri) for uri in state.documents):
            yield (
                f"{source.name}: {count} document(s) of a source without a name left alone; to delete them, ingest "
                f"an empty folder that is called {source.name!r}"
            )


def _count(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts
