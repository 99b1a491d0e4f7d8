"""Map labels: the clusters of a map, each named by its document or by the words that tell it apart."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_WORD = re.compile(r"[^\W\d_]{3,}")
"""Words of three letters and more; numbers and single signs name no subject."""
_MOST_CLUSTERS = 24  # labels that a screen has room for
_CELLS = 96  # of the grid, a side: a cell is a tenth of a label's width, and 9,216 cells are walked in 50 ms
_BLUR = 0.42
"""Of the spread of the points by the fourth root of their count. At .9, the 456 chunks of the test corpus have 5
clusters where a person sees ten islands; at .42 they have 12, and one cloud of 10 to 100,000 points stays one."""
_NEARLY_NONE = 1e-4  # of the middle of the bell; as if it ended there, so that islands further apart do not touch
_LEAST_BLUR = 0.01  # of the map: below it, single documents are clusters
_SADDLE = 0.75
"""Two hills are one if the pass between them is at least as high as this share of the lower one. At .9, noise in one
cloud makes clusters; at .5, islands that touch become one."""
_NOISE = 2.0  # times the root of a hill's points; where a hill is less above the pass, chance made it
_FEWEST = 3  # chunks of a cluster that is named; its share of all is at least
_LEAST_SHARE = 0.002
_WORDS = 3  # of a label
_READ = 300  # texts of a cluster; more give the same words
_COMMON = 0.5  # of the clusters; a word of more of them, such as "the", tells none apart
_FEW = 4  # clusters; among fewer, a word of two is no common one
_OF_ONE = 0.6  # of the chunks of a cluster; a document of so many names it
_SAME_BEGINNING = 5  # letters; words that share them are forms of one word, and a label has one of them

Points = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Label:
    """The words of a cluster, its middle in [0, 1], and how many chunks it has."""

    words: tuple[str, ...]
    x: float
    y: float
    chunks: int


@dataclass(frozen=True, slots=True)
class Named:
    """What clusters are named by: the text and the document of each point, and the titles of documents."""

    texts: pa.ChunkedArray
    uris: pa.ChunkedArray
    titles: Mapping[str, str]


def labels_of(places: Points, named: Named, ignored: Collection[str] = ()) -> tuple[Label, ...]:
    """Return labels of the clusters of points, largest first.

    A cluster of mostly one document has its title. Another one has the words of the highest c-TF-IDF: in many documents
    of the cluster, in few of the others (Grootendorst, BERTopic, 2022). Words of `ignored`, such as stop words, are in
    no label.
    """
    members = clusters_of(places)
    counts = [_words_of(_by_document(named, own[:_READ]), ignored) for own in members]
    weights = _weights(counts)
    found = []
    for own, count in zip(members, counts, strict=True):
        x, y = np.median(places[own], axis=0).tolist()
        words = _document_of(named, own) or tuple(_best(count, weights))
        found.append(Label(words, x, y, len(own)))
    return tuple(one for one in found if one.words)


def clusters_of(places: Points) -> list[npt.NDArray[np.int64]]:
    """Return the points of each cluster that is large enough for a name, largest first.

    Points climb the hills of their density. A hill whose pass to a higher one is nearly as high as itself is part of
    that (ToMATo: Chazal, Guibas, Oudot and Skraba 2013), so the map says how many clusters there are.
    """
    if not len(places):
        return []
    cells = np.clip((places * _CELLS).astype(int), 0, _CELLS - 1)
    flat = cells[:, 0] * _CELLS + cells[:, 1]
    width = _BLUR * float(places.std(axis=0).mean()) * len(places) ** (-1 / 4)
    density = _blurred(np.bincount(flat, minlength=_CELLS * _CELLS), max(_LEAST_BLUR, width) * _CELLS)
    _, hill, sizes = np.unique(_hills(density)[flat], return_inverse=True, return_counts=True)
    least = max(_FEWEST, _LEAST_SHARE * len(places))
    order = [place for place in np.argsort(-sizes, kind="stable") if sizes[place] >= least]
    return [np.flatnonzero(hill == place) for place in order[:_MOST_CLUSTERS]]


def _blurred(counts: npt.NDArray[np.int64], sigma: float) -> npt.NDArray[np.float64]:
    """Return the counts of a square grid, spread by a Gaussian of this width in cells."""
    steps = np.arange(_CELLS)
    bell = np.exp(-0.5 * ((steps[:, None] - steps[None, :]) / sigma) ** 2)
    kernel = np.where(bell < _NEARLY_NONE, 0.0, bell).astype(np.float64)
    grid = counts.astype(np.float64).reshape(_CELLS, _CELLS)
    return np.asarray(kernel @ grid @ kernel.T, np.float64).ravel()


def _hills(density: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return for each cell the top of its hill, as the number of a cell."""
    top = np.full(len(density), -1)

    def find(cell: int) -> int:
        while top[cell] != cell:
            top[cell] = top[top[cell]]
            cell = int(top[cell])
        return cell

    for cell in np.argsort(-density, kind="stable").tolist():
        if density[cell] <= 0:
            break
        tops = sorted({find(one) for one in _beside(cell) if top[one] >= 0}, key=lambda one: -density[one])
        top[cell] = tops[0] if tops else cell
        for lower in tops[1:]:
            if density[lower] - density[cell] <= max((1 - _SADDLE) * density[lower], _NOISE * density[lower] ** 0.5):
                top[lower] = tops[0]
    return np.array([find(cell) if top[cell] >= 0 else -1 for cell in range(len(density))])


def _beside(cell: int) -> Iterator[int]:
    """Yield the up to eight cells around one."""
    row, column = divmod(cell, _CELLS)
    for other in range(max(0, row - 1), min(_CELLS, row + 2)):
        for across in range(max(0, column - 1), min(_CELLS, column + 2)):
            if (other, across) != (row, column):
                yield other * _CELLS + across


def _document_of(named: Named, own: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """Return the title of the document that most points belong to, or its name; nothing where none has most."""
    uris = named.uris.take(own).combine_chunks().dictionary_encode()
    [most] = pc.mode(uris.indices, 1).to_pylist()
    if most["count"] < _OF_ONE * len(own):
        return ()
    uri = uris.dictionary[most["mode"]].as_py()
    return (named.titles.get(uri) or uri.rpartition("/")[2],)


def _by_document(named: Named, own: npt.NDArray[np.int64]) -> list[str]:
    """Return the texts of points, those of one document together."""
    texts: dict[str, list[str]] = {}
    for uri, text in zip(named.uris.take(own).to_pylist(), named.texts.take(own).to_pylist(), strict=True):
        texts.setdefault(uri, []).append(text)
    return ["\n".join(some) for some in texts.values()]


def _words_of(texts: Sequence[str], ignored: Collection[str]) -> Counter[str]:
    """Return in how many texts each word is, in the letters in which most have it."""
    forms: dict[str, Counter[str]] = {}
    for text in texts:
        for word in sorted({*_WORD.findall(text)}):
            if word.lower() not in ignored:
                forms.setdefault(word.lower(), Counter())[word] += 1
    return Counter({own.most_common(1)[0][0]: own.total() for own in forms.values()})


def _best(own: Counter[str], weights: Mapping[str, float]) -> list[str]:
    """Return the words of the greatest weight, of several forms of a word one."""
    found: list[str] = []
    for word in sorted(own, key=lambda word: (-own[word] * weights[word.lower()], word)):
        if not any(_begin_alike(word, other) for other in found):
            found.append(word)
        if len(found) == _WORDS:
            break
    return found


def _begin_alike(word: str, other: str) -> bool:
    return word[:_SAME_BEGINNING].lower() == other[:_SAME_BEGINNING].lower()


def _weights(counts: Sequence[Counter[str]]) -> dict[str, float]:
    """Return the weight of each word in small letters; one that most clusters have weighs nothing."""
    all_words: Counter[str] = Counter()
    clusters: Counter[str] = Counter()
    for own in counts:
        folded = {word.lower(): count for word, count in own.items()}
        all_words.update(folded)
        clusters.update(folded.keys())
    mean = all_words.total() / max(1, len(counts))
    few = len(counts) < _FEW
    return {
        word: float(np.log1p(mean / count)) if few or clusters[word] <= _COMMON * len(counts) else 0.0
        for word, count in all_words.items()
    }
