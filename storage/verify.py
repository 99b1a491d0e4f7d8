"""Verify: hold every part of the newest snapshot against every other, and say what mends a difference."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from storage import current, snapshots
from storage.artifacts import Packs, decode_parsed
from storage.errors import StoreError
from storage.files import hash_file
from storage.keywords import KeywordIndex
from storage.snapshots import Snapshot
from storage.sweep import named_files
from storage.tables import read_table
from storage.vectors import VectorIndex

_DOCUMENTS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference. `kind` is file, tables, texts, embeddings, vectors, keywords or current; `mend` is a command."""

    kind: str
    message: str
    mend: str

    def __str__(self) -> str:
        said = f"{self.kind}: {self.message}"
        return said if self.mend in said else f"{said}; {self.mend}"


def verify(root: Path, deep: bool = False) -> list[Finding]:
    """Return what is wrong with the newest snapshot; nothing, when all parts agree.

    `deep` also reads every file again to compare its content hash.
    """
    snapshot = snapshots.read(root)
    findings = list(_check_files(root, snapshot, deep))
    for kind, check in _CHECKS.items():
        try:
            findings += check(root, snapshot)
        except (StoreError, OSError, pa.ArrowException, ValueError, KeyError) as error:
            findings.append(Finding(kind, str(error), _mend(root, kind)))
    return list(dict.fromkeys(findings))


def _mend(root: Path, kind: str) -> str:
    rebuilt = kind in ("vectors", "keywords", "embeddings", "current")
    return f"docmill repair --store {root}" if rebuilt else "restore the file from a copy of the store"


def _check_files(root: Path, snapshot: Snapshot, deep: bool) -> Iterator[Finding]:
    for kind, file in named_files(snapshot):
        path = root / file.path
        if not path.is_file():
            yield Finding(kind, f"{file.path} is missing", _mend(root, kind))
        elif path.stat().st_size != file.bytes:
            yield Finding(kind, f"{file.path} has {path.stat().st_size} bytes, not {file.bytes}", _mend(root, kind))
        elif deep and hash_file(path) != file.hash:
            yield Finding(kind, f"{file.path} has another content than was written", _mend(root, kind))


def _check_tables(root: Path, snapshot: Snapshot) -> Iterator[Finding]:
    documents = read_table(root, snapshot, "documents", ["document_id", "uri", "chunks"])
    chunks = read_table(root, snapshot, "chunks", ["chunk_id", "document_id"])
    if len(pc.unique(chunks.column("chunk_id"))) != chunks.num_rows:
        yield Finding("tables", "two chunks have one id", _mend(root, "tables"))
    counted = {c["values"]: c["counts"] for c in pc.value_counts(chunks.column("document_id")).to_pylist()}
    for row in documents.to_pylist():
        found = counted.pop(row["document_id"], 0)
        if found != row["chunks"]:
            yield Finding("tables", f"{row['uri']} has {found} chunks, not {row['chunks']}", _mend(root, "tables"))
    for orphan in counted:
        yield Finding("tables", f"chunks of no document: {orphan}", _mend(root, "tables"))


def _check_texts(root: Path, snapshot: Snapshot) -> Iterator[Finding]:
    """Compare every chunk with its place in the canonical text."""
    documents = read_table(root, snapshot, "documents", ["document_id", "uri", "text_key"]).to_pylist()
    chunks = read_table(root, snapshot, "chunks", ["document_id", "start", "end", "text"])
    packs = Packs([root / piece.file.path for piece in snapshot.artifacts["texts"]])
    absent = packs.missing([row["text_key"] for row in documents])
    spans: dict[str, list[tuple[int, int, str]]] = {}
    for key, start, end, text in zip(*(column.to_pylist() for column in chunks.columns), strict=True):
        spans.setdefault(key, []).append((start, end, text))
    for row in documents:
        if row["text_key"] in absent:
            yield Finding("texts", f"the text of {row['uri']} is in no pack", _mend(root, "texts"))
    held = [row for row in documents if row["text_key"] not in absent]
    for first in range(0, len(held), _DOCUMENTS_AT_ONCE):
        some = held[first : first + _DOCUMENTS_AT_ONCE]
        texts = packs.take([row["text_key"] for row in some]).to_pylist()
        for row, text in zip(some, map(decode_parsed, texts), strict=True):
            wrong = [s for s in spans.get(row["document_id"], []) if text.text[s[0] : s[1]] != s[2]]
            if wrong:
                where = f"{row['uri']}[{wrong[0][0]}:{wrong[0][1]}]"
                yield Finding("texts", f"{where} is not the text of its chunk", _mend(root, "texts"))


def _check_embeddings(root: Path, snapshot: Snapshot) -> Iterator[Finding]:
    keys = read_table(root, snapshot, "chunks", ["embedding_key"]).column(0).to_pylist()
    packs = Packs([root / piece.file.path for piece in snapshot.artifacts["embeddings"]])
    if absent := packs.missing(keys):
        yield Finding("embeddings", f"{len(absent)} chunks have no vector in any pack", _mend(root, "embeddings"))


def _check_vectors(root: Path, snapshot: Snapshot) -> Iterator[Finding]:
    index = VectorIndex(root, snapshot.vectors, snapshot.space)
    yield from _compare(root, snapshot, "vectors", index.chunk_ids())


def _check_keywords(root: Path, snapshot: Snapshot) -> Iterator[Finding]:
    yield from _compare(root, snapshot, "keywords", KeywordIndex(root, snapshot.keywords).chunk_ids())


def _compare(root: Path, snapshot: Snapshot, kind: str, indexed: pa.Array) -> Iterator[Finding]:
    here = set(indexed.to_pylist())
    wanted = set(read_table(root, snapshot, "chunks", ["chunk_id"]).column(0).to_pylist())
    if len(here) != len(indexed):
        yield Finding(kind, f"{len(indexed) - len(here)} chunks are indexed twice", _mend(root, kind))
    if wanted - here:
        yield Finding(kind, f"{len(wanted - here)} chunks are not indexed", _mend(root, kind))
    if here - wanted:
        yield Finding(kind, f"{len(here - wanted)} indexed chunks are in no table", _mend(root, kind))


def _check_current(root: Path, snapshot: Snapshot) -> Iterator[Finding]:
    shown = current.published(root)
    if shown != snapshot.number:
        yield Finding("current", f"current/ shows snapshot {shown}, not {snapshot.number}", _mend(root, "current"))


_CHECKS: dict[str, Callable[[Path, Snapshot], Iterator[Finding]]] = {
    "tables": _check_tables,
    "texts": _check_texts,
    "embeddings": _check_embeddings,
    "vectors": _check_vectors,
    "keywords": _check_keywords,
    "current": _check_current,
}
