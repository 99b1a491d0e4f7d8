"""Multi-vector models, such as ColBERT: a vector for each token of a question or a text; loaded once in a process.

A text answers a question as well as the sum over the question's vectors of the greatest product with one of the text
(Khattab and Zaharia, "ColBERT", SIGIR 2020). sentence-transformers reads its own folders and those of PyLate and of
Stanford's ColBERT.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from docmill.storage.search.encode.rankers.library_class import load_as
from docmill.storage.search.encode.space import model_dir
from docmill.storage.search.encode.text_encoder import TokenVectors


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


@cache
def load_multi_vectors(name: str) -> MultiVectorModel:
    """Return the model of a folder or a hub name; raise `ConfigError` if there is none."""
    return MultiVectorModel(name)
