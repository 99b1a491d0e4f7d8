"""Cross-encoder: models that read a question and a text together and score the pair; loaded once per process."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError
from docmill.storage.search.encode.library_class import library_class, load_as
from docmill.storage.search.encode.space import model_dir, read_config


class CrossEncoder:
    """A CrossEncoder of sentence-transformers."""

    def __init__(self, name: str) -> None:
        folder = model_dir(name, "")
        _check(folder, name)
        self._model = load_as("CrossEncoder", name, folder, num_labels=1)

    def score(self, question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return how well each text answers a question; a text's end is cut off if the pair has too many tokens."""
        found = self._model.predict([(question, text) for text in texts], show_progress_bar=False)
        return np.asarray(found, np.float64).reshape(len(texts))


def _check(folder: Path, name: str) -> None:
    """Raise `ConfigError` for a model that was not trained to score pairs, such as an embedding model."""
    own = library_class(folder)
    if own != "CrossEncoder" and (kinds := _architectures(folder)):
        raise ConfigError(f"{name!r} is a {own or kinds[0]} and not a CrossEncoder; name a CrossEncoder, or use `late`")


def _architectures(folder: Path) -> list[str]:
    try:
        return read_config(folder / "config.json").get("architectures") or []
    except (OSError, ValueError):  # the library reports the cause when it loads the model
        return []


@cache
def load_cross_encoder(name: str) -> CrossEncoder:
    """Return the CrossEncoder of a folder or a hub name; raise `ConfigError` if there is none."""
    return CrossEncoder(name)
