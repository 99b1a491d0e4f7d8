"""Judge: have a language model rate the chunks that a search finds."""

from collections.abc import Sequence

from docmill.flows.config.from_settings import model_access_of, search_method_of
from docmill.flows.config.settings import Settings
from docmill.storage.errors import ConfigError
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.evaluate.model_judgements import context_precision, context_relevance
from docmill.tasks.evaluate.questions import Question
from docmill.tasks.model.client import ModelClient


def judge(settings: Settings, store: Store, questions: Sequence[Question], k: int) -> dict[str, dict[str, float]]:
    """Return the ratings of the first `k` hits by measure and question; the model's answers are kept in the store.

    Questions without a readable rating are left out.
    """
    asking = model_access_of(settings)
    if asking is None:
        raise ConfigError("no language model is set; set provider and model in [model]")
    way = search_method_of(settings)
    found = {question.id: way.ask(store, question.text, k) for question in questions}
    with ModelClient(asking) as model_client:
        return {
            "context precision": context_precision(found, questions, model_client.ask),
            "context relevance": context_relevance(found, questions, model_client.ask),
        }
