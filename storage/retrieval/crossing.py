"""Crossing: models that read a question and a text together, loaded once in a process."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from storage.embedding.encoder import model_dir, quiet
from storage.errors import ConfigError


class CrossEncoder:
    """A CrossEncoder of sentence-transformers."""

    def __init__(self, name: str) -> None:
        folder = str(model_dir(name, ""))
        quiet()
        import sentence_transformers

        try:
            self._model = sentence_transformers.CrossEncoder(folder, num_labels=1, local_files_only=True)
        except Exception as error:  # each file of the folder has its own ways to be wrong
            raise ConfigError(f"{name!r} cannot be loaded as a CrossEncoder: {error}") from error

    def score(self, question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return how well each text answers a question; of a pair beyond the model's tokens the text's end is cut."""
        found = self._model.predict([(question, text) for text in texts], show_progress_bar=False)
        return np.asarray(found, np.float64).reshape(len(texts))


@cache
def load_cross_encoder(name: str) -> CrossEncoder:
    """Return the CrossEncoder in a folder or of a hub name; raise `ConfigError` where there is none."""
    return CrossEncoder(name)
