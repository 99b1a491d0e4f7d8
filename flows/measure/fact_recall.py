"""Fact recall: have a model list the facts of the right answers, search, and have it check the hits for each fact."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from docmill.flows.measure.evaluation import EvaluationSubject, keep_values
from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.files import write_whole
from docmill.storage.schema import indexed_text
from docmill.storage.search.rank.candidates.hit import Hit
from docmill.storage.snapshots.read.store import Store
from docmill.storage.snapshots.tables.tables import read_table
from docmill.tasks.evaluate.ask_and_measure import SearchMethod
from docmill.tasks.evaluate.fact_prompts import fact_prompt, facts_wanted, read_facts, read_verdicts, verdict_prompt
from docmill.tasks.evaluate.questions import Question
from docmill.tasks.evaluate.retrieval_measures import names_of
from docmill.tasks.model.client import ModelClient
from docmill.tasks.model.prompt import Prompt

Facts = dict[str, tuple[str, ...]]
"""The facts of each question by its id."""

TOPS = (3, 5, 10)
"""Numbers of chunks to read by default: fewer than the 5 hits of a search, as many, and twice as many."""


@dataclass(slots=True)
class Judged:
    """The verdicts on the facts, given the first `top` chunks of one way to search.

    `too_long` counts facts whose excerpts exceed the model's window, `failed` those without a verdict. `shares` is the
    share of each question's facts that the chunks support.
    """

    way: SearchMethod
    top: int
    true: int = 0
    false: int = 0
    too_long: int = 0
    failed: int = 0
    shares: dict[str, float] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """Return the share of all facts that are supported; a fact without a verdict counts as unsupported."""
        total = self.true + self.false + self.too_long + self.failed
        return self.true / total if total else 0.0


@dataclass(frozen=True, slots=True)
class JudgingTerms:
    """The ways to search, the numbers of chunks to read, and the maximum tokens of a prompt, estimated; 0 is any."""

    ways: Sequence[SearchMethod]
    tops: Sequence[int] = TOPS
    window: int = 0

    def allow(self, prompt: Prompt) -> bool:
        """Return whether a prompt fits into the model's window."""
        return not self.window or prompt.tokens <= self.window


@dataclass(slots=True)
class _Case:
    question: str
    facts: tuple[str, ...]
    prompt: Prompt
    of: Judged = field(repr=False)


def facts_of(store: Store, questions: Sequence[Question], model_client: ModelClient) -> Facts:
    """Return the facts of each question's right answers, without questions that gave none."""
    passages = {question.id: _passages(store, question) for question in questions}
    # By text, so that the facts of a passage shared by several questions are requested once.
    prompts = {text: fact_prompt(text) for texts in passages.values() for text in texts}
    answers = model_client.ask(list(prompts.values()))
    found: Facts = {}
    for key, texts in passages.items():
        replies = {text: answers[prompts[text]].text for text in texts if prompts[text] in answers}
        if facts := _facts_in(replies):
            found[key] = facts
    return found


def _facts_in(replies: Mapping[str, str]) -> tuple[str, ...]:
    """Return the distinct facts in the model's replies, one reply per passage."""
    stated = (read_facts(reply, facts_wanted(passage)) for passage, reply in replies.items())
    return tuple(dict.fromkeys(chain.from_iterable(stated)))


def _passages(store: Store, question: Question) -> list[str]:
    """Return the verbatim answers to a question: the quoted passages, else the whole documents."""
    quoted = [target.quotation for target in question.targets if target.quotation]
    wanted = {target.document for target in question.targets}
    uris = read_table(store.stored, "documents", ["uri"]).column(0).to_pylist() if not quoted else []
    documents = [store.document(uri).text for uri in uris if wanted & {*names_of(uri)}]
    return list(dict.fromkeys([*quoted, *documents]))


def judge(
    store: Store, questions: Sequence[Question], facts: Facts, terms: JudgingTerms, model_client: ModelClient
) -> list[Judged]:
    """Return, for each way and number of chunks, how many facts the chunks support."""
    found, cases = list[Judged](), list[_Case]()
    for way in terms.ways:
        # Searched once with the largest number, whose first hits are those of the smaller ones.
        hits = {q.id: way.ask(store, q.text, max(terms.tops)) for q in questions if q.id in facts}
        for top in terms.tops:
            found.append(Judged(way, top))
            cases += _cases(found[-1], hits, facts)
    answers = model_client.ask([case.prompt for case in cases if terms.allow(case.prompt)])
    for case in cases:
        if terms.allow(case.prompt):
            answer = answers.get(case.prompt)
            _count(case, read_verdicts(answer.text if answer else "", len(case.facts)))
        else:
            # A model with this window could have read none of it.
            case.of.shares[case.question] = 0.0
            case.of.too_long += len(case.facts)
    return found


def _cases(judged: Judged, hits: Mapping[str, Sequence[Hit]], facts: Facts) -> Iterator[_Case]:
    for key, some in hits.items():
        yield _Case(key, facts[key], _prompt(some[: judged.top], facts[key]), judged)


def _count(case: _Case, verdicts: Sequence[bool]) -> None:
    """Add the verdicts on the facts of one case; an empty reply counts as a failure."""
    case.of.shares[case.question] = sum(verdicts) / len(case.facts)
    case.of.true += sum(verdicts)
    case.of.false += len(verdicts) - sum(verdicts)
    case.of.failed += 0 if verdicts else len(case.facts)


def _prompt(hits: Sequence[Hit], facts: Sequence[str]) -> Prompt:
    return verdict_prompt([indexed_text(hit.context, hit.text) for hit in hits], facts)


def keep_shares(store: Store, of: str, subject: EvaluationSubject, found: Sequence[Judged]) -> None:
    """Save a row such as `facts@5` for each way and number of chunks, with the share of each question's facts."""
    for one in (one for one in found if one.shares):
        own = replace(subject, settings={**one.way.options, **(subject.settings or {})})
        keep_values(store, of, own, {f"facts@{one.top}": one.shares})


def read_kept(path: Path) -> Facts:
    """Return the facts in a file written by `keep`; raise QueryError if it is not one."""
    try:
        return {str(key): tuple(map(str, facts)) for key, facts in json.loads(path.read_text("utf-8")).items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise QueryError(f"{path}: not a facts file (a JSON object of lists by question): {error!r}") from error


def keep(path: Path, facts: Facts) -> None:
    """Write the facts, so that another store can be judged by the same facts."""
    write_whole(path, json.dumps(facts, ensure_ascii=False, indent=1).encode(), closed=True)


def without_model() -> ConfigError:
    """Return the error for a missing language model."""
    return ConfigError("evaluate facts needs a language model: set [model] provider and model")
