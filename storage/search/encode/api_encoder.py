"""API encoder: an embedding model behind an API as a plugin encoder, which sends texts to another machine.

No text is paid for twice: vectors are kept as soon as they arrive, and a text with a kept vector is not sent.
"""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError, StoreError, Terminal
from docmill.storage.files import write_whole
from docmill.storage.plugins.origin import Origin
from docmill.storage.search.encode.api.api_address import ApiAddress, allowed, parse_address
from docmill.storage.search.encode.api.embedding_server import EmbeddingServer, Payer
from docmill.storage.search.encode.api.kept_vectors import KEPT, KeptVectors
from docmill.storage.search.encode.api.same_model import PROBE_TEXTS, TOLERANCE, distance, sketch_of
from docmill.storage.search.encode.plugin_encoder import PluginEncoder
from docmill.storage.search.encode.space import EmbeddingSpace, cache_file
from docmill.storage.search.encode.text_encoder import DocumentEncoder, TextEncoder, unit
from docmill.storage.search.encode.token_counts import cautious_folder, token_counts

Vectors = npt.NDArray[np.float32]

MOST_TOKENS = 100_000
"""Tokens of a request by the cautious count, which is never below the real one; OpenAI takes 300,000."""
_COMPARED_S = 3600.0
"""Seconds for which a comparison is valid for searches. Seven short texts an hour cost next to nothing, whereas a
request before each search would double its time."""


class ApiModel:
    """An `EncoderPlugin` whose vectors come from a server."""

    version: int | str = 1
    tokenizer = ""

    def __init__(self, address: ApiAddress, payer: Payer | None = None, probe: str = "") -> None:
        """`payer` accounts for the requests; queries are refused if the model no longer matches a store's `probe`."""
        self.address = address
        self._payer, self._probe = payer, probe
        self.revision = address.identity
        self._server = EmbeddingServer(address)
        tokens = token_counts([address.document_prefix, address.query_prefix], str(cautious_folder()))
        self.token_limit = address.limit - max(tokens)
        if self.token_limit < 1:
            raise ConfigError(f"[embedding] a prefix has {max(tokens)} tokens, but token_limit is {address.limit}")
        # As set, or as known from an earlier request, or else by asking the server.
        self.dimension: int = address.dimensions or _noted(address).get("dimension") or self.ask_probe()[0]

    def ask_probe(self) -> tuple[int, str]:
        """Return the dimension and the sketch of the vectors that the server returns now."""
        vectors = unit(self._ask(PROBE_TEXTS, ""))
        if not vectors.any():  # a text without words may have a zero vector, but these have words
            raise Terminal(f"[embedding] {self.address.server} gave vectors of zeros for {self.address.name}")
        dimension, sketch = vectors.shape[1], sketch_of(vectors)
        known = _noted(self.address).get("sketch", sketch)
        if distance(sketch, known) > TOLERANCE:
            self._forget()  # the cached vectors are from another model
        _note(self.address, {"dimension": dimension, "sketch": sketch, "asked": time.time()})
        return dimension, sketch

    def compare(self, known: str) -> str:
        """Return the sketch of the vectors that the server returns now; `known` is the sketch of a store, or "".

        Raises `StoreError` if they are from another model.
        """
        dimension, sketch = self.ask_probe()
        if dimension == self.dimension and not (known and distance(sketch, known) > TOLERANCE):
            return sketch
        why = f"{dimension} dimensions, not {self.dimension}"
        if dimension == self.dimension:
            why = f"vectors {distance(sketch, known):.2f} apart from those in the store, where {TOLERANCE} is rounding"
        raise StoreError(
            f"{self.address.name} has changed on {self.address.server}: {why}; restore it, or set [embedding]"
            ' revision to a new word, such as "2", and replace the vectors: docmill reembed'
        )

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim), rows of unit L2 norm, of texts of documents."""
        own = self.address
        return self._vectors([own.document_prefix + text for text in texts], "documents", own.types[1])

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim), rows of unit L2 norm, of queries."""
        own = self.address
        return self._vectors([own.query_prefix + text for text in texts], "queries", own.types[0])

    def _compare_lately(self) -> None:
        """Compare with the vectors of the store, unless this user's cache says that it was done recently."""
        noted = _noted(self.address)
        lately = 0 <= time.time() - float(noted.get("asked", 0)) < _COMPARED_S
        if self._probe and not (lately and distance(str(noted.get("sketch")), self._probe) <= TOLERANCE):
            self.compare(self._probe)

    def _vectors(self, texts: Sequence[str], kind: str, input_type: str) -> Vectors:
        kept = KeptVectors(_file(self.address, f"-{kind}.sqlite"), kind)
        found = kept.take(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]

        if missing and kind == "queries":
            self._compare_lately()

        def ask(some: list[str]) -> dict[str, Vectors]:
            made = self._ask(some, input_type)
            self._check(made.shape[1])
            vectors = dict(zip(some, unit(made), strict=True))
            kept.put(vectors)  # before anything else can fail, because they are paid for
            return vectors

        for vectors in _side_by_side(ask, self._requests(missing), self.address.max_concurrency):
            found |= vectors
        return np.stack([found[text] for text in texts])

    def _ask(self, texts: Sequence[str], input_type: str) -> Vectors:
        """Ask the server, and let the payer account for it."""
        most = sum(_counted(texts))
        if self._payer:
            self._payer.admit(most)
        made = self._server.embed(texts, input_type)
        if self._payer:
            self._payer.settle(most, made.tokens or most)
        return made.vectors

    def _forget(self) -> None:
        for kind in KEPT:
            with suppress(OSError):
                _file(self.address, f"-{kind}.sqlite").unlink(missing_ok=True)

    def _check(self, dimension: int) -> None:
        if dimension != self.dimension:
            raise StoreError(
                f"{self.address.name} has changed: {self.address.server} gives vectors of {dimension} dimensions, it"
                f" gave {self.dimension}"
            )

    def _requests(self, texts: Sequence[str]) -> list[list[str]]:
        """Split texts into groups that fit into one request each."""
        groups: list[list[str]] = []
        tokens = 0
        for text, count in zip(texts, _counted(texts), strict=True):
            tokens += count
            if not groups or len(groups[-1]) == self.address.batch_texts or tokens > MOST_TOKENS:
                groups.append([])
                tokens = count
            groups[-1].append(text)
        return groups


class ApiEncoder(PluginEncoder):
    """An API model as a `TextEncoder`; its errors name the setting to change."""

    __slots__ = ()

    def _made(self, encode: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> Vectors:
        return np.asarray(encode(texts), np.float32) if texts else np.empty((0, self.space.dimension), np.float32)

    def compared_with(self, probe: str) -> "ApiEncoder":
        """Return an encoder that compares its model with the probe of a store before it encodes queries."""
        return replace(self, plugin=ApiModel(self.model.address, probe=probe)) if probe else self

    def paid_by(self, payer: Payer | None) -> "ApiEncoder":
        """Return an encoder whose requests count towards the budget of a run."""
        return replace(self, plugin=ApiModel(self.model.address, payer)) if payer else self

    @property
    def model(self) -> ApiModel:
        assert isinstance(self.plugin, ApiModel)
        return self.plugin


def api_encoder(model: str) -> ApiEncoder:
    """Return the encoder of an API model; a process has one for each model.

    Raises `ConfigError` for a wrong name or option, and the errors of `allowed`. If the dimension is not known yet, the
    server is asked, which raises the errors of `EmbeddingServer.embed`.
    """
    return _encoder(allowed(parse_address(model)))


@lru_cache(maxsize=8)
def _encoder(address: ApiAddress) -> ApiEncoder:
    model = ApiModel(address)
    client = address.client.rstrip(":")
    try:
        release = metadata.version(client)
    except metadata.PackageNotFoundError:
        release = "(not installed)"
    space = EmbeddingSpace(str(address), address.identity, model.dimension, True, model.token_limit)
    return ApiEncoder(Origin("embedding model", address.name, client, release), model, space)


def most_tokens(model: str, texts: int, tokens: int) -> int:
    """Return the most tokens that a run sends for `texts` texts of `tokens` in all, with prefixes and the probe."""
    (prefix,) = _counted([parse_address(model).document_prefix])
    return tokens + texts * prefix + sum(_counted(PROBE_TEXTS))


def probed(space: EmbeddingSpace, known: str, payer: Payer | None = None) -> EmbeddingSpace:
    """Return the space with the probe of its model, after asking the server; `known` is the probe of a store, or "".

    Raises `StoreError` if the server's vectors differ from the ones that the store knows.
    """
    sketch = api_encoder(space.model).paid_by(payer).model.compare(known)
    return replace(space, probe=known or sketch)


def paid_by(encoder: DocumentEncoder, payer: Payer | None) -> DocumentEncoder:
    """Return an encoder whose requests, if it makes any, count towards the budget of a run."""
    return encoder.paid_by(payer) if isinstance(encoder, ApiEncoder) else encoder


def compared_with(encoder: TextEncoder, probe: str) -> TextEncoder:
    """Return an encoder that, if it uses an API, compares its model with a store's probe before it encodes queries."""
    return encoder.compared_with(probe) if isinstance(encoder, ApiEncoder) else encoder


def forget_documents() -> None:
    """Remove the vectors of documents of all models from this user's cache."""
    for path in cache_file("api", "").glob("*-documents.sqlite"):
        path.unlink(missing_ok=True)


def _side_by_side(
    ask: Callable[[list[str]], dict[str, Vectors]], requests: Sequence[list[str]], most: int
) -> list[dict[str, Vectors]]:
    """Return the answers to parallel requests; after a failure, no more begin, but those in progress finish."""
    if len(requests) < 2:
        return list(map(ask, requests))
    with ThreadPoolExecutor(min(most, len(requests)), "docmill-embed-api") as threads:
        try:
            return list(threads.map(ask, requests))
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _counted(texts: Sequence[str]) -> list[int]:
    """Return upper bounds of the tokens of texts."""
    return token_counts(texts, str(cautious_folder())) if texts else []


def _file(address: ApiAddress, ending: str) -> Path:
    """Return a file of the user's cache about a model."""
    return cache_file("api", address.cached_as + ending)


def _noted(address: ApiAddress) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        return dict(json.loads(_file(address, ".json").read_bytes()))
    return {}


def _note(address: ApiAddress, known: dict[str, Any]) -> None:
    with suppress(OSError):
        write_whole(_file(address, ".json"), json.dumps(known).encode())
