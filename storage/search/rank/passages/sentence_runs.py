"""Sentence runs: at most one run of consecutive sentences of each hit, all of them together under a budget."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

_LEAST_SHARE = 0.015
"""Share of the likelihood of the best sentence below which a sentence does not pay for its tokens. Recall / IoU of 750
tokens on the excerpts with parts, half `look`: 0 95.2 / 6.5, .01 95.2 / 9.0, .015 95.2 / 10.6, .03 93.3 / 14.4."""
_HALVINGS = 24  # of the range of prices: far finer than likelihoods differ


class JudgedSentences(NamedTuple):
    """The sentences of a hit: the tokens of each, and how likely it answers; 0 for one that must not be taken."""

    tokens: list[int]
    likelihoods: list[float]


Run = tuple[int, int]
"""The first and the last sentence of a run."""


def best_runs(hits: Sequence[JudgedSentences], budget: int) -> dict[int, Run]:
    """Return the runs that hold most of the answer, by the number of their hit, with at most `budget` tokens in all.

    Each token has a price, and the best run of a hit is that whose likelihoods exceed the prices of their tokens by
    most. The price is the lowest at which all runs fit the budget, and at least a share of the best likelihood: what
    hardly answers is left out even if there is room for it. What then remains of the budget goes to the sentences
    beside the runs, the likeliest first.
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
    """Return runs grown by single sentences, the likeliest first, while one of at least a likelihood fits."""
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
    """Yield the sentences that may be added: those beside a hit's run, and all of a hit without one."""
    for number, hit in enumerate(hits):
        if number not in runs:
            yield from ((number, place) for place in range(len(hit.tokens)))
            continue
        first, last = runs[number]
        yield from ((number, place) for place in (first - 1, last + 1) if 0 <= place < len(hit.tokens))
