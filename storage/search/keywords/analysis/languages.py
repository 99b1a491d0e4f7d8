"""Languages: detect the language of a text in Latin script from its function words, and name an index's languages.

Other scripts need no detection: the letters of a word determine its stemmer (`analyser.py`).

Every change to the language of any text raises ANALYSER_VERSION.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from docmill.storage.search.keywords.analysis.folding import fold
from docmill.storage.search.keywords.analysis.separation import separate
from docmill.storage.search.keywords.analysis.stopwords import STOP_WORDS

DETECTED = tuple(language for language in STOP_WORDS if language != "russian")
"""The languages that are detected."""
_AND, _GIVEN = "+", ":"
_LEAST = 1.5
"""The votes that a language needs. With 1, three words of another language in code or in a table change the language of
a chunk; with 2, a tenth more of people's questions stay undecided."""
_SHARE = 0.08
"""The votes per word that a language needs. Texts in any language have twice as many; lists of names and code have
fewer."""
_RATIO = 1.5
"""A language needs this many times the votes of the default language, so that a text in both keeps the default. Similar
languages such as Danish and Norwegian need no margin: a query is read in each language of the index."""
_ALSO = {
    "english": "also another could every first get into let like made make many may might much must new one per set"
    " shall since still two upon us use used using via want within without would yes yet"
}
"""Words that identify a language but are not stop words."""
_LONGEST = 16  # characters of a function word with its punctuation

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]


def _ballots() -> tuple[dict[str, int], Floats]:
    """Return the row of each function word, in lower case and capitalized, in a table of votes by language.

    Row 0 has no votes; the votes of any other row add up to 1.
    """
    speakers: dict[str, list[int]] = {}
    for number, language in enumerate(DETECTED):
        for word in {*STOP_WORDS[language], *_ALSO.get(language, "").split()}:
            if len(word) > 1:  # single letters are names of variables, too
                speakers.setdefault(word, []).append(number)
    kinds = {kind: place for place, kind in enumerate(sorted(set(map(tuple, speakers.values()))), 1)}
    votes = np.zeros((len(kinds) + 1, len(DETECTED)))
    for kind, place in kinds.items():
        votes[place, list(kind)] = 1 / len(kind)
    rows = {word: kinds[tuple(numbers)] for word, numbers in speakers.items()}
    return rows | {word.capitalize(): row for word, row in rows.items()}, votes


_ROWS, _VOTES = _ballots()


def ballot(piece: str) -> int:
    """Return the row of votes of a piece of a separated text."""
    if piece.isascii():
        return _ROWS.get(piece, 0)
    return _ROWS.get(fold(piece.strip(".,-")), 0) if len(piece) <= _LONGEST else 0


def detect(text: str, among: Sequence[str] = DETECTED) -> str:
    """Return the language of a text, one of `among`, or "" if undecided; the first of `among` is the default."""
    pieces = separate(text).split()
    votes = _VOTES[[ballot(piece) for piece in pieces]].sum(axis=0)
    votes *= [language in among for language in DETECTED]
    return _decided(votes[None], np.array([len(pieces)]), among[0])[0]


def detect_all(rows: Integers, starts: Integers, ends: Integers, default: str) -> list[str]:
    """Return the language of each of several texts, `default` if undecided.

    `rows` are the rows of votes of the pieces of all texts, one text after the other; `starts` and `ends` are where the
    pieces of each text begin and end.
    """
    voters = np.flatnonzero(rows)
    texts = np.searchsorted(starts, voters, side="right") - 1
    voters, texts = voters[voters < ends[texts]], texts[voters < ends[texts]]
    kinds = len(_VOTES)  # kinds of ballots, counted for each text
    counts = np.bincount(texts * kinds + rows[voters], minlength=len(starts) * kinds)
    votes = counts.reshape(-1, kinds) @ _VOTES
    return [language or default for language in _decided(votes, ends - starts, default)]


def _decided(votes: Floats, sizes: Integers, default: str) -> list[str]:
    """Return the language with the most votes for each text, or "" if they are not decisive."""
    first, best = votes.max(axis=1), votes.argmax(axis=1)
    other = DETECTED.index(default) if default in DETECTED else -1
    rival = np.where(best == other, 0.0, votes[:, other] if other >= 0 else 0.0)
    sure = (first >= np.maximum(_LEAST, _SHARE * sizes)) & (first >= _RATIO * rival)
    return [DETECTED[number] if own else "" for number, own in zip(best, sure, strict=True)]


def languages_in(language: str) -> list[str]:
    """Return the languages in which texts are read; the first is the default.

    For a text whose language is given, these are the default, in which short chunks are read, and its own.
    """
    held, _, given = language.partition(_GIVEN)
    first, *others = held.split(_AND)
    return [first, *(one for one in others if not given or one == given)]


def with_given(language: str, given: str) -> str:
    """Return the languages of an index for a query in a given language; "" is the default language."""
    return f"{language}{_GIVEN}{given or languages_in(language)[0]}"


def given_in(language: str) -> str:
    """Return the language that is given for a text, or ""."""
    return language.partition(_GIVEN)[2]


def with_languages(language: str, found: Iterable[str]) -> str:
    """Return the languages of an index to which texts in some languages were added."""
    known = languages_in(language)
    return _AND.join([*known, *sorted(set(found).difference(known))])
