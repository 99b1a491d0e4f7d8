"""Arrays: store named arrays of different lengths in one Arrow file, as one row with one list column for each array.

Files are uncompressed, so they can be mapped into memory without copying.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from docmill.storage.errors import StoreError
from docmill.storage.failpoints import boundary
from docmill.storage.files import FileRef, temporary, write_immutable
from docmill.storage.search.keywords.segments.state import FOLDER, path_of

LAYOUT = b"2"
_READABLE = (b"1", LAYOUT)  # files of layout 1 lack the arrays of the fields besides the text
_LAYOUT_KEY = b"docmill.keywords"

Arrays = Mapping[str, "pa.Array | np.ndarray"]


def write_arrays(root: Path, suffix: str, arrays: Arrays) -> FileRef:
    """Write arrays as an immutable file of the index."""
    return write_immutable(root, FOLDER, suffix, lambda path: _write(path, arrays))


def map_arrays(root: Path, arrays: Arrays) -> dict[str, Any]:
    """Return the arrays memory-mapped from a file that is unlinked at once, so that the system can page them out."""
    with temporary(root / FOLDER) as draft:
        with boundary(f"spill {FOLDER}"):
            _write(draft, arrays)
        return _map(draft, arrays)


def _write(path: Path, arrays: Arrays) -> None:
    values = [array if isinstance(array, pa.Array) else pa.array(array) for array in arrays.values()]
    lists = [pa.LargeListArray.from_arrays(pa.array([0, len(v)], pa.int64()), v) for v in values]
    batch = pa.RecordBatch.from_arrays(lists, list(arrays)).replace_schema_metadata({_LAYOUT_KEY: LAYOUT})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


def read_arrays(root: Path, file: FileRef, names: Iterable[str]) -> dict[str, Any]:
    """Return some memory-mapped arrays of a file by name: strings as Arrow arrays, numbers as numpy arrays."""
    return _map(path_of(root, file), names)


def _map(path: Path, names: Iterable[str]) -> dict[str, Any]:
    try:
        batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        layout = (batch.schema.metadata or {}).get(_LAYOUT_KEY, b"none")
        if layout not in _READABLE:
            known = LAYOUT.decode()
            raise StoreError(f"{path} has layout {layout.decode()}, this docmill reads {known}; use a newer docmill")
        batch.validate()
        wanted = names if layout == LAYOUT else [name for name in names if name in batch.schema.names]
        arrays = {name: batch.column(name).values for name in wanted}
        return {name: one if pa.types.is_string(one.type) else _integers(one) for name, one in arrays.items()}
    except (pa.ArrowException, OSError, LookupError, ValueError, TypeError) as error:
        raise StoreError(f"{path} is damaged: {error}; rebuild the keyword index with: docmill repair") from error


def _integers(array: pa.Array) -> Any:
    if not pa.types.is_integer(array.type):
        raise TypeError(f"integers are of type {array.type}")
    return array.to_numpy()
