"""Model spaces: find the embedding space and the tokenizer of any kind of model, without loading it."""

from dataclasses import replace
from pathlib import Path

from docmill.storage.errors import StoreError
from docmill.storage.search.encode import space as folders
from docmill.storage.search.encode.api.api_address import is_api
from docmill.storage.search.encode.matryoshka import shorten, shortened_space, split
from docmill.storage.search.encode.plugin_encoder import PluginEncoder, plugin_encoder
from docmill.storage.search.encode.space import EmbeddingSpace, model_dir, tokenizer_home


def opaque_encoder(model: str) -> PluginEncoder | None:
    """Return the encoder of a model without files to read, from an API or a plugin; None for all others."""
    if not is_api(model):
        return plugin_encoder(split(model)[0])
    from docmill.storage.search.encode.api_encoder import api_encoder

    return api_encoder(model)


def describe_model(model: str, revision: str = "") -> EmbeddingSpace:
    """Return the embedding space of a model from an API, a plugin or files; see `space.describe_model`.

    For a plugin, `revision` must be the revision of its space, or empty. `MODEL?dimensions=256` uses only the first 256
    dimensions.
    """
    name, dimensions = split(model)
    plugin = opaque_encoder(name)
    if plugin is None:
        whole = folders.describe_model(name, revision)
    elif revision in ("", plugin.space.revision):
        whole = plugin.space
    else:
        raise StoreError(
            f"{plugin.origin} has the revision {plugin.space.revision}, not {revision}; set the model back"
        )
    return shortened_space(whole, dimensions) if dimensions else whole


def late_space(space: EmbeddingSpace) -> EmbeddingSpace:
    """Return the space of a model's late vectors; raise `ConfigError` if the model cannot make them."""
    name, dimensions = split(space.model)
    plugin = opaque_encoder(name)
    if plugin is not None:
        plugin.encode_late(())
    late = folders.late_space(replace(space, model=name))
    return replace(late, model=shorten(late.model, dimensions))


def tokenizer_dir(model: str, revision: str = "") -> Path:
    """Return the folder with the `tokenizer.json` that counts the tokens of a model."""
    name, _ = split(model)
    plugin = opaque_encoder(name)
    return tokenizer_home(model_dir(name, revision)) if plugin is None else plugin.folder


def reading_dir(model: str, revision: str = "") -> Path | None:
    """Return the folder with the `tokenizer.json` that a model reads with; None if it is not known."""
    if is_api(model):
        return None
    name, _ = split(model)
    plugin = plugin_encoder(name)
    if plugin is None:
        return tokenizer_home(model_dir(name, revision))
    return plugin.folder if plugin.plugin.tokenizer else None
