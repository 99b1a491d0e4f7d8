"""Local rerankers: models in a folder, which score pairs (CrossEncoder) or compare vectors of tokens (ColBERT).

By vectors, a text answers a question as well as the sum over the question's vectors of the greatest product with one of
the text (Khattab and Zaharia, "ColBERT", SIGIR 2020). sentence-transformers reads its own folders and those of PyLate
and of Stanford's ColBERT.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from docmill.storage.process.one_blas_thread import one_blas_thread
from docmill.storage.search.encode.rankers.cross_encoder import CrossEncoder, load_cross_encoder
from docmill.storage.search.encode.rankers.library_class import library_class, load_as
from docmill.storage.search.encode.space import model_dir
from docmill.storage.search.encode.text_encoder import TokenVectors
from docmill.storage.search.rank.candidates.token_vectors import TokenMemory


class MultiVectorModel:
    """A MultiVectorEncoder of sentence-transformers."""

    def __init__(self, name: str) -> None:
        self._model = load_as("MultiVectorEncoder", name, model_dir(name, ""))

    def encode_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (tokens, dim), one row for each token that counts; a long text loses its end."""
        found: npt.NDArray[np.float32] = np.asarray(self._model.encode_query(text), np.float32)
        return found

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the vectors of each text's tokens without their ids; a text that is too long loses its end."""
        made = self._model.encode_document(list(texts), show_progress_bar=False)
        return [TokenVectors((), np.asarray(one, np.float32)) for one in made]


class MultiVectorReranker:
    """A multi-vector model as a reranker; the vectors of texts are kept in memory."""

    def __init__(self, name: str) -> None:
        self._model = MultiVectorModel(name)
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
