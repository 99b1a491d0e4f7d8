"""Summary sentences: the sentences that say most about a text, chosen by their words alone.

Centroid-based extraction (Radev, Jing, Sty and Tam, "Centroid-based summarization of multiple documents", 2004): the
score of a sentence is the cosine between its weighted words and those of all sentences; the weight of a word is
log(number of sentences / number of sentences with it).
"""

import re
from collections import Counter
from collections.abc import Sequence
from math import log, sqrt

from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.pieces import SENTENCE
from docmill.tasks.split.spans.span import Span, cluster_end, cluster_start, is_boundary, trim

_WORD = re.compile(r"[^\W_]{2,}")


def most_central(text: str, sentences: Sequence[Span], number: int) -> list[int]:
    """Return the indexes of the most central sentences, best first; the earlier one wins a tie."""
    words = [Counter(_WORD.findall(text[slice(*span)].casefold())) for span in sentences]
    having = Counter(word for counts in words for word in counts)
    weight = {word: log(1 + len(sentences) / count) - log(2) / 2 for word, count in having.items()}
    centroid = Counter[str]()
    for counts in words:
        centroid.update(counts)
    scores = [_cosine(counts, centroid, weight) for counts in words]
    return sorted(range(len(sentences)), key=lambda i: (-scores[i], i))[:number]


def _cosine(counts: Counter[str], centroid: Counter[str], weight: dict[str, float]) -> float:
    """Return the cosine times the centroid's length, which is the same for all sentences."""
    length = sqrt(sum((count * weight[word]) ** 2 for word, count in counts.items()))
    return sum(count * centroid[word] * weight[word] ** 2 for word, count in counts.items()) / length if length else 0.0


def prose_sentences(text: str, start: int, end: int) -> list[Span]:
    """Return the sentences of a span of prose, trimmed, without cutting grapheme clusters."""
    start, end = cluster_start(text, start), cluster_end(text, end)
    places = [
        place for place, seam in prose_cuts(text, Span(start, end)) if seam >= SENTENCE and is_boundary(text, place)
    ]
    found = (trim(text, first, last) for first, last in zip([start, *places], [*places, end], strict=True))
    return [span for span in found if span.end > span.start]
