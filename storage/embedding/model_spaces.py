"""Model spaces: the embedding space and the tokenizer of any model, whoever computes it; nothing is loaded for them."""

from pathlib import Path

from docmill.storage.embedding import space as folders
from docmill.storage.embedding.api.api_address import is_api
from docmill.storage.embedding.plugin_encoder import PluginEncoder, plugin_encoder
from docmill.storage.embedding.space import EmbeddingSpace, model_dir
from docmill.storage.errors import StoreError


def opaque_encoder(model: str) -> PluginEncoder | None:
    """Return the encoder of a model that has no files to read: one by API or of a plugin; None for all others."""
    if not is_api(model):
        return plugin_encoder(model)
    from docmill.storage.embedding.api_encoder import api_encoder

    return api_encoder(model)


def describe_model(model: str, revision: str = "") -> EmbeddingSpace:
    """Return the embedding space of a model by API or of a plugin, or of one with files; see `space.describe_model`.

    A `revision` must be that of the plugin's space, or empty.
    """
    plugin = opaque_encoder(model)
    if plugin is None:
        return folders.describe_model(model, revision)
    if revision not in ("", plugin.space.revision):
        raise StoreError(
            f"{plugin.origin} has the revision {plugin.space.revision}, not {revision}; set the model back"
        )
    return plugin.space


def late_space(space: EmbeddingSpace) -> EmbeddingSpace:
    """Return the space of a model's late vectors; raise `ConfigError` if the model cannot make them."""
    plugin = opaque_encoder(space.model)
    return folders.late_space(space) if plugin is None else plugin.encode_late(())


def tokenizer_dir(model: str, revision: str = "") -> Path:
    """Return the folder with the `tokenizer.json` that counts the tokens of a model."""
    plugin = opaque_encoder(model)
    return model_dir(model, revision) if plugin is None else plugin.folder


def reading_dir(model: str, revision: str = "") -> Path | None:
    """Return the folder with the `tokenizer.json` by which a model reads; None if none is named."""
    if is_api(model):
        return None
    plugin = plugin_encoder(model)
    if plugin is None:
        return model_dir(model, revision)
    return plugin.folder if plugin.plugin.tokenizer else None
