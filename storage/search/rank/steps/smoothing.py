"""Smoothing: raise the score of a chunk of running text by a share of its distance to better chunks around it.

A chunk never overtakes the better chunk that raises it, so the best chunk of a section, and of a document, keeps its
score and place. Rows, FAQ questions, messages, code and slides stay as they are, because each names its own subject.
See Kurland and Lee, "Corpus structure, language models, and ad hoc information retrieval", SIGIR 2004.
"""

from docmill.storage.search.rank.candidates.hit import Candidate, in_order
from docmill.storage.search.rank.candidates.query import Query


def spread(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return candidates by score + share · the distance to the better of the chunks before and after it.

    An answer often spans chunks, or is next to the chunk with the words of the question. Neighbours are in the same
    section.
    """
    places = query.places(candidates)
    scores = {(at.section, at.ordinal): one.score for one in candidates if (at := places[one.key]).running}
    for one in candidates:
        at = places[one.key]
        if at.running:
            beside = [scores.get((at.section, at.ordinal + step), 0.0) for step in (-1, 1)]
            _raise(one, max(beside), query.options.spread, "spread", "the better of its neighbours has {:.3f}")
    return in_order(candidates)


def lift(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return candidates by score + share · the distance to the best chunk of their document.

    A chunk that answers a question often does not name its subject ("the study", "the company"), but another chunk
    does. Documents with a title are left alone: the contexts of their chunks name it, and their best chunk would lift
    chunks that answer less.
    """
    places = query.places(candidates)
    best: dict[int, float] = {}
    for one in candidates:  # best first
        at = places[one.key]
        if at.running and not at.titled:
            highest = best.setdefault(at.document, one.score)
            _raise(one, highest, query.options.lift, "lift", "the best chunk of the document has {:.3f}")
    return in_order(candidates)


def _raise(one: Candidate, highest: float, share: float, step: str, said: str) -> None:
    """Raise a score by a share of its distance to a higher one."""
    if one.score < highest:
        one.score += share * (highest - one.score)
        one.note(step, said, highest)
