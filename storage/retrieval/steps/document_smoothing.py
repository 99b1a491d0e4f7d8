"""Document smoothing: a chunk gets a share of the best score in its document.

What answers a question often does not name its subject: the title or another chunk does ("the study", "the company").
See Kurland and Lee, "Corpus structure, language models, and ad hoc information retrieval", SIGIR 2004.
"""

from docmill.storage.retrieval.candidates.hit import Candidate, in_order
from docmill.storage.retrieval.candidates.query import Query


def lift(candidates: list[Candidate], query: Query) -> list[Candidate]:
    """Return candidates by (1 - share) · score + share · the best score among the chunks of their document.

    The best chunk of a document keeps its score, so documents rank among each other as before. Only chunks of running
    text count: a row, a question or a message names its subject, or another one than its neighbour's.
    """
    share = query.options.lift
    places = query.sources.places.of([one.key for one in candidates])
    best: dict[int, float] = {}
    for one in candidates:
        if place := places.get(one.key):
            best[place.document] = max(one.score, best.get(place.document, 0.0))
    for one in candidates:
        place = places.get(one.key)
        if place and one.score < best[place.document]:
            one.score += share * (best[place.document] - one.score)
            one.note("lift", f"the best chunk of the document has {best[place.document]:.3f}")
    return in_order(candidates)
