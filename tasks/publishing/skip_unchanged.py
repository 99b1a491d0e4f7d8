"""Skip unchanged: pass only new, changed and gone files to the plan; unchanged documents never become objects.

Files and documents are compared as columns, one file of the documents table at a time. The rest is looked up again by
content, so that the plan finds moved files and content that is stored under another name.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.arrow_schema import from_table
from docmill.storage.keys import bucket_of, document_key
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.tables.row_columns import RowColumns
from docmill.storage.snapshots.tables.tables import at_once, read_buckets, read_stored_file
from docmill.tasks.parse.formats import FileType
from docmill.tasks.paths.content import FileContent
from docmill.tasks.publishing.declared_metadata import declared_of
from docmill.tasks.publishing.plan import KnownContents, KnownDocument, StoreState
from docmill.tasks.sources.source import Listing, Source, SourceFile
from docmill.tasks.work.document.recipe import Recipe, suffix_of

_COLUMNS = [one.name for one in fields(KnownDocument)]
_FILE = pa.schema(
    [
        ("uri", pa.large_string()),
        ("source", pa.string()),
        ("content_hash", pa.string()),
        ("link", pa.string()),
        ("described", pa.string()),
        ("pictures", pa.string()),
    ]
)
"""The compared columns of a file. An unusable file has no hash, so it equals no document."""
_URIS_AT_ONCE = 1 << 14

_MADE_BY = ("uri", "content_hash", "format", "language", "text_key", "content_types", "metadata", "chunk_key",
            "described", "declared", "metadata_warnings")  # fmt: skip
"""What decides whether today's recipe would give the same document, in the order of `_is_current`."""

Listed = tuple[Source, Listing]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The rest to plan: the state without the `unchanged` documents, and the listings without their files."""

    state: StoreState
    listings: list[Listed]
    unchanged: int


def narrow(base: StoredSnapshot | None, listings: Sequence[Listed], state: StoreState, recipe: Recipe) -> Narrowed:
    """Return the rest to plan; `state` has everything except the documents."""
    if base is None:
        return Narrowed(state, list(listings), 0)
    # Combining copies nothing if there is one piece, such as the files of one folder.
    files = pa.concat_tables(chain.from_iterable(_told(*one) for one in listings)).combine_chunks()
    to_plan = _LeftToPlan(
        pa.array([*state.rejects, *state.outdated], pa.string()), recipe, base.snapshot.keys != recipe.keys
    )
    found = _Comparison(np.zeros(files.num_rows, bool), {}, Counter())
    for piece, rows in _by_bucket(base, files.column("uri")):
        known = read_stored_file(base.root, piece, _COLUMNS)
        _compare(known, files.take(pa.array(rows)), rows, to_plan, found)
    _open_containers(base, files.column("uri"), found)
    left = _left(listings, found.same)
    state = replace(state, documents=found.documents, held=found.held)
    return Narrowed(_with_contents(base, state, left, recipe), left, int(found.same.sum()))


def _told(source: Source, listing: Listing) -> Iterator[pa.Table]:
    """Yield the `_FILE` rows of a source's files, in order."""
    files = listing.found
    if not isinstance(files, RowColumns):
        yield _rows_of(files)
        return
    same = {
        name: pa.repeat(pa.scalar(text, pa.string()), files.table.num_rows)
        for name, text in (("source", source.name), ("link", ""), ("described", ""), ("pictures", ""))
    }
    told = {name: files.table.column(name) for name in files.table.column_names if name in _FILE.names}
    yield pa.table([(same | told)[name] for name in _FILE.names], _FILE)
    if files.others:
        yield _rows_of(files.others)


def _rows_of(files: Iterable[SourceFile]) -> pa.Table:
    """Return the `_FILE` rows of files that are objects."""
    rows = [
        (
            file.uri,
            file.source,
            None if file.reason else file.content_hash,
            file.link,
            file.described,
            file.content.pictures,
        )
        for file in files
    ]
    columns = [[row[place] for row in rows] for place in range(len(_FILE))]
    return pa.table([pa.array(values, one.type) for values, one in zip(columns, _FILE, strict=True)], _FILE)


@dataclass(slots=True)
class _Comparison:
    """The result so far: a mask of files that are the `same` as their documents, and the other documents by uri.

    `held` counts all documents of each source.
    """

    same: Mask
    documents: dict[str, KnownDocument]
    held: Counter[str]

    def leave(self, rows: Iterable[KnownDocument]) -> None:
        """Leave documents to the plan."""
        self.documents |= {row.uri: row for row in rows}


def _by_bucket(base: StoredSnapshot, uris: pa.ChunkedArray) -> Iterator[tuple[StoredFile, Rows]]:
    """Yield each file of the documents table, and the indices of the uris in its bucket."""
    buckets = base.snapshot.buckets_of("documents")
    every = (uri for batch in _batches(uris) for uri in batch.to_pylist())
    numbers = np.fromiter((bucket_of(document_key(uri), buckets) for uri in every), np.int32, len(uris))
    order, ends = np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers, minlength=buckets))
    del numbers
    for piece in base.pieces("documents"):
        last = int(ends[piece.bucket])
        yield piece, order[int(ends[piece.bucket - 1]) if piece.bucket else 0 : last]


def _batches(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    return (batch.column(0) for batch in pa.table([column], ["uri"]).to_batches(_URIS_AT_ONCE))


def _compare(known: pa.Table, files: pa.Table, rows: Rows, left: "_LeftToPlan", found: _Comparison) -> None:
    """Compare the documents of a bucket with its files, which are the `rows` of all files."""
    found.held.update({one["values"]: one["counts"] for one in known.column("source").value_counts().to_pylist()})
    uris = files.column("uri").combine_chunks()
    places = pc.index_in(known.column("uri").cast(pa.large_string()), value_set=uris).combine_chunks()
    beside = files.take(places)
    same = _alike(known, beside) & ~left.holds(known.column("uri"), uris)
    alike = np.flatnonzero(same)
    same[alike] = left.current(*(table.take(pa.array(alike)) for table in (known, beside)))
    found.same[rows[places.filter(pa.array(same)).to_numpy()]] = True
    found.leave(from_table(known.filter(pa.array(~same)), KnownDocument))


def _alike(known: pa.Table, files: pa.Table) -> Mask:
    """Return which documents are good and agree with their file in content, source, link and description."""
    pairs = (("content_hash", "content_hash"), ("source", "source"), ("source_url", "link"), ("described", "described"))
    same = pc.equal(known.column("status"), "ok")
    for own, of_file in pairs:
        same = pc.and_(same, pc.equal(known.column(own), files.column(of_file)))
    return np.array(pc.fill_null(same, False).to_numpy(), bool)


@dataclass(frozen=True, slots=True)
class _LeftToPlan:
    """Selects documents for the plan although they agree: the `named` ones, and those of another recipe.

    `retyped` says that the [metadata] keys differ from those of the store.
    """

    named: pa.Array
    recipe: Recipe
    retyped: bool

    def holds(self, known: pa.ChunkedArray, files: pa.Array) -> Mask:
        """Return which documents are named, or have a uri that several files share: the plan reports that error."""
        counts = pc.value_counts(files)
        several = counts.field("values").filter(pc.greater(counts.field("counts"), 1)).cast(pa.string())
        left = pa.concat_arrays([self.named, several])
        return np.array(pc.is_in(known, value_set=left).to_numpy(), bool)

    def current(self, known: pa.Table, files: pa.Table) -> list[bool]:
        """Return which documents this recipe would parse and split in the same way, given the file of each."""
        columns = (column.to_pylist() for column in (files.column("pictures"), *map(known.column, _MADE_BY)))
        return [self._is_current(*row) for row in zip(*columns, strict=True)]

    def _is_current(
        self, pictures: str, uri: str, content_hash: str, form: str, language: str, text_key: str, *split: Any
    ) -> bool:
        content_types, metadata, chunk_key, described, values, warnings = split
        if self.retyped and declared_of(self.recipe.keys, metadata, described) != (values, tuple(warnings)):
            return False
        kind = FileType(form, language)
        return self.recipe.is_current(uri, FileContent(content_hash, pictures), kind, text_key, metadata) and (
            self.recipe.chunk_key(text_key, uri, content_types, metadata) == chunk_key
        )


def _open_containers(base: StoredSnapshot, uris: pa.ChunkedArray, found: _Comparison) -> None:
    """Leave files to the plan that may contain documents which are left, because their outcome depends on the file."""
    members = (uri for uri, row in found.documents.items() if row.parent)
    above = {str(one) for uri in members for one in PurePosixPath(uri).parents}
    if above:
        opened = np.array(pc.is_in(uris, value_set=pa.array(list(above), pa.large_string())).to_numpy(), bool)
        opened &= found.same
        found.same &= ~opened
        ids = [document_key(uri) for uri in uris.filter(pa.array(opened)).to_pylist()]
        for table in read_buckets(base, "documents", ids, _COLUMNS):
            found.leave(from_table(table, KnownDocument))


def _left(listings: Sequence[Listed], same: Mask) -> list[Listed]:
    """Return the listings without unchanged files."""
    left, first = list[Listed](), 0
    for source, listing in listings:
        files = listing.found
        places = np.flatnonzero(~same[first : first + len(files)])
        first += len(files)
        rows = files.of(places) if isinstance(files, RowColumns) else [files[place] for place in places.tolist()]
        left.append((source, replace(listing, found=rows)))
    return left


def _with_contents(base: StoredSnapshot, state: StoreState, listings: Sequence[Listed], recipe: Recipe) -> StoreState:
    """Return the state with the documents that have the content, or the chunks, of files that are left."""
    files = [file for _, listing in listings for file in listing.found if file.content_hash]
    own = state.documents
    committed = KnownContents(replace(state, staged=()), recipe)
    new = [file for file in files if not _has(own.get(file.uri), file)]
    # Moved files are found among the documents that are left, because the old name is gone; that needs no table search.
    lacking = {file.content_hash for file in new if not committed.content(file, None)}
    same_bytes = {(row.content_hash, suffix_of(row.uri)): row for row in _having(base, "content_hash", lacking)}
    state = replace(state, elsewhere=tuple(same_bytes.values()))
    contents = KnownContents(state, recipe)
    keys = set(filter(None, (contents.lacking(file, own.get(file.uri)) for file in files)))
    same_chunks = {row.chunk_key: row for row in _having(base, "chunk_key", keys)}
    return replace(state, elsewhere=(*state.elsewhere, *same_chunks.values()))


def _has(row: KnownDocument | None, file: SourceFile) -> bool:
    return row is not None and row.content_hash == file.content_hash


def _having(base: StoredSnapshot, column: str, values: Collection[str]) -> Iterator[KnownDocument]:
    """Yield the documents that have one of the values in a column, in table order."""
    wanted = pa.array(list(values), pa.string())

    def found(piece: StoredFile) -> pa.Table:
        here = pc.is_in(read_stored_file(base.root, piece, [column]).column(0), value_set=wanted)
        # Most files have no match, and then no other column is read.
        return read_stored_file(base.root, piece, _COLUMNS).filter(here) if pc.any(here).as_py() else None

    for table in at_once(found, base.pieces("documents")) if values else ():
        if table is not None:
            yield from from_table(table, KnownDocument)
