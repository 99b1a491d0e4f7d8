"""Keyword search: exact BM25F over one state of the memory-mapped keyword index, reading only necessary postings."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, compress
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.search.keywords.analysis.analyser import alternatives, analyse
from docmill.storage.search.keywords.document_frequencies import read_spectrum
from docmill.storage.search.keywords.keyword_writer import OpenSegment, open_segment
from docmill.storage.search.keywords.scoring import Floats, Scoring
from docmill.storage.search.keywords.segments.chunk_fields import FIELDS
from docmill.storage.search.keywords.segments.postings import Postings
from docmill.storage.search.keywords.segments.state import SEARCHED, KeywordState, check_analyser
from docmill.storage.search.keywords.topk import Factors, Rows, Slice, Term, all_scores, best_rows

_NAMED = [tuple(compress(FIELDS, (bits >> n & 1 for n in range(len(FIELDS))))) for bits in range(1 << len(FIELDS))]
"""The names of the fields in each combination of bits."""
_TERMS_KEPT = 1024
"""Terms whose places in the dictionaries are cached, in 1 kB each. A search looks up each of its terms twice or more,
and finding one in five segments takes 0.1 ms."""


class KeywordHit(NamedTuple):
    """A chunk, its BM25 score, each matched query term's share of the score, and the fields that have the term."""

    chunk_id: str
    score: float
    terms: dict[str, float]
    fields: dict[str, tuple[str, ...]]


class _TermInHits(NamedTuple):
    """A term of the query: for each hit its share of the score, and the bits of the fields that have it."""

    text: str
    gains: Floats
    fields: npt.NDArray[np.uint8]


class KeywordHits(Sequence[KeywordHit]):
    """The hits of a query, best first: `ids`, `scores`, and the terms of each hit, which are only made on demand."""

    def __init__(
        self, ids: Sequence[str] = (), scores: Sequence[float] = (), terms: Sequence[_TermInHits] = ()
    ) -> None:
        self.ids = ids
        self.scores = scores
        self._terms = terms

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> KeywordHit: ...
    @overload
    def __getitem__(self, place: slice) -> list[KeywordHit]: ...
    def __getitem__(self, place: int | slice) -> KeywordHit | list[KeywordHit]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        held = [(one.text, float(one.gains[place]), int(one.fields[place])) for one in self._terms]
        terms = {text: gain for text, gain, fields in held if fields}
        named = {text: _NAMED[fields] for text, _, fields in held if fields}
        return KeywordHit(self.ids[place], self.scores[place], terms, named)

    def without(self, ids: Collection[str]) -> "KeywordHits":
        """Return the hits without those of some ids."""
        kept = [place for place, one in enumerate(self.ids) if one not in ids]
        if len(kept) == len(self.ids):
            return self
        terms = [_TermInHits(one.text, one.gains[kept], one.fields[kept]) for one in self._terms]
        return KeywordHits([self.ids[place] for place in kept], [self.scores[place] for place in kept], terms)

    @cached_property
    def titled(self) -> frozenset[str]:
        """The ids of the hits whose field `title` has a term of the query."""
        bits = np.zeros(len(self.ids), np.uint8)
        for one in self._terms:
            bits |= one.fields
        return frozenset(compress(self.ids, (bits & 1 << FIELDS.index("title")).tolist()))


class _FoundTerm(NamedTuple):
    """A term of the query as found in the dictionaries, not yet weighted; `highest` is a bound of its T."""

    text: str
    frequency: int
    highest: float
    slices: tuple[Slice, ...]


class KeywordIndex:
    """A reader of one state of the index; writers do not affect it."""

    def __init__(self, root: Path, state: KeywordState, scoring: Scoring | None = None) -> None:
        check_analyser(state, SEARCHED)
        self.state = state
        self._scoring = scoring or Scoring()
        self._parts = [open_segment(root, segment) for segment in state.segments]
        self._average_idf = read_spectrum(root, state.spectrum).average_idf(state.rows)
        self._averages = _average_lengths(state, self._parts)
        self._bases = [0, *accumulate(len(part.postings.lengths) for part in self._parts)]
        self._factors = self._factors_of_alive()
        self._known: dict[str, _FoundTerm] = {}

    def search(
        self, query: str, k: int, allowed: Collection[str] | pa.Array | None = None, language: str = ""
    ) -> KeywordHits:
        """Return the best `k` chunks that contain a term of the query, by score descending, then by chunk id.

        `allowed` restricts the hits and does not change their scores. A query without terms has no hits. `language` is
        the result of `with_given` for the language of the query; "" detects it.
        """
        terms = self._terms(query, language or self.state.language)
        # A filter sets factors to 0, so it costs nothing per posting, and idfs stay those of the whole corpus.
        factors = self._factors if allowed is None else self._factors_of(allowed)
        rows = best_rows(terms, factors, k) if k > 0 and terms else np.zeros(0, np.intp)
        return self._hits(terms, rows, factors, k) if len(rows) else KeywordHits()

    def frequency(self, term: str) -> int:
        """Return the number of chunks that contain a term; the analyser must have made the term."""
        return self._find(term).frequency

    def scores(self, query: str) -> Floats:
        """Return the score of every chunk, in the order of `chunk_ids`."""
        return all_scores(self._terms(query, self.state.language), self._factors)[self._factors.included]

    def chunk_ids(self) -> pa.ChunkedArray:
        """Return the ids of the chunks in the index."""
        ids = pa.chunked_array([part.postings.chunk_ids for part in self._parts], pa.string())
        return ids.filter(pa.array(self._factors.included))

    def _hits(self, terms: Sequence[Term], rows: Rows, factors: Factors, k: int) -> KeywordHits:
        columns = [(term.text, *term.gains_and_fields_at(rows, factors)) for term in terms]
        scores = np.zeros(len(rows))
        for _, own, _ in columns:  # one by one, so that equal chunks have bit-equal scores
            scores += own
        table = pa.table({"score": scores, "chunk_id": self._ids_of(rows)})
        # Ties are sorted by id, so that the order does not depend on the segments.
        best = pc.select_k_unstable(table, min(k, len(rows)), [("score", "descending"), ("chunk_id", "ascending")])
        ids = table.column("chunk_id").take(best).to_pylist()
        places = best.to_numpy()
        held = [_TermInHits(text, own[places], fields[places]) for text, own, fields in columns]
        return KeywordHits(ids, scores[places].tolist(), held)

    def _terms(self, query: str, language: str) -> list[Term]:
        counts = Counter(analyse(query, language))
        found = [term for term in map(self._find, counts) if term.frequency]
        if not found:
            return []
        frequencies = self._frequencies({term.text: term.frequency for term in found}, alternatives(query, language))
        weights = self._scoring.idfs(self.state.rows, frequencies, self._average_idf) * (self._scoring.k1 + 1)
        weights *= [counts[term.text] for term in found]  # a word that the query repeats counts as often
        saturation = self._scoring.saturation
        return [
            Term(term.text, weight, saturation, weight * term.highest / (term.highest + saturation), term.slices)
            for term, weight in zip(found, weights.tolist(), strict=True)
        ]

    def _frequencies(self, known: Mapping[str, int], others: Mapping[str, set[str]]) -> npt.NDArray[np.int64]:
        """Return the document frequency of each known term, summed over the stems of its word in all languages.

        A stem of another language alone would be as rare as the chunks whose language was detected wrongly, so these
        chunks would come first.
        """
        counts = [sum(known.get(other, 0) for other in others.get(term, {term})) for term in known]
        return np.array(counts, np.int64).clip(max=self.state.rows)

    def _find(self, text: str) -> _FoundTerm:
        if (found := self._known.get(text)) is None:
            if len(self._known) >= _TERMS_KEPT:
                self._known.clear()
            found = self._known[text] = self._looked_up(text)
        return found

    def _looked_up(self, text: str) -> _FoundTerm:
        slices, frequency, highest = [], 0, 0.0
        for part, base, end in zip(self._parts, self._bases, self._bases[1:], strict=False):
            postings = part.postings
            place = postings.term_lookup.find(text)
            if place < 0:
                continue
            first, last = postings.starts[place : place + 2].tolist()
            side = postings.side.entries(first, last)
            slices.append(Slice(base, end, postings.rows[first:last], postings.frequencies[first:last], side))
            frequency += last - first - part.tombstones.dead_in_term(place)
            highest = max(highest, self._highest(postings, place))
        return _FoundTerm(text, frequency, highest, tuple(slices))

    def _highest(self, postings: Postings, term: int) -> float:
        """Return a bound of T, from the highest frequency and the shortest length in each field.

        These may come from different chunks or from dead ones; the bound is then loose but never wrong.
        """
        text = (0, int(postings.highest[term]), int(postings.shortest[term]))
        bounds = [text, *postings.side.bounds(term)]
        scoring, averages = self._scoring.fields, self._averages
        return sum(
            frequency * scoring[field].factor(max(1, length), averages[field])
            for field, frequency, length in bounds
            if frequency and averages[field]
        )

    def _factors_of_alive(self) -> Factors:
        factors = np.zeros((len(FIELDS), self._bases[-1]))
        included = np.ones(self._bases[-1], bool)
        for part, base, end in zip(self._parts, self._bases, self._bases[1:], strict=False):
            for field, average in enumerate(self._averages):
                if not average:  # no chunk has this field, so its memory need not be touched
                    continue
                factors[field, base:end] = self._scoring.factors(field, part.postings.lengths_of(field), average)
            included[base + part.tombstones.rows] = False
            factors[:, base + part.tombstones.rows] = 0.0
        return Factors(factors, included)

    def _factors_of(self, allowed: Collection[str] | pa.Array) -> Factors:
        factors = Factors(np.zeros_like(self._factors.by_field), np.zeros_like(self._factors.included))
        wanted = allowed if isinstance(allowed, pa.Array) else pa.array(list(allowed), pa.string())
        for part, base in zip(self._parts, self._bases, strict=False):
            rows = part.postings.chunk_lookup.find_all(wanted)
            rows = rows[rows >= 0] + base
            factors.by_field[:, rows] = self._factors.by_field[:, rows]
            factors.included[rows] = self._factors.included[rows]
        return factors

    def _ids_of(self, rows: Rows) -> pa.ChunkedArray:
        ids = []
        for part, base, end in zip(self._parts, self._bases, self._bases[1:], strict=False):
            first, last = rows.searchsorted((base, end))
            if first < last:
                ids.append(part.postings.chunk_ids.take(pa.array(rows[first:last] - base)))
        return pa.chunked_array(ids, pa.string())


def _average_lengths(state: KeywordState, parts: Sequence[OpenSegment]) -> list[float]:
    """Return the mean number of terms of each field: for the text over all chunks, as in `rank_bm25`; for a side field
    over the chunks that have it, so that chunks without titles do not make other titles seem long."""
    holders = [state.rows, *(sum(part.holders(field) for part in parts) for field in range(1, len(FIELDS)))]
    return [tokens / max(1, held) for tokens, held in zip(state.field_tokens, holders, strict=True)]
