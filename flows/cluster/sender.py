"""Sender: send the steps of a run to the workers of a cluster until there is a valid receipt."""

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Condition

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from docmill.flows.cluster.cluster import Needs, RemoteWorkers, WorkerLost
from docmill.flows.cluster.workers_table import told
from docmill.storage.errors import ConfigError, Terminal, Transient
from docmill.storage.files import hash_file, temporary
from docmill.storage.remote.objects.freight import Freight
from docmill.storage.search.encode.encoder import Window
from docmill.storage.search.encode.space import EmbeddingSpace
from docmill.tasks.work.pool.plain_json import Readers, decode, encode
from docmill.tasks.work.remote.parcels import ModelName, Parcel, Receipt, terms_of
from docmill.tasks.work.remote.worker_steps import CHECK, EMBED, READ, Texts, spelled


class ExclusiveSteps:
    """Runs steps of several threads concurrently or exclusively; waiting exclusive steps go first.

    A cluster blames the death of a worker on all steps given to it, including steps that only waited there. For a step
    that ran exclusively, the blame is right.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._beside = 0
        self._waiting = 0
        self._alone = False

    @contextmanager
    def turn(self, alone: bool) -> Iterator[None]:
        """Hold a turn during the block, exclusively or together with others."""
        with self._alone_turn() if alone else self._turn_beside():
            yield

    @contextmanager
    def _turn_beside(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting)
            self._beside += 1
        try:
            yield
        finally:
            with self._changed:
                self._beside -= 1
                self._changed.notify_all()

    @contextmanager
    def _alone_turn(self) -> Iterator[None]:
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._beside)
                self._alone = True
            finally:
                self._waiting -= 1
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()


TRIES = 2
"""How often workers may die over a parcel before it is halved; the first death may have another cause.

After the first death, and in halves, the parcel runs exclusively, because another one could be the cause, too."""
_SHOWN = 60  # characters of a text that kills workers, in the error
_ERRANDS = 3  # tries of a parcel whose worker lacks a connection or space, which another may have


@dataclass(frozen=True, slots=True)
class SentStep:
    """A step that is sent under a name: its needs, and whether it may ask for answers.

    A `suspect` is a part of a parcel over which workers have died; it runs exclusively. A step that is sent `once` is
    not tried again and does not wait for a worker to join: the driver can do it faster itself.
    """

    step: str
    name: str
    resource: str = ""
    asking: bool = False
    suspect: bool = False
    once: bool = False


@dataclass
class Sender:
    """Sends the steps of a run to the workers of a cluster.

    `receipts` are the valid ones, `sent` the sizes of files for workers, `parcels` the sizes of messages through the
    scheduler, both ways. `news` are lines that have not been logged yet, `lost` the names of workers that died, once
    for each death, and `refusing` the checks of the workers to avoid, by place. `store` is the address of a store on an
    object store, else "". After an interruption, the run is `stopped`.
    """

    cluster: RemoteWorkers
    freight: Freight
    run: str
    folder: Path
    space: EmbeddingSpace
    sizes_by: str
    passwords: tuple[str, ...]
    address_of: Callable[[str], str]
    embed_on: str = ""
    store: str = ""
    stopped: bool = False
    receipts: list[Receipt] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    parcels: list[int] = field(default_factory=list)
    news: deque[str] = field(default_factory=deque)
    lost: list[str] = field(default_factory=list)
    refusing: dict[str, Receipt] = field(default_factory=dict)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _steps: ExclusiveSteps = field(default_factory=ExclusiveSteps)
    _deaths: set[str] = field(default_factory=set)

    def check(self) -> None:
        """Check that all workers have the docmill version, model and plugins of this machine; avoid the others.

        Raises `ConfigError` if no worker is left, or none that embeds.
        """
        self._look()
        needs = Needs(self.embed_on, frozenset(self.refusing))
        if not any(needs.fits(place, own) for place, own in self.cluster.places().items()):
            raise ConfigError(f"no worker has the resource {self.embed_on} of cluster.embed_on")

    def checks(self) -> dict[str, Receipt]:
        """Return each worker's answer about the docmill version, model and plugins of this machine, by place."""
        found = self.cluster.call_each(CHECK, spelled(self._parcel("check", "", "")))
        return {place: _read(data) for place, data in found.items()}

    def _look(self) -> None:
        """Find the workers that refuse; raise `ConfigError` if all do."""
        found = self.checks()
        for place, done in found.items():
            if done.outcome == "refused":
                self.refusing[place] = done
            else:
                _check(done)
        if self.refusing.keys() >= found.keys():
            raise ConfigError(refusal(next(iter(self.refusing.values()))))

    def embed(self, texts: Sequence[str], windows: Sequence[Window] = ()) -> npt.NDArray[np.float32]:
        """Return the vectors of texts or windows, computed by one worker, or by several if workers die over them.

        Raises `Terminal` for a text or window over which workers die although it is the only one.
        """
        return self._embedded(Texts(tuple(texts), tuple(windows)), suspect=False)

    def _embedded(self, given: Texts, suspect: bool) -> npt.NDArray[np.float32]:
        try:
            return self._vectors(given, suspect)
        except WorkerLost as error:
            if len(given.texts or given.windows) == 1:
                raise Terminal(f"{error}, as {TRIES} did over one text alone, which begins {_begin(given)!r}") from None
            return np.concatenate([self._embedded(half, suspect=True) for half in _halves(given)])

    def _vectors(self, given: Texts, suspect: bool) -> npt.NDArray[np.float32]:
        with temporary(self.folder) as draft:
            self.ask(EMBED, given, draft, self.embed_on, suspect)
            column = pq.read_table(draft, columns=["vector"], partitioning=None).column("vector").combine_chunks()
            return np.asarray(column.flatten(), np.float32).reshape(len(column), -1)

    def read(self, addresses: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return the hash of each object that a worker has read, and its possible content, by address."""
        with temporary(self.folder) as draft:
            self.ask(READ, tuple(addresses), draft)
            prints = decode(draft.read_bytes(), Readers().of(list[tuple[str, str] | None]))
        return {address: one for address, one in zip(addresses, prints, strict=True) if one}

    def ask(self, step: str, value: object, draft: Path, resource: str = "", suspect: bool = False) -> Receipt:
        """Send a value with a step and fetch its result into `draft`."""
        draft.write_bytes(encode(value))
        sent = SentStep(step, self.name_of(step), resource, suspect=suspect)
        done = self.carried(sent, draft)
        self.fetch(done, draft)
        return done

    def name_of(self, step: str) -> str:
        """Return a name for a step that is unique in the run."""
        return f"{step}-{next(self._numbers):06d}"

    @contextmanager
    def going(self) -> Iterator[None]:
        """Note whether the run is stopped during the block."""
        try:
            yield
        except BaseException:
            self.stopped = True
            raise

    def carried(self, sent: SentStep, path: Path) -> Receipt:
        """Send a file and return the receipt of the step, whose outcome is "done" or "asks"; raise other outcomes."""
        key = self.freight.send(self.run, sent.name, path)
        self.sent.append(path.stat().st_size)
        parcel = spelled(replace(self._parcel(sent.name, key, hash_file(path)), asking=sent.asking))
        done = self._persistent(partial(self.cluster.call, sent.step, parcel), sent)
        self.parcels.append(len(parcel) + len(encode(done)))
        self.freight.drop([key])
        self.receipts.append(done)
        self.news.append(told(sent.name, done))
        return done

    def _persistent(self, call: Callable[[Needs], bytes], sent: SentStep) -> Receipt:
        """Call until there is a valid receipt; raise `WorkerLost` if workers die over it, or another error."""
        lost = errands = 0
        while True:
            try:
                with self._steps.turn(alone=sent.suspect or lost > 0):
                    done = _read(call(Needs(sent.resource, frozenset(self.refusing), waits=not sent.once)))
                if done.outcome != "refused":
                    _check(done)
                    return done
                self._leave_out(done)
            except WorkerLost as error:
                self._note(error)
                lost += 1
                if sent.once or lost >= TRIES:
                    raise
            except Transient:
                errands += 1
                if sent.once or errands >= _ERRANDS:
                    raise

    def _note(self, death: WorkerLost) -> None:
        """Count a death once, although it is reported to each step of the worker."""
        if death.place not in self._deaths:
            self._deaths |= {death.place} - {""}
            self.lost.append(death.worker)
            self.news.append(str(death))

    def _leave_out(self, done: Receipt) -> None:
        """Find the workers that refuse, such as one that joined after the start of the run."""
        self.news.append(f"{refusal(done)}; it gets no more work of this run")
        self._look()

    def fetch(self, done: Receipt, path: Path) -> None:
        """Fetch the result of a step."""
        self.freight.fetch(done.key, path, done.content_hash)

    def _parcel(self, name: str, key: str, content_hash: str) -> Parcel:
        space = self.space
        model = ModelName(space.model, space.revision, space.light, space.late, space.dtype)
        return Parcel(
            self.freight.url,
            self.freight.store,
            self.run,
            name,
            key,
            content_hash,
            model,
            terms_of(model),
            self.sizes_by,
            passwords=self.passwords,
        )


def _halves(given: Texts) -> tuple[Texts, Texts]:
    middle = len(given.texts or given.windows) // 2
    return (
        Texts(given.texts[:middle], given.windows[:middle]),
        Texts(given.texts[middle:], given.windows[middle:]),
    )


def _begin(given: Texts) -> str:
    return (given.texts[0] if given.texts else given.windows[0].text)[:_SHOWN]


def _read(data: bytes) -> Receipt:
    receipt: Receipt = decode(data, Readers().of(Receipt))
    return receipt


def refusal(done: Receipt) -> str:
    """Return in words why a worker is avoided."""
    return f"worker {done.worker} would make other rows: {done.message}"


def _check(done: Receipt) -> None:
    """Raise an error for a receipt without a result."""
    if done.outcome == "refused":
        raise ConfigError(refusal(done))
    if done.outcome == "transient":
        raise Transient(f"worker {done.worker}: {done.message}")
    if done.outcome not in ("done", "asks"):
        raise Terminal(f"worker {done.worker}: {done.message}")
