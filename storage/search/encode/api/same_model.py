"""Same model: detect, from the vectors of seven texts, whether a server still has the same model.

A server may change a model without changing its name. So the vectors are compared at the start of each run with those
of the run before. The store keeps a sketch of them, which is a few numbers of each vector.
"""

import base64
import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

TOLERANCE = 0.05
"""The largest distance between two unit vectors of one text that counts as rounding: a cosine of 0.99875.

Rounding to half precision moves a vector by less than 0.001, and an error of 0.01 is still accepted. Other weights give
directions that are about 1 apart. A smaller tolerance would refuse the same model on another GPU.
"""
_NUMBERS = 16
"""Numbers per vector in a sketch. Their mean square is usually within a third of the vector's."""

PROBE_TEXTS = (
    "how do I reset the sensor?",
    "Scheduling\n\nA flow run is started by a WORKER, which polls a work pool every 10 s.",
    "x",
    "Grüße aus Zürich, naïve café, 東京の天気 🙂",
    "def retry(times: int) -> None:\n    for _ in range(times):\n        ...",
    "| column | type |\n|---|---|\n" + "| name | string |\n" * 8,
    "One sentence after another makes a text of about a hundred tokens. " * 8,
)
"""They vary in words, capitals, accents, scripts, code and length, so that any difference in tokenizer or layers shows
in one of them."""


def sketch_of(vectors: npt.NDArray[np.float32]) -> str:
    """Return the sketch of the unit vectors (7, dim) of `PROBE_TEXTS`: dot products with fixed directions, as text."""
    projected = vectors @ _directions(vectors.shape[1]).T
    return base64.b64encode(projected.astype("<f2").tobytes()).decode("ascii")


def distance(one: str, other: str) -> float:
    """Return the estimated distance between the vectors of two sketches, for the text where they differ most.

    Source: Johnson and Lindenstrauss, 1984; with random signs, Achlioptas, 2003.
    """
    a, b = (np.frombuffer(base64.b64decode(each), "<f2").astype(np.float32) for each in (one, other))
    if a.shape != b.shape:
        return float("inf")
    return float(np.sqrt(((a - b).reshape(-1, _NUMBERS) ** 2).mean(axis=1)).max())


@lru_cache(maxsize=4)
def _directions(dimension: int) -> npt.NDArray[np.float32]:
    """Return `_NUMBERS` directions of random signs, the same on every machine."""
    digest = hashlib.shake_128(b"directions").digest(_NUMBERS * dimension)
    signs = np.unpackbits(np.frombuffer(digest, np.uint8))[: _NUMBERS * dimension]
    return (signs.astype(np.float32) * 2 - 1).reshape(_NUMBERS, dimension)
