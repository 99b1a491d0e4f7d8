"""Judge: have a language model say what the chunks are worth that a search finds."""

from collections.abc import Sequence

from docmill.flows.config.settings import Settings
from docmill.flows.config.task_options import asking_of, way_of
from docmill.storage.errors import ConfigError
from docmill.storage.reader.store import Store
from docmill.tasks.evaluate.judged import context_precision, context_relevance
from docmill.tasks.evaluate.questions import Question
from docmill.tasks.model.client import Desk


def judge(settings: Settings, store: Store, questions: Sequence[Question], k: int) -> dict[str, dict[str, float]]:
    """Return the judgements of the first `k` hits by measure and question; what the model said is kept in the store.

    A question of which the model gave no judgement, or none that can be read, is left out.
    """
    asking = asking_of(settings)
    if asking is None:
        raise ConfigError("no language model is named; set provider and model in [model]")
    way = way_of(settings)
    found = {question.id: way.ask(store, question.text, k) for question in questions}
    with Desk(asking) as desk:
        return {
            "context precision": context_precision(found, questions, desk.ask),
            "context relevance": context_relevance(found, questions, desk.ask),
        }
