"""Verify: compare the parts of the newest snapshot with each other, and report each difference with its remedy.

A deep check also recounts the words of every chunk's fields from the tables, and compares the keyword index with them.
"""

import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.errors import StoreError
from docmill.storage.files import fault
from docmill.storage.keys import embedding_key
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import indexed_text
from docmill.storage.search.keywords.keyword_search import KeywordIndex
from docmill.storage.search.keywords.keyword_writer import open_segment
from docmill.storage.search.keywords.segments.build import build
from docmill.storage.search.keywords.segments.chunk_fields import FIELDS
from docmill.storage.search.keywords.segments.postings import Postings
from docmill.storage.search.keywords.segments.tombstones import NONE
from docmill.storage.search.vectors.fence import schema
from docmill.storage.search.vectors.vectors import VectorIndex
from docmill.storage.snapshots.artifacts.late_vectors import keys_of, late_rows, windows_of
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, by_vector, vector_keys
from docmill.storage.snapshots.artifacts.packs import Packs, decode_parsed, figure_keys
from docmill.storage.snapshots.clean import verify_older
from docmill.storage.snapshots.clean.erase import noted
from docmill.storage.snapshots.history import judgements, learned_settings, measurements, query_log, snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.garbage import named_files
from docmill.storage.snapshots.history.retention import hold
from docmill.storage.snapshots.history.snapshots import OF_ONE_MODEL, vector_tag
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write import current_folder
from docmill.storage.snapshots.write.pending_vectors import COLUMNS, waiting_in, with_vectors
from docmill.storage.snapshots.write.posting_rows import stored_rows
from docmill.storage.snapshots.write.vector_rows import vector_rows


class KeptRows(NamedTuple):
    """A folder of row files: the kind of its findings, what a file contains, the remedy for its loss, damaged files.

    A damaged file is set aside, not removed, because its rows cannot be rebuilt.
    """

    kind: str
    what: str
    remedy: str
    damaged: Callable[[Path], list[Path]]


KEPT_ROWS = (
    KeptRows("evaluations", "the results of an evaluation", "; repeat the evaluation", measurements.damaged),
    KeptRows("judgements", "a judgement", "; judge again", judgements.FILES.damaged),
    KeptRows("queries", "logged queries", "", query_log.FILES.damaged),
    KeptRows("learned", "a learned setting", "", learned_settings.FILES.damaged),
)


_Part = tuple[pa.Array, npt.NDArray[np.uint64]]
"""Ids of chunks, and an array (chunks, 2 * fields): the lengths of the fields, then the hash sums of their terms."""


def miscounted(stored: StoredSnapshot) -> int:
    """Return how many chunks have a field whose words differ from those in the keyword index.

    Return 0 for an index that the next ingest rebuilds, and for one that lacks chunks or has too many.
    """
    state = stored.snapshot.keywords
    if state.outdated:
        return 0
    segments = [open_segment(stored.root, segment) for segment in state.segments]
    with TemporaryDirectory(prefix="docmill-recount-") as folder:  # a store may be mounted for reading only
        ours = _together(
            [_counted(one.postings, NONE.rows) for one in build(Path(folder), stored_rows(stored), state.language)]
        )
    theirs = _together([_counted(one.postings, one.tombstones.rows) for one in segments])
    if ours[0] != theirs[0]:
        return 0
    return int((ours[1] != theirs[1]).any(axis=1).sum())


def _counted(postings: Postings, dead: npt.NDArray[np.int32]) -> _Part:
    """Return the field lengths and term sums of the live chunks; they do not depend on the order of rows and terms."""
    hashes = np.fromiter((crc32(term.as_py().encode()) for term in postings.terms), np.uint64, len(postings.terms))
    of_posting = np.repeat(hashes, np.diff(postings.starts))
    lengths = np.stack([postings.lengths_of(field) for field in range(len(FIELDS))]).astype(np.uint64)
    sums = np.zeros_like(lengths)
    np.add.at(sums[0], postings.rows, of_posting * postings.frequencies.astype(np.uint64))
    side = postings.side.entries(0, len(postings.rows))
    weights = of_posting[side.places] * side.frequencies.astype(np.uint64)
    np.add.at(sums, (side.fields, postings.rows[side.places]), weights)
    alive = np.ones(lengths.shape[1], bool)
    alive[dead] = False
    return postings.chunk_ids.filter(pa.array(alive)), np.concatenate([lengths, sums]).T[alive]


def _together(parts: Sequence[_Part]) -> _Part:
    """Join parts, with the chunks in the order of their ids."""
    if not parts:
        return pa.array([], pa.string()), np.zeros((0, 2 * len(FIELDS)), np.uint64)
    ids = pa.concat_arrays([part for part, _ in parts])
    order = pc.array_sort_indices(ids)
    return ids.take(order), np.concatenate([counts for _, counts in parts])[order.to_numpy()]


Check = Callable[[StoredSnapshot], Iterator["Finding"]]
Span = tuple[int, int, str]
"""Start and end of a chunk in the text of its document, and the chunk's own text."""

_DOCUMENTS_AT_ONCE = 256
"""Texts in memory at a time. With fewer, row groups of packs are read more than once. Each text more takes memory, and
a text may be a whole book."""
_LOOKS, _LOOK_S = 30, 0.1
"""How often, and seconds apart, `current/` is looked at before it counts as outdated. A writer shows its commit within
these 3 s. With fewer looks, a store that is merely being written would be reported."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference.

    `kind` is tables, texts, embeddings, space, vectors, keywords, current, evaluations, judgements, queries, learned,
    snapshot or past. The kind `snapshot` means that the newest snapshot's own file is damaged. `past` concerns files
    that the newest snapshot does not need, and unfinished erasures. `mend` says what to do.
    """

    kind: str
    message: str
    mend: str

    def __str__(self) -> str:
        said = f"{self.kind}: {self.message}"
        return said if self.mend in said else f"{said}; {self.mend}"


def verify(store: str | Path | StoreFolder, deep: bool = False) -> list[Finding]:
    """Return the faults of the newest snapshot; an empty list means that all parts agree.

    The files of older snapshots are only checked for presence. `deep` also compares the content hash of every file and
    object, every vector key with its text, every vector of the index with the one in the packs, and the counts of the
    keyword index with the words of every chunk. The snapshot is held, so other processes may write meanwhile.
    """
    return findings_of(open_folder(store), deep, deep)


def findings_of(folder: StoreFolder, deep: bool, read: bool) -> list[Finding]:
    """Return the findings of `verify`. Without `read`, objects whose files are on the mirror are not downloaded."""
    folder.refresh()  # another machine may have removed snapshots that a mirror still lists
    lost = folder.remote_snapshot_faults(read)
    newest = max(snapshots.numbers(folder.root), default=0)
    mend = f"docmill repair --store {folder.name}"
    found = [Finding("snapshot" if number >= newest else "past", said, mend) for number, said in lost]
    if found and not newest:
        return found
    snapshot, handle = hold(folder.root, None, folder.name)  # as it is on this machine, even if not fully fetched
    try:
        return found + _findings(StoredSnapshot(folder, snapshot), deep, read) + [*_unfinished_erasure(folder)]
    finally:
        os.close(handle)


def _unfinished_erasure(folder: StoreFolder) -> Iterator[Finding]:
    if uris := sorted(noted(folder.root)):
        mend = f"docmill erase {shlex.join(uris)} --store {folder.name}"
        yield Finding("past", "an erasure is not finished", mend)


def _findings(stored: StoredSnapshot, deep: bool, read: bool) -> list[Finding]:
    far = stored.folder.remote_faults(stored.snapshot, deep, read)
    findings = [Finding(kind, said, _repair(stored)) for kind, said in far]
    findings += _check_files(stored, deep)
    # Damaged files of the keyword index are not opened: they would be memory-mapped, and reading could crash.
    damaged = {finding.kind for finding in findings} & {"keywords"}
    checks = _CHECKS | (_DEEP_CHECKS if deep else {})
    for kind in [kind for kind in checks if _PARTS.get(kind, kind) not in damaged]:
        findings += _checked(stored, kind, checks[kind])
    older = verify_older.faults(stored, deep, read)
    findings += [Finding("past", said, mend or _repair(stored)) for said, mend in older]
    return list(dict.fromkeys(findings))


def _checked(stored: StoredSnapshot, kind: str, check: Check) -> Iterator[Finding]:
    """Yield the findings of a check; if the check itself fails, that is a finding, too."""
    try:
        yield from check(stored)
    except (StoreError, OSError, pa.ArrowException, ValueError, KeyError) as error:
        named = _PARTS.get(kind, kind)
        yield Finding(named, str(error), _mend(stored, named))


def _repair(stored: StoredSnapshot) -> str:
    return f"docmill repair --store {stored.folder.name}"


def _mend(stored: StoredSnapshot, kind: str) -> str:
    command = _repair(stored)
    if kind in ("vectors", "keywords", "embeddings", *OF_ONE_MODEL, "current", *(kept.kind for kept in KEPT_ROWS)):
        return command
    return f"restore the file from a copy of the store, or: {command}"


def _check_files(stored: StoredSnapshot, deep: bool) -> Iterator[Finding]:
    for kind, file in named_files(stored.snapshot):
        if said := fault(stored.root, file, deep):
            yield Finding(kind, said, _mend(stored, kind))


def _check_tables(stored: StoredSnapshot) -> Iterator[Finding]:
    documents = read_table(stored, "documents", ["document_id", "uri", "chunks"])
    chunks = read_table(stored, "chunks", ["chunk_id", "document_id"])
    if len(pc.unique(chunks.column("chunk_id"))) != chunks.num_rows:
        yield Finding("tables", "two chunks have one id", _mend(stored, "tables"))
    counted = {c["values"]: c["counts"] for c in pc.value_counts(chunks.column("document_id")).to_pylist()}
    for row in documents.to_pylist():
        found = counted.pop(row["document_id"], 0)
        if found != row["chunks"]:
            yield Finding("tables", f"{row['uri']} has {found} chunks, not {row['chunks']}", _mend(stored, "tables"))
    for orphan in counted:
        yield Finding("tables", f"chunks of no document: {orphan}", _mend(stored, "tables"))


def _check_texts(stored: StoredSnapshot) -> Iterator[Finding]:
    """Compare every chunk with its span of the canonical text."""
    documents = read_table(stored, "documents", ["document_id", "uri", "text_key"]).to_pylist()
    spans = _spans(stored)
    packs = Packs(stored.packs("texts"))
    absent = packs.missing([row["text_key"] for row in documents])
    for row in documents:
        if row["text_key"] in absent:
            yield Finding("texts", f"the text of {row['uri']} is in no pack", _mend(stored, "texts"))
    held = [row for row in documents if row["text_key"] not in absent]
    for first in range(0, len(held), _DOCUMENTS_AT_ONCE):
        some = held[first : first + _DOCUMENTS_AT_ONCE]
        texts = packs.take([row["text_key"] for row in some]).to_pylist()
        for row, text in zip(some, map(decode_parsed, texts), strict=True):
            yield from _check_spans(stored, row["uri"], text.text, spans.get(row["document_id"], []))


def _check_figures(stored: StoredSnapshot) -> Iterator[Finding]:
    """Check that the pictures that documents name are in the packs."""
    documents = read_table(stored, "documents", ["uri", "figures"])
    absent = Packs(stored.packs("figures")).missing(figure_keys(documents.column("figures")).to_pylist())
    for row in documents.to_pylist() if absent else ():
        if lost := sum(one["key"] in absent for one in row["figures"]):
            yield Finding("figures", f"{lost} figures of {row['uri']} are in no pack", _mend(stored, "figures"))


def _spans(stored: StoredSnapshot) -> dict[str, list[Span]]:
    """Return the chunks of each document, by document id."""
    chunks = read_table(stored, "chunks", ["document_id", "start_char", "end_char", "text"])
    spans: dict[str, list[Span]] = {}
    for key, start, end, text in zip(*(column.to_pylist() for column in chunks.columns), strict=True):
        spans.setdefault(key, []).append((start, end, text))
    return spans


def _check_spans(stored: StoredSnapshot, uri: str, text: str, spans: list[Span]) -> Iterator[Finding]:
    """Report the first chunk of a document whose text differs from its span; one is enough."""
    for start, end, chunk in spans:
        if text[start:end] != chunk:
            yield Finding("texts", f"{uri}[{start}:{end}] is not the text of its chunk", _mend(stored, "texts"))
            return


def _check_embeddings(stored: StoredSnapshot) -> Iterator[Finding]:
    keys = vector_keys(read_table(stored, "chunks", list(KEYS)))
    packs = Packs(stored.packs("embeddings"))
    absent = packs.missing(keys)
    if absent and stored.snapshot.pending is None:
        yield Finding("embeddings", f"{len(absent)} texts have no vector in any pack", _mend(stored, "embeddings"))
        return
    expected = stored.snapshot.pending.chunks if stored.snapshot.pending else 0
    found = waiting_in(stored).num_rows
    # A run relies on this number: if it is too low, chunks are never embedded.
    if found != expected:
        said = f"{found} chunks wait for their vectors, not {expected}"
        yield Finding("embeddings", said, _mend(stored, "embeddings"))


def _check_vectors(stored: StoredSnapshot) -> Iterator[Finding]:
    index = VectorIndex(stored.root, stored.snapshot.vectors, stored.snapshot.space)
    if index.version_of(vector_tag(stored.snapshot.number)) != stored.snapshot.vectors.version:
        message = f"no tag keeps version {stored.snapshot.vectors.version} of {stored.snapshot.vectors.table}"
        yield Finding("vectors", message, _mend(stored, "vectors"))
    chunks = with_vectors(stored, read_table(stored, "chunks", COLUMNS))
    yield from _compare(stored, "vectors", by_vector(chunks).column("chunk_id"), index.chunk_ids())


def _check_values(stored: StoredSnapshot) -> Iterator[Finding]:
    """Compare every vector of the index with the vector in the packs."""
    chunks = with_vectors(stored, read_table(stored, "chunks"))
    made = pa.Table.from_batches(
        vector_rows(stored.packs("embeddings"), chunks), schema(stored.snapshot.space.dimension)
    )
    held = VectorIndex(stored.root, stored.snapshot.vectors, stored.snapshot.space).rows()
    ours, theirs = (_sorted(table) for table in (made.cast(held.schema), held))
    if ours.column("chunk_id") != theirs.column("chunk_id"):
        return  # `_check_vectors` reports it better
    wrong = len(ours) - pc.sum(pc.equal(ours.column("bytes"), theirs.column("bytes"))).as_py() if len(ours) else 0
    if wrong:
        yield Finding("vectors", f"{wrong} vectors of the index are not those of their texts", _mend(stored, "vectors"))


def _sorted(vectors: pa.Table) -> pa.Table:
    """Return the chunk id and the bytes of each vector, sorted by both: LanceDB keeps no order within a chunk."""
    flat = vectors.column("vector").combine_chunks().flatten().to_numpy()
    rows = [row.tobytes() for row in flat.reshape(len(vectors), -1)] if len(vectors) else []
    table = pa.table({"chunk_id": vectors.column("chunk_id"), "bytes": pa.array(rows, pa.binary())})
    return table.sort_by([("chunk_id", "ascending"), ("bytes", "ascending")])


def _check_space(stored: StoredSnapshot) -> Iterator[Finding]:
    """Compare every vector key with the key of its text in the snapshot's embedding space."""
    chunks, space = by_vector(read_table(stored, "chunks")), stored.snapshot.space
    if space.late:
        wanted = keys_of(windows_of(*late_rows(stored, chunks)), space.id)
    else:
        texts = map(indexed_text, *(chunks.column(name).to_pylist() for name in ("context", "text", "unread")))
        wanted = [embedding_key(text, space.id) for text in texts]
    for uri, key, right in zip(
        *(chunks.column(name).to_pylist() for name in ("uri", "embedding_key")), wanted, strict=True
    ):
        if key != right:
            yield Finding(
                "space", f"a chunk of {uri} names the vector of another text or space", _mend(stored, "space")
            )


def _check_keywords(stored: StoredSnapshot) -> Iterator[Finding]:
    if stored.snapshot.keywords.rows != stored.snapshot.rows("chunks"):
        counts = f"{stored.snapshot.keywords.rows} chunks in the index, {stored.snapshot.rows('chunks')} in the table"
        yield Finding("keywords", counts, _mend(stored, "keywords"))
    chunks = read_table(stored, "chunks", ["chunk_id"])
    yield from _compare(
        stored, "keywords", chunks.column(0), KeywordIndex(stored.root, stored.snapshot.keywords).chunk_ids()
    )


def _check_fields(stored: StoredSnapshot) -> Iterator[Finding]:
    """Compare the word counts of the keyword index with the fields of every chunk's row."""
    if wrong := miscounted(stored):
        said = f"{wrong} chunks have other words than the index counted"
        yield Finding("keywords", said, _mend(stored, "keywords"))


def _compare(stored: StoredSnapshot, kind: str, chunks: pa.ChunkedArray, indexed: pa.Array) -> Iterator[Finding]:
    """Compare the ids in an index with the expected ids, which repeat a chunk's id for each of its vectors."""
    wanted, here = Counter(chunks.to_pylist()), Counter(indexed.to_pylist())
    if more := len([key for key in here if 0 < wanted[key] < here[key]]):
        yield Finding(kind, f"{more} chunks are indexed twice", _mend(stored, kind))
    if fewer := len([key for key in wanted if here[key] < wanted[key]]):
        yield Finding(kind, f"{fewer} chunks are not indexed", _mend(stored, kind))
    if unknown := here.keys() - wanted.keys():
        yield Finding(kind, f"{len(unknown)} indexed chunks are in no table", _mend(stored, kind))


def _check_current(stored: StoredSnapshot) -> Iterator[Finding]:
    if not stored.folder.always_shows_newest:  # a mirror without a writer has no current/
        return
    for _look in range(_LOOKS):  # a commit takes effect before current/ shows it
        published, newest = current_folder.published(stored.root), snapshots.numbers(stored.root)[-1]
        if published == newest:
            return
        time.sleep(_LOOK_S)
    yield Finding("current", f"current/ shows snapshot {published}, not {newest}", _mend(stored, "current"))


def _check_kept(kept: KeptRows, stored: StoredSnapshot) -> Iterator[Finding]:
    for path in kept.damaged(stored.root):
        message = f"{path.relative_to(stored.root)}, {kept.what}, cannot be read{kept.remedy}"
        yield Finding(kept.kind, message, _mend(stored, kept.kind))


_CHECKS: dict[str, Check] = {
    "tables": _check_tables,
    "texts": _check_texts,
    "figures": _check_figures,
    "embeddings": _check_embeddings,
    "vectors": _check_vectors,
    "keywords": _check_keywords,
    "current": _check_current,
    **{kept.kind: partial(_check_kept, kept) for kept in KEPT_ROWS},
}
_DEEP_CHECKS: dict[str, Check] = {
    "space": _check_space,
    "values": _check_values,
    "fields": _check_fields,
}
_PARTS = {"values": "vectors", "fields": "keywords"}
"""The part of the store that a check concerns, if the check has another name."""
