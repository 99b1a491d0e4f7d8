"""BERT: the tokens, tables, weights and pooling of BERT and RoBERTa models; other modules compute their layers.

`numpy_bert.py` computes few tokens without PyTorch, `torch_bert.py` computes many.
`numpy_bert_check.py` decides whether the vectors are close enough to those of sentence-transformers.
Source: Devlin et al., BERT, 2019.

The tensors of a safetensors file are mapped into memory, so only the pages in use are read. The library `safetensors`
copies whole tensors, which takes 75 ms and 130 MB more for a model of 90 MB, of which a query reads half.
Format: https://huggingface.co/docs/safetensors
"""

import json
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from docmill.storage.search.encode.space import max_tokens_of, pooling_steps, read_config
from docmill.storage.search.encode.text_encoder import Tokenizing
from docmill.storage.search.encode.token_counts import load_tokenizer

_LENGTH_BYTES = 8  # the file starts with the length of its header, as a little-endian number of 8 bytes
_HEADER_BYTES = 16 * 2**20  # a model of 1,000 tensors has 100 kB; the limit rejects a damaged length
_FLOAT = np.dtype("<f4")

Tensors = dict[str, npt.NDArray[np.float32]]


def map_tensors(path: Path) -> Tensors:
    """Return the float32 tensors of a file by name, read-only and not copied; tensors of other types are left out.

    Raises `ValueError` if the header is damaged or names bytes outside the file, and `OSError`.
    """
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # raises ValueError for an empty file
    start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    if start > min(len(data), _HEADER_BYTES):
        raise ValueError(f"{path}: a header of {start - _LENGTH_BYTES} bytes in a file of {len(data)}")
    try:
        header = json.loads(data[_LENGTH_BYTES:start])
    except RecursionError:
        raise ValueError(f"{path}: the header is nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path}: the header is not an object")
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    body = memoryview(data)[start:]
    return {name: _tensor(body, entry) for name, entry in entries.items() if _field(entry, "dtype") == "F32"}


def _tensor(body: memoryview, entry: dict[str, Any]) -> npt.NDArray[np.float32]:
    shape, offsets = _counts(entry, "shape"), _counts(entry, "data_offsets")
    if len(offsets) != 2 or not offsets[0] <= offsets[1] <= len(body):
        raise ValueError(f"a tensor at bytes {offsets} of {len(body)}")
    if offsets[1] - offsets[0] != prod(shape) * _FLOAT.itemsize:
        raise ValueError(f"a tensor of shape {shape} at bytes {offsets}")
    return np.frombuffer(body[offsets[0] : offsets[1]], _FLOAT).reshape(shape)


def _counts(entry: dict[str, Any], name: str) -> list[int]:
    found = _field(entry, name)
    if not isinstance(found, list) or not all(type(one) is int and one >= 0 for one in found):
        raise ValueError(f"a tensor with the {name} {found!r}")
    return found


def _field(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, dict) else None


Matrix = npt.NDArray[np.float32]
Tokens = npt.NDArray[np.int32]

BATCH_TOKENS = 2048
"""Tokens computed at once: their activations stay below 50 MB and near the caches."""
_PADDED_POSITIONS = {"bert": False, "roberta": True, "xlm-roberta": True, "camembert": True}
"""The supported model types, and whether their positions begin after the id of the padding."""
_IN_PLACE = 1_000_000
"""Multiplications up to which OpenBLAS reads its operands in place. For a larger product it first copies both factors,
which is half of the time of a query, because its tokens are few compared with the weights."""
_FEW_TOKENS = 32  # up to this, it gains to stay in place: 8, 13, 20, 31 tokens take .59, .66, .76, .74 of the CPU time


class Unsupported(Exception):
    """A model that this module cannot compute."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """The architecture that config.json describes."""

    hidden: int
    heads: int
    layers: int
    middle: int
    epsilon: float
    padding: int | None
    """The id of the padding token if positions begin after it, else None."""


@dataclass(frozen=True, slots=True)
class Affine:
    """Weight and bias of a linear layer or of a layer norm."""

    weight: Matrix
    bias: Matrix

    def linear(self, x: Matrix) -> Matrix:
        y = self._by_parts(x) if len(x) <= _FEW_TOKENS else x @ self.weight.T
        y += self.bias
        return y

    def _by_parts(self, x: Matrix) -> Matrix:
        """Return the product for few tokens, in parts of the weights small enough for BLAS to multiply in place."""
        out, width = self.weight.shape
        rows = gcd(out, 1 << (_IN_PLACE // (width * len(x))).bit_length() >> 1)
        product: Matrix = self.weight.reshape(-1, rows, width) @ np.ascontiguousarray(x.T)
        return product.reshape(out, -1).T

    def norm(self, x: Matrix, epsilon: float) -> Matrix:
        """Normalize rows to mean 0 and variance 1, then scale and shift; `x` is overwritten."""
        x -= x.mean(axis=1, keepdims=True)
        x /= np.sqrt(np.einsum("ij,ij->i", x, x)[:, None] / x.shape[1] + np.float32(epsilon))
        x *= self.weight
        x += self.bias
        return x


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one layer, in the order of their use."""

    query: Affine
    key: Affine
    value: Affine
    mixed: Affine
    mixed_norm: Affine
    up: Affine
    down: Affine
    norm: Affine


Layers = Callable[[Matrix, Sequence[slice]], Matrix]
"""All layers of a model: returns the activations, (tokens, hidden), after them; a text attends only to its own span."""


class Bert(Tokenizing):
    """A `Network` (see `text_encoder.py`) that maps its weights from their file and pads no text."""

    batch_tokens = BATCH_TOKENS
    lanes = 1

    def __init__(self, folder: Path, make_layers: Callable[[Architecture, Sequence[Layer]], Layers]) -> None:
        """Raise `Unsupported` for a model with another architecture, number type or pooling."""
        try:
            config = read_config(folder / "config.json")
            self.shape = _shape_of(config)
            self._first_only = _pools_first(folder)
            weights = _Weights(map_tensors(folder / "model.safetensors"), self.shape)
            self._words, self._positions, self._types = weights.tables()
            self._norm = weights.affine("embeddings.LayerNorm", self.shape.hidden)
            layers = [weights.layer(f"encoder.layer.{number}") for number in range(self.shape.layers)]
            self.max_tokens = max_tokens_of(folder)
            self._tokenizer = _tokenizer(folder, len(self._words))
        except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise Unsupported(f"{folder}: {error!r}") from error
        self._layers = make_layers(self.shape, layers)

    def embed(self, rows: Sequence[Tokens]) -> Matrix:
        vectors = self.embed_tokens(rows)
        return np.stack([one[0] if self._first_only else one.mean(axis=0) for one in vectors])

    def embed_tokens(self, rows: Sequence[Tokens]) -> list[Matrix]:
        ends = np.cumsum([len(row) for row in rows])
        # All texts in one matrix without padding: only attention needs to know where a text ends.
        x = self._words[np.concatenate(rows)] + self._types[0]
        x += self._positions[np.concatenate([self._places(row) for row in rows])]
        spans = [slice(end - len(row), end) for row, end in zip(rows, ends.tolist(), strict=True)]
        x = self._layers(self._norm.norm(x, self.shape.epsilon), spans)
        return [x[span] for span in spans]

    def _places(self, row: Tokens) -> npt.NDArray[np.int64]:
        """Return the position of each token."""
        padding = self.shape.padding
        if padding is None:
            return np.arange(len(row))
        words = row != padding  # a text may contain the padding token, such as <pad>
        return np.where(words, np.cumsum(words), 0) + padding


class _Weights:
    """The tensors of a model by name; every shape is checked against the configuration."""

    def __init__(self, tensors: Tensors, shape: Architecture) -> None:
        found = [name.removesuffix(_WORDS) for name in tensors if name.endswith(_WORDS)]
        # Weights in float16 or another layout are not found; then another library has to read the model.
        if len(found) != 1:
            raise ValueError(f"{len(found)} tensors of float32 are named {_WORDS}")
        self._prefix = found[0]
        self._tensors = tensors
        self._shape = shape

    def _take(self, name: str, *shape: int) -> Matrix:
        found = self._tensors[self._prefix + name]
        # With some wrong shapes, numpy would broadcast and compute wrong vectors.
        if found.shape != shape:
            raise ValueError(f"{name} has the shape {found.shape}, not {shape}")
        return found

    def tables(self) -> list[Matrix]:
        """Return the embeddings of words, positions and types, each (entries, hidden)."""
        tables = [self._tensors[f"{self._prefix}embeddings.{name}_embeddings.weight"] for name in _TABLES]
        for table in tables:
            if table.ndim != 2 or table.shape[1] != self._shape.hidden:
                raise ValueError(f"a table of embeddings has the shape {table.shape}")
        return tables

    def affine(self, name: str, *shape: int) -> Affine:
        return Affine(self._take(f"{name}.weight", *shape), self._take(f"{name}.bias", shape[0]))

    def layer(self, name: str) -> Layer:
        hidden, middle = self._shape.hidden, self._shape.middle
        return Layer(
            query=self.affine(f"{name}.attention.self.query", hidden, hidden),
            key=self.affine(f"{name}.attention.self.key", hidden, hidden),
            value=self.affine(f"{name}.attention.self.value", hidden, hidden),
            mixed=self.affine(f"{name}.attention.output.dense", hidden, hidden),
            mixed_norm=self.affine(f"{name}.attention.output.LayerNorm", hidden),
            up=self.affine(f"{name}.intermediate.dense", middle, hidden),
            down=self.affine(f"{name}.output.dense", hidden, middle),
            norm=self.affine(f"{name}.output.LayerNorm", hidden),
        )


_TABLES = ("word", "position", "token_type")
_WORDS = "embeddings.word_embeddings.weight"
"""The end of a tensor's name; some models put `bert.` or `roberta.` before it."""


def _shape_of(config: dict[str, Any]) -> Architecture:
    kind = str(config.get("model_type"))
    wanted = {
        "model_type": kind in _PADDED_POSITIONS,
        "hidden_act": config.get("hidden_act", "gelu") in ("gelu", "gelu_python"),
        "position_embedding_type": config.get("position_embedding_type", "absolute") == "absolute",
        "is_decoder": not config.get("is_decoder"),
        "num_attention_heads": config["hidden_size"] % config["num_attention_heads"] == 0,
    }
    other = [name for name, known in wanted.items() if not known]
    if other:
        raise ValueError(f"config.json has another {', '.join(other)}")
    return Architecture(
        hidden=config["hidden_size"],
        heads=config["num_attention_heads"],
        layers=config["num_hidden_layers"],
        middle=config["intermediate_size"],
        epsilon=config.get("layer_norm_eps", 1e-12),
        padding=config["pad_token_id"] if _PADDED_POSITIONS[kind] else None,
    )


def _pools_first(folder: Path) -> bool:
    """Return whether a text's vector is that of its first token instead of the mean; raise for other poolings."""
    steps = pooling_steps(folder)
    if steps not in (["mean"], ["cls_token"], ["cls"]):
        raise ValueError(f"the pooling is {steps}")
    return steps != ["mean"]


def _tokenizer(folder: Path, words: int) -> Any:
    try:
        tokenizer = load_tokenizer(str(folder))
    except Exception as error:  # the library raises nothing more specific
        raise ValueError(f"tokenizer.json: {error}") from error
    # A token without an embedding would raise an index error only at a text that contains it, long after the start.
    if tokenizer.get_vocab_size() > words:
        raise ValueError(f"{tokenizer.get_vocab_size()} tokens for {words} embeddings")
    return tokenizer
