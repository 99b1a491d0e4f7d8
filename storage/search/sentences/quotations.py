"""Quotations: find a quoted passage in a text, whole or in part, ignoring white space."""

import re
from functools import lru_cache

from docmill.storage.search.sentences.sentence_spans import sentence_spans

_PIECES_KEPT = 4_096  # quotations whose sentences stay in memory, because each is compared with every hit of a ranking
_FAR = 3
"""Sentences of a quotation that are further apart than this many times its length do not form a passage."""


def flat(text: str) -> str:
    """Return a text with one space for each run of white space."""
    return " ".join(text.split())


def spans_of(text: str, quotation: str) -> list[tuple[int, int]]:
    """Return where a text has a quotation word for word, as half-open spans; all runs of white space are equal."""
    return _matches(text, quotation.split(), r"\s+")


def spans_of_words(text: str, quotation: str) -> list[tuple[int, int]]:
    """Return where a text has the words of a quotation in order, with any signs between them.

    A passage that a person marks on a page lacks the markup of the text.
    """
    return _matches(text, re.findall(r"[^\W_]+", quotation), r"[\W_]+")


def _matches(text: str, words: list[str], between: str) -> list[tuple[int, int]]:
    if not words or max(words, key=len) not in text:  # cheaper than the search below, which usually finds nothing
        return []
    return [match.span() for match in re.finditer(between.join(map(re.escape, words)), text)]


def nearest(spans: list[tuple[int, int]], start: int) -> tuple[int, int] | None:
    """Return the span that begins nearest to an offset."""
    return min(spans, key=lambda span: abs(span[0] - start), default=None)


@lru_cache(_PIECES_KEPT)
def pieces(quotation: str) -> tuple[str, ...]:
    """Return the sentences of a quotation that have a word, with their white space flattened."""
    found = (flat(quotation[start:end]) for start, end in sentence_spans(quotation))
    return tuple(one for one in found if any(map(str.isalnum, one)))


def held(text: str, quotation: str) -> int:
    """Return how many characters of a quotation a text contains, counting whole sentences."""
    within = flat(text)
    return sum(len(one) for one in pieces(quotation) if one in within)


def length(quotation: str) -> int:
    """Return how many characters the sentences of a quotation have."""
    return sum(map(len, pieces(quotation)))


def part_of(text: str, quotation: str) -> tuple[tuple[int, int], float] | None:
    """Return where a text has parts of a quotation, and the share of the quotation that it has; None without any."""
    found = [(len(one), spans[0]) for one in pieces(quotation) if (spans := spans_of(text, one))]
    if not found:
        return None
    _, longest = max(found)
    close = [(size, span) for size, span in found if abs(span[0] - longest[0]) <= _FAR * len(quotation)]
    share = sum(size for size, _ in close) / length(quotation)
    return (min(span[0] for _, span in close), max(span[1] for _, span in close)), share
