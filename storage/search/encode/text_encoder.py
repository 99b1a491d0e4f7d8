"""Text encoder: the interface of embedding models for the pipeline and search, and of networks for an encoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from docmill.storage.search.encode.space import EmbeddingSpace

_LEAST_NORM = 1e-12  # replaces the norm of a zero vector, which has no direction and stays zero


@dataclass(frozen=True, slots=True)
class Window:
    """A text, and the spans in it whose vectors are needed."""

    text: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The tokens of a text without special tokens: their ids, and float32 (tokens, dim), rows of unit L2 norm."""

    ids: tuple[int, ...]
    vectors: npt.NDArray[np.float32]


class TermWeights(NamedTuple):
    """The learned terms of texts, one text after the other: int32 terms, float32 weights, int32 ends of the texts."""

    terms: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    ends: npt.NDArray[np.int32]


class DocumentEncoder(Protocol):
    """A model that computes vectors of documents, here or on another machine; see `Encoder` for its methods."""

    @property
    def space(self) -> EmbeddingSpace:
        """The embedding space of the vectors."""
        ...

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]: ...

    def encode_late(self, windows: Sequence[Window]) -> npt.NDArray[np.float32]: ...


class TextEncoder(DocumentEncoder, Protocol):
    """A model that computes vectors of texts: `Encoder`, which works on token ids, or the model of a plugin.

    See `Encoder` for what the methods return and raise. A plugin's model raises `ConfigError` if vectors of tokens are
    requested.
    """

    def encode_query(self, text: str) -> npt.NDArray[np.float32]: ...

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]: ...

    def fits(self, texts: Sequence[str]) -> list[bool]: ...

    def check(self, texts: Sequence[str]) -> None: ...

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]: ...

    def encode_query_tokens(self, text: str) -> TokenVectors: ...


class Network(Protocol):
    """The model behind an `Encoder`: it turns texts into token ids, and batches of token ids into vectors.

    It takes `lanes` batches in parallel. If there are several, each is in a thread prepared by `one_torch_thread`.
    """

    max_tokens: int
    batch_tokens: int
    lanes: int

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, with special tokens and without truncation. Thread-safe."""
        ...

    def locate(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Return the ids as `tokenize`, and for each id its span in the text; special tokens have (0, 0)."""
        ...

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        """Return float32 (n, dim), in the order of `rows`; norms are arbitrary."""
        ...

    def embed_tokens(self, rows: Sequence[npt.NDArray[np.int32]]) -> list[npt.NDArray[np.float32]]:
        """Return for each row float32 (tokens, dim), the vectors that `embed` pools."""
        ...


class Tokenizing:
    """The half of a `Network` that a tokenizer of the library `tokenizers` does."""

    _tokenizer: Any

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    def locate(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Return the ids, and for each id its span in the text."""
        return [(found.ids, found.offsets) for found in self._tokenizer.encode_batch(list(texts))]


def unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return float32 (..., dim), rows of unit L2 norm; a vector of zeros stays zero."""
    scaled: npt.NDArray[np.float32] = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), _LEAST_NORM)
    return scaled


def to_half(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float16]:
    """Return the nearest float16 of each number, infinite beyond 65,504."""
    with np.errstate(over="ignore"):
        return vectors.astype(np.float16)


def half_rounded(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return unit vectors rounded to the nearest float16 numbers, as float32.

    The error of computing in bfloat16 is 0.003, that of this rounding 0.0002, and it saves half of the space.
    """
    return to_half(vectors).astype(np.float32)


def first_of(vectors: npt.NDArray[np.float32], dimensions: int) -> npt.NDArray[np.float32]:
    """Return float32 (n, dimensions), rows of unit L2 norm."""
    return unit(vectors[..., :dimensions])


@dataclass(frozen=True, slots=True)
class ShortenedEncoder:
    """A `TextEncoder` that does what another one does, with only the first dimensions of its vectors of texts."""

    whole: TextEncoder
    space: EmbeddingSpace

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return first_of(self.whole.encode(texts), self.space.dimension)

    def encode_late(self, windows: Sequence[Window]) -> npt.NDArray[np.float32]:
        return first_of(self.whole.encode_late(windows), self.space.dimension)

    def encode_query(self, text: str) -> npt.NDArray[np.float32]:
        return first_of(self.whole.encode_query(text), self.space.dimension)

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return first_of(self.whole.encode_queries(texts), self.space.dimension)

    def fits(self, texts: Sequence[str]) -> list[bool]:
        return self.whole.fits(texts)

    def check(self, texts: Sequence[str]) -> None:
        self.whole.check(texts)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        return self.whole.encode_tokens(texts)

    def encode_query_tokens(self, text: str) -> TokenVectors:
        return self.whole.encode_query_tokens(text)
