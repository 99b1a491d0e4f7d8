"""Scores: how much of what a document says was read, and in its order."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tests.bench.parsing.peers.told import Told

FIGURES = ("words", "order", "headings", "items", "rows")


def scores(pairs: Sequence[tuple[Told, Told]]) -> dict[str, float]:
    """Return the figures of documents together, in %, from pairs of what was written and what was read.

    Words, headings, items and rows are F1, counted over all documents. Order is the share of the words that occur once
    in both, which stand in the order in which they were written. What no document has is left out.
    """
    found = {"words": _f1((Counter(wrote.words), Counter(read.words)) for wrote, read in pairs)}
    found["order"] = _order(pairs)
    found["headings"] = _f1((wrote.headings, read.headings) for wrote, read in pairs)
    found["items"] = _f1((wrote.items, read.items) for wrote, read in pairs)
    found["rows"] = _f1((wrote.rows, read.rows) for wrote, read in pairs)
    return {name: 100 * value for name, value in found.items() if value is not None}


def _f1(pairs: Iterable[tuple[Counter[Any], Counter[Any]]]) -> float | None:
    """Return the harmonic mean of recall and precision; None where nothing was written."""
    wrote = read = same = 0
    for one, other in pairs:
        wrote, read, same = wrote + one.total(), read + other.total(), same + (one & other).total()
    return 2 * same / (wrote + read) if wrote else None


def _order(pairs: Sequence[tuple[Told, Told]]) -> float | None:
    """Return the share of words in order; None where no word occurs once."""
    places = [_places(wrote.words, read.words) for wrote, read in pairs]
    known = sum(map(len, places))
    return sum(map(_longest_rise, places)) / known if known else None


def _places(wrote: list[str], read: list[str]) -> list[int]:
    """Return where the words that occur once in both were written, in the order in which they were read."""
    once = {word for word, count in Counter(read).items() if count == 1}
    counts = Counter(wrote)
    place = {word: at for at, word in enumerate(wrote) if counts[word] == 1}
    return [place[word] for word in read if word in once and word in place]


def _longest_rise(numbers: list[int]) -> int:
    """Return the length of the longest rising subsequence."""
    ends: list[int] = []
    for number in numbers:
        at = bisect_left(ends, number)
        ends[at : at + 1] = [number]
    return len(ends)
