"""Keyword search: exact BM25 over one state of the memory-mapped keyword index, reading only postings that matter."""

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.keywords.analysis.analyser import analyse
from docmill.storage.keywords.document_frequencies import read_spectrum
from docmill.storage.keywords.keyword_writer import open_segment
from docmill.storage.keywords.scoring import Floats, Scoring
from docmill.storage.keywords.segments.state import KeywordState, check_analyser
from docmill.storage.keywords.topk import Rows, Slice, Term, all_scores, best_rows

_LONGEST = 2**31 - 1  # the greatest int32, the start value of a minimum


class KeywordHit(NamedTuple):
    """A chunk, its BM25 score, and the share of each matched query term in it."""

    chunk_id: str
    score: float
    terms: dict[str, float]


class _FoundTerm(NamedTuple):
    """A term of the query as found in the dictionaries, before it has a weight."""

    text: str
    frequency: int
    highest: int
    shortest: int
    slices: tuple[Slice, ...]


class KeywordIndex:
    """A reader of one state of the index; writers do not affect it."""

    def __init__(self, root: Path, state: KeywordState, scoring: Scoring | None = None) -> None:
        check_analyser(state)
        self.state = state
        self._scoring = scoring or Scoring()
        self._parts = [open_segment(root, segment) for segment in state.segments]
        self._average_idf = read_spectrum(root, state.spectrum).average_idf(state.rows)
        self._average_length = state.tokens / state.rows if state.rows else 0.0
        self._bases = [0, *accumulate(len(part.postings.lengths) for part in self._parts)]
        self._norms = self._norms_of_alive()

    def search(self, query: str, k: int, allowed: Collection[str] | pa.Array | None = None) -> list[KeywordHit]:
        """Return the best `k` chunks that contain a term of the query, by score descending, then by chunk id.

        `allowed` restricts the hits and does not change their scores. A query without terms has no hits.
        """
        terms = self._terms(query)
        # A filter is a set of infinite norms, so it costs nothing per posting, and idfs stay those of the whole corpus.
        norms = self._norms if allowed is None else self._norms_of(allowed)
        rows = best_rows(terms, norms, k) if k > 0 and terms else np.zeros(0, np.intp)
        return self._hits(terms, rows, norms, k) if len(rows) else []

    def frequency(self, term: str) -> int:
        """Return the number of chunks that contain a term; the analyser must have made the term."""
        return self._find(term).frequency

    def scores(self, query: str) -> Floats:
        """Return the score of every chunk, in the order of `chunk_ids`."""
        return all_scores(self._terms(query), self._norms)[np.isfinite(self._norms)]

    def chunk_ids(self) -> pa.ChunkedArray:
        """Return the ids of the chunks in the index."""
        ids = pa.chunked_array([part.postings.chunk_ids for part in self._parts], pa.string())
        return ids.filter(pa.array(np.isfinite(self._norms)))

    def _hits(self, terms: Sequence[Term], rows: Rows, norms: Floats, k: int) -> list[KeywordHit]:
        columns = [(term.text, *term.gains_at(rows, norms)) for term in terms]
        scores = np.zeros(len(rows))
        for _, gains, _ in columns:  # one by one, so that equal chunks have bit-equal scores
            scores += gains
        table = pa.table({"score": scores, "chunk_id": self._ids_of(rows)})
        # By id among equals, so that the order does not depend on which segment a chunk lies in.
        best = pc.select_k_unstable(table, min(k, len(rows)), [("score", "descending"), ("chunk_id", "ascending")])
        ids = table.column("chunk_id").take(best).to_pylist()
        return [
            KeywordHit(
                chunk_id,
                float(scores[place]),
                {text: float(gains[place]) for text, gains, held in columns if held[place]},
            )
            for place, chunk_id in zip(best.to_pylist(), ids, strict=True)
        ]

    def _terms(self, query: str) -> list[Term]:
        counts = Counter(analyse(query, self.state.language))
        found = [term for term in map(self._find, counts) if term.frequency]
        if not found:
            return []
        frequencies = np.array([term.frequency for term in found])
        weights = self._scoring.idfs(self.state.rows, frequencies, self._average_idf) * (self._scoring.k1 + 1)
        weights *= [counts[term.text] for term in found]  # a word that the query repeats counts as often
        norms = self._scoring.norms(np.array([term.shortest for term in found]), self._average_length)
        highest = np.array([term.highest for term in found])
        # The highest frequency in the shortest chunk: perhaps no chunk has both, but none can score more.
        bounds = weights * highest / (highest + norms)
        return [
            Term(term.text, weight, bound, term.slices)
            for term, weight, bound in zip(found, weights.tolist(), bounds.tolist(), strict=True)
        ]

    def _find(self, text: str) -> _FoundTerm:
        slices, frequency, highest, shortest = [], 0, 0, _LONGEST
        for part, base, end in zip(self._parts, self._bases, self._bases[1:], strict=False):
            postings = part.postings
            place = postings.term_lookup.find(text)
            if place < 0:
                continue
            first, last = postings.starts[place : place + 2].tolist()
            slices.append(Slice(base, end, postings.rows[first:last], postings.frequencies[first:last]))
            # `highest` and `shortest` may be of dead chunks, which makes the bound loose but never wrong.
            frequency += last - first - part.tombstones.dead_in_term(place)
            highest = max(highest, int(postings.highest[place]))
            shortest = min(shortest, int(postings.shortest[place]))
        return _FoundTerm(text, frequency, highest, shortest, tuple(slices))

    def _norms_of_alive(self) -> Floats:
        norms = np.empty(self._bases[-1])
        for part, base, end in zip(self._parts, self._bases, self._bases[1:], strict=False):
            norms[base:end] = self._scoring.norms(part.postings.lengths, self._average_length)
            norms[base + part.tombstones.rows] = np.inf
        return norms

    def _norms_of(self, allowed: Collection[str] | pa.Array) -> Floats:
        norms = np.full(len(self._norms), np.inf)
        wanted = allowed if isinstance(allowed, pa.Array) else pa.array(list(allowed), pa.string())
        for part, base in zip(self._parts, self._bases, strict=False):
            rows = part.postings.chunk_lookup.find_all(wanted)
            rows = rows[rows >= 0] + base
            norms[rows] = self._norms[rows]
        return norms

    def _ids_of(self, rows: Rows) -> pa.ChunkedArray:
        ids = []
        for part, base, end in zip(self._parts, self._bases, self._bases[1:], strict=False):
            first, last = rows.searchsorted((base, end))
            if first < last:
                ids.append(part.postings.chunk_ids.take(pa.array(rows[first:last] - base)))
        return pa.chunked_array(ids, pa.string())
