"""Torch BERT: compute BERT and RoBERTa models with PyTorch on a CPU, without padding and sentence-transformers.

PyTorch multiplies float32 with MKL, which uses older instructions on CPUs that are not from Intel. oneDNN, which is in
the same package, uses the instructions of the CPU. So the faster of the two is measured and chosen when a
model is loaded.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from docmill.storage.process.library_threads import one_torch_thread
from docmill.storage.process.processors import processors
from docmill.storage.search.encode.bert import BATCH_TOKENS, Affine, Architecture, Bert, Layer, Matrix

Linear = Callable[[Any, bool], Any]
"""A linear layer: it takes a tensor, and whether GELU follows."""
Maker = Callable[[Affine], Linear]
"""Makes a linear layer from its weights."""

_TRIAL_TOKENS = 512  # in the products that are timed, which take 20 ms in the slower way
_TRIAL_WIDTH = 384  # as in the packaged model
_TRIALS_S = 0.03
"""CPU seconds of trials, of which the fastest counts. They are enough for dozens of trials on a fast CPU, where another
program on the same core doubles the time of a few, and for three or fewer where bfloat16 is emulated."""
_GAIN = 0.9  # a private function must take less than this share of the time of the public `functional.linear`
_SAME = 2e-4  # largest difference of the two in float32, relative to the largest number: some roundings of sums
_HALF_SAME = 0.02  # the same in bfloat16, where one of the two rounds once more, by 0.004
_LANES = {"AVX512": 16, "AVX2": 8}
"""Numbers that PyTorch's attention computes at once, by its name for the CPU. It computes the rest of a row of scores
one by one: with AVX-512, 127 tokens take 1.6 times as long as 128, and 2.2 times in bfloat16."""
_LEAST_REST = 2  # from this rest of a row on, it is faster to compute a few more scores and to mask them


class TorchBert(Bert):
    """A model whose layers are computed by PyTorch."""

    def __init__(self, folder: Path, make: "Maker | None" = None) -> None:
        """Raise `Unsupported` as `Bert` does. Without `make`, linear layers are made in the fastest way."""
        super().__init__(folder, partial(TorchLayers, make=make))
        self.lanes = processors()


@dataclass(frozen=True, slots=True)
class _TorchLayer:
    """One layer; `norms` are the weight and bias of the layer norm after attention and of that at the end."""

    joined: Linear
    mixed: Linear
    up: Linear
    down: Linear
    norms: tuple[tuple[Any, Any], tuple[Any, Any]]


class TorchLayers:
    """The layers of a model, computed by PyTorch."""

    def __init__(self, shape: Architecture, layers: Sequence[Layer], make: "Maker | None" = None) -> None:
        self._shape = shape
        make = make or (fastest_linear(layers[0].up) if layers else plain_linear)
        self._layers = [_prepared(layer, make) for layer in layers]

    def __call__(self, x: Matrix, spans: Sequence[slice]) -> Matrix:
        import torch

        with torch.inference_mode():
            found = torch.from_numpy(x)
            texts = _texts(spans, len(x))
            for layer in self._layers:
                found = self._through(layer, found, texts)
            result: Matrix = found.numpy()
        return result

    def _through(self, layer: _TorchLayer, x: Any, texts: Sequence["_AttendedText"]) -> Any:
        """Return the activations, (tokens, hidden), after one layer."""
        from torch.nn.functional import layer_norm

        width, epsilon = (self._shape.hidden,), self._shape.epsilon
        joined = layer.joined(x, False)
        mixed = joined.new_empty(x.shape)
        for text in texts:
            mixed[text.span] = self._attend(joined, text)
        x = layer_norm(x + layer.mixed(mixed, False), width, *layer.norms[0], epsilon)
        return layer_norm(x + layer.down(layer.up(x, True), False), width, *layer.norms[1], epsilon)

    def _attend(self, joined: Any, text: "_AttendedText") -> Any:
        """Return the mixed values of a text, (tokens, hidden); `joined` has queries, keys and values of all texts."""
        from torch.nn.functional import scaled_dot_product_attention

        heads = joined.view(len(joined), 3, self._shape.heads, -1).permute(1, 2, 0, 3).unsqueeze(1)
        query, (key, value) = heads[0][:, :, text.span], heads[1:, :, :, text.seen].unbind(0)
        mask = None if text.mask is None else text.mask.to(joined.dtype)
        found = scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return found[0].transpose(0, 1).reshape(found.shape[2], -1)


class _AttendedText(NamedTuple):
    """The tokens of a text, the tokens that its attention sees, and a mask over tokens that are not its own."""

    span: slice
    seen: slice
    mask: Any


def _texts(spans: Sequence[slice], tokens: int) -> list[_AttendedText]:
    from torch.backends.cpu import get_cpu_capability

    lanes = _LANES.get(get_cpu_capability(), 1)
    return [_text(span, lanes, tokens) for span in spans]


def _text(span: slice, lanes: int, tokens: int) -> _AttendedText:
    """Return a text that sees enough tokens to fill all lanes, if there are so many."""
    import torch

    own = span.stop - span.start
    wide = -(-own // lanes) * lanes
    if own % lanes < _LEAST_REST or wide > tokens:
        return _AttendedText(span, span, None)
    start = min(span.start, tokens - wide)
    mask = torch.full((1, 1, 1, wide), -torch.inf)
    mask[..., span.start - start : span.stop - start] = 0
    return _AttendedText(span, slice(start, start + wide), mask)


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

    # Copies, because the weights are mapped read-only, and tensors must be writable.
    return torch.tensor(affine.weight), torch.tensor(affine.bias)


def plain_linear(affine: Affine, half: bool = False) -> Linear:
    """Return a linear layer that uses PyTorch's public functions; with `half` in bfloat16, except for sums."""
    from torch.nn import functional

    weight, bias = (_shorter(one, half) for one in _tensors(affine))

    def run(x: Any, gelu: bool) -> Any:
        found = functional.linear(_shorter(x, half), weight, bias)
        return functional.gelu(found) if gelu else found

    return run


def packed_linear(affine: Affine, half: bool = False) -> Linear:
    """Return a linear layer that uses oneDNN, with weights in the order that it reads; `half` as in `plain_linear`.

    Raises `AttributeError` or `RuntimeError` if PyTorch lacks these operators, which are not public.
    """
    import torch

    weight, bias = (_shorter(one, half) for one in _tensors(affine))
    operators = torch.ops.mkldnn
    packed = operators._reorder_linear_weight(weight, BATCH_TOKENS)

    def run(x: Any, gelu: bool) -> Any:
        x = _shorter(x, half)
        return operators._linear_pointwise(x, packed, bias, "gelu" if gelu else "none", [], "none" if gelu else "")

    return run


def _shorter(x: Any, half: bool) -> Any:
    import torch

    return x.to(torch.bfloat16) if half else x


def half_bert(folder: Path) -> TorchBert | None:
    """Return a model that computes in bfloat16 except for sums and norms; None if that is not faster on this CPU.

    A CPU without bfloat16 instructions takes many times as long. Raises `Unsupported` as `Bert` does.
    """
    import torch

    numbers = np.linspace(-1, 1, _TRIAL_WIDTH * _TRIAL_WIDTH, dtype=np.float32).reshape(_TRIAL_WIDTH, -1)
    affine = Affine(numbers, numbers[0])
    x = torch.ones(_TRIAL_TOKENS, _TRIAL_WIDTH)
    if _seconds(plain_linear(affine, half=True), x) > _GAIN * _seconds(fastest_linear(affine)(affine), x):
        return None
    return TorchBert(folder, fastest_linear(affine, half=True))


def fastest_linear(affine: Affine, half: bool = False) -> Maker:
    """Return the maker of linear layers that is faster on this CPU, measured with the weights of one layer."""
    import torch

    makers = partial(plain_linear, half=half), partial(packed_linear, half=half)
    x = torch.linspace(-1, 1, _TRIAL_TOKENS * affine.weight.shape[1]).view(_TRIAL_TOKENS, -1)
    with torch.inference_mode():
        try:
            plain, packed = (make(affine) for make in makers)
            wanted = plain(x, True).float()
            differs = (packed(x, True) - wanted).abs().max() > (_HALF_SAME if half else _SAME) * wanted.abs().max()
        except (AttributeError, RuntimeError):
            return makers[0]
        faster = not differs and _seconds(packed, x) < _GAIN * _seconds(plain, x)
    return makers[1] if faster else makers[0]


def _seconds(linear: Linear, x: Any) -> float:
    """Return the shortest CPU time of a product in one thread, in seconds; other processes hardly affect it."""

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
