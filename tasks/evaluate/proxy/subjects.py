"""Subjects: the subject of a mail as a question for the other mails of its thread."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from docmill.storage.keys import key_of
from docmill.tasks.evaluate.proxy.question_source import QuestionSource
from docmill.tasks.evaluate.questions import Question, Target

_PREFIX = re.compile(r"^(?:\s*(?:re|aw|sv|fwd?|wg|tr)\s*(?:\[\d+\])?\s*:)+\s*", re.IGNORECASE)


def subjects(sources: Sequence[QuestionSource]) -> Iterator[Question]:
    """Yield a question for each subject that several mails have, with every mail as an answer."""
    threads: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        subject = str(source.parsed.metadata.get("subject") or "")
        if subject and source.parsed.metadata.get("message_id"):
            threads[" ".join(_PREFIX.sub("", subject).split())].append(source.uri)
    for subject, uris in threads.items():
        if len(uris) > 1:
            yield Question(key_of("proxy", subject, *uris), subject, tuple(map(Target, sorted(uris))))
