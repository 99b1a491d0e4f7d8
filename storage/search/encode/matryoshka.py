"""Matryoshka: use only the first dimensions of a model's vectors, named `MODEL?dimensions=256`.

A model that was trained for it (Matryoshka) finds nearly as much with a third of the dimensions.
Source: Kusupati et al., Matryoshka Representation Learning, 2022.
"""

from dataclasses import replace

from docmill.storage.errors import ConfigError
from docmill.storage.search.encode.api.api_address import is_api
from docmill.storage.search.encode.space import EmbeddingSpace

_MARK = "?dimensions="


def shorten(model: str, dimensions: int) -> str:
    """Return the name of a local model with this many dimensions; 0 means all."""
    return f"{model}{_MARK}{dimensions}" if dimensions and _MARK not in model else model


def split(model: str) -> tuple[str, int]:
    """Return a model's name without `?dimensions=`, and the dimensions, 0 for all; API models shorten by themselves."""
    name, mark, number = ("", "", "") if is_api(model) else model.rpartition(_MARK)
    if not mark:
        return model, 0
    if not number.isdecimal() or int(number) < 1:
        raise ConfigError(f"{model}: dimensions must be a number of at least 1, got {number!r}")
    return name, int(number)


def shortened_space(space: EmbeddingSpace, dimensions: int) -> EmbeddingSpace:
    """Return the space of the first dimensions; raise `ConfigError` if the model has fewer."""
    if dimensions > space.dimension:
        raise ConfigError(f"[embedding] dimensions is {dimensions}, but {space.model} has {space.dimension}")
    return replace(space, model=shorten(space.model, dimensions), dimension=dimensions, light=0)


def shortens(space: EmbeddingSpace, before: EmbeddingSpace) -> bool:
    """Return whether the vectors of a space are the first dimensions of the vectors of another."""
    same = split(space.model)[0] == split(before.model)[0]
    as_before = replace(space, model=before.model, dimension=before.dimension)
    return same and as_before == before and space.dimension < before.dimension
