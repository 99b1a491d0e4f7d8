"""Long queries: split a pasted mail or page into windows that fit the model, and search only for its best words."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt

from docmill.storage.search.encode.encoder import TextEncoder
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.search.keywords.analysis.separation import separate

MOST_WORDS = 128
"""Distinct words of a query that the keyword index searches for. More take longer and find little more; with fewer, the
question is lost among the rare words of the text around it."""
_BREAKS = tuple(map(re.compile, (r"(?<=[.!?。！？])\s+|\n+", r"\s+")))  # noqa: RUF001  full-width signs


def windows_of(text: str, encoder: TextEncoder) -> list[str]:
    """Return a query as texts that fit the model: itself, or its halves, cut again while they are too long."""
    if encoder.fits([text])[0] or len(text) < 2:
        return [text]
    middle = _middle(text)
    halves = (half for half in (text[:middle], text[middle:]) if half.strip())
    return [window for half in halves for window in windows_of(half, encoder)]


def vectors_of(texts: Sequence[str], encoder: TextEncoder) -> list[npt.NDArray[np.float32]]:
    """Return for each query the vectors of its windows, (windows, dim), all encoded in one batch."""
    windows = [windows_of(text, encoder) for text in texts]
    ends = list(accumulate(map(len, windows)))
    return np.split(encoder.encode_queries(list(chain.from_iterable(windows))), ends[:-1])


def _middle(text: str) -> int:
    """Return the end of a sentence or line nearest to the middle, within the middle half; else the end of a word."""
    quarter, middle = len(text) // 4, len(text) // 2
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(text, quarter, len(text) - quarter)]
        if ends:
            return min(ends, key=lambda end: abs(end - middle))
    return middle


def best_words(text: str, language: str, weight: Callable[[str], float]) -> tuple[str, int]:
    """Return the words of a query with the heaviest terms, in order, and how many distinct words it has.

    `weight` returns the weight of a term, 0 if the index does not have it; repeated words weigh more.
    """
    pieces = separate(text).split()
    terms = {piece: tuple(analyse(piece, language)) for piece in pieces}
    counts = Counter(terms[piece] for piece in pieces if terms[piece])
    if len(counts) <= MOST_WORDS:
        return text, len(counts)
    weights = {word: count * max(map(weight, word)) for word, count in counts.items()}
    best = set(_heaviest(weights))
    return " ".join(piece for piece in pieces if terms[piece] in best), len(counts)


def _heaviest(weights: dict[tuple[str, ...], float]) -> Sequence[tuple[str, ...]]:
    found = [word for word, weight in weights.items() if weight]
    return sorted(found, key=lambda word: (-weights[word], word))[:MOST_WORDS]
