"""Library class: find the sentence-transformers class for a model folder from its files, and load the model."""

from pathlib import Path
from typing import Any, Literal

from docmill.storage.errors import ConfigError
from docmill.storage.search.encode.encoder import quiet
from docmill.storage.search.encode.space import modules_of, read_config

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
