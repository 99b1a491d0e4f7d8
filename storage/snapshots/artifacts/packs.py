"""Packs: immutable Parquet files of artifacts: parsed texts, embeddings and pictures, addressed by content."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.errors import StoreError
from docmill.storage.schema import Element, KeptPicture, Parsed
from docmill.storage.search.encode.text_encoder import TermWeights, to_half

TEXTS = pa.schema(
    [
        ("key", pa.string()),
        ("text", pa.string()),
        ("elements", pa.string()),
        ("title", pa.string()),
        ("metadata", pa.string()),
    ]
)
FIGURES = pa.schema(
    [
        ("key", pa.string()),
        ("media_type", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("data", pa.binary()),
    ]
)
SPARSE = pa.schema([("key", pa.string()), ("terms", pa.list_(pa.int32())), ("weights", pa.list_(pa.float32()))])
_FEW_GROUPS = 8
"""Up to this many row groups are read by one thread, because starting more threads would take longer."""
_GROUPS_AT_ONCE = 32
"""Row groups in memory at a time: 50 MB of vectors with 384 dimensions. The rows of many documents are in all groups,
so reading every group that is needed at once would take too much memory."""
_ROWS_PER_GROUP = {"texts": 16, "embeddings": 1024, "figures": 1, "picture_vectors": 1024, "sparse_vectors": 1024}

_NUMBERS = "vector.list.element"
_VECTORS = {"compression": {_NUMBERS: "zstd"}}
_BYTES_APART = {"use_byte_stream_split": [_NUMBERS]}
_ENCODED: dict[str, Any] = {
    "texts": {"compression": "zstd"},
    "embeddings": _VECTORS,
    "figures": {"compression": "none"},
    "picture_vectors": _VECTORS,
    "sparse_vectors": {"compression": "zstd"},
}
"""How packs are encoded. float32 vectors use byte stream splitting, which is lossless: it puts the first bytes of all
numbers together, then the second bytes, and so on. Signs and exponents then compress well, which makes a pack 15 %
smaller; the other bits are as good as random. For float16 it would save 14 % instead of 7, but DuckDB could not read
the file. Pictures are compressed already, and each is read alone."""

_IN_PACKS = {"start_char": "start", "end_char": "end"}
"""Element fields that have another name in packs. Packs are never rewritten, so they keep the original names."""


def embeddings_schema(dimension: int) -> pa.Schema:
    """Return the schema of vectors of `dimension` float32 numbers, as `Packs` returns them."""
    return pa.schema([("key", pa.string()), ("vector", pa.list_(pa.float32(), dimension))])


def pack_texts(parsed: Iterable[tuple[str, Parsed]]) -> pa.Table:
    """Return parsed documents and their keys as rows."""
    rows = [
        (key, p.text, encode_elements(p.elements), p.title, json.dumps(p.metadata, ensure_ascii=False, default=str))
        for key, p in parsed
    ]
    return pa.Table.from_pylist([dict(zip(TEXTS.names, row, strict=True)) for row in rows], schema=TEXTS)


def pack_figures(pictures: Iterable[KeptPicture]) -> pa.Table:
    """Return pictures as rows, without duplicates."""
    rows = list({one.key: one for one in pictures}.values())
    return pa.table([[getattr(one, name) for one in rows] for name in FIGURES.names], schema=FIGURES)


def pack_vectors(keys: Sequence[str], vectors: npt.NDArray[np.float32]) -> pa.Table:
    """Return vectors, float32 (n, dim), and their keys as rows."""
    # One flat array of floats: a list for each vector would make a Python object of every number.
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table([pa.array(keys, pa.string()), column], schema=embeddings_schema(vectors.shape[1]))


def pack_embeddings(keys: Sequence[str], vectors: npt.NDArray[np.float32]) -> pa.Table:
    """Return vectors, float32 (n, dim), and their keys as rows of a pack: see `narrowed`."""
    return narrowed(pack_vectors(keys, vectors))


def narrowed(table: pa.Table) -> pa.Table:
    """Return the rows with vectors in float16 if that loses nothing, as after `half_rounded`; else unchanged."""
    column = table.column("vector").combine_chunks()
    flat = np.asarray(column.flatten())
    half = to_half(flat)
    if not len(flat) or not np.array_equal(half.astype(np.float32), flat):
        return table
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(half), column.type.list_size)
    return table.set_column(table.schema.get_field_index("vector"), "vector", vectors)


def widened(table: pa.Table) -> pa.Table:
    """Return rows of a pack with float16 vectors converted to float32."""
    place = table.schema.get_field_index("vector")
    if place < 0 or table.schema.field(place).type.value_type != pa.float16():
        return table
    size = table.schema.field(place).type.list_size
    return table.set_column(place, "vector", table.column(place).cast(pa.list_(pa.float32(), size)))


def pack_terms(keys: Sequence[str], found: TermWeights) -> pa.Table:
    """Return the learned terms of texts and their keys as rows."""
    ends = pa.array(np.concatenate([[0], found.ends]), pa.int32())
    columns = [pa.ListArray.from_arrays(ends, pa.array(values)) for values in (found.terms, found.weights)]
    return pa.table([pa.array(keys, pa.string()), *columns], schema=SPARSE)


def write_pack(path: Path, table: pa.Table, kind: str) -> None:
    """Write a pack with row groups small enough to fetch one document's rows."""
    stream_pack(path, [table], kind)


def stream_pack(path: Path, tables: Iterable[pa.Table], kind: str) -> None:
    """Write one or more tables into a pack, one after the other."""
    parts = iter(tables)
    first = next(parts)
    apart = _BYTES_APART if _ENCODED[kind] is _VECTORS and widened(first) is first else {}
    with pq.ParquetWriter(path, first.schema, use_dictionary=False, **_ENCODED[kind], **apart) as writer:
        for table in chain([first], parts):
            writer.write_table(table, row_group_size=_ROWS_PER_GROUP[kind])


def encode_elements(elements: Iterable[Element]) -> str:
    """Return elements as JSON without empty fields; packs call the offsets `start` and `end`."""
    return json.dumps(list(map(_encoded, elements)), ensure_ascii=False, separators=(",", ":"))


def _encoded(element: Element) -> dict[str, Any]:
    row = {_IN_PACKS.get(name, name): value for name, value in asdict(element).items()}
    # A document has thousands of elements, most of them without page, box or attributes. `start` stays even if it is 0.
    return {name: value for name, value in row.items() if value not in (0, None, {})} | {"start": element.start_char}


def decode_elements(data: str) -> tuple[Element, ...]:
    """Return the elements that `encode_elements` wrote."""
    return tuple(map(_decoded, json.loads(data)))


def _decoded(row: dict[str, Any]) -> Element:
    start, end = row.pop("start"), row.pop("end", 0)
    if "box" in row:
        row["box"] = tuple(row["box"])
    return Element(row.pop("kind"), start, end, **row)


def decode_parsed(row: dict[str, Any]) -> Parsed:
    """Return the parsed document of a row from a pack of texts."""
    return Parsed(row["text"], decode_elements(row["elements"]), row["title"], json.loads(row["metadata"]))


def figure_keys(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the keys of the pictures in a column `figures`."""
    return pc.struct_field(pc.list_flatten(column), "key")


def picture_of(row: dict[str, Any]) -> KeptPicture:
    """Return the picture of a row from a pack of figures."""
    return KeptPicture(**row)


class Packs:
    """The rows of one kind of artifact in any number of packs, found by key."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self._keys: dict[int, pa.Array] = {}

    def _keys_of(self, pack: int) -> pa.Array:
        if pack not in self._keys:
            self._keys[pack] = _key_column(self.paths[pack])
        return self._keys[pack]

    def keys(self) -> pa.StringArray:
        """Return the keys of all packs; a key that is in several packs is repeated."""
        held = [self._keys_of(pack) for pack in range(len(self.paths))]
        return pa.chunked_array(held, pa.string()).combine_chunks()

    def missing(self, keys: Sequence[str]) -> set[str]:
        """Return the keys that no pack holds."""
        return set(self.absent(pa.array(keys, pa.string())).to_pylist())

    def absent(self, keys: pa.StringArray) -> pa.StringArray:
        """Return the distinct keys that no pack holds, in the given order."""
        left = pc.unique(keys)
        for pack in reversed(range(len(self.paths))):
            if len(left):
                left = left.filter(pc.invert(pc.is_in(left, value_set=self._keys_of(pack))))
        return left

    def take(self, keys: Sequence[str] | pa.StringArray) -> pa.Table:
        """Return the rows of `keys`, in their order; raise `StoreError` if no pack holds one of them.

        Vectors are always float32. The newest pack, which is last in the list, is searched first; older packs are
        searched only for keys that are still missing.
        """
        wanted = keys if isinstance(keys, pa.Array) else pa.array(keys, pa.string())
        parts, order = [], []
        left = np.arange(len(keys))
        for pack in reversed(range(len(self.paths))):
            if not len(left):
                break
            found = pc.index_in(wanted.take(pa.array(left)), value_set=self._keys_of(pack))
            here = found.is_valid().to_numpy(zero_copy_only=False)
            if here.any():
                parts.append(widened(take_rows(self.paths[pack], found.drop_null().to_numpy().astype(np.int64))))
                order.append(left[here])
                left = left[~here]
        if len(left):
            raise StoreError(f"artifact {keys[left[0]]} is in none of {len(self.paths)} packs; see: docmill verify")
        if not parts:
            return pa.table({})
        table = pa.concat_tables(parts)
        return table.take(pa.array(np.argsort(np.concatenate(order), kind="stable")))


def _key_column(path: Path) -> pa.Array:
    try:
        with pq.ParquetFile(path) as file:
            return file.read(["key"]).column("key").combine_chunks()
    except (OSError, pa.ArrowInvalid) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error


def take_rows(path: Path, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Read rows of one Parquet file by number; only the row groups that contain them are read."""
    try:
        return take_from(pq.ParquetFile(path, memory_map=True), rows)
    except (OSError, pa.ArrowInvalid) as error:
        raise StoreError(f"{path} cannot be read: {error}; see: docmill verify") from error


def take_from(file: pq.ParquetFile, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Read rows of an open file by number, at most `_GROUPS_AT_ONCE` row groups at a time."""
    sizes = np.array([file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)], np.int64)
    groups = np.searchsorted(np.cumsum(sizes), rows, side="right")
    used = np.unique(groups)
    found, places = [], []
    for some in np.array_split(used, max(1, -(-len(used) // _GROUPS_AT_ONCE))):
        here = np.flatnonzero(np.isin(groups, some))
        found.append(_taken(file, sizes, some, rows[here]))
        places.append(here)
    if len(found) == 1:
        return found[0]
    return pa.concat_tables(found).take(pa.array(np.argsort(np.concatenate(places))))


def _taken(
    file: pq.ParquetFile, sizes: npt.NDArray[np.int64], used: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> pa.Table:
    """Read rows of the row groups `used`, in the order of `rows`."""
    table = file.read_row_groups(used.tolist(), use_threads=len(used) > _FEW_GROUPS)
    before, here = np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([[0], np.cumsum(sizes[used])])
    own = np.searchsorted(before[used], rows, side="right") - 1
    return table.take(pa.array(rows - before[used][own] + here[own]))
