"""PDF nonsense: text of letters that stand for others, as fonts give whose codes are shifted."""

import re

_COMMON = (
    "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic"
    " ne ea ra ce li ch ll be ma si om ur el la di ei ie ge un da ue qu nn ho us ut em ta sc ss ec tr il po pe ac pr am"
    " ca et lo no na ni so os ad ia do mi sa tt wa ai ol ul ir ke ns ct ov ow pa"
)
_PAIRS = frozenset(_COMMON.split())
"""Pairs of letters that are common in the languages of Europe."""
_SAMPLE, _LEAST = 3_000, 150
"""Characters of a page that are looked at, and pairs of letters that tell: with fewer, a code or a name does."""
_MOST_PAIRS = 0.3
"""Share of common pairs, below which text may be none. On 450 pages in nine languages it is .59 and more, but .33 in a
list of numbers with signs for names; with shifted letters it is .03, in any others that stand for them below .30."""
_PLAIN = 0.15  # share of five small letters, from which on a text is one: in any language they are a quarter and more
_LEAST_ODD = 0.2  # share of words of a form that words do not have; of the same pages, a list of birds' codes has .38
_LETTERS = re.compile("[A-Za-z]{2,}")
_PARTS = re.compile(r"[^\W_]+(?:[^\s\w'’.,\-/:;()&@\"“”–—]+[^\W_]+)*")
_WORD = re.compile(r"[^\W\d_]?(?:[^\W\d_A-Z]*|[A-Z]*)|\d+")
_SHORT = 3  # letters and signs, from which on a word has a form


def is_nonsense(text: str) -> bool:
    """Return whether a page's text is no language: common pairs of letters are missing, and words look like none.

    Capital letters, figures and signs stand within its words, as where each letter is another one. Text in other than
    Latin letters is not judged, nor is a text in letters of one case that no one can read: it may be a code.
    """
    sample = text[:_SAMPLE]
    if sum(map(sample.count, "aeion")) > _PLAIN * len(sample):  # as on nearly all pages, and quicker
        return False
    runs = _LETTERS.findall(sample)
    pairs = [run[at : at + 2].lower() for run in runs for at in range(len(run) - 1)]
    if len(pairs) < _LEAST or sum(pair in _PAIRS for pair in pairs) >= _MOST_PAIRS * len(pairs):
        return False
    words = [word for word in _PARTS.findall(sample) if len(word) >= _SHORT and not word.isdigit()]
    return sum(_WORD.fullmatch(word) is None for word in words) > _LEAST_ODD * len(words)
