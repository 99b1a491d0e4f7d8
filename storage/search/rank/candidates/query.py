"""Query: one query on its way through the steps of a search, with the data that the steps read for it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, product

import numpy as np

from docmill.storage.errors import QueryError
from docmill.storage.schema import ChunkRow
from docmill.storage.search.keywords.analysis.analyser import alternatives, analyse
from docmill.storage.search.keywords.analysis.language_tags import READ_AS, primary_tag
from docmill.storage.search.keywords.analysis.languages import with_given
from docmill.storage.search.keywords.keyword_search import KeywordHits
from docmill.storage.search.rank.candidates.chunk_ordinals import Place
from docmill.storage.search.rank.candidates.fusion import (
    Ranking,
    found_share,
    fuse,
    vector_weight,
    with_learned,
    with_pictures,
)
from docmill.storage.search.rank.candidates.hit import Candidate, CandidateNote, ShownChunk, in_order
from docmill.storage.search.rank.candidates.long_query import MOST_WORDS, best_words, windows_of
from docmill.storage.search.rank.candidates.search_options import SearchOptions
from docmill.storage.search.rank.candidates.snapshot_sources import SnapshotReader, Vector

REMARK = "query"
"""The step whose notes concern the user: how a long query was read, or why a model gave no other wording."""
_FUSED = "{:.3f} from the vectors and {:.3f} from the keywords"
_FUSED_LEARNED = "{:.3f} from the vectors and {:.3f} from the keywords and learned terms"
_FUSED_SEEN = "{:.3f} from its picture and {:.3f} from the keywords"
_FUSED_PENDING = "{:.3f} from the keywords instead of pending vectors and {:.3f} from the keywords"


class Query:
    """A query with its options; `allowed` are the ids of the chunks that pass the filter, or None without a filter.

    `vectors` are the vectors of the query's windows if they were already encoded together with other queries.
    """

    def __init__(
        self,
        text: str,
        options: SearchOptions,
        sources: SnapshotReader,
        allowed: Collection[str] | None = None,
        vectors: Vector | None = None,
    ) -> None:
        self.text = text
        self.options = options
        self.sources = sources
        self.allowed = allowed
        self._vectors = vectors
        self._rows: dict[str, ChunkRow] = {}
        self._shown: dict[str, ShownChunk] = {}
        self._places: dict[str, Place] | None = None
        self.farthest = 0.0
        """The cosine of the last vector candidate, an upper bound for chunks that only the keywords found."""

    @cached_property
    def language(self) -> str:
        """The languages in which the words of the query are read, including the given one if there is one."""
        given = primary_tag(self.options.language)
        return with_given(self.sources.language, READ_AS[given]) if given else self.sources.language

    @cached_property
    def windows(self) -> list[str]:
        """The query as texts that fit the model; usually only the query itself."""
        return windows_of(self.text, self.sources.encoder)

    @cached_property
    def vectors(self) -> Vector:
        """The vectors of the query's windows, (windows, dim), rows of unit L2 norm."""
        if self._vectors is not None:
            return self._vectors
        if len(self.windows) > 1:
            return self.sources.encoder.encode_queries(self.windows)
        alone: Vector = self.sources.query_vector(self.text)[None]
        return alone

    @property
    def vector(self) -> Vector:
        """The mean of the vectors of the query's windows, (dim,) of unit L2 norm."""
        total: Vector = self.vectors.sum(axis=0)
        return total if len(self.vectors) == 1 else total / np.float32(np.linalg.norm(total))

    @cached_property
    def words(self) -> tuple[str, int]:
        """The text for the keyword index, and how many distinct words the query has."""
        return best_words(self.text, self.language, self.sources.rarity)

    @cached_property
    def term_weights(self) -> dict[str, float]:
        """The rarity of each term of the query, 0 for a term that no chunk contains."""
        terms = dict.fromkeys(analyse(self.words[0], self.language))
        return {term: self.sources.rarity(term) for term in terms}

    @cached_property
    def weighted_words(self) -> list[tuple[frozenset[str], float]]:
        """The words of the query, each as its terms in the languages of the store, with its rarity.

        A word that no chunk contains counts as rare as one in a single chunk.
        """
        weights, others = self.term_weights, alternatives(self.words[0], self.language)
        words = dict.fromkeys(frozenset(others.get(term, (term,))) for term in weights)
        return [(word, max(weights.get(term, 0.0) for term in word) or self.sources.rarest) for word in words]

    @cached_property
    def unread(self) -> float:
        """The share of the letters of the query that the model cannot read."""
        return self.sources.unread(self.text)

    def wider(self, candidates: int) -> "Query":
        """Return the query with more candidates; its vectors and the rows already read are kept."""
        vectors = None if self.options.mode == "keyword" else self.vectors
        options = replace(self.options, candidates=candidates)
        other = Query(self.text, options, self.sources, self.allowed, vectors)
        other._rows, other._shown = self._rows, self._shown
        return other

    def rows(self, ids: Sequence[str]) -> dict[str, ChunkRow]:
        """Return the rows of chunks; each is read once."""
        missing = [key for key in ids if key not in self._rows]
        if missing:
            self._rows |= self.sources.rows(missing)
        return {key: self._rows[key] for key in ids}

    def shown(self, ids: Sequence[str]) -> dict[str, ShownChunk]:
        """Return the parts of chunks that hits show; each is read once."""
        missing = [key for key in ids if key not in self._shown]
        if missing:
            self._shown |= self.sources.shown(missing)
        return {key: self._shown[key] for key in ids}

    def places(self, candidates: Sequence[Candidate]) -> dict[str, Place]:
        """Return the places of candidates, which are cached: all steps that call this have the same candidates."""
        if self._places is None:
            self._places = self.sources.places.of([one.key for one in candidates])
        return self._places

    def rank(self, vectors: Vector | None, words: str) -> list[Candidate]:
        """Return the fused candidates of both indexes, best first; without vectors or words, skip that index.

        A chunk is as similar to several vectors as to the nearest of them.
        """
        near = self._nearest(vectors) if vectors is not None else []
        held = self._matching(words) if words else KeywordHits()
        self.farthest = near[-1][1] if near else 0.0
        found: dict[str, Candidate] = {}
        for rank, (key, score) in enumerate(near, start=1):
            found[key] = Candidate(key, score, vector_score=score, vector_rank=rank)
        for rank, (key, score) in enumerate(zip(held.ids, held.scores, strict=True), start=1):
            one = found.get(key) or found.setdefault(key, Candidate(key, score))
            one.keyword_score, one.keyword_rank, one.held = score, rank, held
        if self.options.mode == "hybrid":
            self._fuse(found, near, held)
        return in_order(list(found.values()))

    def _fuse(self, found: dict[str, Candidate], near: Ranking, held: KeywordHits) -> None:
        """Set the fused scores of candidates, and add chunks that only their pictures or learned terms found."""
        options, pending = self.options, self.sources.without_vectors(held.ids)
        weight = self._weight(near, held)
        parts = fuse(near, [*zip(held.ids, held.scores, strict=True)], options.fusion, weight, pending)
        if self.learned:
            parts = with_learned(parts, self.learned, options.fusion, weight)
        if self.pictured or pending:
            self._take_seen(found, parts, pending)
            return
        fused = _noted(options.fusion, self._fused_words, parts)
        for key, (left, right) in parts.items():
            one = found.get(key) or found.setdefault(key, Candidate(key))
            one.score, one.fused = left + right, fused

    def _take_seen(
        self, found: dict[str, Candidate], parts: Mapping[str, tuple[float, float]], pending: Collection[str]
    ) -> None:
        """Set the fused scores of candidates if there are pictures or pending vectors."""
        options = self.options
        shown = with_pictures(parts, self.pictured, options.fusion, options.weight) if self.pictured else parts
        for key, (left, right) in shown.items():
            one = found.get(key) or found.setdefault(key, Candidate(key, 0.0))
            one.score = left + right
            seen = key not in parts or left > parts[key][0]
            said = _FUSED_SEEN if seen else _FUSED_PENDING if key in pending else self._fused_words
            one.note(options.fusion, said, left, right)

    @property
    def _fused_words(self) -> str:
        return _FUSED_LEARNED if self.learned else _FUSED

    @cached_property
    def silent(self) -> frozenset[str]:
        """The chunks of figures without any words: only their pictures can match the query."""
        return self.sources.pictures.silent if self.sources.pictures else frozenset()

    @cached_property
    def pictured(self) -> list[tuple[str, float]]:
        """The chunks whose pictures are nearest to the query, with their cosines, best first."""
        pictures = self.sources.pictures
        return pictures.nearest(self.text, self.options.breadth, self.allowed) if pictures else []

    @cached_property
    def learned(self) -> list[tuple[str, float]]:
        """The chunks that share learned terms with the query, with their scores, best first."""
        terms = self.sources.learned_terms
        return terms.matching(self.text, self.options.breadth, self.allowed) if terms else []

    def _weight(self, near: Ranking, held: KeywordHits) -> float:
        """Return the weight of the vectors for this query; without keyword hits, it is that of the options."""
        if not held:
            return self.options.weight
        found = found_share(held[0].terms, self.weighted_words)
        return vector_weight(self.options.weight, near, self.unread, found)

    def _matching(self, words: str) -> KeywordHits:
        """Return the hits of the keyword index without the silent chunks."""
        held = self.sources.matching(words, self.options.breadth, self.allowed, self.language)
        return held.without(self.silent) if self.silent else held

    def _nearest(self, vectors: Vector) -> list[tuple[str, float]]:
        """Return the nearest chunks and their cosines, without the silent chunks."""
        rankings = [self.sources.nearest(vector, self.options.breadth, self.allowed) for vector in vectors]
        if self.silent:
            rankings = [[one for one in ranking if one[0] not in self.silent] for ranking in rankings]
        if len(rankings) == 1:
            return rankings[0]
        best: dict[str, float] = {}
        for key, score in chain.from_iterable(rankings):
            best[key] = max(score, best.get(key, score))
        return sorted(best.items(), key=lambda one: (-one[1], one[0]))[: self.options.breadth]

    def ask(self) -> list[Candidate]:
        """Return the candidates for the query itself."""
        mode = self.options.mode
        found = self.rank(self.vectors if mode != "keyword" else None, self.words[0] if mode != "vector" else "")
        if not found and mode == "keyword":
            self._explain_nothing()
        for one, said in product(found, [*self._shortened(), *self._unseen()]):
            one.note(REMARK, said)
        return found

    def _unseen(self) -> Iterator[str]:
        """Yield why the pictures or the learned terms of the snapshot are not searched."""
        if self.options.mode == "hybrid":
            held = (self.sources.pictures, self.sources.learned_terms)
            yield from (one.missing for one in held if one and one.missing)

    def _shortened(self) -> Iterator[str]:
        """Yield a note on how the indexes read a query that is too long to be read whole."""
        mode, parts = self.options.mode, 1 if self.options.mode == "keyword" else len(self.vectors)
        held = self.words[1] if mode != "vector" else 0
        ways = [f"by meaning in {parts} parts"] if parts > 1 else []
        ways += [f"by the {MOST_WORDS} heaviest of its {held} words"] if held > MOST_WORDS else []
        if ways:
            yield f"the query is long: it is read {' and '.join(ways)}"

    def _explain_nothing(self) -> None:
        if not analyse(self.text, self.language):
            raise QueryError(
                f"every word of the query {self.text.strip()[:40]!r} is a stop word, which keyword search ignores; "
                "use mode hybrid or vector"
            )


def _noted(fusion: str, said: str, parts: Mapping[str, tuple[float, float]]) -> Callable[[str], CandidateNote]:
    """Return a function that makes the note on both rankings' contributions to a chunk's score."""
    return lambda key: (fusion, sum(parts[key]), said, parts[key])
