"""Picture packs: the vectors of the pictures of a snapshot, each computed once by content."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.errors import BudgetReached
from docmill.storage.search.encode.api.api_address import is_api
from docmill.storage.search.encode.space import full_name
from docmill.storage.search.pictures.picture_encoder import (
    PICTURE_TOKENS,
    PicturesAndTexts,
    api_pictures,
    load_picture_encoder,
    picture_space,
)
from docmill.storage.snapshots.artifacts.model_packs import PackModel, packs_by, write_model_pack
from docmill.storage.snapshots.artifacts.packs import Packs, figure_keys, pack_vectors, picture_of
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import PICTURE_VECTORS, StoredFile
from docmill.storage.snapshots.tables.tables import read_table
from docmill.tasks.model.embedding_costs import EmbeddingPayer

_AT_ONCE = 16
"""Pictures in memory: each of 80 million pixels takes 320 MB while decoded, one at a time, and then 4 MB."""


@dataclass(frozen=True, slots=True)
class DuePictures:
    """The packs of vectors to keep, the keys of the pictures that lack a vector, and the model that computes it."""

    kept: tuple[StoredFile, ...]
    keys: pa.StringArray
    model: PackModel


def due_pictures(
    base: StoredSnapshot | None, documents: pa.Table | None, name: str, pictures: Sequence[Path]
) -> DuePictures:
    """Return which vectors to compute for the pictures of a snapshot and of new documents.

    Vectors of another model than the configured one are not kept. `pictures` are the packs of figures.
    """
    model = PackModel(full_name(name), picture_space(name))
    kept = packs_by(base, PICTURE_VECTORS, model)
    held = Packs([base.root / one.file.path for one in kept]) if base else Packs([])
    lacking = held.absent(_named(base, documents))
    lost = Packs(pictures).absent(lacking)
    return DuePictures(kept, lacking.filter(pc.invert(pc.is_in(lacking, value_set=lost))), model)


def _named(base: StoredSnapshot | None, documents: pa.Table | None) -> pa.StringArray:
    """Return the keys of the documents' pictures."""
    tables = [read_table(base, "documents", ["figures"])] if base else []
    tables += [documents.select(["figures"])] if documents is not None else []
    named = [figure_keys(table.column("figures")) for table in tables if table.num_rows]
    return pc.unique(pa.chunked_array([part for one in named for part in one.chunks], pa.string()))


def picture_packs(
    root: Path, due: DuePictures, pictures: Sequence[Path], payer: EmbeddingPayer | None = None
) -> tuple[StoredFile, ...]:
    """Return the packs of picture vectors for a snapshot, after computing the due ones.

    `payer` pays for a model behind an API; pictures that it does not pay for lack vectors until the next run.
    """
    if not len(due.keys):
        return due.kept
    packs = Packs(pictures)
    encoder = _paid_by(root, due, packs, payer) if is_api(due.model.name) else load_picture_encoder(*due.model)

    def portions() -> Iterator[pa.Table]:
        for first in range(0, len(due.keys), _AT_ONCE):
            rows = packs.take(due.keys.slice(first, _AT_ONCE)).to_pylist()
            try:
                vectors = encoder.encode_pictures(list(map(picture_of, rows)))
            except BudgetReached:
                return
            yield pack_vectors([row["key"] for row in rows], vectors)

    made = portions()
    if (begun := next(made, None)) is None:
        return due.kept
    return (*due.kept, write_model_pack(root, PICTURE_VECTORS, due.model, chain([begun], made)))


def most_tokens(due: DuePictures) -> int:
    """Return the most tokens that a server can count for what is due; 0 for a local model."""
    if not is_api(due.model.name):
        return 0
    return len(due.keys) * PICTURE_TOKENS


def _paid_by(root: Path, due: DuePictures, pictures: Packs, payer: EmbeddingPayer | None) -> PicturesAndTexts:
    """Return the model behind an API, whose requests `payer` pays for.

    Raise `StoreError` if the server's vector of a known picture differs from the one that the snapshot keeps.
    """
    encoder = api_pictures(due.model.name).paid_by(payer)
    for one in due.kept[:1]:
        table = pq.read_table(root / one.file.path, partitioning=None).slice(0, 1)
        (key,), (vector,) = (table.column(name).to_pylist() for name in ("key", "vector"))
        if not pictures.missing([key]) and any(vector):
            (row,) = pictures.take([key]).to_pylist()
            encoder.compare(picture_of(row), np.array(vector, np.float32))
    return encoder


def lack_vectors(base: StoredSnapshot | None, name: str) -> bool:
    """Return whether a snapshot lacks picture vectors of the configured model, or has those of another."""
    before = base.snapshot.artifacts.get(PICTURE_VECTORS, ()) if base else ()
    if base is None or not name:
        return bool(before)
    due = due_pictures(base, None, name, base.packs("figures"))
    return len(due.keys) > 0 or due.kept != before
