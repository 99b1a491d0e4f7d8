"""Network: what an encoder asks of a model: token ids of texts, and vectors of token ids."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt


class Network(Protocol):
    """The model behind an `Encoder`: it makes token ids of texts, and vectors of batches of token ids."""

    max_tokens: int
    batch_tokens: int

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
