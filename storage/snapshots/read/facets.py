"""Facets: how many chunks a snapshot has by content type, format, language, folder, year, and value of a key."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.errors import QueryError
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.tables.tables import at_once, read_stored_file, read_table
from docmill.storage.stated_metadata import COLUMN
from docmill.storage.timestamps import STATED

KEY = "metadata."
"""The prefix of a facet that is a key of [metadata]."""
_LISTED = ("text", "bool", "list")  # the kinds of keys whose values are counted, because many documents share a value
_MOST_VALUES = 200  # values of a key that are returned; nobody reads more
_OF_DOCUMENTS = ["document_id", "uri", "format", "lang", *STATED, *STATED.values(), "mtime_ns", "chunks"]

_MOST_FILES = 4096
"""Files whose counts are cached, a few kilobytes each; enough for some 3 million chunks. A file never changes, and a
run that changes one document leaves all but two files as they were: at 100,000 chunks this saves 0.15 of 0.16 s of
CPU."""
Counts = Counter[tuple[str, str]]
"""How many chunks have a value of a facet."""

FACETS = ("format", "lang", "language", "content_type", "source", "author", "status")
"""The columns of documents whose values can be counted, because many documents share few values."""


class FacetCount(TypedDict):
    """How many chunks have a value of a facet."""

    facet: str
    value: str
    chunks: int


class ValueCount(TypedDict):
    """How many documents, and how many of their chunks, have a value."""

    value: Any
    documents: int
    chunks: int


def value_counts(stored: StoredSnapshot, name: str, chunks: Collection[str] | None) -> list[ValueCount]:
    """Count the values of a key of [metadata], or of a column of documents; most documents first.

    `chunks` are the ids of the chunks to count, or None for all. A document without a value is not counted; one with a
    list counts for each entry. Raises `QueryError` for any other name.
    """
    declared = name in stored.snapshot.keys
    if not declared and name not in FACETS:
        known = ", ".join([*stored.snapshot.keys, *FACETS])
        raise QueryError(f"there is no facet {name!r}; there are {known}. [metadata] in docmill.toml declares keys")
    column = COLUMN if declared else name
    documents = read_table(stored, "documents", ["document_id", column, "chunks"]).to_pydict()
    sizes = dict(zip(documents["document_id"], documents["chunks"], strict=True))
    if chunks is not None:
        held = read_table(stored, "chunks", ["chunk_id", "document_id"])
        wanted = held.filter(pc.is_in(held.column("chunk_id"), value_set=pa.array(list(chunks), pa.string())))
        sizes = Counter(wanted.column("document_id").to_pylist())
    found, of_chunks = Counter[Any](), Counter[Any]()
    for document, given in zip(documents["document_id"], documents[column], strict=True):
        for value in _values(json.loads(given or "{}").get(name) if declared else given):
            if sizes.get(document):
                found[value] += 1
                of_chunks[value] += sizes[document]
    counts = [ValueCount(value=one, documents=count, chunks=of_chunks[one]) for one, count in found.items()]
    return sorted(counts, key=lambda one: (-one["documents"], str(one["value"])))


def _values(given: Any) -> Iterator[Any]:
    """Yield the distinct values of a document."""
    yield from (one for one in dict.fromkeys(given if isinstance(given, list) else [given]) if one not in (None, ""))


def facet_counts(stored: StoredSnapshot, among: Collection[str] | None = None) -> list[FacetCount]:
    """Count chunks by each facet, the most frequent values first; empty values are left out.

    `among` are the ids of the chunks to count, or None for all. Keys of [metadata] whose values are texts, booleans or
    lists are facets, too, named `metadata.KEY`.

    The columns are read directly, because SQL takes twice the CPU time and needs a process that has to start first.
    """
    keys = tuple(f"{KEY}{key}" for key, kind in stored.snapshot.keys.items() if kind in _LISTED)
    counts = _counts_of_all(stored, keys) if among is None else _counts_among(stored, keys, among)
    found = [
        FacetCount(facet=facet, value=value, chunks=count)
        for (facet, value), count in counts.items()
        if value and count
    ]
    found.sort(key=lambda one: (-one["chunks"], one["value"]))
    shown = Counter[str]()
    return [one for one in found if not one["facet"].startswith(KEY) or _is_among_the_first(one["facet"], shown)]


def _is_among_the_first(facet: str, shown: Counter[str]) -> bool:
    shown[facet] += 1
    return shown[facet] <= _MOST_VALUES


def _counts_of_all(stored: StoredSnapshot, keys: tuple[str, ...]) -> Counts:
    """Return the sums over the files of a snapshot. Files shared with an earlier snapshot are not read again."""
    total = Counts()
    for own in at_once(lambda piece: _types_in(stored.root, piece), stored.pieces("chunks")):
        total.update(own)
    for own in at_once(lambda piece: _documents_in(stored.root, piece, keys), stored.pieces("documents")):
        total.update(own)
    return total


@lru_cache(_MOST_FILES)
def _types_in(root: Path, piece: StoredFile) -> Counts:
    found = pc.value_counts(read_stored_file(root, piece, ["content_type"]).column("content_type").combine_chunks())
    return Counts({("content_type", one["values"]): one["counts"] for one in found.to_pylist()})


@lru_cache(_MOST_FILES)
def _documents_in(root: Path, piece: StoredFile, keys: tuple[str, ...]) -> Counts:
    documents = read_stored_file(root, piece, [*_OF_DOCUMENTS, *([COLUMN] if keys else [])])
    return _of_documents(documents, documents.column("chunks").to_pylist(), keys)


def _counts_among(stored: StoredSnapshot, keys: tuple[str, ...], among: Collection[str]) -> Counts:
    held = read_table(stored, "chunks", ["chunk_id", "document_id", "content_type"])
    chunks = held.filter(pc.is_in(held.column("chunk_id"), value_set=pa.array(list(among), pa.string())))
    sizes = Counter(chunks.column("document_id").to_pylist())
    documents = read_table(stored, "documents", [*_OF_DOCUMENTS, *([COLUMN] if keys else [])])
    total = _of_documents(documents, [sizes[key] for key in documents.column("document_id").to_pylist()], keys)
    total.update(("content_type", value) for value in chunks.column("content_type").to_pylist())
    return total


def _of_documents(documents: pa.Table, weights: Sequence[int], keys: Sequence[str]) -> Counts:
    """Return the counts of the facets of documents; each document counts with its weight, its number of chunks."""
    total = Counts()
    for facet, values in (
        ("format", documents.column("format")),
        ("lang", documents.column("lang")),
        ("folder", _folders(documents.column("uri"))),
        ("year", _years(documents)),
    ):
        for value, weight in zip(values.to_pylist(), weights, strict=True):
            total[facet, value] += weight
    if keys:
        _add_declared(total, documents.column(COLUMN), weights, keys)
    return total


def _add_declared(total: Counts, values: pa.ChunkedArray, weights: Sequence[int], keys: Sequence[str]) -> None:
    """Add the counts of the values of keys."""
    for text, weight in zip(values.to_pylist(), weights, strict=True):
        given = json.loads(text or "{}") if weight else {}
        for key in keys:
            for one in _values(_spelled(given.get(key.removeprefix(KEY)))):
                total[key, str(one)] += weight


def _spelled(value: Any) -> Any:
    """Return a value as SQL spells it."""
    return str(value).lower() if isinstance(value, bool) else value


def _folders(uris: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the top folder of each uri, with its slash, or ""."""
    return pc.if_else(pc.match_substring(uris, "/"), pc.replace_substring_regex(uris, "(?s)/.*", "/"), "")


def _years(documents: pa.Table) -> pa.ChunkedArray:
    """Return the year of the date that a document states, or else of the last change of its file."""
    of_file = pc.strftime(documents.column("mtime_ns").cast(pa.timestamp("ns")), "%Y")
    stated = pc.coalesce(documents.column("modified_at"), documents.column("created_at"))
    return pc.coalesce(pc.strftime(stated.cast(pa.timestamp("us")), "%Y"), of_file)
