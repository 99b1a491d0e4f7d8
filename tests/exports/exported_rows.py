"""What a destination of an export holds, read with the library of its own, and what it should hold."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow.parquet as pq

from docmill.storage.snapshots.read.store import Store

Rows = dict[str, dict[str, Any]]
COLUMNS = ("uri", "source_url", "start_char", "end_char", "page", "headings", "text", "context", "content_type",
           "strategy", "language", "lang", "figures")  # fmt: skip
CLOSE = 1e-6  # of a number of a unit vector; Qdrant makes vectors unit ones again


def wanted(store: Store, where: str = "true") -> Rows:
    """Return what an export of a snapshot has, by chunk id, from its tables and vectors."""
    ids = store.sql(f"SELECT chunk_id FROM chunks WHERE {where}").column("chunk_id").to_pylist()
    documents = {row.uri: row for row in store.documents()}
    vectors = store._sources.vectors(ids)
    found = {}
    for key, chunk in store.chunks(ids).items():
        document = documents[chunk.uri]
        row = asdict(chunk) | {name: getattr(document, name) for name in ("source_url", "language", "lang")}
        row["headings"] = list(row["headings"])
        inside = (one["key"] for one in document.figures if chunk.start_char <= one["start_char"] < chunk.end_char)
        row["figures"] = [*dict.fromkeys(inside)]
        found[key] = {name: row[name] for name in COLUMNS} | {"vector": vectors[key]}
    return found


def same(there: Rows, expected: Rows) -> bool:
    """Return whether a destination holds what it should; raise `AssertionError` with the first difference."""
    assert there.keys() == expected.keys()
    for key, row in expected.items():
        for name in COLUMNS:
            assert there[key][name] == row[name], (key, name)
        assert np.allclose(there[key]["vector"], row["vector"], atol=CLOSE), key
    return True


def read_jsonl(*paths: Path) -> Rows:
    """Return the rows of files of JSON lines."""
    return _by_id(json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines())


def read_parquet(path: Path) -> Rows:
    """Return the rows of a Parquet file or of a folder of them."""
    return _by_id(pq.read_table(path).to_pylist())


def read_lance(folder: Path, table: str = "chunks") -> Rows:
    """Return the rows of a table of LanceDB."""
    return _by_id(lancedb.connect(folder).open_table(table).to_arrow().to_pylist())


def read_qdrant(place: Path, table: str = "chunks") -> Rows:
    """Return the payloads and vectors of a collection of Qdrant in a folder."""
    from qdrant_client import QdrantClient

    client = QdrantClient(path=str(place))
    try:
        points, _ = client.scroll(table, limit=100_000, with_payload=True, with_vectors=True)
        return _by_id({**(point.payload or {}), "vector": point.vector} for point in points)
    finally:
        client.close()


def read_postgres(address: str, table: str = "chunks") -> Rows:
    """Return the rows of a table of PostgreSQL."""
    import psycopg
    from psycopg.rows import dict_row

    with psycopg.connect(address, row_factory=dict_row) as connection:
        rows = connection.execute(f'SELECT * FROM "{table}"'.encode()).fetchall()
    return _by_id({**row, "vector": json.loads(row["vector"])} for row in rows)  # its text is a list of numbers


def _by_id(rows: Any) -> Rows:
    found = list(rows)
    by_id = {str(row["chunk_id"]): dict(row) for row in found}
    assert len(by_id) == len(found), "each chunk is there once"
    return by_id


Reader = Callable[[Path], Rows]
FILES: dict[str, tuple[str, Reader]] = {
    "jsonl": ("out.jsonl", lambda at: read_jsonl(at / "out.jsonl")),
    "parquet": ("out.parquet", lambda at: read_parquet(at / "out.parquet")),
    "jsonl folder": ("jsonl:lines", lambda at: read_jsonl(*sorted((at / "lines").glob("*.jsonl")))),
    "parquet folder": ("parquet:parts", lambda at: read_parquet(at / "parts")),
    "hugging face": ("hf:set", lambda at: read_parquet(at / "set" / "data")),
    "lance": ("lancedb:base", lambda at: read_lance(at / "base")),
}
"""Addresses of destinations in the working folder, and what reads each."""


def entries(folder: Path) -> Iterator[str]:
    """Yield what stands in a folder, hidden files included."""
    yield from sorted(path.name for path in folder.iterdir())
