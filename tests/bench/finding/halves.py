"""The hybrid search beside each of its halves: whether it ever loses to the better one.

The change is that of the default search against whichever of keywords alone and vectors alone is better on the set,
question by question. That half is chosen by the questions that measure it, so it is better than anyone's choice before.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from tests.bench.finding.results import DEFAULT, Comparison, Results, mean_difference, spelled

SINGLE = ("keywords", "vectors")
_COLUMNS = ("set", "measure", "questions", *SINGLE, "hybrid", "against the better half")
_AT_FIVE = "@5"

OfWays = Mapping[str, Mapping[str, float]]
"""The value of each question, by way."""


def halves(results: Results) -> Iterator[str]:
    """Yield the lines of the table of those sets that were asked in all three ways; the last is their mean."""
    found = {name: one.ways for name, one in results.sets.items() if one.ways.keys() >= {*SINGLE, DEFAULT}}
    if not found:
        return
    yield f"| {' | '.join(_COLUMNS)} |\n|---|---|{'---:|' * (len(_COLUMNS) - 2)}"
    measured = list[OfWays]()
    for name, ways in found.items():
        measure = _measure([*ways[DEFAULT].values])
        values = {way: ways[way].values[measure] for way in (*SINGLE, DEFAULT)}
        measured.append(values)
        cells = [name, measure, str(len(values[DEFAULT])), *_means([values]), spelled(_compared(values).interval())]
        yield f"| {' | '.join(cells)} |"
    yield f"| mean | | | {' | '.join(_means(measured))} | {spelled(mean_difference([*map(_compared, measured)]))} |"


def _measure(names: list[str]) -> str:
    """Return the measure of 5 hits, or else the first one."""
    return next((name for name in names if name.endswith(_AT_FIVE)), names[0])


def _means(sets: list[OfWays]) -> list[str]:
    return [f"{100 * np.mean([np.mean([*one[way].values()]) for one in sets]):.1f}" for way in (*SINGLE, DEFAULT)]


def _compared(values: OfWays) -> Comparison:
    """Return the default search beside the better half; of equal ones it is the keywords."""
    return Comparison(values[DEFAULT], max((values[way] for way in SINGLE), key=lambda own: sum(own.values())))
