"""Facts: the numbers, names and negations that a text states, by which texts of nearly the same words differ."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

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
"""Words that negate, of the languages that most stores hold. One that means something else in the language of a text
does no harm: it only keeps a hit that repeats another but for this word."""
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
    """What a text states, in order; `openings` are capitalised words that begin a sentence, names or not."""

    stated: tuple[str, ...]
    openings: frozenset[str]
    words: frozenset[str]

    def same(self, other: "StatedFacts") -> bool:
        """Return whether two texts of nearly the same words state the same.

        A sentence can begin with a name, which then looks like any other first word. So first words count if each
        text has one that the other lacks altogether: "Ada was paid" and "Bob was paid" differ, "The clerk was paid" and
        "Then the clerk was paid" do not.
        """
        replaced = self.openings - other.words and other.openings - self.words
        return self.stated == other.stated and not replaced


def facts_of(text: str) -> StatedFacts:
    """Return what a text states.

    - Numbers are compared without the signs between thousands: 1,000 is 1000. Words for numbers count as well.
    - Names are identifiers (with a digit, an underscore or a capital after the first letter), and capitalised words
      that do not begin a sentence or a line.
    - All negations are one, as "is not" and "isn't" say the same.
    """
    tokens = list(_tokens(text))
    stated = [fact for kind, token, opens in tokens for fact in _STATED[kind](token, opens)]
    words = [(token, opens) for kind, token, opens in tokens if kind == "word"]
    openings = frozenset(word.casefold() for word, opens in words if opens and word[0].isupper())
    return StatedFacts(tuple(stated), openings, frozenset(word.casefold() for word, _ in words))


def _tokens(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the kind of each word and number, itself, and whether it begins a sentence or a line."""
    opens = True
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind in _STATED:
            yield kind, match.group(), opens
        opens = kind == "break" or (opens and kind == "sign")


def _word_states(word: str, opens: bool) -> list[str]:
    """Return what a word states: nothing, itself, or for each negation in it the same sign."""
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
    """Return a token with the digits 0 to 9 for those of its script."""
    if token.isascii():
        return token
    return "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in token)


_STATED: Mapping[str, Callable[[str, bool], list[str]]] = {
    "word": _word_states,
    "number": lambda token, _: [_digits(token)],
    "grouped": lambda token, _: [_digits(token.translate(_GROUPS))],
}
"""What a token states, by its kind."""
