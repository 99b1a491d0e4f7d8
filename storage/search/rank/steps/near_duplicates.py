"""Near duplicates: among hits that overlap or repeat each other, keep only the best.

Texts with nearly the same words count as different if they state different facts: numbers, names and negations.
"""

import math
import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from docmill.storage.search.rank.candidates.hit import Candidate, ShownChunk
from docmill.storage.search.rank.candidates.query import Query

_TOKEN = re.compile(
    r"""
    (?P<grouped> (?<![\w.,]) \d{1,3} (?: [,'’\u00a0\u2009\u202f] \d{3} )+ (?: \.\d+ )? (?! [\w]|[.,]\d ) )
  | (?P<number> (?: (?<= [\s(|] ) [-\N{MINUS SIGN}] )? \d+ (?: [.,:/] \d+ )* (?! \w ) )
  | (?P<word> \w+ (?: ['’] \w+ )* )
  | (?P<break> [.!?:\n。！？] )
  | (?P<sign> [^\w\s] )
    """,  # noqa: RUF001  full-width signs end a sentence, too
    re.VERBOSE,
)
_GROUPS = str.maketrans("", "", ",'’\u00a0\u2009\u202f")
_NOT, _UNSPACED_NOT = "not", re.compile("[不没沒未無无非]|ない|ません")
_CONTRACTED = ("n't", "n’t")
_NEGATION_WORDS = """
no not never none neither nor without cannot except unless
nicht nichts kein keine keinem keinen keiner keines nie niemals ohne weder
ne pas jamais aucun aucune sans ni non
nunca jamás ningún ninguno ninguna sin tampoco
mai senza nessuno nessuna né
não jamais nenhum nenhuma sem nem
niet geen nooit zonder inte ingen inget inga aldrig utan ikke uden uten
nie nigdy bez не нет никогда без ни ei değil yok
"""
"""Negating words in the languages of most stores. If a word means something else in the language of a text, it only
keeps a hit that otherwise repeats another."""
_AMOUNT_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve hundred thousand million billion trillion
first second third half double twice
null zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend
deux trois quatre cinq sept huit neuf dix cent mille dos tres cuatro cinco seis siete ocho nueve diez cien mil
"""
"""Numbers written as words; "1.5 million" and "1.5 billion" have the same digits."""
_NEGATIONS, _AMOUNTS = frozenset(_NEGATION_WORDS.split()), frozenset(_AMOUNT_WORDS.split())


@dataclass(frozen=True, slots=True)
class StatedFacts:
    """The facts of a text, in order; `openings` are capitalised words at the start of sentences, names or not."""

    stated: tuple[str, ...]
    openings: frozenset[str]
    words: frozenset[str]

    def same(self, other: "StatedFacts") -> bool:
        """Return whether two texts with nearly the same words state the same facts.

        A name at the start of a sentence looks like any other first word. So first words count if each text has one
        that is nowhere in the other: "Ada was paid" and "Bob was paid" differ, "The clerk was paid" and "Then the clerk
        was paid" do not.
        """
        replaced = self.openings - other.words and other.openings - self.words
        return self.stated == other.stated and not replaced


def facts_of(text: str) -> StatedFacts:
    """Return the facts that a text states.

    - Numbers, without separators of thousands: 1,000 equals 1000. Words for numbers count as well.
    - Names: identifiers (with a digit, an underscore or a capital after the first letter), and capitalised words that
      do not begin a sentence or a line.
    - Negations, which are all equal, because "is not" and "isn't" say the same.
    """
    tokens = list(_tokens(text))
    stated = [fact for kind, token, opens in tokens for fact in _STATED[kind](token, opens)]
    words = [(token, opens) for kind, token, opens in tokens if kind == "word"]
    openings = frozenset(word.casefold() for word, opens in words if opens and word[0].isupper())
    return StatedFacts(tuple(stated), openings, frozenset(word.casefold() for word, _ in words))


def _tokens(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each word and number with its kind, and whether it begins a sentence or a line."""
    opens = True
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind in _STATED:
            yield kind, match.group(), opens
        opens = kind == "break" or (opens and kind == "sign")


def _word_states(word: str, opens: bool) -> list[str]:
    """Return the facts of a word: none, the word itself, or `not` for each negation in it."""
    folded = word.casefold()
    if folded in _NEGATIONS or folded.endswith(_CONTRACTED):
        return [_NOT]
    named = not opens and word[0].isupper()
    if named or folded in _AMOUNTS or _is_identifier(word):
        return [_digits(folded)]
    return [] if word.isascii() else [_NOT] * len(_UNSPACED_NOT.findall(word))


def _is_identifier(word: str) -> bool:
    return "_" in word or any(map(str.isdigit, word)) or word[1:] not in (word[1:].lower(), word[1:].upper())


def _digits(token: str) -> str:
    """Return a token with digits of other scripts replaced by 0 to 9."""
    if token.isascii():
        return token
    return "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in token)


_STATED: Mapping[str, Callable[[str, bool], list[str]]] = {
    "word": _word_states,
    "number": lambda token, _: [_digits(token)],
    "grouped": lambda token, _: [_digits(token.translate(_GROUPS))],
}
"""Functions that return the facts of a token, by its kind."""


Span = tuple[int, int]

_OVERLAP = 0.5
"""If two hits share more than this part of the shorter span, they show the same passage. With a smaller share,
neighbours that overlap by design hide each other; with a larger one, the same passage fills several hits."""
_LIKENESS = 0.9
"""If two hits share at least this part of all their words, one may repeat the other, provided their facts are equal."""
_SAME_SCORE, _SAME_COSINE = 0.05, 0.05
"""A chunk with the same matched terms may be a copy if its score differs by at most this share, and its cosine by at
most this much; contexts make the scores of copies differ. Once there are enough hits, only the rows of such chunks are
read, because reading rows takes most of the time of a search."""
_MOST_COPIES = 200
"""Copies that a hit lists; further ones are only counted. If a page is in thousands of documents, nobody reads them
all."""
_MOST_ROWS = 256  # rows that are read at once, so that they share the cost of a look-up
_MOST_ALIKE = 5  # rows of possible copies that are read for a search; each takes half a millisecond
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F], np.uint64)[:, None]
_WORD = re.compile(r"\w+")


def overlap(one: Span, other: Span, share: float = _OVERLAP) -> bool:
    """Return whether two spans share more than this share of the shorter one; with share 0, whether they overlap."""
    return min(one[1], other[1]) - max(one[0], other[0]) > share * min(one[1] - one[0], other[1] - other[0])


def distinct(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return the best candidates, as many as wanted, without candidates that overlap or repeat a better one.

    Two hits overlap if they share over half of the shorter span. One repeats the other if they share nine tenths of all
    their words and state the same numbers, names and negations; the better one then lists the other in `copies`.
    """
    kept, seen = _KeptHits(), 0
    for one, row in _rows(candidates, query):
        if not kept.overlapped(row):
            own = _ComparedChunk(one, row)
            if not kept.copied(own):
                kept.add(own)
        seen += 1
        if len(kept.hits) == query.options.wanted:  # checked here, before the next row is read
            break
    alike = list(islice(filter(kept.ranks_like, candidates[seen:]), _MOST_ALIKE))
    for one, row in _rows(alike, query):
        if not kept.overlapped(row):
            kept.copied(_ComparedChunk(one, row))
    kept.count_copies()
    return kept.hits


def _rows(candidates: list[Candidate], query: Query) -> Iterator[tuple[Candidate, ShownChunk]]:
    """Yield candidates with their rows, which are read as needed, in growing batches."""
    first, step = 0, query.options.wanted
    while first < len(candidates):
        some = candidates[first : first + step]
        rows = query.shown([one.key for one in some])
        yield from ((one, rows[one.key]) for one in some)
        first, step = first + step, max(step, min(2 * step, _MOST_ROWS))


class _ComparedChunk:
    """A chunk with the words and the facts of its text."""

    def __init__(self, one: Candidate, row: ShownChunk) -> None:
        self.one = one
        self.row = row
        self.words = frozenset(_WORD.findall(row.text.casefold()))
        self.signs = _signs(self.words)

    def like(self, other: "_ComparedChunk") -> bool:
        """Return whether the two texts share nine tenths of all their words."""
        return len(self.words & other.words) >= _LIKENESS * len(self.words | other.words)

    @cached_property
    def facts(self) -> StatedFacts:
        """The facts of its text, computed only once a chunk with nearly the same words is seen."""
        return facts_of(self.row.text)


class _KeptHits:
    """The chunks kept so far, to be found by document and by words."""

    def __init__(self) -> None:
        self.hits: list[Candidate] = []
        self._least = math.inf  # the lowest score that a copy of a kept chunk can have
        self._by_terms: dict[frozenset[str], list[Candidate]] = defaultdict(list)
        self._spans: dict[str, list[tuple[Span, Candidate]]] = defaultdict(list)
        self._like: dict[tuple[int, int], list[_ComparedChunk]] = defaultdict(list)
        self._unlisted: Counter[str] = Counter()

    def add(self, own: _ComparedChunk) -> None:
        one, row = own.one, own.row
        self.hits.append(one)
        self._by_terms[frozenset(one.terms)].append(one)
        self._least = min(self._least, one.score - _SAME_SCORE * abs(one.score))
        self._spans[row.document_id].append(((row.start_char, row.end_char), one))
        for sign in own.signs:
            self._like[sign].append(own)

    def ranks_like(self, other: Candidate) -> bool:
        """Return whether both indexes gave a chunk nearly the same scores as a kept one, so that it may be a copy."""
        if other.score < self._least:
            return False
        return any(_alike(one, other) for one in self._by_terms.get(frozenset(other.terms), ()))

    def overlapped(self, row: ShownChunk) -> bool:
        """Return whether a chunk overlaps a kept one, and note it there."""
        own = row.start_char, row.end_char
        for span, one in self._spans[row.document_id]:
            if overlap(span, own):
                one.note("distinct", f"also represents {row.uri} {own[0]}-{own[1]}, which overlaps it")
                return True
        return False

    def copied(self, own: _ComparedChunk) -> bool:
        """Return whether a chunk repeats a kept one, and list it there as a copy."""
        near = (kept for sign in own.signs for kept in self._like.get(sign, ()))
        better = next((kept.one for kept in near if own.like(kept) and kept.facts.same(own.facts)), None)
        if better is not None:
            self._list(better, own.row)
        return better is not None

    def _list(self, better: Candidate, copy: ShownChunk) -> None:
        if len(better.copies) == _MOST_COPIES:
            self._unlisted[better.key] += 1
            return
        better.copies += (copy,)
        better.note("distinct", f"also represents {copy.uri} {copy.start_char}-{copy.end_char}, which repeats it")

    def count_copies(self) -> None:
        """Note in each hit how many copies it does not list."""
        for one in self.hits:
            if count := self._unlisted[one.key]:
                one.note("distinct", f"also represents {count:,} further chunks, which repeat it")


def _alike(one: Candidate, other: Candidate) -> bool:
    """Return whether two chunks with the same terms have nearly the same scores."""
    if abs(one.score - other.score) > _SAME_SCORE * abs(one.score):
        return False
    meanings = [found.vector_score for found in (one, other) if found.vector_score is not None]
    return len(meanings) != 1 and max(meanings, default=0.0) - min(meanings, default=0.0) <= _SAME_COSINE


def _signs(words: frozenset[str]) -> list[tuple[int, int]]:
    """Return signatures of a set of words: sets that are nine tenths alike share one, except in one of 10,000 cases.

    Each is the smallest hash under its own function (Broder, "On the resemblance and containment of documents", 1997).
    """
    if not words:
        return []
    hashes = np.array([zlib.crc32(word.encode("utf-8", "replace")) for word in words], np.uint64)
    least = ((hashes * _FACTORS) & np.uint64(0xFFFFFFFF)).min(axis=1)
    return list(enumerate(least.tolist()))
