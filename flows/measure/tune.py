"""Tune: find the strategies, sizes, contexts and fusion weights that suit the user's own documents and questions.

Every trial is an ingest into a separate store beside the user's (`cache/tune`), which begins as a hard-linked copy. So
a trial parses nothing and embeds only texts that no earlier trial embedded; a second tuning embeds none. No language
model is called; earlier answers are reused.
"""

import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from docmill.flows.config.from_settings import routes_of, search_method_of
from docmill.flows.config.settings import RouteRule, Settings
from docmill.flows.config.store_settings import GateSettings, RetentionSettings
from docmill.flows.measure.trials import MadeBy, SkippedTrial, Trial, TuneDecision, Tuning, held_back
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.files import TEMPORARY, remove
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.search.rank.candidates.search_options import SearchOptions
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.artifacts.multi_vector_rows import KEYS, vector_keys
from docmill.storage.snapshots.artifacts.packs import Packs, narrowed, write_pack
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.storage.snapshots.tables.tables import read_table
from docmill.tasks.chunking.route import Route, default_routes
from docmill.tasks.evaluate.answer_ranks import Answers
from docmill.tasks.evaluate.ask_and_measure import ReadingDepth, SearchMethod, check_measures, evaluate
from docmill.tasks.evaluate.bootstrap import difference, interval
from docmill.tasks.evaluate.judgement_questions import questions_of
from docmill.tasks.evaluate.proxy_questions import proxies, read_sources
from docmill.tasks.evaluate.question_groups import groups_of
from docmill.tasks.evaluate.questions import Question
from docmill.tasks.model.journal import REPLIES
from docmill.tasks.split.strategies import options_of

FOLDER = "cache/tune"
_LEFT_OUT = (
    "staging",
    "current",
    ".current",
    "cache",
    "evaluations",
    "judgements",
    "queries",
    "learned",
    "candidates",
    "tags",
)
_EVERYTHING = RetentionSettings(keep_snapshots=1_000_000, keep_days=36_500.0)


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """What to try, and how much it may cost.

    `budget` is the maximum number of texts to embed. `characters` is how much of the ranking is read: longer chunks
    match more often, but fewer of them fit. Content types with fewer questions than `least` are not tuned. `questions`
    is how many to generate if none are given, of the kinds `made_from`; by default, those in people's words first. With
    `judged_only`, none are generated. `refused` pairs content types with settings not to adopt for them.
    """

    budget: int = 20_000
    measure: str = "nDCG@10"
    characters: int = 4_000
    least: int = 8
    strategies: tuple[str, ...] = ("structure", "recursive", "sentence")
    sizes: tuple[int, ...] = (80, 120, 200)
    contexts: tuple[str, ...] = ("none", "structural", "window")
    weights: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    questions: int = 200
    made_from: tuple[str, ...] = ()
    judged_only: bool = False
    refused: frozenset[tuple[str, str]] = frozenset()

    def __post_init__(self) -> None:
        """Raise for invalid options before the first slow trial."""
        check_measures([self.measure])
        for strategy in self.strategies:
            Route(strategy)
        for size in self.sizes:
            Route("structure", {"size": size})
        for context in self.contexts:
            Route("structure", contextualizer=context)
        for weight in self.weights:
            SearchOptions(weight=weight)


@dataclass
class _Bench:
    """The trials' store and shared state."""

    root: Path
    sources: Sequence[str]
    options: TuneOptions
    tuning: Tuning
    hear: Callable[[Trial], None]
    known: dict[str, int] = field(default_factory=dict)

    def add(self, trial: Trial) -> None:
        """Add a trial to the result, and report it to the caller."""
        self.tuning.trials.append(trial)
        self.hear(trial)

    def store(self, settings: Settings) -> Store | None:
        """Return the trials' store ingested with these settings, or None if that would exceed the budget."""
        free = settings.model.model_copy(update={"max_calls": 0})
        changed = {"store": self.root, "retention": _EVERYTHING, "gate": GateSettings(), "model": free}
        own = settings.model_copy(update=changed)
        key = own.model_dump_json(exclude={"search"})
        if key not in self.known:
            with LocalEngine() as engine:
                planned = ingest(own, self.sources, engine, dry_run=True, allow_delete=True)
                if planned.embedded > self.options.budget - self.tuning.embedded:
                    return None
                self.tuning.embedded += ingest(own, self.sources, engine, allow_delete=True).embedded
            self.known[key] = snapshots.numbers(self.root)[-1]
        return open_store(self.root, self.known[key])

    def newest(self) -> Store:
        """Return the trials' store as the last trial left it."""
        return open_store(self.root)

    def ask(self, store: Store, questions: Sequence[Question], way: SearchMethod) -> dict[str, float]:
        """Return the measure of each question."""
        chosen = self.options
        found = evaluate(store, questions, [way], [chosen.measure], ReadingDepth(characters=chosen.characters))
        return found[0].values[chosen.measure]


def tune(
    settings: Settings,
    sources: Sequence[str],
    questions: Sequence[Question],
    options: TuneOptions,
    hear: Callable[[Trial], None] = lambda _: None,
) -> Tuning:
    """Try `options` on the documents of `sources`.

    Without given questions, the judged questions of people are used. For content types with too few of these, some are
    generated from the documents. With `options.made_from`, all are generated.

    Raises `QueryError` if no question can be generated, or if embedding the documents with the settings in use exceeds
    the budget.
    """
    root = settings.store / FOLDER
    _copy(settings.store, root, settings.wait_s)
    tuning = Tuning(settings, options.measure)
    bench = _Bench(root, sources or settings.sources, options, tuning, hear)
    store = bench.store(settings)
    if store is None:
        raise QueryError(f"the current settings alone need more new texts than --budget {options.budget}; raise it")
    judged = [] if questions or options.made_from else judged_questions(settings.store)
    tuning.judged = len(judged)
    by_type = _by_type(store, judged)
    held = held_back({kind: [one.id for one in own] for kind, own in by_type.items()})
    _tune_types(bench, by_type, held)
    others = {} if options.judged_only else _others(bench, store, questions)
    _tune_types(bench, others, None)
    by_judged = options.judged_only or len(judged) >= options.least
    if by_judged:
        _tune_weight(bench, judged, held)
    else:
        _tune_weight(bench, [*chain.from_iterable(others.values())], None)
    last = bench.store(tuning.settings)
    tuning.snapshot = last.snapshot.number if last else 0
    return tuning


def hand_over(tuning: Tuning) -> int:
    """Save the vectors of the winning settings for the user's next ingest; return their number."""
    root = tuning.settings.store
    store, trials = open_folder(root), open_folder(root / FOLDER)
    with store.lock(tuning.settings.wait_s):
        base, won = store.newest(), trials.read(tuning.snapshot)
        if base is None:
            return 0
        keys = vector_keys(read_table(won, "chunks", list(KEYS)))
        missing = sorted(Packs(base.packs("embeddings")).missing(keys))
        folder = root / staging.FOLDER / "tuned"
        remove(folder)
        if missing:
            folder.mkdir(parents=True)
            write_pack(folder / ".tmp-tuned", narrowed(Packs(won.packs("embeddings")).take(missing)), "embeddings")
            (folder / ".tmp-tuned").rename(folder / "embeddings-00000.parquet")
        return len(missing)


def _copy(store: Path, root: Path, wait_s: float) -> None:
    """Create the trials' store as a copy of the user's newest snapshot, unless it exists."""
    base, held = snapshots.newest(store), snapshots.newest(root)
    if held and base and held.space.id != base.space.id:
        remove(root)
    if base is None or snapshots.numbers(root):
        return
    draft = root.with_name(f"{TEMPORARY}tune")
    remove(draft)
    with open_folder(store).lock(wait_s):
        for path in store.iterdir():
            if path.is_dir() and path.name not in _LEFT_OUT:
                shutil.copytree(path, draft / path.name, copy_function=os.link)
        if (store / REPLIES).is_dir():
            kept = shutil.ignore_patterns("*.jsonl")  # the journals of running ingests
            shutil.copytree(store / REPLIES, draft / REPLIES, copy_function=os.link, ignore=kept)
    remove(root)  # without snapshots, it was left by a process killed while removing the folder
    draft.rename(root)


def _others(bench: _Bench, store: Store, questions: Sequence[Question]) -> dict[str, list[Question]]:
    """Return given or generated questions of the content types that were not tuned with judged ones."""
    tuning, options = bench.tuning, bench.options
    done = {trial.content_type for trial in tuning.trials}
    asked = list(questions) or proxies(read_sources(store), options.questions, options.made_from)
    if not (asked or tuning.judged):
        raise QueryError("no question could be generated from the documents; give some with --questions")
    left = {kind: own for kind, own in _by_type(store, asked).items() if kind not in done}
    tuning.made, tuning.questions = bool(left) and not questions, tuning.judged + sum(map(len, left.values()))
    return left


def judged_questions(store: Path) -> list[Question]:
    """Return the questions of a store that people have judged."""
    if not snapshots.numbers(store):
        return []
    with open_store(store) as own:
        return questions_of(own.judgements())


def _tune_types(bench: _Bench, by_type: Mapping[str, Sequence[Question]], held: Collection[str] | None) -> None:
    """Tune each content type with enough questions, and note the others; `held` is None without judgements."""
    least, made_by = bench.options.least, _made_by(bench.tuning, held)
    for kind, own in by_type.items():
        if not kind:
            bench.tuning.skipped.append(SkippedTrial("", "no content type", len(own), made_by))
        elif len(own) < least:
            bench.tuning.skipped.append(SkippedTrial(kind, kind, len(own), made_by, least))
        else:
            _tune_type(bench, kind, own, held)


def _made_by(tuning: Tuning, held: Collection[str] | None) -> MadeBy:
    return "judges" if held is not None else "docmill" if tuning.made else "caller"


def _by_type(store: Store, questions: Sequence[Question]) -> dict[str, list[Question]]:
    """Group questions by the content type of the first answer, the most frequent type first."""
    types = groups_of(Answers(store), questions, "type")
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(types[question.id], []).append(question)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def _tune_type(bench: _Bench, kind: str, questions: Sequence[Question], held: Collection[str] | None) -> None:
    """Try strategies for a content type, then sizes and contexts of the best one, and adopt improvements."""
    tuning, options = bench.tuning, bench.options
    own = default_routes().by_type[kind].strategy
    rule = _rule_of(tuning.settings, kind, own)
    named = rule.strategy or own
    race = _Race(bench, kind, questions, named, held)
    trials = _RouteTrials(tuning, race, kind)
    trials.tried[named] = race.mean, RouteRule(type=kind, strategy=named, options=rule.options)
    for strategy in dict.fromkeys((own, *options.strategies)):
        if strategy != named:
            trials.run(strategy, strategy, {}, rule.contextualizer)
    best = trials.best()
    in_use = options_of(best.strategy, {**tuning.settings.split.get(best.strategy, {}), **best.options}).size
    for size in (size for size in options.sizes if size != in_use):
        sized = {**best.options, "size": size}
        trials.run(f"{best.strategy}, size {size}", best.strategy, sized, rule.contextualizer)
    best = trials.best()
    for name in options.contexts:
        if name != (rule.contextualizer or tuning.settings.chunk.contextualizer):
            trials.run(f"{best.strategy}, context {name}", best.strategy, best.options, name)
    if won := race.winner():
        tuning.settings = won
        tuning.routes.append(won.routes[-1])


def _rule_of(settings: Settings, kind: str, own: str) -> RouteRule:
    """Return the last rule for a content type, which applies, else a rule with its default strategy."""
    rules = (rule for rule in reversed(settings.routes) if rule.type == kind)
    return next(rules, RouteRule(type=kind, strategy=own))


@dataclass
class _RouteTrials:
    """The routes tried for a content type, by name, with the mean of each."""

    tuning: Tuning
    race: "_Race"
    kind: str
    tried: dict[str, tuple[float, RouteRule]] = field(default_factory=dict)

    def run(self, what: str, strategy: str, options: dict[str, Any], context: str) -> None:
        """Try a route. One that the settings do not allow, such as a size below the configured overlap, is skipped."""
        route = RouteRule(type=self.kind, strategy=strategy, options=options, contextualizer=context)
        changed = self.tuning.settings.model_copy(update={"routes": (*self.tuning.settings.routes, route)})
        try:
            routes_of(changed)
        except ConfigError as error:
            self.tuning.skipped.append(SkippedTrial(self.kind, what, error=str(error)))
        else:
            self.tried[what] = self.race.run(what, changed), route

    def best(self) -> RouteRule:
        """Return the route with the best mean; the first one wins a tie."""
        return max(self.tried.values(), key=lambda pair: pair[0])[1]


def _tune_weight(bench: _Bench, questions: Sequence[Question], held: Collection[str] | None) -> None:
    """Try weights by given questions, or by those made ones whose place is hidden, such as texts of links.

    Other generated questions occur in their answers word for word. Keywords find them so easily that a weight tuned
    with them lost 5 points on people's questions (`cacm`, tests/bench/LOG.md).
    """
    tuning = bench.tuning
    made_by, least = _made_by(tuning, held), bench.options.least
    if hidden := made_by == "docmill":
        questions = [one for one in questions if one.hidden]
    if made_by != "caller" and len(questions) < least:
        tuning.skipped.append(SkippedTrial("", "weight", len(questions), made_by, least, hidden))
        return
    search = tuning.settings.search
    race = _Race(bench, "", questions, f"weight {search.weight:g}", held)
    for weight in bench.options.weights:
        if weight != search.weight:
            changed = search.model_copy(update={"weight": weight})
            race.run(f"weight {weight:g}", tuning.settings.model_copy(update={"search": changed}))
    if won := race.winner():
        tuning.settings, tuning.weight = won, won.search.weight


def _unasked(settings: Settings) -> Settings:
    """Return the settings without calls to a language model in searches."""
    if settings.search.expand != "model":
        return settings
    return settings.model_copy(update={"search": settings.search.model_copy(update={"expand": ""})})


class _Race:
    """Competing trials: each is compared to the settings in use, and the best significant improvement wins.

    With judged questions, one half chooses the best, and only the other half decides whether it wins: of many trials,
    some look better by chance on the questions that choose.
    """

    def __init__(
        self, bench: _Bench, kind: str, questions: Sequence[Question], named: str, held: Collection[str] | None
    ) -> None:
        self._bench, self._kind, self._questions = bench, kind, questions
        self._judged, self._held = held is not None, held or frozenset()
        self._first = _Tried("", bench.tuning.settings, {})
        self._tried: list[_Tried] = []
        self.mean = self.run(f"{named} (in use)", bench.tuning.settings)

    def run(self, what: str, settings: Settings) -> float:
        """Try settings and return their mean, or -1 if the budget ran out."""
        tuning, before = self._bench.tuning, self._bench.tuning.embedded
        store = self._bench.store(settings)
        if store is None:
            self._bench.add(Trial(self._kind, what, len(self._questions)))
            return -1.0
        values = self._bench.ask(store, self._questions, search_method_of(_unasked(settings)))
        mean = interval(values)
        change = difference(values, self._first.values) if self._first.values else None
        if change and (self._kind, what) not in self._bench.options.refused:
            self._tried.append(_Tried(what, settings, values))
        elif not change:
            self._first = _Tried(what, settings, values)
        self._bench.add(Trial(self._kind, what, len(values), mean, change, tuning.embedded - before))
        return _Tried(what, settings, values).mean_without(self._held)

    def winner(self) -> Settings | None:
        """Return the settings that win, or None if those in use do."""
        best = max(self._tried, key=lambda one: one.mean_without(self._held), default=None)
        if best is None or best.mean_without(self._held) <= self._first.mean_without(self._held):
            return None
        if self._judged:
            return self._decided(best)
        better = [one for one in self._tried if difference(one.values, self._first.values).verdict == "better"]
        return max(better, key=lambda one: one.mean_without(set())).settings if better else None

    def _decided(self, best: "_Tried") -> Settings | None:
        """Return the settings chosen by the first half if they are better on the other half and no type loses."""
        held = {key: value for key, value in best.values.items() if key in self._held}
        if not held:
            return None
        change = difference(held, self._first.values)
        groups = _by_type(self._bench.newest(), self._questions).values()
        loses = any(self._loses([one.id for one in own], best) for own in groups)
        decision = TuneDecision(self._kind, best.what, len(held), change, loses)
        self._bench.tuning.decisions.append(decision)
        return best.settings if decision.adopted else None

    def _loses(self, ids: Sequence[str], best: "_Tried") -> bool:
        values = {key: best.values[key] for key in ids if key in best.values}
        return bool(values) and difference(values, self._first.values).verdict == "worse"


@dataclass(frozen=True, slots=True)
class _Tried:
    """Settings that were tried, and the measure of each question."""

    what: str
    settings: Settings
    values: Mapping[str, float]

    def mean_without(self, held: Collection[str]) -> float:
        """Return the mean over the questions that are not held back."""
        kept = [value for key, value in self.values.items() if key not in held]
        return sum(kept) / len(kept) if kept else 0.0
