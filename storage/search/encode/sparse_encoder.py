"""Sparse encoder: compute learned terms of texts with a model such as SPLADE; loaded once per process.

A learned term is a word of the model's vocabulary. The model gives a text weights for its own words and for others that
texts on the same subject have (Formal et al., "SPLADE", SIGIR 2021).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from docmill.storage.errors import ConfigError
from docmill.storage.search.encode.library_class import library_class, load_as
from docmill.storage.search.encode.space import model_dir, space_of_files
from docmill.storage.search.encode.text_encoder import TermWeights

_AT_ONCE = 8
"""Texts at once. The model makes a number for each pair of token and known word: 62 MB for a text of 512 tokens."""
_VERSION = 1  # raise it when the same text gets other weights


class SparseModel:
    """A SparseEncoder of sentence-transformers."""

    def __init__(self, name: str) -> None:
        folder = model_dir(name)
        if library_class(folder) != "SparseEncoder":
            raise ConfigError(f"{name!r} is no SparseEncoder; name a model such as SPLADE")
        self._model = load_as("SparseEncoder", name, folder)

    def encode(self, texts: Sequence[str]) -> TermWeights:
        """Return the learned terms of documents; the end of a text with too many tokens is cut off."""
        return _terms(self._model.encode_document(list(texts), batch_size=_AT_ONCE, show_progress_bar=False))

    def encode_query(self, text: str) -> TermWeights:
        """Return the learned terms of a question."""
        return _terms(self._model.encode_query([text], show_progress_bar=False))


def _terms(found: Any) -> TermWeights:
    rows = found.coalesce()
    (places, terms), weights = rows.indices().cpu().numpy(), rows.values().float().cpu().numpy()
    ends = np.searchsorted(places, np.arange(rows.shape[0]), side="right")
    return TermWeights(terms.astype(np.int32), weights, ends.astype(np.int32))


def sparse_space(name: str) -> str:
    """Return the id of the space of a model's term weights, which changes with any file of the model."""
    return space_of_files("sparse space", _VERSION, name)


@cache
def load_sparse(name: str, space: str) -> SparseModel:
    """Return the model of a folder or a hub name; raise `ConfigError` if there is none.

    `space` is only part of the cache key, so that changed files in the folder are loaded again.
    """
    del space
    return SparseModel(name)
