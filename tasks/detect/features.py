"""Features: what is counted once in a text and its elements before anything is judged."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from docmill.storage.schema import Element
from docmill.tasks.detect.type_words import ASKED, WORD

SAMPLE = 60_000
_LINES = 2000
_STRETCH = 60
_WIDTH = 300  # no pattern is slow on so short a line


class Features:
    """Counts of one text, of its first 60,000 characters where it is longer; shares are in [0, 1]."""

    def __init__(self, text: str, source: str, elements: Iterable[Element], title: str) -> None:
        """Count; `text` is judged, `source` is what the elements point into."""
        self.text = text[:SAMPLE]
        self.lines = [line[:_WIDTH] for line in self.text.splitlines()[: 4 * _LINES] if line.strip()][:_LINES]
        self._said = WORD.findall(self.text.lower())
        self.vocabulary = Counter(self._said)
        self.words = max(1, self.vocabulary.total())
        self.kinds: Counter[str] = Counter()
        self.count: Counter[str] = Counter()
        self.headings: list[str] = []
        titles: list[tuple[int, int, bool]] = []
        end = 0
        for element in elements:
            self.kinds[element.kind] += element.end - element.start
            self.count[element.kind] += 1
            if element.kind == "text" and "path" in element.attributes:  # of JSON or XML: lines of name and value
                self.kinds["record"] += element.end - element.start
            if element.kind == "title":
                stated = (
                    element.attributes.get("text") or source[element.start : min(element.end, element.start + _WIDTH)]
                )
                self.headings.append(str(stated)[:_WIDTH])
                titles.append((element.start, element.level, ASKED.search(self.headings[-1]) is not None))
            end = max(end, element.end)
        self.title = title[:_WIDTH]
        self.characters = max(1, len(text.strip()))
        self.answered = min(1.0, _answered(titles, end) / self.characters)

    def of_kind(self, *kinds: str) -> float:
        """Return the share of the text that elements of some kinds take."""
        return min(1.0, sum(self.kinds[kind] for kind in kinds) / self.characters)

    def matching(self, pattern: re.Pattern[str]) -> int:
        """Return how many lines begin with a pattern."""
        return sum(pattern.match(line) is not None for line in self.lines)

    def of_lines(self, pattern: re.Pattern[str]) -> float:
        """Return the share of lines that begin with a pattern."""
        return self.matching(pattern) / max(1, len(self.lines))

    def of_words(self, words: frozenset[str]) -> float:
        """Return the share of words that are among some."""
        return sum(self.vocabulary[word] for word in words) / self.words

    def spread(self, words: frozenset[str]) -> float:
        """Return in what share of the text's stretches of 60 words at least one of some words stands."""
        starts = range(0, len(self._said), _STRETCH)
        return sum(not words.isdisjoint(self._said[i : i + _STRETCH]) for i in starts) / max(1, len(starts))

    def most_used(self, words: frozenset[str], number: int) -> Sequence[str]:
        """Return the words among some that occur most."""
        found = [word for word in words if self.vocabulary[word]]
        return sorted(found, key=lambda word: (-self.vocabulary[word], word))[:number]


def _answered(titles: Sequence[tuple[int, int, bool]], end: int) -> int:
    """Return how many characters stand under headings that ask, given their starts, levels and whether they do."""
    total, asked = 0, 0
    for (start, level, asks), (following, *_) in pairwise([*titles, (end, 0, False)]):
        if not asked or level <= asked:
            asked = level if asks else 0
        total += following - start if asked else 0
    return total
