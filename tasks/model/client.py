"""Client: a run's access to its language model; answers are stored, so that no prompt is paid for twice.

One client serves contexts, cuts, summaries, expanded queries, facts and judgements:

    with ModelClient(ModelAccess(model, open_folder("store"))) as client:
        answers = client.ask([Prompt(("Say it in other words.", question), purpose="expand", max_tokens=60)])

Prompts are sent in an order that lets a provider cache their common prefix.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from typing import Self

from docmill.storage.errors import ConfigError, DocmillError
from docmill.storage.keys import key_of
from docmill.storage.process.computed_once import computed_once
from docmill.storage.schema import CostRow
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.tasks.model.budget import Budget, BudgetTracker, Forecast, Purse, purse_of
from docmill.tasks.model.completion import Model, ModelOptions, Reply, SentPicture, Usage, sent
from docmill.tasks.model.journal import REPLIES, SHARED, Journal, PaidCall, costs_of, recover
from docmill.tasks.model.prompt import Answer, Pictures, Prompt, no_pictures
from docmill.tasks.model.providers import load_model


class CallSchedule:
    """Hands prompts to several threads, in order.

    Of the prompts with the same prefix (all parts but the last), the first goes alone; the others follow once it is
    answered, before any later prompts.
    """

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, prompt in enumerate(prompts):
            groups.setdefault(prompt.parts[:-1] or prompt.parts, []).append(number)
        self._prompts = prompts
        self._behind = {numbers[0]: numbers[1:] for numbers in groups.values()}
        self._ready = [(numbers[0], 0, numbers[0]) for numbers in groups.values()]
        heapify(self._ready)
        self._left = len(prompts)
        self._changed = threading.Condition()

    def take(self) -> tuple[int, Prompt] | None:
        """Return the next prompt and its index; wait while none may start, and return None when none is left."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._left == 0)
            if not self._ready:
                return None
            self._left -= 1
            number = heappop(self._ready)[2]
            self._changed.notify_all()
            return number, self._prompts[number]

    def done(self, number: int) -> None:
        """Release the prompts that waited for this one."""
        with self._changed:
            for place, other in enumerate(self._behind.pop(number, ()), start=1):
                heappush(self._ready, (number, place, other))
            self._changed.notify_all()

    def stop(self) -> None:
        """Hand out no more prompts."""
        with self._changed:
            self._ready, self._behind, self._left = [], {}, 0
            self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """How to call a model: which one, the store for its answers (none without `folder`), and the budget.

    `run` names the run in the ledger of costs. Without `calls`, calls are only counted. `refresh` asks again for
    answers that are stale or unusable.
    """

    model: ModelOptions
    folder: StoreFolder | None = None
    run: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{os.getpid()}")
    calls: bool = True
    refresh: bool = False
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True)
class Spent:
    """The calls made or planned, by purpose, and the number of prompts that the budget left unasked."""

    costs: tuple[CostRow, ...] = ()
    left: int = 0


def model_key(model: ModelOptions) -> str:
    """Return the key of everything that determines a reply besides the prompt."""
    return key_of("model", model.provider, model.model)


class ModelClient:
    """A model, its stored answers, and a budget; used from any number of threads."""

    def __init__(self, asking: ModelAccess, purse: Purse | None = None) -> None:
        self._asking = asking
        self._lock = threading.Lock()
        # Each call of `ask` has its own threads; the provider's limit applies to all of them together.
        self._slots = threading.BoundedSemaphore(asking.model.max_concurrency)
        self._purse = BudgetTracker(asking.budget, purse)
        self._fresh: dict[str, Answer] = {}
        self._entries: list[PaidCall] = []
        self._counted: set[str] = set()
        self._left: set[str] = set()
        self._running: list[CallSchedule] = []
        self._closed = False
        self._forecast = Forecast(asking.model.provider)
        self._idle = threading.Condition()
        if asking.folder:
            recover(asking.folder.root)
        name = f"{asking.model.provider}/{asking.model.model}"
        self._journal = Journal(asking.folder.root, asking.run, name) if asking.folder else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, prompts: Sequence[Prompt], pictures: Pictures = no_pictures) -> dict[Prompt, Answer]:
        """Return the answers by prompt, without those whose call failed or exceeded the budget.

        `pictures` finds the pictures of prompts. Raise `ConfigError` if the client is not installed, or if its key is
        missing or was refused.
        """
        keys = {prompt: self._key(prompt) for prompt in prompts}
        kept = self._kept(list(keys.values()))
        due = self._due(keys, kept)
        if not self._asking.calls:
            self._count(due)
        elif due:
            self._call_all(list(due.values()), pictures)
        kept |= {key: self._fresh[key] for key in keys.values() if key in self._fresh}
        return {prompt: kept[key] for prompt, key in keys.items() if key in kept}

    @property
    def spent(self) -> Spent:
        """Return what was spent so far."""
        name = f"{self._asking.model.provider}/{self._asking.model.model}"
        return Spent(tuple(costs_of(self._asking.run, name, self._entries)), len(self._left))

    def close(self) -> Spent:
        """Stop new calls, wait for those in progress, save their answers, and return what was spent."""
        with self._idle:
            self._closed = True
            for turns in self._running:
                turns.stop()
            self._idle.wait_for(lambda: not self._running)
        if self._journal is not None:
            self._journal.close()
        if self._entries and self._asking.folder:
            self._asking.folder.level(SHARED, REPLIES)
        return self.spent

    @computed_once
    def _model(self) -> Model:
        return load_model(self._asking.model)

    @computed_once
    def _packs(self) -> Packs:
        """Return the packs of earlier runs, the newest last."""
        folder = self._asking.folder
        if folder is None:
            return Packs([])
        # Other machines may have paid for answers that this one is about to ask for.
        folder.level(SHARED, REPLIES)
        return Packs(sorted((folder.root / REPLIES).glob("[!.]*.parquet")))

    def _key(self, prompt: Prompt) -> str:
        return key_of("reply", model_key(self._asking.model), list(prompt.identity))

    def _kept(self, keys: Sequence[str]) -> dict[str, Answer]:
        """Return the stored answers of earlier runs."""
        with self._lock:
            missing = self._packs.missing(keys)
            held = [key for key in dict.fromkeys(keys) if key not in missing]
            rows = self._packs.take(held).to_pylist() if held else []
        return {row["key"]: Answer(row["text"], row["basis"]) for row in rows}

    def _due(self, keys: Mapping[Prompt, str], kept: Mapping[str, Answer]) -> dict[str, Prompt]:
        """Return the prompts, by key, that lack a good answer and that this client has neither asked nor counted."""
        new = {key: prompt for prompt, key in keys.items() if key not in self._fresh and key not in self._counted}
        return {key: prompt for key, prompt in new.items() if self._is_due(prompt, kept.get(key))}

    def _is_due(self, prompt: Prompt, answer: Answer | None) -> bool:
        stale = answer is not None and (prompt.basis != answer.basis or not answer.text)
        return answer is None or (self._asking.refresh and stale)

    def _count(self, due: Mapping[str, Prompt]) -> None:
        """Count the maximum cost of prompts."""
        for key, prompt in due.items():
            with self._lock:
                self._counted.add(key)
                if self._purse.admit(prompt):
                    planned = self._entry(prompt, self._forecast.usage(prompt))
                    self._entries.append(replace(planned, key=key))  # without a key it would count as failed
                else:
                    self._left.add(key)

    def _call_all(self, prompts: Sequence[Prompt], pictures: Pictures) -> None:
        turns, threads = CallSchedule(prompts), min(self._asking.model.max_concurrency, len(prompts))
        with self._lock:
            # Under the lock, because two threads at once would load two clients, each with a connection pool.
            model = self._model
        with self._idle:
            self._running.append(turns)
            # `close` has stopped the schedules that it knew; this one was not among them.
            if self._closed:
                turns.stop()
        try:
            with ThreadPoolExecutor(threads, "docmill-model") as pool:
                for future in [pool.submit(self._work, model, turns, pictures) for _ in range(threads)]:
                    future.result()
        finally:
            with self._idle:
                self._running.remove(turns)
                self._idle.notify_all()

    def _work(self, model: Model, turns: CallSchedule, pictures: Pictures) -> None:
        while (turn := turns.take()) is not None:
            number, prompt = turn
            try:
                self._call(model, prompt, pictures)
            # A refused key or an interrupt stops everything: further calls would fail in the same way, or cost money.
            except BaseException:
                turns.stop()
                raise
            finally:
                turns.done(number)

    def _call(self, model: Model, prompt: Prompt, pictures: Pictures) -> None:
        # Before taking a slot, so that what the budget refuses need not wait behind calls that it pays for.
        if not self._purse.admit(prompt):
            with self._lock:
                self._left.add(self._key(prompt))
            return
        with self._slots:
            reply = _reply(model, prompt, pictures)
        usage = reply.usage if isinstance(reply, Reply) else Usage()
        # The budget had reserved the most that the prompt may cost; the unused part is free again.
        self._purse.settle(prompt, usage)
        entry = self._entry(prompt, usage)
        if isinstance(reply, Reply):
            # An unusable answer is also kept, as an empty one: it was paid for, and only `refresh` asks again.
            text = reply.text if reply.whole or (reply.cut and prompt.partly) else ""
            reason = "" if text.strip() else _refusal(reply)
            entry = replace(entry, key=self._key(prompt), text=text, basis=prompt.basis, reason=reason)
        else:
            entry = replace(entry, reason=reply)
        self._keep(entry)

    def _keep(self, entry: PaidCall) -> None:
        """Save an answer or a failure."""
        if self._journal is not None:
            self._journal.add(entry)
        with self._lock:
            self._entries.append(entry)
            if entry.key:
                self._fresh[entry.key] = Answer(entry.text, entry.basis)

    def _entry(self, prompt: Prompt, usage: Usage) -> PaidCall:
        return PaidCall(prompt.purpose, money=self._asking.budget.money(usage), **asdict(usage))


def _refusal(reply: Reply) -> str:
    """Return why a reply cannot be used."""
    if reply.cut:
        return "the answer was cut at the token limit"
    refused = f"the model refused to answer: {reply.ending or 'no reason given'}"
    return "the answer was empty" if reply.whole else refused


def _reply(model: Model, prompt: Prompt, pictures: Pictures) -> Reply | str:
    """Return the reply of a model, or why there is none."""
    try:
        return model.complete(prompt.parts, prompt.max_tokens, _shown(prompt, pictures))
    except ConfigError:
        raise
    except DocmillError as error:
        return str(error)


def _shown(prompt: Prompt, pictures: Pictures) -> SentPicture | None:
    if not prompt.picture:
        return None
    return sent(pictures(prompt.picture))


_shared: dict[str, ModelClient] = {}
_sharing = threading.Lock()


def shared_client(asking: ModelAccess) -> ModelClient:
    """Return the model client of a run, which all its batches in this process share."""
    with _sharing:
        if asking.run not in _shared:
            _shared[asking.run] = ModelClient(asking, purse_of(asking.run, asking.budget.max_cost))
        return _shared[asking.run]


def close_shared(run: str) -> Spent:
    """Close the model client of a run, if a batch has opened it, and return what was spent."""
    with _sharing:
        client = _shared.pop(run, None)
    return client.close() if client else Spent()
