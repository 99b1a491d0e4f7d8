"""Torch BERT: BERT and RoBERTa models computed by PyTorch on a CPU, without padding and without sentence-transformers.

PyTorch multiplies float32 by MKL, which takes the older instructions on CPUs of other makers than Intel. oneDNN, in the
same package, takes those that the CPU has. So the faster of the two is chosen by a measurement when a model is loaded.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from docmill.storage.process.one_torch_thread import one_torch_thread
from docmill.storage.process.processors import processors
from docmill.storage.search.encode.bert import BATCH_TOKENS, Affine, Architecture, Bert, Layer, Matrix

Linear = Callable[[Any, bool], Any]
"""A linear layer: it takes a tensor, and whether GELU follows."""
Maker = Callable[[Affine], Linear]
"""What makes a linear layer of its weights."""

_TRIAL_TOKENS = 512  # of the products that are timed: 20 ms of them by the slower way
_TRIAL_WIDTH = 384  # of the packaged model
_TRIALS_S = 0.03
"""CPU seconds of trials, of which the best counts: dozens on a fast CPU, where another program on the same core makes a
few of them twice as long, and three or fewer where bfloat16 is emulated."""
_GAIN = 0.9  # of the time of `functional.linear`, the public function: less gain is not worth a private one
_SAME = 1e-3  # greatest difference of the two, on sums of hundreds of numbers of size 1


class TorchBert(Bert):
    """A model whose layers are computed by PyTorch."""

    def __init__(self, folder: Path, make: "Maker | None" = None) -> None:
        """Raise `Unsupported` as `Bert` does. Without `make`, linear layers are made by the faster way."""
        super().__init__(folder, partial(TorchLayers, make=make))
        self.lanes = processors()


@dataclass(frozen=True, slots=True)
class _TorchLayer:
    """One layer; `norms` hold the weight and the bias of the layer norms after attention and at the end."""

    joined: Linear
    mixed: Linear
    up: Linear
    down: Linear
    norms: tuple[tuple[Any, Any], tuple[Any, Any]]


class TorchLayers:
    """The layers of a model by PyTorch."""

    def __init__(self, shape: Architecture, layers: Sequence[Layer], make: "Maker | None" = None) -> None:
        self._shape = shape
        make = make or (fastest_linear(layers[0].up) if layers else plain_linear)
        self._layers = [_prepared(layer, make) for layer in layers]

    def __call__(self, x: Matrix, spans: Sequence[slice]) -> Matrix:
        import torch

        with torch.inference_mode():
            found = torch.from_numpy(x)
            for layer in self._layers:
                found = self._through(layer, found, spans)
            result: Matrix = found.numpy()
        return result

    def _through(self, layer: _TorchLayer, x: Any, spans: Sequence[slice]) -> Any:
        """Return the activations, (tokens, hidden), after one layer."""
        from torch.nn.functional import layer_norm

        width, epsilon = (self._shape.hidden,), self._shape.epsilon
        joined = layer.joined(x, False)
        mixed = joined.new_empty(x.shape)
        for span in spans:
            mixed[span] = self._attend(joined[span])
        x = layer_norm(x + layer.mixed(mixed, False), width, *layer.norms[0], epsilon)
        return layer_norm(x + layer.down(layer.up(x, True), False), width, *layer.norms[1], epsilon)

    def _attend(self, joined: Any) -> Any:
        """Return the mixed values of one text, (tokens, hidden), from its queries, keys and values side by side."""
        from torch.nn.functional import scaled_dot_product_attention

        tokens = len(joined)
        query, key, value = joined.view(tokens, 3, self._shape.heads, -1).permute(1, 2, 0, 3).unsqueeze(1).unbind(0)
        return scaled_dot_product_attention(query, key, value)[0].transpose(0, 1).reshape(tokens, -1)


def _prepared(layer: Layer, make: Callable[[Affine], Linear]) -> _TorchLayer:
    parts = (layer.query, layer.key, layer.value)
    joined = Affine(np.concatenate([one.weight for one in parts]), np.concatenate([one.bias for one in parts]))
    return _TorchLayer(
        joined=make(joined),
        mixed=make(layer.mixed),
        up=make(layer.up),
        down=make(layer.down),
        norms=(_tensors(layer.mixed_norm), _tensors(layer.norm)),
    )


def _tensors(affine: Affine) -> tuple[Any, Any]:
    import torch

    # Copies: the weights are mapped read-only, which tensors cannot be.
    return torch.tensor(affine.weight), torch.tensor(affine.bias)


def plain_linear(affine: Affine) -> Linear:
    """Return a linear layer by PyTorch's public functions."""
    from torch.nn import functional

    weight, bias = _tensors(affine)

    def run(x: Any, gelu: bool) -> Any:
        found = functional.linear(x, weight, bias)
        return functional.gelu(found) if gelu else found

    return run


def packed_linear(affine: Affine) -> Linear:
    """Return a linear layer by oneDNN, with weights in the order in which it reads them.

    Raises `AttributeError` or `RuntimeError` where PyTorch has no such operators, which are not public.
    """
    import torch

    weight, bias = _tensors(affine)
    operators = torch.ops.mkldnn
    packed = operators._reorder_linear_weight(weight, BATCH_TOKENS)

    def run(x: Any, gelu: bool) -> Any:
        return operators._linear_pointwise(x, packed, bias, "gelu" if gelu else "none", [], "none" if gelu else "")

    return run


def half_linear(affine: Affine) -> Linear:
    """Return a linear layer in bfloat16 with sums in float32; what it returns is bfloat16."""
    import torch
    from torch.nn import functional

    weight, bias = (one.to(torch.bfloat16) for one in _tensors(affine))

    def run(x: Any, gelu: bool) -> Any:
        found = functional.linear(x.to(torch.bfloat16), weight, bias)
        return functional.gelu(found) if gelu else found

    return run


def half_bert(folder: Path) -> TorchBert | None:
    """Return a model that computes in bfloat16 but for sums and norms; None if this CPU is not faster by it.

    A CPU without instructions for it takes many times as long. Raises `Unsupported` as `Bert` does.
    """
    import torch

    numbers = np.linspace(-1, 1, _TRIAL_WIDTH * _TRIAL_WIDTH, dtype=np.float32).reshape(_TRIAL_WIDTH, -1)
    affine = Affine(numbers, numbers[0])
    x = torch.ones(_TRIAL_TOKENS, _TRIAL_WIDTH)
    if _seconds(half_linear(affine), x) > _GAIN * _seconds(fastest_linear(affine)(affine), x):
        return None
    return TorchBert(folder, half_linear)


def fastest_linear(affine: Affine) -> Maker:
    """Return the faster maker of linear layers on this CPU, measured with the weights of one layer."""
    import torch

    x = torch.linspace(-1, 1, _TRIAL_TOKENS * affine.weight.shape[1]).view(_TRIAL_TOKENS, -1)
    with torch.inference_mode():
        plain = plain_linear(affine)
        try:
            packed = packed_linear(affine)
            differs = float((packed(x, True) - plain(x, True)).abs().max()) > _SAME
        except (AttributeError, RuntimeError):
            return plain_linear
        faster = not differs and _seconds(packed, x) < _GAIN * _seconds(plain, x)
    return packed_linear if faster else plain_linear


def _seconds(linear: Linear, x: Any) -> float:
    """Return the shortest CPU time of a product in one thread, in seconds, which other processes do not change."""

    def measured() -> float:
        import torch

        found = list[float]()
        with torch.inference_mode():
            while sum(found) < _TRIALS_S:
                start = time.thread_time()
                linear(x, True)
                found.append(time.thread_time() - start)
        return min(found)

    with ThreadPoolExecutor(1, initializer=one_torch_thread) as thread:
        return thread.submit(measured).result()
