"""Multi-vector rows: a long chunk has one vector for each of its parts, so that a query matches a short passage."""

from collections.abc import Iterable
from itertools import chain, islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.schema import part_readings

KEYS = ("embedding_key", "part_keys")
"""The columns that hold the keys of a chunk's vectors."""


def by_vector(chunks: pa.Table) -> pa.Table:
    """Return chunks with one row for each vector, in order; `embedding_key` is the key of that vector.

    `text`, if present, is the reading of the part, and nothing is left out of it. `tokens` are divided among the parts.
    """
    counts = _counts(chunks)
    if chunks.num_rows == counts.sum():
        return chunks
    rows = chunks.take(pa.array(np.repeat(np.arange(len(counts)), counts)))
    rows = _with(rows, "embedding_key", vector_keys(chunks))
    if "text" in chunks.column_names:
        columns = (chunks.column(name).to_pylist() for name in ("text", "parts", "unread"))
        rows = _with(rows, "text", chain.from_iterable(map(part_readings, *columns)))
        rows = _with(rows, "unread", [[]] * rows.num_rows)
    if "tokens" in chunks.column_names:
        shares = rows.column("tokens").to_numpy() // np.repeat(counts, counts)
        rows = _with(rows, "tokens", shares.tolist())
    return rows


def vector_keys(chunks: pa.Table) -> list[str]:
    """Return the keys of all vectors of chunks, in order; the keys of a chunk's parts are adjacent."""
    firsts, others = (chunks.column(name).to_pylist() for name in KEYS)
    return [key for first, rest in zip(firsts, others, strict=True) for key in (first, *rest)]


def with_keys(chunks: pa.Table, keys: Iterable[str]) -> pa.Table:
    """Return chunks with new keys, which are given in the order of `vector_keys`."""
    left = iter(keys)
    own = [list(islice(left, count)) for count in _counts(chunks).tolist()]
    chunks = _with(chunks, "embedding_key", [one[0] for one in own])
    return _with(chunks, "part_keys", [one[1:] for one in own])


def _counts(chunks: pa.Table) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    lengths = pc.list_value_length(chunks.column("part_keys"))
    return np.asarray(lengths.to_numpy(), np.int64) + 1


def _with(table: pa.Table, name: str, values: Iterable[object]) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(place), pa.array(list(values), table.schema.field(place).type))
