"""Reference: search a few chunks in memory with `rank_bm25`, so that tests can compare the postings with it."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.search.keywords.keyword_search import KeywordHit
from docmill.storage.search.keywords.scoring import Floats, Scoring


class MemoryIndex:
    """BM25Okapi over (chunk id, text) pairs; search time is proportional to their number."""

    def __init__(
        self, chunks: Iterable[tuple[str, str]], language: str = "english", scoring: Scoring | None = None
    ) -> None:
        from rank_bm25 import BM25Okapi

        scoring = scoring or Scoring()
        pairs = list(chunks)
        self.chunk_ids = [chunk_id for chunk_id, _ in pairs]
        self._language = language
        self._terms = [Counter(analyse(text, language)) for _, text in pairs]
        corpus = [list(terms.elements()) for terms in self._terms]
        self._model = None
        if any(corpus):
            self._model = BM25Okapi(corpus, k1=scoring.k1, b=scoring.fields[0].b, epsilon=scoring.epsilon)

    def scores(self, query: str) -> Floats:
        """Return the score of every chunk, in the order of `chunk_ids`."""
        return self._scores(analyse(query, self._language))

    def search(self, query: str, k: int) -> list[KeywordHit]:
        """Return the best `k` chunks that contain a term of the query, by score descending, then by chunk id."""
        counts = Counter(analyse(query, self._language))
        columns = {term: self._scores([term] * count) for term, count in counts.items()}
        hits = []
        for row, chunk_id in enumerate(self.chunk_ids):
            matched = {term: float(column[row]) for term, column in columns.items() if term in self._terms[row]}
            if matched:
                hits.append(KeywordHit(chunk_id, sum(matched.values()), matched, dict.fromkeys(matched, ("text",))))
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:k]

    def _scores(self, terms: list[str]) -> Floats:
        if self._model is None:
            return np.zeros(len(self.chunk_ids))
        scores: Floats = self._model.get_scores(terms)
        return scores
