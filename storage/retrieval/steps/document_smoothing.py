"""Document smoothing: a chunk gets a share of the best score in its document.

What answers a question often does not name its subject: another chunk does ("the study", "the company"). Documents with
a title are left alone: the contexts of their chunks name it, and their best chunk would lift others that answer less.
See Kurland and Lee, "Corpus structure, language models, and ad hoc information retrieval", SIGIR 2004.
"""

from docmill.storage.retrieval.candidates.hit import Candidate, in_order
from docmill.storage.retrieval.candidates.query import Query


def lift(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return candidates by (1 - share) · score + share · the best score among the chunks of their document.

    The best chunk of a document keeps its score, so documents rank among each other as before. Only chunks of running
    text count: a row, a question or a message names its subject, or another one than its neighbour's.
    """
    share, places = query.options.lift, query.places(candidates)
    best: dict[int, float] = {}
    for one in candidates:  # best first
        place = places[one.key]
        if place.running and not place.titled:
            highest = best.setdefault(place.document, one.score)
            if one.score < highest:
                one.score += share * (highest - one.score)
                one.note("lift", "the best chunk of the document has {:.3f}", highest)
    return in_order(candidates)
