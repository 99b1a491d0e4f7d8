"""Mapped tensors: the tensors of a safetensors file, mapped into memory, so that only the pages in use are read.

The library `safetensors` copies whole tensors: 75 ms and 130 MB more for a model of 90 MB, of which a query reads half.
Format: https://huggingface.co/docs/safetensors
"""

import json
import mmap
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_LENGTH_BYTES = 8  # of the little-endian length of the header, at the start of the file
_HEADER_BYTES = 16 * 2**20  # a model of 1,000 tensors has 100 kB; the limit keeps a damaged length from being parsed
_FLOAT = np.dtype("<f4")

Tensors = dict[str, npt.NDArray[np.float32]]


def map_tensors(path: Path) -> Tensors:
    """Return the float32 tensors of a file by name, read-only and without copies; tensors of other types are left out.

    Raises `ValueError` if the header is damaged or names bytes outside the file, and `OSError`.
    """
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # it refuses an empty file with a ValueError
    start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    if start > min(len(data), _HEADER_BYTES):
        raise ValueError(f"{path}: a header of {start - _LENGTH_BYTES} bytes in a file of {len(data)}")
    try:
        header = json.loads(data[_LENGTH_BYTES:start])
    except RecursionError:
        raise ValueError(f"{path}: the header is nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path}: the header is not an object")
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    body = memoryview(data)[start:]
    return {name: _tensor(body, entry) for name, entry in entries.items() if _field(entry, "dtype") == "F32"}


def _tensor(body: memoryview, entry: dict[str, Any]) -> npt.NDArray[np.float32]:
    shape, offsets = _counts(entry, "shape"), _counts(entry, "data_offsets")
    if len(offsets) != 2 or not offsets[0] <= offsets[1] <= len(body):
        raise ValueError(f"a tensor at bytes {offsets} of {len(body)}")
    if offsets[1] - offsets[0] != prod(shape) * _FLOAT.itemsize:
        raise ValueError(f"a tensor of shape {shape} at bytes {offsets}")
    return np.frombuffer(body[offsets[0] : offsets[1]], _FLOAT).reshape(shape)


def _counts(entry: dict[str, Any], name: str) -> list[int]:
    found = _field(entry, name)
    if not isinstance(found, list) or not all(type(one) is int and one >= 0 for one in found):
        raise ValueError(f"a tensor with the {name} {found!r}")
    return found


def _field(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, dict) else None
