"""Picture vectors: packs of the vectors of pictures, found by the keys of these.

All packs of a snapshot are by one model, which each of them names, so that a reader never mixes two.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.artifacts.packs import pack_embeddings, stream_pack
from docmill.storage.errors import StoreError
from docmill.storage.files import write_immutable
from docmill.storage.history.snapshots import PICTURE_VECTORS, StoredFile

_MODEL = b"docmill.picture_model"


class PictureModel(NamedTuple):
    """The model that made the vectors of a pack: its name, and the id of its space."""

    name: str
    space: str


def model_of_pack(path: Path) -> PictureModel:
    """Return the model that made the vectors of a pack."""
    try:
        return PictureModel(*json.loads(pq.read_schema(path).metadata[_MODEL]))
    except (OSError, pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error


def write_vectors(
    root: Path, model: PictureModel, portions: Iterator[tuple[Sequence[str], npt.NDArray[np.float32]]]
) -> tuple[StoredFile, ...]:
    """Write portions of keys and vectors into one pack, as they are made; no pack if there are none."""
    made = [0]

    def tables() -> Iterator[pa.Table]:
        for keys, vectors in portions:
            made[0] += len(keys)
            yield pack_embeddings(keys, vectors).replace_schema_metadata({_MODEL: json.dumps(model)})

    file = write_immutable(
        root, f"artifacts/{PICTURE_VECTORS}", ".parquet", lambda path: stream_pack(path, tables(), PICTURE_VECTORS)
    )
    return (StoredFile(file, made[0]),)
