"""Learned terms: find chunks with the terms that a model such as SPLADE gives a question; postings are in memory."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.process.computed_once import computed_once
from docmill.storage.search.encode.library_class import SparseModel, load_sparse, sparse_space
from docmill.storage.snapshots.artifacts.model_packs import PackModel, model_of_pack, why_missing
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, by_vector
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import SPARSE_VECTORS
from docmill.storage.snapshots.tables.tables import read_table


class TermPostings(NamedTuple):
    """For each learned term, from `starts[term]` on, the numbers of the chunks that have it, and its weights there."""

    starts: npt.NDArray[np.int64]
    chunks: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]


class LearnedTerms:
    """The learned terms of the chunks of a snapshot. Each part is read on first use."""

    def __init__(self, stored: StoredSnapshot, packs: Sequence[Path]) -> None:
        self._stored = stored
        self._packs = packs

    @computed_once
    def model(self) -> PackModel:
        """The model that made the terms."""
        return model_of_pack(self._packs[0], SPARSE_VECTORS)

    @computed_once
    def missing(self) -> str:
        """Why learned terms cannot be searched (the model is missing here, or is a different one), or ""."""
        return why_missing(self.model, "learned terms", sparse_space, load_sparse)

    def matching(self, text: str, k: int, allowed: Collection[str] | None) -> list[tuple[str, float]]:
        """Return (chunk id, score) of the chunks that share learned terms with a text, best first.

        The score is the sum of the products of both weights over the terms; a chunk with parts has its best part's.
        """
        if self.missing:
            return []
        scores = self._scores(text)
        passes = None if allowed is None else {*allowed}
        found: dict[str, float] = {}
        for row in np.argsort(-scores, kind="stable").tolist():
            if scores[row] <= 0 or len(found) == k:
                break
            chunk = self._chunks[row]
            if passes is None or chunk in passes:
                found.setdefault(chunk, float(scores[row]))
        return [*found.items()]

    def _scores(self, text: str) -> npt.NDArray[np.float64]:
        """Return the score of each row for a text."""
        asked = self._encoder.encode_query(text)
        starts, rows, weights = self._postings
        scores = np.zeros(len(self._chunks))
        for term, weight in zip(asked.terms.tolist(), asked.weights.tolist(), strict=True):
            if term < len(starts) - 1:
                own = slice(starts[term], starts[term + 1])
                scores[rows[own]] += weight * weights[own]  # a row has a term once
        return scores

    @computed_once
    def _encoder(self) -> SparseModel:
        return load_sparse(*self.model)

    @computed_once
    def _chunks(self) -> list[str]:
        """The chunk of each row of `_rows`."""
        chunks: list[str] = self._rows.column("chunk_id").to_pylist()
        return chunks

    @computed_once
    def _rows(self) -> pa.Table:
        """The vectors of all chunks, each with its chunk and its key."""
        return by_vector(read_table(self._stored, "chunks", ["chunk_id", *KEYS])).select(["chunk_id", "embedding_key"])

    @computed_once
    def _postings(self) -> TermPostings:
        parts = [pq.read_table(path, partitioning=None) for path in self._packs]
        table = pa.concat_tables(parts).combine_chunks()
        places = {key: place for place, key in enumerate(table.column("key").to_pylist())}
        wanted = [places.get(key, -1) for key in self._rows.column("embedding_key").to_pylist()]
        held = np.flatnonzero(np.array(wanted, np.int64) >= 0)
        taken = table.take(pa.array([wanted[row] for row in held.tolist()], pa.int64()))
        terms, weights = (taken.column(name).combine_chunks() for name in ("terms", "weights"))
        rows = np.repeat(held, np.asarray(terms.value_lengths(), np.int64))
        flat, weighed = np.asarray(terms.flatten(), np.int64), np.asarray(weights.flatten(), np.float32)
        order = np.argsort(flat, kind="stable")
        starts = np.searchsorted(flat[order], np.arange((int(flat.max()) if len(flat) else 0) + 2))
        return TermPostings(starts, rows[order], weighed[order])
