"""Multi-vector rows: a chunk has one vector per part and phrasing, so that queries are compared with short texts."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice, repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.schema import part_readings

_BYTES_PER_TOKEN = 4  # estimates the tokens of phrasings, which are not counted; English has 4.5, other languages fewer
KEYS = ("embedding_key", "part_keys")
"""The columns that hold the keys of a chunk's vectors."""


def by_vector(chunks: pa.Table) -> pa.Table:
    """Return chunks with one row for each vector, in order; `embedding_key` is the key of that vector.

    `text`, if present, is the complete reading of a part, or a phrasing; a phrasing has no `context`. The `tokens` of
    a chunk are divided equally among its parts; those of a phrasing are estimated. Without the column `phrasings`,
    they are divided among all vectors.
    """
    counts = _counts(chunks)
    if chunks.num_rows == counts.sum():
        return chunks
    rows = chunks.take(pa.array(np.repeat(np.arange(len(counts)), counts)))
    rows = _with(rows, "embedding_key", vector_keys(chunks))
    phrasings = _phrasings(chunks)
    if "text" in chunks.column_names:
        columns = (chunks.column(name).to_pylist() for name in ("text", "parts", "unread"))
        rows = _with(rows, "text", chain.from_iterable(map(chain, map(part_readings, *columns), phrasings)))
        rows = _with(rows, "unread", [[]] * rows.num_rows)
    parts = counts - np.array([len(some) for some in phrasings], np.int64)
    if "tokens" in chunks.column_names:
        shares = rows.column("tokens").to_numpy() // np.repeat(parts, counts)
        rows = _with(rows, "tokens", shares.tolist())
    return _with_phrasings(rows, parts, phrasings) if any(phrasings) else rows


def _phrasings(chunks: pa.Table) -> list[list[str]]:
    known = "phrasings" in chunks.column_names
    return chunks.column("phrasings").to_pylist() if known else [[]] * chunks.num_rows


def _with_phrasings(
    rows: pa.Table, parts: "np.ndarray[tuple[int], np.dtype[np.int64]]", phrasings: Sequence[Sequence[str]]
) -> pa.Table:
    """Return rows with `context` and `tokens` set for phrasings, which come after the parts of their chunk."""
    pairs = zip(parts.tolist(), phrasings, strict=True)
    of = list(chain.from_iterable([*repeat("", count), *some] for count, some in pairs))
    own: dict[str, Callable[[str], object]] = {"context": lambda _: "", "tokens": _estimated}
    for name in own.keys() & {*rows.column_names}:
        values = zip(of, rows.column(name).to_pylist(), strict=True)
        rows = _with(rows, name, [own[name](phrasing) if phrasing else value for phrasing, value in values])
    return rows


def _estimated(phrasing: str) -> int:
    """Return the estimated number of tokens of a phrasing."""
    return len(phrasing.encode()) // _BYTES_PER_TOKEN + 1


def vector_keys(chunks: pa.Table) -> list[str]:
    """Return the keys of all vectors of chunks, in order; the keys of a chunk's parts are adjacent."""
    firsts, others = (chunks.column(name).to_pylist() for name in KEYS)
    return [key for first, rest in zip(firsts, others, strict=True) for key in (first, *rest)]


def text_keys(chunks: pa.Table) -> list[list[str]]:
    """Return, for each chunk, the vector keys of its parts."""
    return list(map(keys_of_text, *(chunks.column(name).to_pylist() for name in (*KEYS, "parts"))))


def keys_of_text(first: str, others: Sequence[str], parts: Sequence[int]) -> list[str]:
    """Return the vector keys of a chunk's parts, without those of its phrasings, which come last in `others`."""
    return [first, *others[: len(parts)]]


def with_keys(chunks: pa.Table, keys: Iterable[str]) -> pa.Table:
    """Return chunks with new keys, given in the order of `vector_keys`."""
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
