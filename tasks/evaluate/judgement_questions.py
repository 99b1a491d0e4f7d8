"""Judgement questions: questions made from people's judgements, and the table in which they are exported."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from docmill.storage.keys import key_of
from docmill.storage.snapshots.history.judgements import same_query
from docmill.storage.snapshots.read.judging import JudgedPassage, same_passage
from docmill.tasks.evaluate.questions import Question, Target

SHARE = 0.5
"""Share of a judged passage that a chunk must contain. The passage was a whole chunk when it was judged: if all of it
were required, every other way to split would look worse; if only a little were, any chunk that touches it would
answer."""
COLUMNS = ("id", "question", "uri", "phrase", "share")


def questions_of(passages: Iterable[JudgedPassage]) -> list[Question]:
    """Return a question for each query with a passage that more people judged right than wrong.

    Lost passages make none. Of several judgements about one passage, the shortest quotation is the answer.
    """
    by_query: dict[str, list[JudgedPassage]] = defaultdict(list)
    for one in passages:
        by_query[same_query(one.judgement.query)].append(one)
    found = ((query, tuple(_targets(some)), some[0]) for query, some in by_query.items())
    return [
        Question(key_of("judged question", query), first.judgement.query.strip(), targets, "judged")
        for query, targets, first in found
        if targets
    ]


def _targets(passages: Sequence[JudgedPassage]) -> Iterator[Target]:
    # The shortest first, because a marked answer represents the hits around it.
    left = sorted((one for one in passages if one.uri), key=lambda one: (len(one.judgement.quotation), one.uri))
    while left:
        same = [one for one in left if same_passage(left[0], one)]
        left = [one for one in left if one not in same]
        yield from _agreed(same)


def _agreed(same: Sequence[JudgedPassage]) -> Iterator[Target]:
    """Yield the answer on which most judgements about one passage agree, if they do."""
    right = [one for one in same if one.relevant]
    if 2 * len(right) > len(same):
        yield Target(right[0].uri, right[0].judgement.quotation, share=SHARE)


def as_csv(questions: Sequence[Question]) -> str:
    """Return questions as the table that `docmill evaluate` reads, with a row for each answer."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for one in questions:
        rows.writerows((one.id, one.text, own.document, own.quotation, own.share) for own in one.targets)
    return text.getvalue()
