"""Lawful: score how much a text looks like a contract, licence, policy or law, by legal words, clauses and its name."""

from docmill.tasks.detect.features import Features
from docmill.tasks.detect.line_shapes import CLAUSE, LAW
from docmill.tasks.detect.signs import Score, percent
from docmill.tasks.detect.type_words import ALSO_PLAIN, LEGAL, LEGAL_NAME

_WORDS_GAIN, _MOST_BY_WORDS = 32, 0.93
"""Legal words give the full score at 3 in 100 (0.93 / 32).

With a higher gain, a text that mentions a licence is legal; with a lower one, a policy in plain words is not. The
maximum stays below 1, as words alone prove nothing.
"""
_EVERYWHERE = 0.6
"""Share of a text's stretches with a legal word from which they count as everywhere.

A README that ends with its licence has them in few stretches; a contract has stretches without one, too.
"""
_PLAIN_BESIDE = 4
"""How many legal words each word that only law has makes count, itself included.

With fewer, a contract in plain words is none; with more, one mention of a licence makes a text on programs a contract.
"""
_DIFFERENT_WORDS = 3
"""Different legal words from which a text does not merely happen to say `warranty`."""
_WITHOUT_CLAUSES, _BY_CLAUSES = 0.85, 0.15
"""Score of words without numbered clauses, and the maximum that clauses add.

Many policies number nothing: a higher value of clauses would hide these; if it were zero, an article about contracts
would look like one.
"""
_NAMED_WORDS = 0.01
"""Share of legal words from which a legal name counts. A page of search terms is called `Terms`, too."""
_BY_NAME, _MOST_BY_NAME = 0.3, 0.85
"""What a legal name adds to the score of the words, and the maximum of the sum.

The name supports the words, but a text with that name and few of the words must not beat one that is full of them.
"""
_ARTICLES, _ARTICLE_WORDS, _BY_ARTICLES = 0.15, 0.001, 0.75
"""The score of a legal name with numbered articles, one line in seven, and one legal word in 1,000.

That is a law in plain words. With fewer articles, a numbered guide would be one; without any such word, so would a list
of conditions.
"""
_NAMING_LINES, _NAMING_HEADINGS = 2, 1
"""Lines and headings at the beginning that may name a document. Further down, they name other documents."""


def legal(f: Features) -> Score:
    """Return the legal score of a text: by its words, or by its name together with words or articles."""
    words, clauses, name = _share(f), f.matching(CLAUSE), _name(f)
    by_words = _by_words(f, words, clauses)
    score = max(by_words, _by_name(by_words, words), _by_articles(f, words)) if name else by_words
    most_used = ", ".join(f.most_used(LEGAL, _DIFFERENT_WORDS))
    said = (
        f"{percent(words)} of the words are legal ones such as {most_used}" if words else "",
        f"its name is that of a legal document ({name.lower()})" if name else "",
        f"{clauses} of {len(f.lines)} lines begin a numbered clause" if clauses else "",
    )
    return Score(score, tuple(filter(None, said)))


def _share(f: Features) -> float:
    """Return the share of legal words; those that other fields have, too, count beside words that only law has."""
    plain, legal = f.of_words(ALSO_PLAIN), f.of_words(LEGAL)
    return min(legal, _PLAIN_BESIDE * (legal - plain))


def _by_words(f: Features, words: float, clauses: int) -> float:
    """Return the score of legal words: many, all over the text, different ones, with numbered clauses among them."""
    different = len(f.most_used(LEGAL, _DIFFERENT_WORDS)) / _DIFFERENT_WORDS
    everywhere = min(1.0, f.spread(LEGAL) / _EVERYWHERE, different)
    shape = _WITHOUT_CLAUSES + min(_BY_CLAUSES, clauses / max(1, len(f.lines)))
    return min(_MOST_BY_WORDS, words * _WORDS_GAIN) * everywhere * shape


def _by_name(by_words: float, words: float) -> float:
    return min(_MOST_BY_NAME, by_words + _BY_NAME) if words > _NAMED_WORDS else 0.0


def _by_articles(f: Features, words: float) -> float:
    many = f.matching(LAW) >= _ARTICLES * len(f.lines)
    return _BY_ARTICLES if many and words > _ARTICLE_WORDS else 0.0


def _name(f: Features) -> str:
    """Return the words by which a text calls itself a legal document, if it does."""
    places = (f.title, *f.headings[:_NAMING_HEADINGS], *f.lines[:_NAMING_LINES])
    return next((found[0] for text in places if (found := LEGAL_NAME.search(text))), "")
