"""Facets: how many chunks a snapshot has of each type, format, language, folder and year, and of a key's values."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.declared_keys import COLUMN
from docmill.storage.errors import QueryError
from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.instants import STATED
from docmill.storage.tables.tables import read_table

KEY = "metadata."
"""Begins the name of a facet that is a key of [metadata]."""
_LISTED = ("text", "bool", "list")  # kinds of keys; many documents share a value
_MOST_VALUES = 200  # of a key: no person reads more
_OF_DOCUMENTS = ["document_id", "uri", "format", "lang", *STATED, *STATED.values(), "mtime_ns", "chunks"]

FACETS = ("format", "lang", "language", "content_type", "source", "author", "status")
"""The columns of documents whose values can be counted: few are shared by many."""


class FacetCount(TypedDict):
    """How many chunks have a value of a facet."""

    facet: str
    value: str
    chunks: int


class ValueCount(TypedDict):
    """How many documents, and chunks of these, have a value."""

    value: Any
    documents: int
    chunks: int


def value_counts(stored: StoredSnapshot, name: str, chunks: Collection[str] | None) -> list[ValueCount]:
    """Count the values of a key of [metadata], or of a column of documents; most documents first.

    `chunks` are the ids of the chunks that count, None for all. A document without a value is in no count; one with a
    list is in that of each of its entries. Raises `QueryError` for another name.
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
    """Yield the values of a document, each once."""
    yield from (one for one in dict.fromkeys(given if isinstance(given, list) else [given]) if one not in (None, ""))


def facet_counts(stored: StoredSnapshot, among: Collection[str] | None = None) -> list[FacetCount]:
    """Count chunks by each facet, the most frequent values first; values that are "" are left out.

    `among` are the ids of the chunks that count, None for all. Keys of [metadata] whose values are texts, truth values
    or lists are facets, too, each named `metadata.KEY`.

    The columns are read directly: SQL takes twice the CPU time for the same, and a process that has to start first.
    """
    keys = [f"{KEY}{key}" for key, kind in stored.snapshot.keys.items() if kind in _LISTED]
    documents = read_table(stored, "documents", [*_OF_DOCUMENTS, *([COLUMN] if keys else [])])
    types, weights = _types(stored, among), documents.column("chunks")
    if among is not None:
        own = Counter(types.column("document_id").to_pylist())
        weights = pa.array([own[key] for key in documents.column("document_id").to_pylist()], pa.int64())
    found = [
        *_counted("content_type", types.column("content_type"), np.ones(types.num_rows, np.int64)),
        *_counted("format", documents.column("format"), weights),
        *_counted("lang", documents.column("lang"), weights),
        *_counted("folder", _folders(documents.column("uri")), weights),
        *_counted("year", _years(documents), weights),
        *(_declared(documents.column(COLUMN), weights, keys) if keys else ()),
    ]
    return sorted(found, key=lambda one: (-one["chunks"], one["value"]))


def _types(stored: StoredSnapshot, among: Collection[str] | None) -> pa.Table:
    """Return the content types of chunks, and with `among` their documents."""
    if among is None:
        return read_table(stored, "chunks", ["content_type"])
    held = read_table(stored, "chunks", ["chunk_id", "document_id", "content_type"])
    return held.filter(pc.is_in(held.column("chunk_id"), value_set=pa.array(list(among), pa.string())))


def _declared(values: pa.ChunkedArray, weights: pa.ChunkedArray, keys: Sequence[str]) -> Iterator[FacetCount]:
    """Yield the counts of the values of keys, of each key the most frequent ones."""
    counts: dict[str, Counter[str]] = {key: Counter() for key in keys}
    for text, weight in zip(values.to_pylist(), weights.to_pylist(), strict=True):
        given = json.loads(text or "{}") if weight else {}
        for key, own in counts.items():
            own.update({str(one): weight for one in _values(_spelled(given.get(key.removeprefix(KEY))))})
    for key, own in counts.items():
        best = sorted(own.items(), key=lambda one: (-one[1], one[0]))[:_MOST_VALUES]
        yield from (FacetCount(facet=key, value=value, chunks=count) for value, count in best)


def _spelled(value: Any) -> Any:
    """Return a value as SQL spells it."""
    return str(value).lower() if isinstance(value, bool) else value


def _counted(facet: str, values: pa.ChunkedArray, chunks: pa.ChunkedArray | np.ndarray) -> list[FacetCount]:
    sums = pa.table({"value": values, "chunks": chunks}).group_by("value").aggregate([("chunks", "sum")])
    counts = zip(*(sums.column(name).to_pylist() for name in ("value", "chunks_sum")), strict=True)
    return [FacetCount(facet=facet, value=value, chunks=count) for value, count in counts if value and count]


def _folders(uris: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the folder at the top of each uri, with its slash, or ""."""
    return pc.if_else(pc.match_substring(uris, "/"), pc.replace_substring_regex(uris, "(?s)/.*", "/"), "")


def _years(documents: pa.Table) -> pa.ChunkedArray:
    """Return the year of the date that a document states, or else of the last change of its file."""
    of_file = pc.strftime(documents.column("mtime_ns").cast(pa.timestamp("ns")), "%Y")
    stated = pc.coalesce(documents.column("modified_at"), documents.column("created_at"))
    return pc.coalesce(pc.strftime(stated.cast(pa.timestamp("us")), "%Y"), of_file)
