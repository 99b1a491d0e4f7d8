"""Model files: how a store names a model beside that of its vectors, and the key of the files that decide a vector."""

from pathlib import Path

from docmill.storage.keys import key_of
from docmill.storage.search.encode.space import hash_once, model_dir

_DECIDING = (".safetensors", ".bin", ".json", ".txt")
"""Endings of the files that decide a vector: weights, how what is read is prepared, and the words that are known."""


def full_name(name: str) -> str:
    """Return how a store names a model: a folder by its full path, as the next command may start somewhere else."""
    return str(model_dir(name)) if Path(name).expanduser().is_dir() else name


def space_of_files(kind: str, version: int, name: str) -> str:
    """Return the id of the space of a model's vectors, which differs if any file of the model does."""
    folder = model_dir(name)
    paths = sorted(path for path in folder.rglob("*") if path.suffix in _DECIDING and path.is_file())
    return key_of(kind, version, [(str(path.relative_to(folder)), hash_once(path)) for path in paths])
