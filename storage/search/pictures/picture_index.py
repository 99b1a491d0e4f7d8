"""Picture index: find chunks whose pictures show what a text says, by comparing with the vectors of all pictures."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.process.computed_once import computed_once
from docmill.storage.search.pictures.picture_encoder import PicturesAndTexts, load_picture_encoder, picture_space
from docmill.storage.snapshots.artifacts.model_packs import PackModel, model_of_pack, why_missing
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import PICTURE_VECTORS
from docmill.storage.snapshots.tables.tables import read_table

_COLUMNS = ["chunk_id", "document_id", "start_char", "end_char", "role", "context", "headings", "unread"]
_SEPARATOR, _LEFT_OUT = " › ", "…"  # between the headings of a context, and instead of omitted ones
_FIGURE, _SUMMARY = "figure", "summary"


class PicturedChunks(NamedTuple):
    """The rows of vectors with the chunks that show their pictures, and the silent chunks, which have no words."""

    rows: npt.NDArray[np.int64]
    chunks: list[str]
    silent: frozenset[str]


class PictureIndex:
    """The pictures of a snapshot that have vectors. Each part is read on first use."""

    def __init__(self, stored: StoredSnapshot, packs: Sequence[Path]) -> None:
        self._stored = stored
        self._packs = packs

    @computed_once
    def model(self) -> PackModel:
        """The model that made the vectors."""
        return model_of_pack(self._packs[0], PICTURE_VECTORS)

    @computed_once
    def missing(self) -> str:
        """Why pictures cannot be searched (the model is missing here, or is a different one), or ""."""
        return why_missing(self.model, "pictures", picture_space, load_picture_encoder)

    @property
    def silent(self) -> frozenset[str]:
        """The chunks of figures without any words: only their pictures can match a text."""
        return self._shown.silent

    def nearest(self, text: str, k: int, allowed: Collection[str] | None) -> list[tuple[str, float]]:
        """Return (chunk id, cosine) of the chunks whose pictures are nearest to a text, best first."""
        if self.missing:
            return []
        near = (self._vectors[1] @ self._encoder.encode_query(text))[self._shown.rows]
        found: dict[str, float] = {}
        passes = None if allowed is None else {*allowed}
        for at in np.argsort(-near, kind="stable").tolist():
            chunk = self._shown.chunks[at]
            if chunk not in found and (passes is None or chunk in passes):
                found[chunk] = float(near[at])
                if len(found) == k:
                    break
        return [*found.items()]

    @computed_once
    def _encoder(self) -> PicturesAndTexts:
        return load_picture_encoder(*self.model)

    @computed_once
    def _vectors(self) -> tuple[list[str], npt.NDArray[np.float32]]:
        tables = [pq.read_table(path, columns=["key", "vector"], partitioning=None) for path in self._packs]
        table = pa.concat_tables(tables)
        column = table.column("vector")
        flat = np.asarray(column.combine_chunks().flatten(), np.float32)
        return table.column("key").to_pylist(), flat.reshape(table.num_rows, column.type.list_size)

    @computed_once
    def _shown(self) -> PicturedChunks:
        row_of = {key: row for row, key in enumerate(self._vectors[0])}
        documents = read_table(self._stored, "documents", ["document_id", "figures", "title"])
        documents = documents.filter(pc.greater(pc.list_value_length(documents.column("figures")), 0))
        ids = documents.column("document_id")
        table = read_table(self._stored, "chunks", _COLUMNS)
        table = table.filter(pc.is_in(table.column("document_id"), value_set=ids.combine_chunks()))
        held: dict[str, list[dict[str, Any]]] = {}
        for chunk in table.to_pylist():
            if chunk["role"] != _SUMMARY:
                held.setdefault(chunk["document_id"], []).append(chunk)
        rows, chunks = list[int](), list[str]()
        for document, figures in zip(ids.to_pylist(), documents.column("figures").to_pylist(), strict=True):
            for figure in figures:
                chunk = _chunk_of(figure["start_char"], held.get(document, ()))
                if chunk is not None and figure["key"] in row_of:
                    rows.append(row_of[figure["key"]])
                    chunks.append(chunk)
        titles = dict(zip(ids.to_pylist(), documents.column("title").to_pylist(), strict=True))
        silent = frozenset(
            chunk["chunk_id"] for key, own in held.items() for chunk in own if _is_silent(chunk, titles[key])
        )
        return PicturedChunks(np.array(rows, np.int64), chunks, silent)


def _chunk_of(start: int, chunks: Sequence[dict[str, Any]]) -> str | None:
    """Return the chunk that shows a figure: its own chunk, or else the shortest one that contains it."""
    around = [one for one in chunks if one["start_char"] <= start < one["end_char"]]
    best = min(around, key=lambda one: (one["role"] != _FIGURE, one["end_char"] - one["start_char"]), default=None)
    return None if best is None else str(best["chunk_id"])


def _is_silent(chunk: dict[str, Any], title: str) -> bool:
    """Return whether nothing is known about a figure except its place: its text is only an address."""
    unread, told = chunk["unread"], {"", title, _LEFT_OUT, *chunk["headings"]}
    read = chunk["end_char"] - chunk["start_char"] - sum(unread[1::2]) + sum(unread[::2])
    return chunk["role"] == _FIGURE and read <= 0 and told.issuperset(chunk["context"].split(_SEPARATOR))
