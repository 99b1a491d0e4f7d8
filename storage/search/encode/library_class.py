"""Library class: find the sentence-transformers class for a model folder, and load CrossEncoders and SparseEncoders."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError
from docmill.storage.search.encode.encoder import quiet
from docmill.storage.search.encode.space import model_dir, modules_of, read_config, space_of_files
from docmill.storage.search.encode.text_encoder import TermWeights

LibraryClass = Literal["", "CrossEncoder", "MultiVectorEncoder", "SparseEncoder"]

_STATED: dict[Any, LibraryClass] = {
    "CrossEncoder": "CrossEncoder",
    "MultiVectorEncoder": "MultiVectorEncoder",
    "ColBERT": "MultiVectorEncoder",  # as PyLate calls it
    "SparseEncoder": "SparseEncoder",
}
_MODULES: dict[str, LibraryClass] = {
    "MultiVectorMask": "MultiVectorEncoder",
    "SpladePooling": "SparseEncoder",
    "SparseStaticEmbedding": "SparseEncoder",
    "SparseAutoEncoder": "SparseEncoder",
}
_ARCHITECTURES: dict[str, LibraryClass] = {
    "HF_ColBERT": "MultiVectorEncoder",  # folders of Stanford's ColBERT, which name no module
    "ForMaskedLM": "SparseEncoder",  # folders of the first SPLADE models, which name none either
    "ForSequenceClassification": "CrossEncoder",
    "ForCausalLM": "CrossEncoder",
}
"""Classes by the end of the architecture's name. For others, the library would add a head with random weights."""


def library_class(folder: Path) -> LibraryClass:
    """Return the class that reads a folder; "" for a model of single vectors, or if the folder does not say."""
    try:
        kind = read_config(folder / "config_sentence_transformers.json").get("model_type")
        return _STATED[kind] if kind in _STATED else _by_modules(folder) or _by_architecture(folder)
    except (OSError, ValueError, KeyError, TypeError):  # the library reports the cause when it loads the model
        return ""


def _by_modules(folder: Path) -> LibraryClass:
    found = [_MODULES[kind] for kind, _ in modules_of(folder) if kind in _MODULES]
    return found[0] if found else ""


def _by_architecture(folder: Path) -> LibraryClass:
    kinds = read_config(folder / "config.json").get("architectures") or [""]
    found = [own for end, own in _ARCHITECTURES.items() if str(kinds[0]).endswith(end)]
    embeds = found == ["SparseEncoder"] and (folder / "modules.json").is_file()
    return found[0] if found and not embeds else ""


def load_as(kind: str, name: str, folder: Path, **options: Any) -> Any:
    """Load the model of a folder with a class of sentence-transformers; raise `ConfigError` if that fails."""
    quiet()
    import sentence_transformers

    try:
        return getattr(sentence_transformers, kind)(str(folder), local_files_only=True, **options).eval()
    except Exception as error:  # each file of the folder can fail in its own way
        raise ConfigError(f"{name!r} cannot be loaded as a {kind}: {error}") from error


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


_AT_ONCE = 8
"""Texts at once. The model makes a number for each pair of token and known word: 62 MB for a text of 512 tokens."""
_VERSION = 1  # raise it when the same text gets other weights


class SparseModel:
    """A SparseEncoder of sentence-transformers, such as SPLADE.

    It gives a text weights for its own words, the learned terms, and for others that texts on the same subject have
    (Formal et al., "SPLADE", SIGIR 2021).
    """

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
