"""Features: counts of a text and its elements, taken once before anything is judged."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from docmill.storage.schema import Element
from docmill.tasks.detect.type_patterns import ASKED, CLAUSE, LEGAL, WORD

SAMPLE = 60_000
"""Characters to judge: some 20 pages. More costs time for long documents; fewer may be front matter alone."""
_LINES = 2000
"""Lines to match against patterns, so that 60,000 characters of line ends do not cost more than text."""
_LINES_WITH_BLANKS = 4 * _LINES
"""Lines to look at to find these; a document with more blank lines than that is judged by fewer."""
_STRETCH = 60
"""Words of a stretch, about a paragraph: shorter ones lack a legal word by chance, longer ones all have one."""
_WIDTH = 300
"""Characters of a line or heading to match: no pattern is slow on so few, and signs are at the beginning."""
_CONTRACT_WORDS, _CONTRACT_CLAUSES = 0.01, 0.05
"""Shares of legal words and of numbered clauses from which names at the beginnings of lines are those of parties.

Hearings are full of legal words, too, but number nothing; with fewer words, an interview that counts its questions
would be a contract.
"""


class Features:
    """Counts of the first 60,000 characters of a text; shares are in [0, 1]."""

    def __init__(self, text: str, source: str, elements: Sequence[Element], title: str) -> None:
        """Count; `text` is judged, and the elements are spans of `source`."""
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
        """Return how many characters are under headings that ask, down to the next heading of their level."""
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
        """Return the share of the text in elements of some kinds."""
        return min(1.0, sum(self.kinds[kind] for kind in kinds) / self.characters)

    def matching(self, pattern: re.Pattern[str]) -> int:
        """Return how many lines begin with a pattern."""
        return sum(1 for _ in filter(None, map(pattern.match, self.lines)))  # without Python code for each line

    def of_lines(self, pattern: re.Pattern[str]) -> float:
        """Return the share of lines that begin with a pattern."""
        return self.matching(pattern) / max(1, len(self.lines))

    def of_words(self, words: frozenset[str]) -> float:
        """Return the share of words that are in a set."""
        return sum(map(self.vocabulary.__getitem__, self.vocabulary.keys() & words)) / self.words

    def is_contract(self) -> bool:
        """Return whether a text has legal words and numbered clauses."""
        return self.of_words(LEGAL) > _CONTRACT_WORDS and self.of_lines(CLAUSE) > _CONTRACT_CLAUSES

    def spread(self, words: frozenset[str]) -> float:
        """Return the share of the text's stretches of 60 words that contain a word of a set."""
        starts = range(0, len(self._said), _STRETCH)
        return sum(not words.isdisjoint(self._said[i : i + _STRETCH]) for i in starts) / max(1, len(starts))

    def most_used(self, words: frozenset[str], number: int) -> Sequence[str]:
        """Return the most frequent words of a set."""
        return sorted(self.vocabulary.keys() & words, key=lambda word: (-self.vocabulary[word], word))[:number]


def _heading(element: Element, source: str) -> str:
    """Return a heading's text without markup, if the reader has kept that."""
    stated = (
        element.attributes.get("text")
        or source[element.start_char : min(element.end_char, element.start_char + _WIDTH)]
    )
    return str(stated)[:_WIDTH]
