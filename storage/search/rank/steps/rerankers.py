"""Rerankers: the registry of ways to rescore the best candidates of a search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.plugins.origin import Origin
from docmill.storage.plugins.registry import Registry, Seam
from docmill.storage.process.library_threads import one_blas_thread
from docmill.storage.schema import ChunkRow, indexed_text, part_readings
from docmill.storage.search.encode.library_class import CrossEncoder, library_class, load_as, load_cross_encoder
from docmill.storage.search.encode.space import model_dir
from docmill.storage.search.encode.text_encoder import TokenVectors
from docmill.storage.search.rank.candidates.hit import Candidate
from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.rank.candidates.token_vectors import TokenMemory
from docmill.storage.search.rank.steps.rerank_server import RerankServer, is_server

if TYPE_CHECKING:
    from docmill.storage.search.encode.library_class import CrossEncoder


def by_tokens(query: Query, rows: Sequence[ChunkRow]) -> npt.NDArray[np.float64]:
    """Return a score for each chunk by late interaction, which needs only the store's encoder.

    It compares each token of the query with each token of a chunk and sums the best matches (Khattab and Zaharia,
    "ColBERT", SIGIR 2020). Rare tokens weigh more.
    """
    return late_interaction(*_tokens_of(query, rows))


def _tokens_of(query: Query, rows: Sequence[ChunkRow]) -> tuple[TokenVectors, list[TokenVectors]]:
    """Return the token vectors of a query and of each chunk; the parts of a long chunk are encoded one by one."""
    parts = [
        [indexed_text(row.context, read) for read in part_readings(row.text, row.parts, row.unread)] for row in rows
    ]
    question = _joined([query.sources.encoder.encode_query_tokens(window) for window in query.windows])
    left = iter(query.sources.tokens.of(list(chain.from_iterable(parts))))
    return question, [_joined(list(islice(left, len(own)))) for own in parts]


def _joined(parts: Sequence[TokenVectors]) -> TokenVectors:
    ids = tuple(chain.from_iterable(part.ids for part in parts))
    return TokenVectors(ids, np.concatenate([part.vectors for part in parts]))


@one_blas_thread()
def late_interaction(question: TokenVectors, chunks: Sequence[TokenVectors]) -> npt.NDArray[np.float64]:
    """Return for each chunk the mean of the best cosine of each query token, weighted by the token's rarity."""
    held = [set(chunk.ids) for chunk in chunks]
    weights = np.array([np.log1p(len(held) / (1 + sum(token in own for own in held))) for token in question.ids])
    best = [(chunk.vectors @ question.vectors.T).max(axis=0, initial=-1.0) for chunk in chunks]
    return np.array([float(weights @ one) / float(weights.sum()) for one in best])


_LATE_SHARE = 0.35
"""The share of late interaction in the new score; the rest is the fused score. See
`python -m tests.bench.finding.retrieval`."""


@dataclass(frozen=True, slots=True)
class Reranker:
    """A way to score chunks for a query; `share` is its share of the new score, and the rest is the old score."""

    name: str
    score: Callable[[Query, Sequence[ChunkRow]], npt.NDArray[np.float64]]
    share: float = 1.0


class RerankerPlugin(Protocol):
    """A way to score the best candidates of a search again: an entry point of the group `docmill.rerankers`.

    `[search] rerank` and `docmill search --rerank` take the name of the entry point. It leads to an object with these
    members, or to a class that is called without arguments, once in a process.

    Attributes:
        version: Shown by `docmill plugins`. Nothing in a store depends on it.
    """

    version: int | str

    def score(self, question: str, chunks: Sequence[ChunkRow]) -> Sequence[float]:
        """Return a finite score for each chunk, in their order: the higher, the better it answers the question.

        `chunk.text` is the text of a chunk, `chunk.context` says where it is, and `chunk.uri` names its document.
        There are at most `rerank_depth` chunks. Any exception ends the search with an error that names the plugin and
        its distribution. Several threads may call it at once.
        """
        ...


def _reranker_of_plugin(origin: Origin, plugin: RerankerPlugin) -> Reranker:
    def score(query: Query, rows: Sequence[ChunkRow]) -> npt.NDArray[np.float64]:
        found = np.asarray(plugin.score(query.text, rows), np.float64)
        if found.shape != (len(rows),) or not np.isfinite(found).all():
            raise ValueError(f"{len(rows)} chunks need as many finite scores, got {found.tolist()}")
        return found

    return Reranker(origin.name, origin.guarded(score, QueryError))


RERANKERS: Registry[Reranker] = Registry(
    Seam("docmill.rerankers", "reranker", RerankerPlugin),
    {"late": Reranker("late", by_tokens, _LATE_SHARE)},
    _reranker_of_plugin,
)


def reranker_of(name: str) -> Reranker:
    """Return a reranker by its name, the address of a server, or the path of a CrossEncoder or a multi-vector model.

    Raises:
        ConfigError: There is no such reranker.
    """
    if name in RERANKERS:
        return RERANKERS[name]
    model = RerankServer(name) if is_server(name) else _local_model(name)

    def score(query: Query, rows: Sequence[ChunkRow]) -> npt.NDArray[np.float64]:
        return model.score(query.text, [indexed_text(row.context, row.text, row.unread) for row in rows])

    return Reranker(model.name if isinstance(model, RerankServer) else name, score)


def _local_model(name: str) -> "CrossEncoder | MultiVectorReranker":

    try:
        return local_reranker(name)
    except ConfigError as error:
        known = ", ".join(RERANKERS)
        raise ConfigError(f"{name!r} is no reranker of docmill or an installed plugin ({known}); {error}") from error


Floats = npt.NDArray[np.float64]


def rerank(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return the best candidates by their new scores, in [0, 1], followed by the others."""

    reranker = reranker_of(query.options.rerank)
    some, rest = candidates[: query.options.rerank_depth], candidates[query.options.rerank_depth :]
    found = reranker.score(query, [*query.rows([one.key for one in some]).values()])
    before = _scaled(np.array([one.score for one in some]))
    scores = (1 - reranker.share) * before + reranker.share * _scaled(found)
    order = np.argsort(-scores, kind="stable")
    for place, i in enumerate(order.tolist(), start=1):
        some[i].score = float(scores[i])
        some[i].note("rerank", f"{reranker.name} gives {found[i]:.3f}: from place {i + 1} to {place}")
    highest = max((one.score for one in rest), default=0.0)
    for one in rest:  # below all rescored candidates
        one.score -= highest
    return [some[i] for i in order] + rest


def _scaled(scores: Floats) -> Floats:
    low, span = scores.min(), np.ptp(scores)
    return (scores - low) / span if span else np.ones(len(scores))


class MultiVectorModel:
    """A MultiVectorEncoder of sentence-transformers."""

    def __init__(self, name: str) -> None:
        self._model = load_as("MultiVectorEncoder", name, model_dir(name, ""))

    def encode_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 (tokens, dim), one row for each token that counts; the end of a long text is cut off."""
        found: npt.NDArray[np.float32] = np.asarray(self._model.encode_query(text), np.float32)
        return found

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Return the vectors of each text's tokens without their ids; the end of a long text is cut off."""
        made = self._model.encode_document(list(texts), show_progress_bar=False)
        return [TokenVectors((), np.asarray(one, np.float32)) for one in made]


class MultiVectorReranker:
    """A multi-vector model as a reranker; the vectors of texts are cached in memory."""

    def __init__(self, name: str) -> None:
        self._model = MultiVectorModel(name)
        self._texts = TokenMemory(self._model.encode_tokens)

    @one_blas_thread()
    def score(self, question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Return for each text the sum, over the question's vectors, of the largest dot product with its vectors."""
        asked = self._model.encode_query(question).T
        return np.array([float((own.vectors @ asked).max(axis=0, initial=-1.0).sum()) for own in self._texts.of(texts)])


_multi_vector_reranker = cache(MultiVectorReranker)


def local_reranker(name: str) -> CrossEncoder | MultiVectorReranker:
    """Return the reranker of a folder or a hub name; raise `ConfigError` if there is none."""
    several = library_class(model_dir(name, "")) == "MultiVectorEncoder"
    return _multi_vector_reranker(name) if several else load_cross_encoder(name)
