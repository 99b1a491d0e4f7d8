"""Row files: exported rows in a file, as JSON lines or Parquet."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.errors import StoreError
from docmill.storage.exports.columns import HELD

Keeps = Callable[[str], bool]
_COMPRESSED = ("text", "context")
_REPEATED = ("uri", "source_url", "page", "headings.list.element", "content_type", "strategy", "language", "lang",
             "figures.list.element", "snapshot")  # fmt: skip
_LINES_AT_ONCE = 4_096
_LINE_ENDS = tuple((end.encode(), f"\\u{ord(end):04x}".encode()) for end in "\x85\u2028\u2029")
"""Line ends of Unicode, which JSON permits in a text but `str.splitlines`, by which many read JSON lines, cuts at."""


class JsonLines:
    """One JSON object per line. Vectors are written with the fewest digits that give the same float32 again."""

    suffix = ".jsonl"

    def held(self, path: Path) -> pa.Table:
        """Return the chunk ids and digests of a file."""
        try:
            pairs = [(row["chunk_id"], row["digest"]) for row in map(orjson.loads, _lines(path))]
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path} is damaged: {error}; remove it and export again") from error
        return pa.table(list(map(list, zip(*pairs, strict=True))) or [[], []], schema=HELD)

    def write(  # with the parameters of Parquet, which has a schema even without rows
        self,
        path: Path,
        schema: pa.Schema,  # noqa: ARG002
        rows: Iterable[pa.Table],
        old: Iterable[Path],
        keeps: Keeps,
    ) -> int:
        """Write new rows, and after them those lines of older files whose ids `keeps` accepts; return their number.

        The file is synced when this returns. `keeps` is called after all new rows are written.
        """
        count = 0
        with path.open("wb") as file:
            for table in rows:
                file.writelines(_encoded(table))
                count += table.num_rows
            for line in (line for one in old for line in _lines(one)):
                if keeps(orjson.loads(line)["chunk_id"]):
                    file.write(line)
                    count += 1
            _settle(file)
        return count


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _encoded(table: pa.Table) -> Iterator[bytes]:
    vectors = table.column("vector").combine_chunks()
    numbers = vectors.flatten().to_numpy().reshape(-1, vectors.type.list_size)
    filled = iter(numbers)
    for row, has_vector in zip(table.drop_columns(["vector"]).to_pylist(), vectors.is_valid().to_pylist(), strict=True):
        row["vector"] = next(filled) if has_vector else None
        line = orjson.dumps(_shown(row), option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)
        for end, escaped in _LINE_ENDS:
            line = line.replace(end, escaped)
        yield line


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a row for its line; for a removed chunk, only the id."""
    return {name: value for name, value in row.items() if value is not None} if row.get("deleted") else row


class Parquet:
    """One Parquet file."""

    suffix = ".parquet"

    def held(self, path: Path) -> pa.Table:
        """Return the chunk ids and digests of a file."""
        try:
            return pq.read_table(path, columns=HELD.names, partitioning=None).cast(HELD)
        except (OSError, pa.ArrowInvalid, ValueError) as error:
            raise StoreError(f"{path} is damaged: {error}; remove it and export again") from error

    def write(self, path: Path, schema: pa.Schema, rows: Iterable[pa.Table], old: Iterable[Path], keeps: Keeps) -> int:
        """Write new rows, and after them those rows of older files that `keeps` accepts, as `JsonLines.write` does."""
        count = 0
        with path.open("wb") as file:
            # Compressing vectors takes time and saves almost nothing, because the bits of floats are nearly random.
            compression = dict.fromkeys(_COMPRESSED, "zstd")
            with pq.ParquetWriter(file, schema, compression=compression, use_dictionary=list(_REPEATED)) as writer:
                for table in rows:
                    writer.write_table(table)
                    count += table.num_rows
                for table in (table for one in old for table in _kept(one, keeps)):
                    writer.write_table(table)
                    count += table.num_rows
            _settle(file)
        return count


def _kept(path: Path, keeps: Keeps) -> Iterator[pa.Table]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_LINES_AT_ONCE):
            mask = pa.array([keeps(key) for key in batch.column("chunk_id").to_pylist()], pa.bool_())
            if pc.any(mask).as_py():
                yield pa.Table.from_batches([batch.filter(mask)])


def _settle(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


RowFormat = JsonLines | Parquet
"""A file format for exported rows."""
JSON_LINES, PARQUET = JsonLines(), Parquet()
FORMATS: dict[str, RowFormat] = {one.suffix: one for one in (JSON_LINES, PARQUET)}
