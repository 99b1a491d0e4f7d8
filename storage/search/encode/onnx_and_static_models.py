"""ONNX and static models: model folders that need no PyTorch: an ONNX file, or a table of vectors by token.

A table needs no network: the vector of a text is the mean of the vectors of its tokens, as in model2vec and
StaticEmbedding. Source: Tulkens and van Dongen, Model2Vec, 2024.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError
from docmill.storage.search.encode.space import (
    EmbeddingSpace,
    max_tokens_of,
    onnx_file,
    pooling_steps,
    read_config,
    static_home,
)
from docmill.storage.search.encode.text_encoder import Tokenizing
from docmill.storage.search.encode.token_counts import read_tokenizer

_ONNX_BATCH = 2048  # as for PyTorch on a CPU
_WHOLE = "sentence_embedding"
"""The output with one vector for each text, if the exporter put the pooling into the file."""
_TOKENS = ("last_hidden_state", "token_embeddings")
"""The output with one vector for each token, as the exporters of transformers and sentence-transformers name it."""
_KNOWN = ("input_ids", "attention_mask", "token_type_ids", "position_ids")

Matrix = npt.NDArray[np.float32]
Mask = npt.NDArray[np.int64]


class OnnxNetwork(Tokenizing):
    """A `docmill.storage.search.encode.text_encoder.Network`; on a GPU if onnxruntime was built for it."""

    batch_tokens = _ONNX_BATCH
    lanes = 1

    def __init__(self, folder: str, space: EmbeddingSpace) -> None:
        """Raise `ConfigError` for a file with unknown inputs or outputs, or for an unknown pooling outside the file."""
        home = Path(folder)
        self._file = onnx_file(home)
        self._session, self._tokenizer = _opened(self._file, home / "tokenizer.json")
        self._inputs = [one.name for one in self._session.get_inputs()]
        if others := set(self._inputs) - {*_KNOWN}:
            raise ConfigError(f"{self._file} has the inputs {', '.join(sorted(others))}; docmill knows {_KNOWN}")
        self._whole, self._tokens = _outputs(self._file, [one.name for one in self._session.get_outputs()])
        self._pool = None if self._whole else _pooling(home)
        self._padding = int(read_config(home / "config.json").get("pad_token_id") or 0)
        self.max_tokens = max_tokens_of(home)
        made = self.embed([np.array(self.tokenize([""])[0] or [0], np.int32)]).shape[1]
        if made != space.dimension:
            raise ConfigError(f"{self._file} gives vectors of {made} dimensions, the folder says {space.dimension}")

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> Matrix:
        if self._pool is None:
            found: Matrix = self._run(rows, str(self._whole))[0].astype(np.float32, copy=False)
            return found
        return self._pool(*self._run(rows, str(self._tokens)))

    def embed_tokens(self, rows: Sequence[npt.NDArray[np.int32]]) -> list[Matrix]:
        if self._tokens is None:
            raise ConfigError(f"{self._file} gives no vectors of tokens, which [embedding] late needs")
        found = self._run(rows, self._tokens)[0].astype(np.float32, copy=False)
        return [one[: len(row)] for one, row in zip(found, rows, strict=True)]

    def _run(self, rows: Sequence[npt.NDArray[np.int32]], output: str) -> tuple[Any, Mask]:
        """Return an output for padded rows, and the mask of their tokens."""
        width = max(len(row) for row in rows)
        ids = np.full((len(rows), width), self._padding, np.int64)
        mask = np.zeros_like(ids)
        for line, row in enumerate(rows):
            ids[line, : len(row)], mask[line, : len(row)] = row, 1
        places = np.broadcast_to(np.arange(width, dtype=np.int64), ids.shape)
        given = dict(zip(_KNOWN, (ids, mask, np.zeros_like(ids), places), strict=True))
        return self._session.run([output], {name: given[name] for name in self._inputs})[0], mask


def _opened(file: Path, tokenizer_file: Path) -> tuple[Any, Any]:
    """Return the session of an ONNX file, and the tokenizer without truncation and padding."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # else idle threads would use CPU time
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=onnxruntime.get_available_providers())
        return session, read_tokenizer(tokenizer_file)
    except Exception as error:  # each library raises its own classes
        raise ConfigError(f"{file} cannot be loaded: {error}; copy or download the model again") from error


def _outputs(file: Path, names: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the names of the outputs for texts and for tokens; raise `ConfigError` if there is neither."""
    whole = _WHOLE if _WHOLE in names else None
    tokens = next((name for name in _TOKENS if name in names), None)
    if not (whole or tokens):
        raise ConfigError(f"{file} has the outputs {', '.join(names)}, none of {(_WHOLE, *_TOKENS)}")
    return whole, tokens


def _mean(tokens: Any, mask: Mask) -> Matrix:
    weights = mask[:, :, None].astype(np.float32)
    found: Matrix = (tokens.astype(np.float32, copy=False) * weights).sum(axis=1) / weights.sum(axis=1)
    return found


def _first(tokens: Any, _mask: Mask) -> Matrix:
    found: Matrix = tokens[:, 0].astype(np.float32)
    return found


def _last(tokens: Any, mask: Mask) -> Matrix:
    found: Matrix = tokens[np.arange(len(tokens)), mask.sum(axis=1) - 1].astype(np.float32)
    return found


_POOLINGS: dict[str, Callable[[Any, Mask], Matrix]] = {
    "mean": _mean,
    "cls": _first,
    "cls_token": _first,
    "lasttoken": _last,
}


def _pooling(folder: Path) -> Callable[[Any, Mask], Matrix]:
    """Return the pooling function that the folder's modules name; raise `ConfigError` if there are other modules."""
    said = ", ".join(pooling_steps(folder)) or "none"
    if said not in _POOLINGS:
        raise ConfigError(f"{folder}: the pooling {said} is not in the ONNX file; docmill knows {', '.join(_POOLINGS)}")
    return _POOLINGS[said]


_STATIC_BATCH = 65_536  # tokens; their vectors take 67 MB with 256 dimensions


class StaticModel:
    """A `docmill.storage.search.encode.text_encoder.Network` that looks up vectors in a table."""

    batch_tokens = _STATIC_BATCH
    lanes = 1

    def __init__(self, folder: str, space: EmbeddingSpace) -> None:
        """Raise `ConfigError` for a folder whose tokens and vectors do not match."""
        home = static_home(Path(folder))
        path = home / "tokenizer.json"
        self._tokenizer = read_tokenizer(path)
        self._table, own = _table(home / "model.safetensors")
        # model2vec drops unknown tokens; StaticEmbedding has a vector for them.
        self._left_out = _unknown(path) if own else None
        self.max_tokens = space.token_limit
        size = self._tokenizer.get_vocab_size()
        if self._table.shape[1] != space.dimension or size > len(self._table):
            raise ConfigError(f"{home}: {size} tokens do not fit vectors of the shape {self._table.shape}")

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [[one for one in each.ids if one != self._left_out] for each in found]

    def locate(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        found = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        kept = [[i for i, one in enumerate(each.ids) if one != self._left_out] for each in found]
        return [
            ([each.ids[i] for i in own], [each.offsets[i] for i in own]) for each, own in zip(found, kept, strict=True)
        ]

    def embed(self, rows: Sequence[npt.NDArray[np.int32]]) -> Matrix:
        nothing = np.zeros(self._table.shape[1], np.float32)
        return np.stack([self._table[row].mean(axis=0) if len(row) else nothing for row in rows])

    def embed_tokens(self, rows: Sequence[npt.NDArray[np.int32]]) -> list[Matrix]:
        return [self._table[row] for row in rows]


def _table(path: Path) -> tuple[Matrix, bool]:
    """Return the vectors by token, and whether the file is from model2vec."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"{path} cannot be read: {error}; copy or download the model again") from error
    if (plain := tensors.get("embedding.weight")) is not None:
        return np.asarray(plain, np.float32), False
    if "embeddings" not in tensors:
        raise ConfigError(f"{path} has neither embeddings nor embedding.weight; give a model of model2vec")
    table = np.asarray(tensors["embeddings"], np.float32)
    if (mapping := tensors.get("mapping")) is not None:  # because some tokens share a vector
        table = table[mapping]
    if (weights := tensors.get("weights")) is not None:
        table = table * np.asarray(weights, np.float32)[:, None]
    return table, True


def _unknown(tokenizer: Path) -> int | None:
    """Return the id of the token for unknown text, or None if the tokenizer has none."""
    model: dict[str, Any] = json.loads(tokenizer.read_bytes())["model"]
    if (number := model.get("unk_id")) is not None:
        return int(number)
    vocabulary = model.get("vocab")
    name = model.get("unk_token")
    return vocabulary.get(name) if isinstance(vocabulary, dict) and name else None
