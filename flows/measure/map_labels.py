"""Map labels: the words that tell the clusters of a map apart."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from docmill.storage.process.extras import extra

_WORD = re.compile(r"[^\W\d_]{3,}")
"""Words of three letters and more; numbers and single signs name no subject."""
_CHUNKS_OF_A_CLUSTER = 40.0  # below it, clusters are single documents and their labels cover each other
_MOST_CLUSTERS = 24  # labels that a screen has room for
_WORDS = 3  # of a label
_READ = 300  # texts of a cluster; more give the same words
_COMMON = 0.5  # of the clusters; a word of more of them, such as "the", tells none apart
_FEW = 4  # clusters; among fewer, a word of two is no common one


@dataclass(frozen=True, slots=True)
class Label:
    """The words of a cluster, its middle in [0, 1], and how many chunks it has."""

    words: tuple[str, ...]
    x: float
    y: float
    chunks: int


def labels_of(
    places: npt.NDArray[np.float32], texts: pa.ChunkedArray, ignored: Collection[str] = ()
) -> tuple[Label, ...]:
    """Return labels of the clusters of points, largest first.

    The words are those of the highest c-TF-IDF: often in the cluster, seldom in the others (Grootendorst, BERTopic,
    2022). Words of `ignored`, such as stop words, are in no label.
    """
    count = int(min(_MOST_CLUSTERS, max(1, len(places) // _CHUNKS_OF_A_CLUSTER)))
    groups = _clusters(places, count)
    read = (texts.take(np.flatnonzero(groups == group)[:_READ]).to_pylist() for group in range(count))
    counts = [_words_of(own, ignored) for own in read]
    weights = _weights(counts)
    found = []
    for group, own in enumerate(counts):
        words = sorted(own, key=lambda word: (-own[word] * weights[word], word))[:_WORDS]
        x, y = np.median(places[groups == group], axis=0).tolist() if (groups == group).any() else (0.0, 0.0)
        found.append(Label(tuple(words), x, y, int((groups == group).sum())))
    return tuple(sorted((one for one in found if one.words and one.chunks), key=lambda one: -one.chunks))


def _clusters(places: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.int32]:
    if count == 1:
        return np.zeros(len(places), np.int32)
    with extra("evaluate", "the map of chunks"):
        from sklearn.cluster import MiniBatchKMeans
        from threadpoolctl import threadpool_limits
    with threadpool_limits(1, user_api="openmp"):
        found: npt.NDArray[np.int32] = MiniBatchKMeans(count, random_state=0, n_init=3).fit_predict(places)
    return found


def _words_of(texts: Sequence[str], ignored: Collection[str]) -> Counter[str]:
    return Counter(word for text in texts for word in _WORD.findall(text.lower()) if word not in ignored)


def _weights(counts: Sequence[Counter[str]]) -> dict[str, float]:
    """Return the weight of each word; one that most clusters have weighs nothing."""
    all_words: Counter[str] = Counter()
    clusters: Counter[str] = Counter()
    for own in counts:
        all_words.update(own)
        clusters.update(own.keys())
    mean = all_words.total() / max(1, len(counts))
    few = len(counts) < _FEW
    return {
        word: float(np.log1p(mean / count)) if few or clusters[word] <= _COMMON * len(counts) else 0.0
        for word, count in all_words.items()
    }
