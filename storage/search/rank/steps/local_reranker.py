"""Local rerankers: models in a folder, which score pairs (CrossEncoder) or compare vectors of tokens (ColBERT)."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from docmill.storage.process.one_blas_thread import one_blas_thread
from docmill.storage.search.encode.rankers.cross_encoder import CrossEncoder, load_cross_encoder
from docmill.storage.search.encode.rankers.library_class import library_class
from docmill.storage.search.encode.rankers.multi_vectors import load_multi_vectors
from docmill.storage.search.encode.space import model_dir
from docmill.storage.search.rank.candidates.token_vectors import TokenMemory


class MultiVectorReranker:
    """A multi-vector model as a reranker; the vectors of texts are kept in memory."""

    def __init__(self, name: str) -> None:
        self._model = load_multi_vectors(name)
        self._texts = TokenMemory(self._model)

    @one_blas_thread()
    def score(self, question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return for each text the sum over the question's vectors of the greatest product with one of the text."""
        asked = self._model.encode_query(question).T
        return np.array([float((own.vectors @ asked).max(axis=0, initial=-1.0).sum()) for own in self._texts.of(texts)])


_multi_vector_reranker = cache(MultiVectorReranker)


def local_reranker(name: str) -> CrossEncoder | MultiVectorReranker:
    """Return the reranker of a folder or a hub name; raise `ConfigError` if there is none."""
    several = library_class(model_dir(name, "")) == "MultiVectorEncoder"
    return _multi_vector_reranker(name) if several else load_cross_encoder(name)
