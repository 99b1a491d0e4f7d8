"""NumPy BERT: compute BERT and RoBERTa models with numpy, without PyTorch, for a query or a few hundred tokens.

Loading PyTorch takes a second of CPU time, which pays off from a few thousand tokens on.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docmill.storage.process.library_threads import one_blas_thread
from docmill.storage.search.encode.bert import Architecture, Bert, Layer, Matrix, Unsupported

__all__ = ["NumpyBert", "Unsupported", "gelu"]

_FEW_PRODUCTS = 4096 * 10_600_000
"""Up to this many multiplications, this module is used: 4,096 tokens for a model of 6 layers of 384.

They take 1.5 s of CPU time on one core; loading PyTorch takes 1 s. With more, texts would wait for a single core.
"""
_TOKENS_AT_ONCE = 4  # OpenBLAS needs multiples of this, so zeros are added: 15 tokens take 1.3 times as long as 16


class NumpyBert(Bert):
    """A model whose layers numpy computes in the calling thread."""

    def __init__(self, folder: Path) -> None:
        """Raise `Unsupported` as `Bert` does."""
        super().__init__(folder, _NumpyLayers)

    @property
    def few_tokens(self) -> int:
        """The number of tokens up to which this module is faster than loading and using PyTorch."""
        weights = self.shape.layers * (4 * self.shape.hidden**2 + 2 * self.shape.hidden * self.shape.middle)
        return _FEW_PRODUCTS // max(1, weights)


class _NumpyLayers:
    """The layers of a model, computed by numpy."""

    def __init__(self, shape: Architecture, layers: Sequence[Layer]) -> None:
        self._shape = shape
        self._layers = layers

    def __call__(self, x: Matrix, spans: Sequence[slice]) -> Matrix:
        padded = np.concatenate([x, np.zeros((-len(x) % _TOKENS_AT_ONCE, x.shape[1]), x.dtype)])
        # The matrices are small: with two threads on a busy machine a query took 0.43 s of CPU time instead of 0.013 s,
        # because idle threads spin.
        with one_blas_thread():
            for layer in self._layers:
                padded = self._through(layer, padded, spans)
        return padded[: len(x)]

    def _through(self, layer: Layer, x: Matrix, spans: Sequence[slice]) -> Matrix:
        """Return the activations, (tokens, hidden), after one layer."""
        query, key, value = layer.query.linear(x), layer.key.linear(x), layer.value.linear(x)
        # As float32, because a Python float could turn all that follows into float64.
        query *= np.float32((self._shape.hidden // self._shape.heads) ** -0.5)
        mixed = np.zeros_like(x)
        for span in spans:
            mixed[span] = self._attend(query[span], key[span], value[span])
        x = layer.mixed_norm.norm(layer.mixed.linear(mixed) + x, self._shape.epsilon)
        return layer.norm.norm(layer.down.linear(gelu(layer.up.linear(x))) + x, self._shape.epsilon)

    def _attend(self, query: Matrix, key: Matrix, value: Matrix) -> Matrix:
        """Return, for each token of a text, the values of all its tokens, weighted by the softmax of their scores."""
        q, k, v = (one.reshape(len(one), self._shape.heads, -1).swapaxes(0, 1) for one in (query, key, value))
        scores: Matrix = q @ k.swapaxes(1, 2)
        # This does not change the softmax, but keeps exp from overflowing.
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        mixed: Matrix = (scores @ v).swapaxes(0, 1).reshape(query.shape)
        return mixed


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
    z = np.clip(x * np.float32(0.5**0.5), -4, 4)  # beyond 4, erf is 1 in float32
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
