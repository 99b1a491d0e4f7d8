"""Show the questions of a set that a search serves worst: what was asked, where the answer is, what was found."""

from collections.abc import Iterator, Mapping
from typing import Any

from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.snapshots.read.store import Store
from tests.bench.finding.asking import Trial
from tests.bench.finding.results import WayResult
from tests.bench.sets.collection import Asked

_SHOWN = 300
"""Characters of an expected passage and of a hit: a few lines, enough to see why one was taken for the other."""
_HITS = 5


def failures(trial: Trial, found: WayResult, options: Mapping[str, Any], most: int) -> Iterator[str]:
    """Yield a text for each of the worst questions by the first measure, worst first; none that is served in full."""
    measure, values = next(iter(found.values.items()))
    worst = sorted((values[one.key], one.id, one) for one in trial.asked if values[one.key] < 1)
    for value, _, question in worst[:most]:
        lines = [f"\n### {trial.kind.name} {question.id}, {measure} {value:.2f}: {question.text}"]
        lines += [f"- expected {line}" for line in _expected(trial.store, question)]
        lines += [f"{hit.rank}. {_hit(hit)}" for hit in trial.hits(question, options)[:_HITS]]
        yield "\n".join(lines)


def _expected(store: Store, question: Asked) -> Iterator[str]:
    for uri in sorted(question.grades)[:_HITS]:
        yield f"`{uri}` ({question.grades[uri]}): {_line(store.document(uri).text)}"
    for one in question.references[:_HITS]:
        text = store.document(one.document).text[one.start : one.end]
        yield f"`{one.document}` {one.start}-{one.end}: {_line(text)}"


def _hit(hit: Hit) -> str:
    scores = [
        f"{name} {score:.2f}"
        for name, score in (("v", hit.vector_score), ("k", hit.keyword_score))
        if score is not None
    ]
    context = f"({_line(hit.context)}) " if hit.context else ""
    return f"`{hit.uri}` {hit.start_char}-{hit.end_char}, {', '.join(scores)}: {context}{_line(hit.text)}"


def _line(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]
