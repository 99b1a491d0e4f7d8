"""Tune: find the strategies, sizes, contexts and fusion weights that suit the user's own documents and questions.

Every trial is an ingest into a separate store beside the user's (`cache/tune`), which begins as a hard-linked copy. So
a trial parses nothing and embeds only texts that no earlier trial embedded; a second tuning embeds none. No language
model is called; earlier answers are reused.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docmill.flows.config.from_settings import routes_of, search_method_of
from docmill.flows.config.settings import GateSettings, RetentionSettings, RouteRule, Settings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.phases import counted
from docmill.flows.runs.pipeline import ingest
from docmill.storage.artifacts import staging
from docmill.storage.artifacts.multi_vector_rows import KEYS, vector_keys
from docmill.storage.artifacts.packs import Packs, write_pack
from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.files import TEMPORARY, remove
from docmill.storage.history import snapshots
from docmill.storage.mirror.mirror_folder import open_folder
from docmill.storage.reader.store import Store, open_store
from docmill.storage.retrieval.candidates.search_options import SearchOptions
from docmill.storage.tables.tables import read_table
from docmill.tasks.chunking.route import Route, default_routes
from docmill.tasks.evaluate.asking import ReadingDepth, SearchMethod, check_measures, evaluate
from docmill.tasks.evaluate.bootstrap import Interval, difference, interval
from docmill.tasks.evaluate.groups import groups_of
from docmill.tasks.evaluate.proxy.proxies import proxies
from docmill.tasks.evaluate.proxy.question_source import read_sources
from docmill.tasks.evaluate.questions import Question
from docmill.tasks.evaluate.standing import Answers
from docmill.tasks.model.journal import REPLIES
from docmill.tasks.split.strategies import options_of

FOLDER = "cache/tune"
_LEFT_OUT = ("staging", "current", ".current", "cache", "evaluations", "judgements", "candidates", "tags")
_EVERYTHING = RetentionSettings(keep_snapshots=1_000_000, keep_days=36_500.0)


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """What to try, and how much it may cost.

    `budget` is the maximum number of texts to embed. `characters` is how much of the ranking is read: longer chunks
    match more often, but fewer of them fit. A content type with fewer questions than `least` is left alone. `questions`
    is how many to generate if none are given, of the kinds `made_from`; by default, of words of people first.
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


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial: its content type ("" for all), what was tried, the mean, and the change against the settings in use.

    `change` is None for the settings in use themselves, `mean` is None if the budget ran out; `embedded` counts new
    texts.
    """

    content_type: str
    what: str
    questions: int
    mean: Interval | None = None
    change: Interval | None = None
    embedded: int = -1


@dataclass
class Tuning:
    """The trials, and the winning settings, which the trials' store holds at `snapshot`.

    `made` is true if the questions were generated.
    """

    settings: Settings
    made: bool = False
    questions: int = 0
    trials: list[Trial] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    embedded: int = 0
    routes: list[RouteRule] = field(default_factory=list)
    weight: float | None = None
    snapshot: int = 0


@dataclass
class _Bench:
    """The trials' store, and what the trials share."""

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
    """Try `options` on the documents of `sources`. Without questions, generate some from the documents.

    Raises `QueryError` if no question can be generated, or if embedding the documents with the settings in use exceeds
    the budget.
    """
    root = settings.store / FOLDER
    _copy(settings.store, root, settings.wait_s)
    tuning = Tuning(settings)
    bench = _Bench(root, sources or settings.sources, options, tuning, hear)
    store = bench.store(settings)
    if store is None:
        raise QueryError(f"the current settings alone need more new texts than --budget {options.budget}; raise it")
    tuning.made, asked = (
        not questions,
        list(questions) or proxies(read_sources(store), options.questions, options.made_from),
    )
    if not asked:
        raise QueryError("no question could be generated from the documents; give some with --questions")
    tuning.questions = len(asked)
    for kind, own in _by_type(store, asked).items():
        if not kind:
            tuning.skipped.append(f"no content type: {len(own)} questions have an answer that no document holds")
        elif len(own) < options.least:
            tuning.skipped.append(f"{kind}: {counted(len(own), 'questions')}, {options.least} are needed")
        else:
            _tune_type(bench, kind, own)
    _tune_weight(bench, asked)
    last = bench.store(tuning.settings)
    tuning.snapshot = last.snapshot.number if last else 0
    return tuning


def hand_over(tuning: Tuning) -> int:
    """Put the vectors of the winning settings where the user's next ingest finds them; return their number."""
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
            write_pack(folder / ".tmp-tuned", Packs(won.packs("embeddings")).take(missing), "embeddings")
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
    draft.rename(root)


def _by_type(store: Store, questions: Sequence[Question]) -> dict[str, list[Question]]:
    """Group questions by the content type of the first answer, the most frequent type first."""
    types = groups_of(Answers(store), questions, "type")
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(types[question.id], []).append(question)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def _tune_type(bench: _Bench, kind: str, questions: Sequence[Question]) -> None:
    """Try strategies for a content type, then sizes of the best, then contexts of the best, and adopt improvements."""
    tuning, options = bench.tuning, bench.options
    own = default_routes().by_type[kind].strategy
    rule = _rule_of(tuning.settings, kind, own)
    named = rule.strategy or own
    race = _Race(bench, kind, questions, named, tuning.settings)
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
    if race.won:
        tuning.settings = race.won
        tuning.routes.append(race.won.routes[-1])


def _rule_of(settings: Settings, kind: str, own: str) -> RouteRule:
    """Return the last rule for a content type, which is in force, else a rule for its default strategy."""
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
        """Try a route; skip one that the settings do not allow, such as a size below the configured overlap."""
        route = RouteRule(type=self.kind, strategy=strategy, options=options, contextualizer=context)
        changed = self.tuning.settings.model_copy(update={"routes": (*self.tuning.settings.routes, route)})
        try:
            routes_of(changed)
        except ConfigError as error:
            self.tuning.skipped.append(f"{self.kind}, {what}: {error}")
        else:
            self.tried[what] = self.race.run(what, changed), route

    def best(self) -> RouteRule:
        """Return the route with the best mean; the first one wins a tie."""
        return max(self.tried.values(), key=lambda pair: pair[0])[1]


def _tune_weight(bench: _Bench, questions: Sequence[Question]) -> None:
    """Try weights by given questions, or by those made ones whose place is hidden, such as texts of links.

    Other made questions stand in their answers word for word. Keywords find them so surely that a weight tuned by them
    lost 5 points to people's questions (`cacm`, tests/bench/LOG.md).
    """
    tuning = bench.tuning
    if tuning.made:
        questions = [one for one in questions if one.hidden]
    if tuning.made and len(questions) < bench.options.least:
        found = f"{counted(len(questions), 'questions')} taken from a place other than their answer"
        tuning.skipped.append(f"weight: {found}, {bench.options.least} are needed")
        return
    search = tuning.settings.search
    race = _Race(bench, "", questions, f"weight {search.weight:g}", tuning.settings)
    for weight in bench.options.weights:
        if weight != search.weight:
            changed = search.model_copy(update={"weight": weight})
            race.run(f"weight {weight:g}", tuning.settings.model_copy(update={"search": changed}))
    if race.won:
        tuning.settings, tuning.weight = race.won, race.won.search.weight


def _unasked(settings: Settings) -> Settings:
    """Return the settings with all calls to a language model in search switched off."""
    if settings.search.expand != "model":
        return settings
    return settings.model_copy(update={"search": settings.search.model_copy(update={"expand": ""})})


class _Race:
    """Trials that compete: each is compared to the settings in use, and the best significant improvement wins."""

    def __init__(self, bench: _Bench, kind: str, questions: Sequence[Question], named: str, settings: Settings) -> None:
        self._bench, self._kind, self._questions = bench, kind, questions
        self._first: dict[str, float] = {}
        self._best = 0.0
        self.won: Settings | None = None
        self.mean = self.run(f"{named} (in use)", settings)

    def run(self, what: str, settings: Settings) -> float:
        """Try settings and return their mean, or -1 if the budget ran out."""
        tuning, before = self._bench.tuning, self._bench.tuning.embedded
        store = self._bench.store(settings)
        if store is None:
            self._bench.add(Trial(self._kind, what, len(self._questions)))
            return -1.0
        values = self._bench.ask(store, self._questions, search_method_of(_unasked(settings)))
        mean = interval(values)
        change = difference(values, self._first) if self._first else None
        self._first = self._first or values
        if change and change.verdict == "better" and mean.mean > self._best:
            self.won, self._best = settings, mean.mean
        self._bench.add(Trial(self._kind, what, len(values), mean, change, tuning.embedded - before))
        return mean.mean
