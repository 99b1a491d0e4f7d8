"""Repair: rebuild what can be rebuilt from the tables and artifacts, and say what cannot."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from storage import current, keywords, snapshots, vectors
from storage.artifacts import Packs, pack_embeddings, write_pack
from storage.commit import posting_rows, vector_rows, vector_tag
from storage.errors import StoreError
from storage.files import write_immutable
from storage.lock import writer_lock
from storage.schema import indexed_text
from storage.snapshots import Piece
from storage.tables import read_table
from storage.verify import verify

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]


def repair(root: Path, encode: Encode, wait_s: float = 0.0) -> list[str]:
    """Mend the newest snapshot and return what was done, a line each.

    A lost index is rebuilt from Parquet and committed as a new snapshot. `encode` is called only for
    texts whose vector is in no pack any more. Raises `StoreError` when something remains broken.
    """
    with writer_lock(root, wait_s):
        done = list(_mend(root, {finding.kind for finding in verify(root)}, encode))
    left = verify(root)
    if left:
        raise StoreError("cannot be mended from what is here: " + "; ".join(map(str, left)))
    return done


def _mend(root: Path, kinds: set[str], encode: Encode) -> Iterator[str]:
    base = snapshots.read(root)
    number = base.number + 1
    chunks = read_table(root, base, "chunks")
    mended = base
    if "embeddings" in kinds:
        packs = _restore_embeddings(root, base.artifacts["embeddings"], chunks, encode)
        mended = replace(mended, artifacts={**base.artifacts, "embeddings": packs})
        yield "embedded again what no pack holds any more"
    if "vectors" in kinds:
        rows = vector_rows(root, mended.artifacts["embeddings"], chunks)
        mended = replace(mended, vectors=vectors.rebuild(root, base.space, rows, vector_tag(number)))
        yield f"rebuilt the vectors of {chunks.num_rows} chunks"
    if "keywords" in kinds:
        mended = replace(mended, keywords=keywords.rebuild(root, posting_rows(chunks)))
        yield f"rebuilt the postings of {chunks.num_rows} chunks"
    if mended is not base:
        mended = replace(mended, number=number, created=datetime.now(UTC).isoformat("T", "milliseconds"))
        snapshots.commit(root, mended)
        yield f"committed snapshot {number}"
    if mended is not base or "current" in kinds:
        current.publish(root, mended)
        yield f"current/ shows snapshot {mended.number}"


def _restore_embeddings(root: Path, pieces: tuple[Piece, ...], chunks: pa.Table, encode: Encode) -> tuple[Piece, ...]:
    """Return packs that can be read, with one more for the texts whose vector they lack."""
    whole = tuple(piece for piece in pieces if _readable(root, piece))
    packs = Packs([root / piece.file.path for piece in whole])
    lost = packs.missing(chunks.column("embedding_key").to_pylist())
    rows = chunks.filter(pc.is_in(chunks.column("embedding_key"), value_set=pa.array(list(lost), pa.string())))
    texts = {
        key: indexed_text(context, text)
        for key, context, text in zip(
            *(rows.column(name).to_pylist() for name in ("embedding_key", "context", "text")), strict=True
        )
    }
    if not texts:
        return whole
    table = pack_embeddings(list(texts), encode(list(texts.values())))
    file = write_immutable(root, "artifacts/embeddings", ".parquet", lambda path: write_pack(path, table, "embeddings"))
    return (*whole, Piece(file, table.num_rows))


def _readable(root: Path, piece: Piece) -> bool:
    path = root / piece.file.path
    return path.is_file() and path.stat().st_size == piece.file.bytes
