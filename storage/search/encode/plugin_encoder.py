"""Plugin encoder: the registry of embedding models from other distributions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError, QueryError, StoreError, Terminal
from docmill.storage.keys import key_of
from docmill.storage.plugins.origin import Origin
from docmill.storage.plugins.registry import Registry, Seam
from docmill.storage.search.encode.space import FOLDERS, EmbeddingSpace
from docmill.storage.search.encode.token_counts import cautious_folder, load_tokenizer

_SHOWN = 60  # characters of a text in a message, enough to find it by

Vectors = npt.NDArray[np.float32]


class EncoderPlugin(Protocol):
    """An embedding model: an entry point of the group `docmill.encoders`, whose name is that of the model.

    `[embedding] model` takes the name. The entry point leads to an object with these members, or to a class that is
    called without arguments, once in a process; load weights and open connections in the first call of a method.

    Attributes:
        version: Shown by `docmill plugins`. An upgrade alone does not embed a store again.
        revision: All that decides a vector, such as the hash of the weights, or the name and date of an API's model,
            and the prefixes that the methods add. Another revision is another embedding space: stores of the one before
            refuse it, and `docmill reembed` moves them.
        dimension: The length of a vector.
        token_limit: The most tokens of a text, the special ones of the model and its prefixes subtracted.
        tokenizer: The path of the model's `tokenizer.json`, by which tokens are counted. "" counts cautiously: two
            letters or one other character are a token, and a character beyond ASCII is one for each of its bytes.
            That is nearly twice what the packaged model counts, so chunks become that much shorter; `[chunk] tokenizer`
            measures their sizes by another tokenizer.
    """

    version: int | str
    revision: str
    dimension: int
    token_limit: int
    tokenizer: str

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | Vectors:
        """Return a vector for each text of a document, in their order; the norms do not matter.

        There can be thousands of texts. An exception ends the run, or the search, with an error that names the plugin
        and its distribution. `docmill.errors.Transient` says that the same call may work later.
        """
        ...

    def encode_queries(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | Vectors:
        """Return a vector for each query, as `encode` does; several threads may call it at once."""
        ...


@dataclass(frozen=True, slots=True)
class PluginEncoder:
    """A plugin's model as a `docmill.storage.search.encode.encoder.TextEncoder`."""

    origin: Origin
    plugin: EncoderPlugin
    space: EmbeddingSpace

    @property
    def folder(self) -> Path:
        """Return the folder of the tokenizer that counts its tokens."""
        return Path(self.plugin.tokenizer).parent if self.plugin.tokenizer else cautious_folder()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim), rows of unit L2 norm; raise `StoreError` for a text over the token limit."""
        self.check(texts)
        return self._made(self.plugin.encode, texts)

    def encode_query(self, text: str) -> Vectors:
        """Return float32 (dim,), of unit L2 norm. Raises `QueryError` as `encode_queries` does."""
        vector: Vectors = self.encode_queries([text])[0]
        return vector

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim), rows of unit L2 norm; raise `QueryError` for a text over the token limit."""
        for count in self._counts(texts):
            if count > self.space.token_limit:
                limit = self.space.token_limit
                raise QueryError(f"the query has {count} tokens, {self.space.model} takes {limit}; shorten it")
        return self._made(self.plugin.encode_queries, texts)

    def fits(self, texts: Sequence[str]) -> list[bool]:
        """Return for each query whether `encode_queries` accepts it."""
        return [count <= self.space.token_limit for count in self._counts(texts)]

    def check(self, texts: Sequence[str]) -> None:
        """Raise `StoreError` for a text that `encode` would refuse."""
        for count, text in zip(self._counts(texts), texts, strict=True):
            if count > self.space.token_limit:
                raise StoreError(
                    f"a text of {count} tokens is beyond the {self.space.token_limit} of {self.space.model}; "
                    f"split it smaller: {text[:_SHOWN]!r}"
                )

    def encode_late(self, _: object) -> NoReturn:
        """Raise `ConfigError`, because plugins do not provide vectors of tokens."""
        raise ConfigError(f"{self.origin} gives no vectors of tokens, which [embedding] late and rerank = 'late' need")

    encode_tokens = encode_query_tokens = encode_late

    def _counts(self, texts: Sequence[str]) -> list[int]:
        return [len(found.ids) for found in load_tokenizer(str(self.folder)).encode_batch_fast(list(texts))]

    def _made(self, encode: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.space.dimension), np.float32)
        return self.origin.guarded(lambda: self._unit(encode(texts), len(texts)), Terminal)()

    def _unit(self, made: Any, count: int) -> Vectors:
        vectors = np.asarray(made, np.float32)
        if vectors.shape != (count, self.space.dimension) or not np.isfinite(vectors).all():
            wanted = (count, self.space.dimension)
            raise ValueError(f"vectors must be finite and of the shape {wanted}, got {vectors.shape}")
        from docmill.storage.search.encode.text_encoder import unit  # a run that finds nothing new does not need it

        return unit(vectors)


def _encoder_of_plugin(origin: Origin, plugin: EncoderPlugin) -> PluginEncoder:
    for name in ("dimension", "token_limit"):
        value = getattr(plugin, name)
        if not isinstance(value, int) or value < 1:
            raise TypeError(f"its {name} must be an integer of at least 1, got {value!r}")
    if plugin.tokenizer and (Path(plugin.tokenizer).name != "tokenizer.json" or not Path(plugin.tokenizer).is_file()):
        raise ValueError(f"its tokenizer must be the path of a tokenizer.json, or empty, got {plugin.tokenizer!r}")
    revision = key_of("plugin", origin.name, plugin.revision)
    return PluginEncoder(
        origin, plugin, EmbeddingSpace(origin.name, revision, plugin.dimension, True, plugin.token_limit)
    )


ENCODERS: Registry[Any] = Registry(
    Seam("docmill.encoders", "embedding model", EncoderPlugin), FOLDERS, _encoder_of_plugin
)
"""Models by name: the packaged model, whose value is its folder, and those of plugins."""


def plugin_encoder(model: str) -> PluginEncoder | None:
    """Return the encoder of a plugin; None for the packaged model, a folder and a hub name."""
    return cast(PluginEncoder, ENCODERS[model]) if model not in FOLDERS and model in ENCODERS else None
