"""Chunk map: the chunks of a snapshot in two dimensions, those with similar vectors near each other.

Two thousand vectors are placed by t-SNE (van der Maaten and Hinton 2008). Each other is between the placed ones that
are nearest to it. Places are kept by the key of the vector: a small change of the store moves no point that stays.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from docmill.flows.measure.map_labels import Label, Named, labels_of
from docmill.storage.files import write_whole
from docmill.storage.process.extras import extra
from docmill.storage.search.keywords.analysis.languages import languages_in
from docmill.storage.search.keywords.analysis.stopwords import stop_words
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.read.store import Store
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.pending_vectors import waiting_in, without

MOST_POINTS = 200_000
"""Points of a map. A browser moves as many at 30 frames a second; of larger stores it shows a sample by id, a hash."""
_LANDMARKS = 2000
"""Vectors that t-SNE places, which takes 4 s of CPU time; twice as many take over twice as long and look the same."""
_ROUNDS = 500  # of t-SNE; after 300 the clusters of 1,000 vectors are not apart yet (divergence .35; .13 after 500)
_PERPLEXITY = 30.0  # the neighbours that count, as t-SNE's authors advise between 5 and 50
_DIMENSIONS = 50  # to which principal components reduce the vectors first, as its authors do
_FEWEST = 5  # fewer points than this have no neighbourhood; they stand in a row
_NEAREST = 4  # placed vectors between which another lies; with one, points fall onto each other
_JITTER = 0.004  # of the width: equal vectors stand beside each other, and can be pointed at
_KNOWN_SHARE = 0.5  # of the vectors; with fewer known ones the map is drawn anew, as it would show another store
_AT_ONCE = 4096  # vectors compared with the placed ones at once: 32 MB
_COLUMNS = ["chunk_id", "uri", "content_type", "strategy", "embedding_key", "text"]

_PLACES = pa.schema({"key": pa.string(), "x": pa.float32(), "y": pa.float32()})

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """The points of a map and the words of its clusters.

    `chunks` has a row for each point: chunk_id, uri, content_type, strategy, embedding_key. `places` has its x and y in
    [0, 1], shape (points, 2). `left_out` counts the chunks that have no point, among them the `pending` ones, which
    wait for their vectors.
    """

    chunks: pa.Table
    places: Floats
    labels: tuple[Label, ...]
    left_out: int
    pending: int


def chunk_map(store: Store) -> ChunkMap:
    """Return the map of a snapshot; the places of its vectors are kept in the cache of the store.

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
    placed = _placed(_kept_in(store), keys, lambda some: _vectors(held, some))
    at = pc.index_in(rows.column("embedding_key"), value_set=keys).to_numpy()
    places = np.clip(placed[at] + _jitter(rows.column("chunk_id")), 0, 1).astype(np.float32)
    language = store.stored.snapshot.keywords.language
    documents = read_table(store.stored, "documents", ["uri", "title"])
    titles = dict(zip(documents.column("uri").to_pylist(), documents.column("title").to_pylist(), strict=True))
    named = Named(rows.column("text"), rows.column("uri"), titles)
    labels = labels_of(places, named, stop_words(languages_in(language)))
    return ChunkMap(rows.drop_columns("text"), places, labels, all_rows - len(rows), pending)


def _kept_in(store: Store) -> Path:
    """Return the file of the places of an embedding space."""
    return store.root / "cache" / "map" / f"places-{store.snapshot.space.id}.parquet"


def _vectors(packs: Packs, keys: pa.Array) -> Floats:
    """Return vectors by their keys, float32 (n, dim)."""
    flat = packs.take(keys).column("vector").combine_chunks().flatten()
    return np.asarray(flat, np.float32).reshape(len(keys), -1)


def _placed(kept: Path, keys: pa.Array, vectors_of: Callable[[pa.Array], Floats]) -> Floats:
    """Return the places of vectors: those of before, and new ones between them. Only what is new is read."""
    before = _read(kept)
    at = pc.index_in(keys, value_set=before.column("key").combine_chunks())
    known = at.is_valid().to_numpy(zero_copy_only=False)
    places = np.zeros((len(keys), 2), np.float32)
    if known.mean() >= _KNOWN_SHARE:
        of_before = np.stack([before.column(name).to_numpy() for name in "xy"], axis=1)
        places[known] = of_before[at.drop_null().to_numpy()]
    else:
        known = np.zeros(len(keys), bool)
        known[:_LANDMARKS] = True  # keys are hashes and sorted: the first are a sample
        places[known] = _embedded(vectors_of(keys.filter(pa.array(known))))
    if not known.all():
        landmarks = vectors_of(keys.filter(pa.array(known))[:_LANDMARKS])
        places[~known] = _between(vectors_of(keys.filter(pa.array(~known))), landmarks, places[known][:_LANDMARKS])
    _keep(kept, keys, places)
    return places


def _read(kept: Path) -> pa.Table:
    """Return the kept places; a file that is missing or damaged holds none, and is written again."""
    with suppress(OSError, pa.ArrowInvalid):
        return pq.read_table(kept)
    return pa.table(
        {"key": pa.array([], pa.string()), "x": pa.array([], pa.float32()), "y": pa.array([], pa.float32())}
    )


def _keep(kept: Path, keys: pa.Array, places: Floats) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"key": keys, "x": places[:, 0], "y": places[:, 1]}), sink)
    with suppress(OSError):  # a store that cannot be written to is drawn anew each time
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
    """Return a place for each vector: the mean of those of its nearest landmarks, the nearer the heavier."""
    found = np.zeros((len(vectors), 2), np.float32)
    count = min(_NEAREST, len(landmarks))
    for start in range(0, len(vectors), _AT_ONCE):
        part = vectors[start : start + _AT_ONCE]
        similar = part @ landmarks.T
        best = np.argpartition(-similar, count - 1, axis=1)[:, :count]
        weights = 1 / (1.0001 - np.take_along_axis(similar, best, axis=1))  # an equal vector has nearly all the weight
        weights /= weights.sum(axis=1, keepdims=True)
        found[start : start + _AT_ONCE] = (places[best] * weights[..., None]).sum(axis=1)
    return found


def _jitter(ids: pa.ChunkedArray) -> Floats:
    """Return a small step for each chunk, always the same: its id is a hash."""
    whole = np.array([int(key[:8], 16) for key in ids.to_pylist()], np.uint32)
    steps = np.stack([whole & 0xFFFF, whole >> 16], axis=1) / 0xFFFF
    moved: Floats = ((steps - 0.5) * _JITTER).astype(np.float32)
    return moved
