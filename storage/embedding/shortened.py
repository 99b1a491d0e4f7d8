"""Shortened vectors: the first numbers of a model's vectors, as `MODEL?dimensions=256` spells it.

A model that was trained for it (Matryoshka) finds nearly as much with a third of the numbers.
Source: Kusupati et al., Matryoshka Representation Learning, 2022.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from docmill.storage.embedding.api.api_address import is_api
from docmill.storage.embedding.space import EmbeddingSpace
from docmill.storage.embedding.text_encoder import TextEncoder, TokenVectors, Window, unit
from docmill.storage.errors import ConfigError

_MARK = "?dimensions="

Vectors = npt.NDArray[np.float32]


def shorten(model: str, dimensions: int) -> str:
    """Return the name of a local model with so many dimensions; 0 are all of them."""
    return f"{model}{_MARK}{dimensions}" if dimensions and _MARK not in model else model


def split(model: str) -> tuple[str, int]:
    """Return a model without its mark, and its dimensions, 0 for all; a model by API shortens its vectors itself."""
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
    """Return whether the vectors of a space are the first numbers of those of another."""
    same = split(space.model)[0] == split(before.model)[0]
    as_before = replace(space, model=before.model, dimension=before.dimension)
    return same and as_before == before and space.dimension < before.dimension


def first_of(vectors: Vectors, dimensions: int) -> Vectors:
    """Return float32 (n, dimensions), rows of unit L2 norm."""
    return unit(vectors[..., :dimensions])


@dataclass(frozen=True, slots=True)
class ShortenedEncoder:
    """A `TextEncoder` that returns the first numbers of another's vectors; those of tokens stay whole."""

    whole: TextEncoder
    space: EmbeddingSpace

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return what the whole encoder does, shortened."""
        return first_of(self.whole.encode(texts), self.space.dimension)

    def encode_late(self, windows: Sequence[Window]) -> Vectors:
        """Return what the whole encoder does, shortened."""
        return first_of(self.whole.encode_late(windows), self.space.dimension)

    def encode_query(self, text: str) -> Vectors:
        """Return what the whole encoder does, shortened."""
        return first_of(self.whole.encode_query(text), self.space.dimension)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return what the whole encoder does, shortened."""
        return first_of(self.whole.encode_queries(texts), self.space.dimension)

    def fits(self, texts: Sequence[str]) -> list[bool]:
        """Return what the whole encoder does."""
        return self.whole.fits(texts)

    def check(self, texts: Sequence[str]) -> None:
        """Raise what the whole encoder does."""
        self.whole.check(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return what the whole encoder does."""
        return self.whole.encode_tokens(texts)

    def encode_query_tokens(self, text: str) -> TokenVectors:
        """Return what the whole encoder does."""
        return self.whole.encode_query_tokens(text)
