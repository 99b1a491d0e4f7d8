"""Features: counts of a text and its elements, made once before any judgement."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from docmill.storage.schema import Element
from docmill.tasks.detect.type_patterns import ASKED, CLAUSE, LEGAL, WORD

SAMPLE = 60_000
"""Characters to judge: some 20 pages. More would cost time on long documents; fewer may be front matter only."""
_LINES = 2000
"""Lines to match against patterns, so that 60,000 line ends do not cost more than text."""
_LINES_WITH_BLANKS = 4 * _LINES
"""Lines to look through to find that many; a document with more blank lines is judged by fewer."""
_STRETCH = 60
"""Words of a stretch, about a paragraph: shorter ones lack a legal word by chance, longer ones all have one."""
_WIDTH = 300
"""Characters of a line or heading to match: signs are at the start, and no pattern is slow on so few."""
_CONTRACT_WORDS, _CONTRACT_CLAUSES = 0.01, 0.05
"""Shares of legal words and of numbered clauses above which names at line starts are taken for parties.

Hearings are full of legal words, too, but have no numbers; with a lower share of words, an interview with numbered
questions would be a contract."""


class Features:
    """Counts of the first 60,000 characters of a text; shares are in [0, 1]."""

    def __init__(self, text: str, source: str, elements: Sequence[Element], title: str) -> None:
        """Count the features of `text`; the elements are spans of `source`."""
        self.text = text[:SAMPLE]
        self.lines = [line[:_WIDTH] for line in self.text.splitlines()[:_LINES_WITH_BLANKS] if line.strip()][:_LINES]
        self._said = WORD.findall(self.text.lower())
        self.vocabulary = Counter(self._said)
        self.words = max(1, self.vocabulary.total())
        self.kinds: Counter[str] = Counter()
        self.count: Counter[str] = Counter()
        self._count(elements)
        titles = [element for element in elements if element.kind == "title"]
        self.headings = [_heading(element, source) for element in titles]
        self.title = title[:_WIDTH]
        self.characters = max(1, len(text.strip()))
        self.answered = min(1.0, self._answered(titles, elements) / self.characters)

    def _count(self, elements: Sequence[Element]) -> None:
        """Count the characters and the elements of each kind."""
        for element in elements:
            size = element.end_char - element.start_char
            self.kinds[element.kind] += size
            self.count[element.kind] += 1
            if element.kind == "text" and "path" in element.attributes:  # of JSON or XML: lines of name and value
                self.kinds["record"] += size

    def _answered(self, titles: Sequence[Element], elements: Sequence[Element]) -> int:
        """Return how many characters are under headings that ask, up to the next heading of their level or above."""
        asking = [ASKED.search(heading) is not None for heading in self.headings]
        if not any(asking):
            return 0
        end = max(element.end_char for element in elements)
        bounds = pairwise([*(title.start_char for title in titles), end])
        total, asked = 0, 0
        for title, asks, (start, following) in zip(titles, asking, bounds, strict=True):
            if not asked or title.level <= asked:
                asked = title.level if asks else 0
            total += following - start if asked else 0
        return total

    def of_kind(self, *kinds: str) -> float:
        """Return the share of the text in elements of the given kinds."""
        return min(1.0, sum(self.kinds[kind] for kind in kinds) / self.characters)

    def matching(self, pattern: re.Pattern[str]) -> int:
        """Return how many lines begin with a pattern."""
        return sum(1 for _ in filter(None, map(pattern.match, self.lines)))  # no Python code runs for each line

    def of_lines(self, pattern: re.Pattern[str]) -> float:
        """Return the share of lines that begin with a pattern."""
        return self.matching(pattern) / max(1, len(self.lines))

    def of_words(self, words: frozenset[str]) -> float:
        """Return the share of words that are in a set."""
        return sum(map(self.vocabulary.__getitem__, self.vocabulary.keys() & words)) / self.words

    def is_contract(self) -> bool:
        """Return whether a text has both legal words and numbered clauses."""
        return self.of_words(LEGAL) > _CONTRACT_WORDS and self.of_lines(CLAUSE) > _CONTRACT_CLAUSES

    def spread(self, words: frozenset[str]) -> float:
        """Return the share of the text's 60-word stretches that contain a word of the set."""
        starts = range(0, len(self._said), _STRETCH)
        return sum(not words.isdisjoint(self._said[i : i + _STRETCH]) for i in starts) / max(1, len(starts))

    def most_used(self, words: frozenset[str], number: int) -> Sequence[str]:
        """Return the most frequent words of a set."""
        return sorted(self.vocabulary.keys() & words, key=lambda word: (-self.vocabulary[word], word))[:number]


def _heading(element: Element, source: str) -> str:
    """Return a heading's text, without markup if the reader has kept that text."""
    stated = (
        element.attributes.get("text")
        or source[element.start_char : min(element.end_char, element.start_char + _WIDTH)]
    )
    return str(stated)[:_WIDTH]
