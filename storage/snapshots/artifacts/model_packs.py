"""Model packs: packs of artifacts that a second model made, such as picture vectors or learned terms.

All packs of a kind in a snapshot come from one model, and each pack names it. So a reader never mixes two models.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.files import write_immutable
from docmill.storage.snapshots.artifacts.packs import stream_pack
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import StoredFile

_MODELS = {"picture_vectors": b"docmill.picture_model", "sparse_vectors": b"docmill.sparse_model"}
"""The metadata key under which a pack names its model, by kind of pack."""


class PackModel(NamedTuple):
    """The model that made a pack: its name and the id of its embedding space."""

    name: str
    space: str


def model_of_pack(path: Path, kind: str) -> PackModel:
    """Return the model that made a pack."""
    try:
        return PackModel(*json.loads(pq.read_schema(path).metadata[_MODELS[kind]]))
    except (OSError, pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error


def why_missing(model: PackModel, unsearched: str, space_of: Callable[[str], str], load: Callable[..., object]) -> str:
    """Return why the packs of a model cannot be searched, or "" if they can.

    The model may be missing on this machine, or its name may refer to a different model here. A store from somebody
    else may also name a server that this user has not allowed.
    """
    try:
        if space_of(model.name) != model.space:
            return f"{unsearched} are not searched: {model.name} is another model here than that of the store"
        load(*model)
    except (ConfigError, StoreError) as error:
        return f"{unsearched} are not searched: {error}"
    return ""


def packs_by(base: StoredSnapshot | None, kind: str, model: PackModel) -> tuple[StoredFile, ...]:
    """Return the packs of a snapshot that were made in the embedding space of a model."""
    if base is None:
        return ()
    held = base.snapshot.artifacts.get(kind, ())
    return tuple(one for one in held if model_of_pack(base.root / one.file.path, kind).space == model.space)


def write_model_pack(root: Path, kind: str, model: PackModel, portions: Iterator[pa.Table]) -> StoredFile:
    """Write portions of rows, at least one, into one pack. Each is written as soon as it is made."""
    made = [0]

    def tables() -> Iterator[pa.Table]:
        for table in portions:
            made[0] += table.num_rows
            yield by_model(table, kind, model)

    file = write_immutable(root, f"artifacts/{kind}", ".parquet", lambda path: stream_pack(path, tables(), kind))
    return StoredFile(file, made[0])


def by_model(table: pa.Table, kind: str, model: PackModel) -> pa.Table:
    """Return the rows with the model named in their schema metadata."""
    return table.replace_schema_metadata({_MODELS[kind]: json.dumps(model)})
