"""Query expansion: search a second time with more words.

Feedback assumes that the best hits of a first search are relevant. It moves the vector as in Rocchio (1971), and adds
the heaviest terms of those hits to the keywords. A language model's wordings come from a function argument.
"""

from collections import Counter

import numpy as np

from docmill.storage.errors import NoWordings
from docmill.storage.schema import indexed_text
from docmill.storage.search.keywords.analysis.analyser import analyse
from docmill.storage.search.rank.candidates.hit import Candidate, in_order
from docmill.storage.search.rank.candidates.query import REMARK, Query
from docmill.storage.search.rank.candidates.search_options import Rewrite

_HITS = 3  # first hits that are assumed relevant; each further one is less likely to be
_TERMS = 10  # the most words that are added
_SHARE = 0.3  # weight of the hits' mean vector, which is added to the query's; with more, the query counts less
_REPEATED = 3  # repetitions of the query's words, so that they weigh more than the added words


def by_feedback(query: Query) -> list[Candidate]:
    """Return the candidates for the query expanded by words and vectors of its first hits."""
    first = query.ask()
    rows = query.rows([one.key for one in first[:_HITS]])
    texts = [indexed_text(row.context, row.text, row.unread) for row in rows.values()]
    if not texts:
        return first
    vector, words, mode = None, "", query.options.mode
    if mode != "keyword":
        near = query.sources.vectors(list(rows))
        vector = query.vector + (_SHARE * np.mean(list(near.values()), axis=0) if near else 0.0)
        vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    new = _terms(query, texts)
    if mode != "vector":
        words = "\n".join(
            [query.words[0]] * _REPEATED + new
        )  # on separate lines, because the analyser looks at the capitals of a whole line
    found = query.rank(None if vector is None else vector[None], words)
    for one in found:
        one.note("expand", f"asked again with {', '.join(new) or 'no new word'} of {len(texts)} first hits")
    return found


def _terms(query: Query, texts: list[str]) -> list[str]:
    """Return the words of texts that the query lacks, heaviest first; words in several texts weigh more."""
    language = query.sources.language
    asked = set(analyse(query.text, query.language))
    counts: Counter[str] = Counter()
    forms: dict[str, str] = {}
    for text in texts:
        for word in dict.fromkeys(text.split()):  # in order, because the first form of a term is searched for
            for term in analyse(word, language)[:1]:
                if term.isalpha() and term not in asked:
                    counts[term] += 1
                    forms.setdefault(term, word.strip(".,;:!?()[]\"'*_`"))
    weight = {term: count * query.sources.rarity(term) for term, count in counts.items()}
    return [forms[term] for term in sorted(weight, key=lambda term: (-weight[term], term))[:_TERMS]]


def by_model(query: Query, rewrite: Rewrite) -> list[Candidate]:
    """Return the candidates for the query and its other wordings, each with its score for the best wording."""
    found = {one.key: one for one in query.ask()}
    try:
        wordings = rewrite(query.text)
    except NoWordings as why:
        wordings = ()
        for one in found.values():
            one.note(REMARK, f"asked in its own words alone: {why}")
    for words in wordings:
        vector = query.sources.query_vector(words) if query.options.mode != "keyword" else None
        for one in query.rank(
            None if vector is None else vector[None], words if query.options.mode != "vector" else ""
        ):
            one.note("expand", f"asked as {words!r}")
            if one.key not in found or one.score > found[one.key].score:
                found[one.key] = one
    return in_order(list(found.values()))
