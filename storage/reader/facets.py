"""Facets: how many chunks a snapshot has of each type, format, language, folder and year."""

from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.history.folder import StoredSnapshot
from docmill.storage.instants import STATED
from docmill.storage.tables.tables import read_table

_OF_DOCUMENTS = ["uri", "format", "lang", *STATED, *STATED.values(), "mtime_ns", "chunks"]


class FacetCount(TypedDict):
    """How many chunks have a value of a facet."""

    facet: str
    value: str
    chunks: int


def facet_counts(stored: StoredSnapshot) -> list[FacetCount]:
    """Count the chunks of a snapshot by each facet, the most frequent values first; values that are "" are left out.

    The columns are read directly: SQL takes twice the CPU time for the same, and a process that has to start first.
    """
    documents, types = read_table(stored, "documents", _OF_DOCUMENTS), read_table(stored, "chunks", ["content_type"])
    weights = documents.column("chunks")
    found = [
        *_counted("content_type", types.column("content_type"), np.ones(types.num_rows, np.int64)),
        *_counted("format", documents.column("format"), weights),
        *_counted("lang", documents.column("lang"), weights),
        *_counted("folder", _folders(documents.column("uri")), weights),
        *_counted("year", _years(documents), weights),
    ]
    return sorted(found, key=lambda one: (-one["chunks"], one["value"]))


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
