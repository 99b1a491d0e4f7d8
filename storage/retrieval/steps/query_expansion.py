"""Expand: ask once more, in more words.

Feedback takes the best hits of a first search for right: Rocchio (1971) for vectors, and for keywords terms by
their weight in those hits. A language model's wordings come from a function that is given.
"""

from collections import Counter

import numpy as np

from docmill.storage.keywords.analysis.analyser import analyse
from docmill.storage.retrieval.candidates.hit import Candidate, in_order
from docmill.storage.retrieval.candidates.query import Query
from docmill.storage.retrieval.candidates.search_options import Rewrite
from docmill.storage.schema import indexed_text

_HITS = 3  # first hits taken for right; each further one is more likely wrong, and its words lead away
_TERMS = 10  # words added at most
_SHARE = 0.3  # of the hits' mean vector that is added to the question's; with more, the question counts less
_REPEATED = 3  # how often the question's words are said, so that they weigh more than the words added


def by_feedback(query: Query) -> list[Candidate]:
    """Return the candidates for the question with what its first hits say."""
    first = query.ask()
    rows = query.rows([one.key for one in first[:_HITS]])
    texts = [indexed_text(row.context, row.text) for row in rows.values()]
    if not texts:
        return first
    vector, words, mode = None, "", query.options.mode
    if mode != "keyword":
        near = query.sources.vectors(list(rows))
        vector = query.vector + _SHARE * np.mean(list(near.values()), axis=0)
        vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    new = _terms(query, texts)
    if mode != "vector":
        words = " ".join([query.text] * _REPEATED + new)
    found = query.rank(vector, words)
    for one in found:
        one.note("expand", f"asked again with {', '.join(new) or 'no new word'} of {len(texts)} first hits")
    return found


def _terms(query: Query, texts: list[str]) -> list[str]:
    """Return the words of texts, the heaviest first, that the question lacks; those in several texts weigh more."""
    language = query.sources.language
    asked = set(analyse(query.text, language))
    counts: Counter[str] = Counter()
    forms: dict[str, str] = {}
    for text in texts:
        for word in dict.fromkeys(text.split()):  # in their order, which decides what form of a term is asked for
            for term in analyse(word, language)[:1]:
                if term.isalpha() and term not in asked:
                    counts[term] += 1
                    forms.setdefault(term, word.strip(".,;:!?()[]\"'*_`"))
    weight = {term: count * query.sources.rarity(term) for term, count in counts.items()}
    return [forms[term] for term in sorted(weight, key=lambda term: (-weight[term], term))[:_TERMS]]


def by_model(query: Query, rewrite: Rewrite) -> list[Candidate]:
    """Return the candidates for the question and for other wordings of it, each by the wording that suits it best."""
    found = {one.key: one for one in query.ask()}
    for words in rewrite(query.text):
        vector = query.sources.encoder.encode_query(words) if query.options.mode != "keyword" else None
        for one in query.rank(vector, words if query.options.mode != "vector" else ""):
            one.note("expand", f"asked as {words!r}")
            if one.key not in found or one.score > found[one.key].score:
                found[one.key] = one
    return in_order(list(found.values()))
