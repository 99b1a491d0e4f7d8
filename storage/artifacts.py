"""Artifacts: parsed texts and embeddings, addressed by content, in Parquet packs that are never rewritten."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.errors import StoreError
from storage.schema import Element, Parsed

TEXTS = pa.schema(
    [
        ("key", pa.string()),
        ("text", pa.string()),
        ("elements", pa.string()),
        ("title", pa.string()),
        ("metadata", pa.string()),
    ]
)
_FEW_GROUPS = 8
_ROWS_PER_GROUP = {"texts": 16, "embeddings": 1024}


def embeddings_schema(dimension: int) -> pa.Schema:
    """Return the schema of a pack of vectors of `dimension` floats."""
    return pa.schema([("key", pa.string()), ("vector", pa.list_(pa.float32(), dimension))])


def pack_texts(parsed: Iterable[tuple[str, Parsed]]) -> pa.Table:
    """Return parsed documents and their keys as rows."""
    rows = [
        (key, p.text, encode_elements(p.elements), p.title, json.dumps(p.metadata, ensure_ascii=False, default=str))
        for key, p in parsed
    ]
    return pa.Table.from_pylist([dict(zip(TEXTS.names, row, strict=True)) for row in rows], schema=TEXTS)


def pack_embeddings(keys: Sequence[str], vectors: npt.NDArray[np.float32]) -> pa.Table:
    """Return vectors, float32 (n, dim), and their keys as rows."""
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return pa.table([pa.array(keys, pa.string()), column], schema=embeddings_schema(vectors.shape[1]))


def write_pack(path: Path, table: pa.Table, kind: str) -> None:
    """Write a pack with row groups small enough to fetch one document's rows."""
    stream_pack(path, [table], kind)


def stream_pack(path: Path, tables: Iterable[pa.Table], kind: str) -> None:
    """Write a pack of at least one table, one after the other."""
    compression = "none" if kind == "embeddings" else "zstd"
    parts = iter(tables)
    first = next(parts)
    with pq.ParquetWriter(path, first.schema, compression=compression, use_dictionary=False) as writer:
        for table in chain([first], parts):
            writer.write_table(table, row_group_size=_ROWS_PER_GROUP[kind])


def encode_elements(elements: Iterable[Element]) -> str:
    """Return elements as JSON, each without its empty fields."""
    rows = ({k: v for k, v in asdict(e).items() if v not in (0, None, {})} | {"start": e.start} for e in elements)
    return json.dumps(list(rows), ensure_ascii=False, separators=(",", ":"))


def decode_elements(data: str) -> tuple[Element, ...]:
    """Return the elements that `encode_elements` wrote."""
    return tuple(
        Element(**row | {"box": tuple(row["box"])}) if "box" in row else Element(**row) for row in json.loads(data)
    )


def decode_parsed(row: dict[str, Any]) -> Parsed:
    """Return the parsed document in a row of a pack of texts."""
    return Parsed(row["text"], decode_elements(row["elements"]), row["title"], json.loads(row["metadata"]))


class Packs:
    """Rows of one kind of artifact, found by key over any number of packs."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)

    @cached_property
    def _keys(self) -> pa.ChunkedArray:
        return pa.chunked_array([self._key_column(path) for path in self.paths], pa.string())

    @cached_property
    def _ends(self) -> npt.NDArray[np.int64]:
        return np.cumsum([len(chunk) for chunk in self._keys.chunks], dtype=np.int64)

    def _key_column(self, path: Path) -> pa.Array:
        try:
            return pq.read_table(path, columns=["key"], partitioning=None).column("key").combine_chunks()
        except (OSError, pa.ArrowInvalid) as error:
            raise StoreError(f"{path} cannot be read: {error}") from error

    def missing(self, keys: Sequence[str]) -> set[str]:
        """Return the keys that no pack holds."""
        wanted = pa.array(list(dict.fromkeys(keys)), pa.string())
        return set(wanted.filter(pc.invert(pc.is_in(wanted, value_set=self._keys.combine_chunks()))).to_pylist())

    def take(self, keys: Sequence[str]) -> pa.Table:
        """Return the rows of `keys`, in their order; raise `StoreError` for one that no pack holds."""
        positions = pc.index_in(pa.array(keys, pa.string()), value_set=self._keys.combine_chunks())
        if positions.null_count:
            absent = keys[positions.is_null().to_pylist().index(True)]
            raise StoreError(f"artifact {absent} is in none of {len(self.paths)} packs; see: docmill verify")
        rows = positions.to_numpy(zero_copy_only=False)
        packs = np.searchsorted(self._ends, rows, side="right")
        parts, order = [], []
        for pack in np.unique(packs):
            here = np.flatnonzero(packs == pack)
            start = self._ends[pack] - len(self._keys.chunk(int(pack)))
            parts.append(take_rows(self.paths[pack], rows[here] - start))
            order.append(here)
        table = pa.concat_tables(parts)
        return table.take(pa.array(np.argsort(np.concatenate(order), kind="stable")))


def take_rows(path: Path, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Read rows of one Parquet file by number, opening only the row groups that hold them."""
    try:
        return take_from(pq.ParquetFile(path, memory_map=True), rows)
    except (OSError, pa.ArrowInvalid) as error:
        raise StoreError(f"{path} cannot be read: {error}; see: docmill verify") from error


def take_from(file: pq.ParquetFile, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Read rows of an open file; few row groups are read quicker without threads."""
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    ends = np.cumsum(sizes)
    groups = np.searchsorted(ends, rows, side="right")
    used = np.unique(groups)
    table = file.read_row_groups(used.tolist(), use_threads=len(used) > _FEW_GROUPS)
    shift = np.zeros(len(sizes), dtype=np.int64)
    shift[used] = np.concatenate([[0], np.cumsum(np.asarray(sizes)[used])[:-1]]) - (
        ends[used] - np.asarray(sizes)[used]
    )
    return table.take(pa.array(rows + shift[groups]))
