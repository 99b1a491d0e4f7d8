"""NumPy BERT: BERT and RoBERTa models computed by numpy, without PyTorch, for a query or a few hundred tokens.

To load PyTorch and sentence-transformers takes seconds of CPU time, which is worth it from some hundred tokens on.
`storage/embedding/agreement.py` decides whether the vectors are close enough to those of sentence-transformers.
Source: Devlin et al., BERT, 2019.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from docmill.storage.embedding.mapped_tensors import Tensors, map_tensors
from docmill.storage.embedding.space import max_tokens_of, modules_of, pooling_of, read_config
from docmill.storage.process.one_blas_thread import one_blas_thread

Matrix = npt.NDArray[np.float32]
Tokens = npt.NDArray[np.int32]

_PADDED_POSITIONS = {"bert": False, "roberta": True, "xlm-roberta": True, "camembert": True}
"""The model types, and whether their positions begin after the id of the padding."""
_BATCH_TOKENS = 2048  # the activations of a batch stay below 50 MB
_FEW_PRODUCTS = 4096 * 10_600_000
"""Multiplications, of tokens with weights, up to which this module is used: 4,096 tokens of a model of 6 layers of 384.

They take 1.5 s of CPU time; to load PyTorch takes 5 s. With more, texts would wait for a single core.
"""


class Unsupported(Exception):
    """A model that this module cannot compute."""


@dataclass(frozen=True, slots=True)
class _Architecture:
    """The architecture that config.json describes."""

    hidden: int
    heads: int
    layers: int
    middle: int
    epsilon: float
    padding: int | None
    """The id of the padding if positions begin after it, else None."""


@dataclass(frozen=True, slots=True)
class _Affine:
    """Weight and bias of a linear layer or of a layer norm."""

    weight: Matrix
    bias: Matrix

    def linear(self, x: Matrix) -> Matrix:
        y: Matrix = x @ self.weight.T
        y += self.bias
        return y

    def norm(self, x: Matrix, epsilon: float) -> Matrix:
        """Normalize rows to mean 0 and variance 1, then scale and shift; `x` is overwritten."""
        x -= x.mean(axis=1, keepdims=True)
        x /= np.sqrt(np.einsum("ij,ij->i", x, x)[:, None] / x.shape[1] + np.float32(epsilon))
        x *= self.weight
        x += self.bias
        return x


@dataclass(frozen=True, slots=True)
class _Layer:
    """The weights of one layer, in the order of their use."""

    query: _Affine
    key: _Affine
    value: _Affine
    mixed: _Affine
    mixed_norm: _Affine
    up: _Affine
    down: _Affine
    norm: _Affine


class NumpyBert:
    """A `Network` of `storage/embedding/network.py`; weights are mapped from their file, and no text is padded."""

    batch_tokens = _BATCH_TOKENS

    def __init__(self, folder: Path) -> None:
        """Raise `Unsupported` for a model of another architecture, type of numbers or pooling."""
        try:
            config = read_config(folder / "config.json")
            self._shape = _shape_of(config)
            self._first_only = _pools_first(folder)
            weights = _Weights(map_tensors(folder / "model.safetensors"), self._shape)
            self._words, self._positions, self._types = weights.tables()
            self._norm = weights.affine("embeddings.LayerNorm", self._shape.hidden)
            self._layers = [weights.layer(f"encoder.layer.{number}") for number in range(self._shape.layers)]
            self.max_tokens = max_tokens_of(folder)
            self._tokenizer = _tokenizer(folder, len(self._words))
        except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise Unsupported(f"{folder}: {error!r}") from error

    @property
    def few_tokens(self) -> int:
        """The tokens up to which this module takes less CPU time than to load PyTorch does."""
        shape = self._shape
        weights = shape.layers * (4 * shape.hidden**2 + 2 * shape.hidden * shape.middle)
        return _FEW_PRODUCTS // max(1, weights)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    def locate(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        return [(found.ids, found.offsets) for found in self._tokenizer.encode_batch(list(texts))]

    def embed(self, rows: Sequence[Tokens]) -> Matrix:
        vectors = self.embed_tokens(rows)
        return np.stack([one[0] if self._first_only else one.mean(axis=0) for one in vectors])

    def embed_tokens(self, rows: Sequence[Tokens]) -> list[Matrix]:
        # The matrices are small: with two threads on a busy machine a query took 0.43 s of CPU time instead of 0.013 s,
        # because idle threads spin.
        with one_blas_thread():
            return self._run(rows)

    def _run(self, rows: Sequence[Tokens]) -> list[Matrix]:
        ends = np.cumsum([len(row) for row in rows])
        places = np.concatenate([self._places(row) for row in rows])
        # All texts in one matrix without padding: only attention needs to know where one ends.
        x = self._words[np.concatenate(rows)] + self._types[0]
        x += self._positions[places]
        x = self._norm.norm(x, self._shape.epsilon)
        spans = [slice(end - len(row), end) for row, end in zip(rows, ends.tolist(), strict=True)]
        for layer in self._layers:
            x = self._through(layer, x, spans)
        return [x[span] for span in spans]

    def _places(self, row: Tokens) -> npt.NDArray[np.int64]:
        """Return the position of each token."""
        padding = self._shape.padding
        if padding is None:
            return np.arange(len(row))
        words = row != padding  # a text may spell the padding, such as <pad>
        return np.where(words, np.cumsum(words), 0) + padding

    def _through(self, layer: _Layer, x: Matrix, spans: Sequence[slice]) -> Matrix:
        """Return the activations, (tokens, hidden), after one layer."""
        query, key, value = layer.query.linear(x), layer.key.linear(x), layer.value.linear(x)
        # As float32: with a Python float all that follows could become float64.
        query *= np.float32((self._shape.hidden // self._shape.heads) ** -0.5)
        mixed = np.empty_like(x)
        for span in spans:
            mixed[span] = self._attend(query[span], key[span], value[span])
        x = layer.mixed_norm.norm(layer.mixed.linear(mixed) + x, self._shape.epsilon)
        return layer.norm.norm(layer.down.linear(gelu(layer.up.linear(x))) + x, self._shape.epsilon)

    def _attend(self, query: Matrix, key: Matrix, value: Matrix) -> Matrix:
        """Return, for each token of a text, the values of all its tokens, weighted by the softmax of their scores."""
        q, k, v = (one.reshape(len(one), self._shape.heads, -1).swapaxes(0, 1) for one in (query, key, value))
        scores: Matrix = q @ k.swapaxes(1, 2)
        # The softmax stays the same, and exp does not overflow.
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        mixed: Matrix = (scores @ v).swapaxes(0, 1).reshape(query.shape)
        return mixed


class _Weights:
    """The tensors of a model by name; every shape is checked against the configuration."""

    def __init__(self, tensors: Tensors, shape: _Architecture) -> None:
        found = [name.removesuffix(_WORDS) for name in tensors if name.endswith(_WORDS)]
        # Weights of float16 or of another layout are not found, and another library has to read the model.
        if len(found) != 1:
            raise ValueError(f"{len(found)} tensors of float32 are named {_WORDS}")
        self._prefix = found[0]
        self._tensors = tensors
        self._shape = shape

    def _take(self, name: str, *shape: int) -> Matrix:
        found = self._tensors[self._prefix + name]
        # numpy would broadcast some wrong shapes into wrong vectors.
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

    def affine(self, name: str, *shape: int) -> _Affine:
        return _Affine(self._take(f"{name}.weight", *shape), self._take(f"{name}.bias", shape[0]))

    def layer(self, name: str) -> _Layer:
        hidden, middle = self._shape.hidden, self._shape.middle
        return _Layer(
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
"""The end of a name, which some models begin with `bert.` or `roberta.`."""


def _shape_of(config: dict[str, Any]) -> _Architecture:
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
    return _Architecture(
        hidden=config["hidden_size"],
        heads=config["num_attention_heads"],
        layers=config["num_hidden_layers"],
        middle=config["intermediate_size"],
        epsilon=config.get("layer_norm_eps", 1e-12),
        padding=config["pad_token_id"] if _PADDED_POSITIONS[kind] else None,
    )


def _pools_first(folder: Path) -> bool:
    """Return whether a text's vector is that of its first token, rather than the mean; raise for other ways."""
    steps = modules_of(folder)[1:]
    modes = [pooling_of(read_config(module / "config.json")) for kind, module in steps if kind == "Pooling"]
    if modes not in ([["mean"]], [["cls_token"]], [["cls"]]):
        raise ValueError(f"the pooling is {modes}")
    others = [kind for kind, _ in steps if kind not in ("Pooling", "Normalize")]
    if others:
        raise ValueError(f"the modules are {others}")
    return modes != [["mean"]]


def _tokenizer(folder: Path, words: int) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the library raises nothing more special
        raise ValueError(f"tokenizer.json: {error}") from error
    # A token without an embedding would be an index error at the text that holds it, long after the start.
    if tokenizer.get_vocab_size() > words:
        raise ValueError(f"{tokenizer.get_vocab_size()} tokens for {words} embeddings")
    # A text that is too long has to be told, and not cut in silence.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


_ERF_P = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_ERF_Q = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)
"""Numerator and denominator of erf(x)/x in x*x for |x| <= 4, highest power first, as in Eigen: float32 to 1.5e-7."""


def gelu(x: Matrix) -> Matrix:
    """Return x * (1 + erf(x / sqrt(2))) / 2; `x` is overwritten."""
    z = np.clip(x * np.float32(0.5**0.5), -4, 4)  # beyond, erf is 1 in float32
    square = z * z
    z *= _polynomial(_ERF_P, square)
    z /= _polynomial(_ERF_Q, square)
    z += 1
    x *= z
    x *= np.float32(0.5)
    return x


def _polynomial(coefficients: Sequence[float], x: Matrix) -> Matrix:
    y = np.full_like(x, coefficients[0])
    for one in coefficients[1:]:
        y *= x
        y += np.float32(one)
    return y
