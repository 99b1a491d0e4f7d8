"""Chunk map: the chunks of a snapshot in two dimensions, with similar vectors near each other.

Two thousand vectors are placed by t-SNE (van der Maaten and Hinton 2008). Every other vector is placed between its
nearest placed ones. Places are saved by vector key, so that a small change of the store moves no remaining point.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.storage.files import write_whole
from docmill.storage.process.extras import extra
from docmill.storage.search.keywords.analysis.languages import languages_in
from docmill.storage.search.keywords.analysis.stopwords import stop_words
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.read.store import Store
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.pending_vectors import waiting_in, without

_WORD = re.compile(r"[^\W\d_]{3,}")
"""Words of three or more letters; numbers and single characters name no subject."""
_MOST_CLUSTERS = 24  # labels that fit on a screen
_CELLS = 96  # per side of the grid: a cell is a tenth of a label's width, and 9,216 cells take 50 ms
_BLUR = 0.42
"""Width of the blur, relative to the spread of the points divided by the fourth root of their count. At .9, the 456
chunks of the test corpus have 5 clusters although ten islands are visible; at .42 they have 12, and one cloud of 10 to
100,000 points stays one cluster."""
_NEARLY_NONE = 1e-4  # of the Gaussian's maximum; smaller values count as 0, so that distant islands do not touch
_LEAST_BLUR = 0.01  # of the map; with less, single documents become clusters
_SADDLE = 0.75
"""Two hills are merged if the pass between them is at least this share of the lower one's height. At .9, noise in one
cloud makes clusters; at .5, islands that touch become one."""
_NOISE = 2.0  # times the square root of a hill's points; a hill that is less above the pass is noise
_FEWEST_POINTS = 3  # chunks of a cluster that is named; its share of all is at least
_LEAST_SHARE = 0.002
_WORDS = 3  # of a label
_READ = 300  # texts of a cluster; more give the same words
_COMMON = 0.5  # of the clusters; a word in more of them, such as "the", does not distinguish them
_FEW = 4  # clusters; with fewer, a word in two of them is not common
_OF_ONE = 0.6  # of a cluster's chunks; if one document has this share, its title is the label
_SAME_BEGINNING = 5  # letters; words with the same beginning are forms of one word, and a label has only one of them

Points = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Label:
    """The words of a cluster, its center in [0, 1], and its number of chunks."""

    words: tuple[str, ...]
    x: float
    y: float
    chunks: int


@dataclass(frozen=True, slots=True)
class Named:
    """The sources of cluster names: the text and document of each point, and the titles of documents."""

    texts: pa.ChunkedArray
    uris: pa.ChunkedArray
    titles: Mapping[str, str]


def labels_of(places: Points, named: Named, ignored: Collection[str] = ()) -> tuple[Label, ...]:
    """Return labels of the clusters of points, largest first.

    A cluster of mostly one document gets its title. Other clusters get the words with the highest c-TF-IDF, which are
    frequent in the cluster and rare in others (Grootendorst, BERTopic, 2022). Words of `ignored`, such as stop words,
    are in no label.
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

    Points are assigned to the hills of their density. A hill is merged with a higher one if the pass between them is
    nearly as high as itself (ToMATo: Chazal, Guibas, Oudot and Skraba 2013), so the number of clusters is not preset.
    """
    if not len(places):
        return []
    cells = np.clip((places * _CELLS).astype(int), 0, _CELLS - 1)
    flat = cells[:, 0] * _CELLS + cells[:, 1]
    width = _BLUR * float(places.std(axis=0).mean()) * len(places) ** (-1 / 4)
    density = _blurred(np.bincount(flat, minlength=_CELLS * _CELLS), max(_LEAST_BLUR, width) * _CELLS)
    _, hill, sizes = np.unique(_hills(density)[flat], return_inverse=True, return_counts=True)
    least = max(_FEWEST_POINTS, _LEAST_SHARE * len(places))
    order = [place for place in np.argsort(-sizes, kind="stable") if sizes[place] >= least]
    return [np.flatnonzero(hill == place) for place in order[:_MOST_CLUSTERS]]


def _blurred(counts: npt.NDArray[np.int64], sigma: float) -> npt.NDArray[np.float64]:
    """Return the counts of a square grid, blurred by a Gaussian of this width in cells."""
    steps = np.arange(_CELLS)
    bell = np.exp(-0.5 * ((steps[:, None] - steps[None, :]) / sigma) ** 2)
    kernel = np.where(bell < _NEARLY_NONE, 0.0, bell).astype(np.float64)
    grid = counts.astype(np.float64).reshape(_CELLS, _CELLS)
    return np.asarray(kernel @ grid @ kernel.T, np.float64).ravel()


def _hills(density: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return for each cell the number of the cell at the top of its hill."""
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
    """Return the title or name of the document that has most of the points; nothing if none has."""
    uris = named.uris.take(own).combine_chunks().dictionary_encode()
    [most] = pc.mode(uris.indices, 1).to_pylist()
    if most["count"] < _OF_ONE * len(own):
        return ()
    uri = uris.dictionary[most["mode"]].as_py()
    return (named.titles.get(uri) or uri.rpartition("/")[2],)


def _by_document(named: Named, own: npt.NDArray[np.int64]) -> list[str]:
    """Return the texts of points, joined by document."""
    texts: dict[str, list[str]] = {}
    for uri, text in zip(named.uris.take(own).to_pylist(), named.texts.take(own).to_pylist(), strict=True):
        texts.setdefault(uri, []).append(text)
    return ["\n".join(some) for some in texts.values()]


def _words_of(texts: Sequence[str], ignored: Collection[str]) -> Counter[str]:
    """Return the number of texts with each word, in its most frequent spelling."""
    forms: dict[str, Counter[str]] = {}
    for text in texts:
        for word in sorted({*_WORD.findall(text)}):
            if word.lower() not in ignored:
                forms.setdefault(word.lower(), Counter())[word] += 1
    return Counter({own.most_common(1)[0][0]: own.total() for own in forms.values()})


def _best(own: Counter[str], weights: Mapping[str, float]) -> list[str]:
    """Return the words with the greatest weights, with only one of several forms of a word."""
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
    """Return the weight of each word in lower case; a word in most clusters has none."""
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


MOST_POINTS = 200_000
"""Points of a map, which a browser moves at 30 frames a second. Larger stores are sampled by id, which is a hash."""
_LANDMARKS = 2000
"""Vectors that t-SNE places in 4 s of CPU time. Twice as many take more than twice as long and look the same."""
_ROUNDS = 500  # of t-SNE; after 300, clusters of 1,000 vectors are not separated yet (divergence .35; .13 after 500)
_PERPLEXITY = 30.0  # the effective number of neighbours; t-SNE's authors recommend 5 to 50
_DIMENSIONS = 50  # after a reduction by principal components, as t-SNE's authors do
_FEWEST = 5  # fewer points have no neighbourhood and are placed in a row
_NEAREST = 4  # placed vectors between which another is placed; with one, points would coincide
_JITTER = 0.004  # of the width, so that equal vectors are side by side and can be pointed at
_KNOWN_SHARE = 0.5  # of the vectors; with fewer known ones, the map is computed again, as for another store
_AT_ONCE = 4096  # vectors compared with the placed ones at once (32 MB)
_COLUMNS = ["chunk_id", "uri", "content_type", "strategy", "embedding_key", "text"]

_PLACES = pa.schema({"key": pa.string(), "x": pa.float32(), "y": pa.float32()})

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """The points of a map and the words of its clusters.

    `chunks` has a row for each point: chunk_id, uri, content_type, strategy, embedding_key. `places` has their x and y
    in [0, 1], shape (points, 2). `left_out` counts the chunks without a point, including the `pending` ones, which wait
    for their vectors.
    """

    chunks: pa.Table
    places: Floats
    labels: tuple[Label, ...]
    left_out: int
    pending: int


def chunk_map(store: Store) -> ChunkMap:
    """Return the map of a snapshot. The places of its vectors are saved in the cache of the store.

    Raises:
        docmill.errors.StoreError: A file of the snapshot is damaged.
        docmill.errors.ConfigError: scikit-learn is not installed.
    """
    rows = read_table(store.stored, "chunks", _COLUMNS)
    all_rows = len(rows)
    held = Packs(store.stored.ensure_packs("embeddings"))
    rows = without(rows, waiting_in(store.stored).column("chunk_id"))
    pending = all_rows - len(rows)
    rows = rows.filter(pc.not_equal(rows.column("embedding_key"), "")).sort_by("chunk_id").slice(0, MOST_POINTS)
    if not len(rows):
        return ChunkMap(rows.drop_columns("text"), np.zeros((0, 2), np.float32), (), all_rows, pending)
    keys = pc.unique(rows.column("embedding_key")).sort()
    kept = store.root / "cache" / "map" / f"places-{store.snapshot.space.id}.parquet"
    placed = _placed(kept, keys, lambda some: _vectors(held, some))
    at = pc.index_in(rows.column("embedding_key"), value_set=keys).to_numpy()
    places = np.clip(placed[at] + _jitter(rows.column("chunk_id")), 0, 1).astype(np.float32)
    language = store.stored.snapshot.keywords.language
    documents = read_table(store.stored, "documents", ["uri", "title"])
    titles = dict(zip(documents.column("uri").to_pylist(), documents.column("title").to_pylist(), strict=True))
    named = Named(rows.column("text"), rows.column("uri"), titles)
    labels = labels_of(places, named, stop_words(languages_in(language)))
    return ChunkMap(rows.drop_columns("text"), places, labels, all_rows - len(rows), pending)


def _vectors(packs: Packs, keys: pa.Array) -> Floats:
    """Return vectors by their keys, float32 (n, dim)."""
    flat = packs.take(keys).column("vector").combine_chunks().flatten()
    return np.asarray(flat, np.float32).reshape(len(keys), -1)


def _placed(kept: Path, keys: pa.Array, vectors_of: Callable[[pa.Array], Floats]) -> Floats:
    """Return the places of vectors: saved ones, and new ones between these. Only new vectors are read."""
    before = _read(kept)
    at = pc.index_in(keys, value_set=before.column("key").combine_chunks())
    known = at.is_valid().to_numpy(zero_copy_only=False)
    places = np.zeros((len(keys), 2), np.float32)
    if known.mean() >= _KNOWN_SHARE:
        of_before = np.stack([before.column(name).to_numpy() for name in "xy"], axis=1)
        places[known] = of_before[at.drop_null().to_numpy()]
    else:
        known = np.zeros(len(keys), bool)
        known[:_LANDMARKS] = True  # keys are sorted hashes, so the first ones are a sample
        places[known] = _embedded(vectors_of(keys.filter(pa.array(known))))
    if not known.all():
        landmarks = vectors_of(keys.filter(pa.array(known))[:_LANDMARKS])
        places[~known] = _between(vectors_of(keys.filter(pa.array(~known))), landmarks, places[known][:_LANDMARKS])
    _keep(kept, keys, places)
    return places


def _read(kept: Path) -> pa.Table:
    """Return the saved places. A missing or damaged file has none and will be written again."""
    with suppress(OSError, pa.ArrowInvalid):
        return pq.read_table(kept)
    return pa.table(
        {"key": pa.array([], pa.string()), "x": pa.array([], pa.float32()), "y": pa.array([], pa.float32())}
    )


def _keep(kept: Path, keys: pa.Array, places: Floats) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"key": keys, "x": places[:, 0], "y": places[:, 1]}), sink)
    with suppress(OSError):  # without write access, the map is computed each time
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, sink.getvalue().to_pybytes())


def _embedded(vectors: Floats) -> Floats:
    """Return vectors in two dimensions, in [0, 1]."""
    if len(vectors) < _FEWEST:
        row = (np.arange(len(vectors), dtype=np.float32) + 1) / (len(vectors) + 1)
        return np.stack([row, np.full_like(row, 0.5)], axis=1)
    with extra("evaluate", "the map of chunks"):
        from sklearn.decomposition import PCA
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    with threadpool_limits(1, user_api="openmp"):  # with two threads on a busy machine it takes ten times as long
        fewer = PCA(min(_DIMENSIONS, *vectors.shape), random_state=0).fit_transform(vectors)
        perplexity = min(_PERPLEXITY, (len(vectors) - 1) / 3)
        model = TSNE(2, init="pca", perplexity=perplexity, max_iter=_ROUNDS, random_state=0, n_jobs=1)
        found = model.fit_transform(fewer)
    low, high = found.min(axis=0), found.max(axis=0)
    scaled: Floats = ((found - low) / np.maximum(high - low, 1e-9)).astype(np.float32)
    return scaled


def _between(vectors: Floats, landmarks: Floats, places: Floats) -> Floats:
    """Return a place for each vector: the mean of its nearest landmarks' places, weighted by similarity."""
    found = np.zeros((len(vectors), 2), np.float32)
    count = min(_NEAREST, len(landmarks))
    for start in range(0, len(vectors), _AT_ONCE):
        part = vectors[start : start + _AT_ONCE]
        similar = part @ landmarks.T
        best = np.argpartition(-similar, count - 1, axis=1)[:, :count]
        weights = 1 / (1.0001 - np.take_along_axis(similar, best, axis=1))  # an equal vector has almost all the weight
        weights /= weights.sum(axis=1, keepdims=True)
        found[start : start + _AT_ONCE] = (places[best] * weights[..., None]).sum(axis=1)
    return found


def _jitter(ids: pa.ChunkedArray) -> Floats:
    """Return a small offset for each chunk, which its id determines."""
    whole = np.array([int(key[:8], 16) for key in ids.to_pylist()], np.uint32)
    steps = np.stack([whole & 0xFFFF, whole >> 16], axis=1) / 0xFFFF
    moved: Floats = ((steps - 0.5) * _JITTER).astype(np.float32)
    return moved
