"""Hit passages: estimate how likely each sentence of the hits answers a query, and choose the passage of each hit.

A passage is one run of consecutive sentences; all passages together stay within a budget of tokens.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from docmill.storage.process.library_threads import one_blas_thread
from docmill.storage.schema import ChunkRow, clipped, reading
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.search.rank.candidates.hit import Hit, HitPassage
from docmill.storage.search.rank.candidates.query import Query
from docmill.storage.search.sentences.sentence_spans import sentence_spans

_LEAST_SHARE = 0.015
"""A sentence with a smaller share of the best sentence's likelihood is not worth its tokens. Recall / IoU of 750 tokens
on the excerpts with parts, half `look`: 0 95.2 / 6.5, .01 95.2 / 9.0, .015 95.2 / 10.6, .03 93.3 / 14.4."""
_HALVINGS = 24  # bisections of the range of prices: far finer than likelihoods differ


class JudgedSentences(NamedTuple):
    """The sentences of a hit: the tokens of each, and how likely it answers; 0 if it must not be chosen."""

    tokens: list[int]
    likelihoods: list[float]


Run = tuple[int, int]
"""The first and the last sentence of a run."""


def best_runs(hits: Sequence[JudgedSentences], budget: int) -> dict[int, Run]:
    """Return the runs that contain most of the answer, by the number of their hit, with at most `budget` tokens in all.

    Each token has a price, and the best run of a hit is the one whose likelihoods exceed the price of its tokens by
    most. The price is the lowest at which all runs fit into the budget, but at least a share of the best likelihood, so
    that unlikely sentences are left out even if there is room for them. The rest of the budget goes to the sentences
    next to the runs, the likeliest first.
    """
    high = max((likelihood for hit in hits for likelihood in hit.likelihoods), default=0.0)
    least = low = _LEAST_SHARE * high
    runs = _runs_at(hits, low)
    if _cost(hits, runs) <= budget:
        return runs
    runs = {}
    for _ in range(_HALVINGS):
        price = (low + high) / 2
        found = _runs_at(hits, price)
        if _cost(hits, found) <= budget:
            high, runs = price, found
        else:
            low = price
    return _filled(hits, runs, budget, least)


def _cost(hits: Sequence[JudgedSentences], runs: dict[int, Run]) -> int:
    return sum(sum(hits[number].tokens[first : last + 1]) for number, (first, last) in runs.items())


def _runs_at(hits: Sequence[JudgedSentences], price: float) -> dict[int, Run]:
    found = ((number, _best_run(hit, price)) for number, hit in enumerate(hits))
    return {number: run for number, run in found if run}


def _best_run(hit: JudgedSentences, price: float) -> Run | None:
    """Return the run with the largest sum of tokens · (likelihood - price), if any is above 0 (Kadane's algorithm)."""
    best, found, total, first = 0.0, None, 0.0, 0
    for place, (tokens, likelihood) in enumerate(zip(*hit, strict=True)):
        if total <= 0:
            total, first = 0.0, place
        total = total + tokens * (likelihood - price) if likelihood else 0.0
        if total > best:
            best, found = total, (first, place)
    return found


def _filled(hits: Sequence[JudgedSentences], runs: dict[int, Run], budget: int, least: float) -> dict[int, Run]:
    """Return runs grown by single sentences, the likeliest first, while one at least as likely as `least` fits."""
    runs, left = dict(runs), budget - _cost(hits, runs)
    while True:
        beside = (
            (-hits[number].likelihoods[place], number, place)
            for number, place in _beside(hits, runs)
            if hits[number].tokens[place] <= left and hits[number].likelihoods[place] >= least > 0
        )
        best = min(beside, default=None)
        if best is None:
            return runs
        _, number, place = best
        first, last = runs.get(number, (place, place))
        runs[number] = min(first, place), max(last, place)
        left -= hits[number].tokens[place]


def _beside(hits: Sequence[JudgedSentences], runs: dict[int, Run]) -> Iterator[tuple[int, int]]:
    """Yield the sentences that may be added: those next to a hit's run, and all sentences of a hit without a run."""
    for number, hit in enumerate(hits):
        if number not in runs:
            yield from ((number, place) for place in range(len(hit.tokens)))
            continue
        first, last = runs[number]
        yield from ((number, place) for place in (first - 1, last + 1) if 0 <= place < len(hit.tokens))


_LINES = frozenset({"code", "data", "log", "table"})
"""Content types whose lines are sentences."""
_WORDS, _MEANING, _RANK, _OFFSET = 5.0, 0.75, 3.0, 8.0
"""The weights of a logistic model of whether a sentence is in an excerpt that answers the query; see `_likelihoods`.

They were fitted on half of the questions about the two corpora of Chroma's chunking evaluation, and rounded. Vectors of
the sentences themselves, alone or read in their chunk, take a second of CPU time to encode, and improved nothing.
"""
_TINY = 1e-6  # a smaller spread of similarities is only rounding

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _ReadHit:
    """A hit with the row of its chunk, and the spans of its sentences, as offsets in its text."""

    hit: Hit
    row: ChunkRow
    spans: list[tuple[int, int]]

    def pieces(self) -> Iterator[str]:
        """Yield each sentence with the white space before the next one, so that the tokens of a run add up."""
        ends = [start for start, _ in self.spans[1:]] + [len(self.hit.text)]
        yield from (self.hit.text[start:end] for (start, _), end in zip(self.spans, ends, strict=True))

    def sentences(self) -> Iterator[str]:
        """Yield the words of each sentence, without markup if the hit's text is that of the indexed chunk."""
        text, unread = self.hit.text, self.row.unread if self.hit.text == self.row.text else ()
        yield from (reading(text[start:end], clipped(unread, start, end)) for start, end in self.spans)


def with_passages(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """Return hits with their passages that answer a query, within the budget of tokens of its options."""
    rows = query.rows([hit.chunk_id for hit in hits])
    read = [_ReadHit(hit, rows[hit.chunk_id], sentence_spans(hit.text, hit.content_type in _LINES)) for hit in hits]
    judged = _judged(read, query)
    runs = best_runs(judged, query.options.passages)
    return [_with_passage(one, runs.get(place)) for place, one in enumerate(read)]


def _with_passage(one: _ReadHit, run: Run | None) -> Hit:
    if run is None:
        return one.hit
    start, end = one.spans[run[0]][0], one.spans[run[1]][1]
    passage = HitPassage(one.hit.text[start:end], one.hit.start_char + start, one.hit.start_char + end)
    return replace(one.hit, passage=passage)


def _judged(read: Sequence[_ReadHit], query: Query) -> list[JudgedSentences]:
    """Return the tokens of the sentences of each hit, and how likely each sentence answers.

    A sentence that alone exceeds the budget, or that a better hit also contains, has the likelihood 0.
    """
    counts = query.sources.token_counts([piece for one in read for piece in one.pieces()])
    budget, found = query.options.passages, []
    for tokens, likelihoods, repeated in zip(
        _divided(counts, read), _likelihoods(read, query), _repeated(read), strict=True
    ):
        allowed = [count <= budget and not again for count, again in zip(tokens, repeated, strict=True)]
        found.append(JudgedSentences(tokens, np.where(allowed, likelihoods, 0.0).tolist()))
    return found


def _divided(values: Sequence[int], read: Sequence[_ReadHit]) -> Iterator[list[int]]:
    left = iter(values)
    return (list(islice(left, len(one.spans))) for one in read)


def _repeated(read: Sequence[_ReadHit]) -> Iterator[list[bool]]:
    """Yield for each sentence of a hit whether a better hit of the same document overlaps it."""
    held: dict[str, list[tuple[int, int]]] = {}
    for one in read:
        hit, earlier = one.hit, held.setdefault(one.hit.uri, [])
        places = [(hit.start_char + start, hit.start_char + end) for start, end in one.spans]
        yield [any(start < last and first < end for first, last in earlier) for start, end in places]
        earlier.append((hit.start_char, hit.end_char))


def _likelihoods(read: Sequence[_ReadHit], query: Query) -> list[Floats]:
    """Return for each hit how likely each of its sentences answers, from 0 to 1.

    It grows with the share of the query's words in the sentence, weighted by rarity; with the similarity of the query
    and the sentence's part of the chunk, in standard deviations from the mean of all parts of the hits; and with 1 /
    rank of the hit.
    """
    words = [_words(one, query) for one in read]
    meanings = _meanings(read, query)
    return [
        1 / (1 + np.exp(_OFFSET - _WORDS * held - _MEANING * near - _RANK / one.hit.rank))
        for one, held, near in zip(read, words, meanings, strict=True)
    ]


def _words(one: _ReadHit, query: Query) -> Floats:
    """Return the share of the weight of the query's words that each sentence of a hit has."""
    weights = query.term_weights
    total = sum(weights.values()) or 1.0
    terms = (set(analyse(sentence, query.sources.language)) for sentence in one.sentences())
    return np.array([sum(weight for term, weight in weights.items() if term in own) / total for own in terms])


def _meanings(read: Sequence[_ReadHit], query: Query) -> list[Floats]:
    """Return the similarity of each sentence's part to the query; 0 in keyword mode or without vectors."""
    near: dict[str, Floats] = {}
    if query.options.mode != "keyword":
        vectors = query.sources.part_vectors([one.row.chunk_id for one in read])
        of_text = {key: vectors[key][: 1 + len(one.row.parts)] for one in read if (key := one.row.chunk_id) in vectors}
        with one_blas_thread():
            near = {key: (own.astype(np.float64) @ query.vectors.T).max(axis=1) for key, own in of_text.items()}
    every = np.concatenate([*near.values(), np.zeros(0)])
    mean, spread = (float(every.mean()), max(float(every.std()), _TINY)) if len(every) else (0.0, 1.0)
    return [_by_part(one, (near.get(one.row.chunk_id, np.full(1, mean)) - mean) / spread) for one in read]


def _by_part(one: _ReadHit, values: Floats) -> Floats:
    """Return for each sentence of a hit the value of the part in which it begins; else the largest value."""
    if len(values) != len(one.row.parts) + 1:
        return np.full(len(one.spans), values.max())
    shift = one.hit.start_char - one.row.start_char
    return np.array([values[bisect_right(one.row.parts, start + shift)] for start, _ in one.spans])
