"""Cluster engine: an engine that sends batches and texts to the workers of a cluster, and a table of the workers.

A driver takes over finished work of workers if another driver died before it fetched the results.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZipFile

from docmill.flows.cluster.cluster import RemoteWorkers
from docmill.flows.cluster.remote_batches import process_remote, remote_encoding
from docmill.flows.cluster.remote_rewriting import remote_rewriting
from docmill.flows.cluster.sender import Sender, refusal
from docmill.flows.cluster.workers_table import by_worker, rows, summed
from docmill.flows.config.from_settings import space_of
from docmill.flows.config.settings import ClusterSettings, Settings
from docmill.flows.runs.engine import Engine, Node, RunSite
from docmill.flows.runs.phases import Phase, counted
from docmill.storage.address import absolute, is_address, url_of
from docmill.storage.errors import ConfigError
from docmill.storage.files import TEMPORARY, put_if_absent, remove
from docmill.storage.keys import key_of
from docmill.storage.remote.objects.freight import Freight
from docmill.storage.snapshots.artifacts import staging
from docmill.storage.snapshots.history.folder import StoreFolder
from docmill.tasks.publishing.embed_pending import embed_pending
from docmill.tasks.publishing.publish import Published, publish_run
from docmill.tasks.work.batch.batch import BatchDone, Order, process_batch
from docmill.tasks.work.batch.embed import Embedding, embed_batches
from docmill.tasks.work.batch.step_orders import load_order, passwords_of
from docmill.tasks.work.batch.unpack import unpack
from docmill.tasks.work.pool.plain_json import Readers, Unreadable, decode
from docmill.tasks.work.pool.pool import shared_pool
from docmill.tasks.work.remote.parcels import Receipt
from docmill.tasks.work.remote.worker_steps import BATCH, EMBED, TABLES

T = TypeVar("T")
MOST_SLOTS = 256
"""Batches in process at a time, each with a thread that waits for it."""
_AHEAD = 2
"""Batches for each thread of a worker: one in process and one waiting."""
_LEAST_SLOTS = 2
_READ_AT_ONCE = 128
"""Objects that a worker reads in one step, which takes seconds. A worker that dies costs no more than that."""


class ClusterEngine(Engine):
    """Runs batches, embedding and the rewriting of tables on a cluster, and everything else with `inner`.

    `inner` also records the steps.
    """

    reads_objects = True

    def __init__(self, inner: Engine, cluster: RemoteWorkers, chosen: ClusterSettings, name: str = "dask") -> None:
        self.name = name
        self._inner = inner
        self._cluster = cluster
        self._chosen = chosen
        self._sender: Sender | None = None

    @property
    def slots(self) -> int:
        return max(_LEAST_SLOTS, min(MOST_SLOTS, _AHEAD * self._cluster.slots))

    @property
    def embedders(self) -> int:
        return max(1, self._cluster.slots)

    @contextmanager
    def attend(self, site: RunSite) -> Iterator[None]:
        """Check the workers, take over results that other drivers left in the freight, and empty it after the run."""
        freight = Freight(_freight_of(self._chosen, site.store), _store_key(site.store))
        own = Sender(
            self._cluster,
            freight,
            site.folder.name,
            site.folder,
            site.space,
            site.sizes_by,
            site.passwords,
            site.address_of,
            self._chosen.embed_on,
            site.store.name if is_address(site.store.name) else "",
        )
        own.check()
        for one in own.refusing.values():
            self.tell(f"{refusal(one)}; it gets no work of this run")
        if count := take_over(freight, site.store.root):
            self.tell(f"took over {count} results that workers had finished")
        self._sender = own
        with own.going(), self._inner.attend(site):
            yield
        freight.sweep()
        self._log_news()
        sums = by_worker(own.receipts, own.lost)
        for line in summed(sums):
            self.log(line)
        fetched = sum(one.bytes for one in own.receipts)
        self.log(
            f"freight: {sum(own.sent):,} bytes sent, {fetched:,} fetched;"
            f" {sum(own.parcels):,} bytes of {counted(len(own.parcels), 'parcels')} and receipts through the scheduler"
        )
        self._inner.table("workers", rows(sums), "What each worker of the cluster did")

    def fingerprints(self, addresses: Sequence[str]) -> dict[str, tuple[str, str]]:
        sender = self._sender
        assert sender is not None
        parts = [addresses[first : first + _READ_AT_ONCE] for first in range(0, len(addresses), _READ_AT_ONCE)]
        with ThreadPoolExecutor(self.slots, "docmill-read") as threads:
            found = list(threads.map(sender.read, parts))
        self._log_news()
        return {address: one for some in found for address, one in some.items()}

    def submit(self, step: Callable[..., T], *args: Any, node: Node | None = None) -> Future[T]:
        return self._inner.submit(self._placed(step), *args, node=node)

    def record(self, node: Node, began: float, seconds: float, message: str) -> None:
        self._inner.record(node, began, seconds, message)

    def progress(self, phase: Phase) -> None:
        self._inner.progress(phase)
        self._log_news()

    def log(self, message: str) -> None:
        self._inner.log(message)

    def table(self, name: str, rows: Sequence[dict[str, Any]], description: str) -> None:
        self._inner.table(name, rows, description)

    def tell(self, message: str) -> None:
        self._inner.tell(message)

    def _log_news(self) -> None:
        """Log what workers have returned since the last time, because threads that wait for workers have no log."""
        news = self._sender.news if self._sender else None
        while news:
            self.log(news.popleft())

    def _placed(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Return a step that runs on the cluster, or the step itself if it is not for workers."""
        sender = self._sender
        assert sender is not None

        def process(order: Path) -> BatchDone:
            return _process(sender, order)

        def embed(order: Path) -> Embedding:
            done: Embedding = step(order, remote_encoding(sender, self.embedders))
            return done

        def publish(order: Path) -> Published:
            done: Published = step(order, remote_rewriting(sender, self.slots))
            return done

        if step in (process_batch, publish_run):
            return _named(process if step is process_batch else publish, step)
        return _named(embed, step) if step in (embed_batches, embed_pending) else step


def _named(own: Callable[..., T], step: Callable[..., Any]) -> Callable[..., T]:
    """Return a step with the name of the one that it replaces; `wraps` would hide its parameters from Prefect."""
    own.__name__, own.__doc__ = step.__name__, step.__doc__
    return own


def _process(sender: Sender, order: Path) -> BatchDone:
    task = load_order(order, Order)
    # Archives are unpacked here, because each worker would need them as a whole.
    unpack(task.unpacks, shared_pool(task.recipe.limits), passwords_of(order.parent))
    done = process_remote(sender, task)
    for work in task.works:
        if work.place:
            Path(work.path).unlink(missing_ok=True)
    return done


def _store_key(folder: StoreFolder) -> str:
    """Return the name of a store in the freight: by its address, or a random one that is saved in its folder."""
    if is_address(folder.name):
        return key_of(folder.name)
    path = folder.root / "cache" / "freight"
    path.parent.mkdir(parents=True, exist_ok=True)
    put_if_absent(path, secrets.token_hex(16).encode())
    return path.read_text("ascii")


def _freight_of(chosen: ClusterSettings, store: StoreFolder) -> str:
    """Return the address of the freight; raise `ConfigError` if it is missing or inside the store."""
    if not chosen.freight:
        raise ConfigError("cluster.freight is not set; name s3://BUCKET/PREFIX or a folder that all machines share")
    freight, own = absolute(url_of(chosen.freight) or chosen.freight), absolute(store.name)
    if f"{freight}/".startswith(f"{own}/"):
        raise ConfigError(f"cluster.freight {freight} must be outside the store {own}")
    return freight


@contextmanager
def on_cluster(engine: Engine, settings: Settings, dry_run: bool = False) -> Iterator[Engine]:
    """Yield the engine of a run: one on the cluster of the settings, or the given one, as in a dry run."""
    if settings.engine != "dask" or dry_run:
        yield engine
        return
    with joined(settings) as cluster:
        yield ClusterEngine(engine, cluster, settings.cluster, settings.engine)


@contextmanager
def joined(settings: Settings) -> Iterator[RemoteWorkers]:
    """Join the cluster of the settings during the block."""
    from docmill.flows.cluster.dask_cluster import DaskCluster

    cluster: RemoteWorkers = DaskCluster(settings.cluster)
    try:
        yield cluster
    finally:
        cluster.close()


def take_over(freight: Freight, root: Path) -> int:
    """Move the finished results of earlier runs into staging, delete their freight, and return their number.

    The caller holds the writer's lock of the store, so no other run of it is active.
    """
    count = 0
    for run in freight.runs():
        for name, data in freight.receipts(run).items():
            if name.startswith((BATCH, EMBED)):
                count += _bring(freight, root / staging.FOLDER / run, name, data)
    freight.sweep()
    if count:
        staging.take_over(root)  # results of another docmill version may have other columns
    return count


def _bring(freight: Freight, folder: Path, name: str, data: bytes) -> bool:
    """Fetch a result unless it was fetched before; return whether it was fetched now."""
    try:
        receipt: Receipt = decode(data, Readers().of(Receipt))
    except Unreadable:
        return False  # from another docmill version; producing the result again is safer
    is_batch = name.startswith(BATCH)
    target = folder / (name if is_batch else f"embeddings-{name}.parquet")
    if target.exists():
        return False
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f"{TEMPORARY}left-{name}"
    freight.fetch(receipt.key, draft, receipt.content_hash)
    if is_batch:
        with ZipFile(draft) as made:
            _extract(made, folder / f"{TEMPORARY}{name}", target)
        remove(draft)
    else:
        draft.replace(target)
    return True


def _extract(made: ZipFile, draft: Path, target: Path) -> None:
    """Write the tables of a batch, all or none."""
    remove(draft)
    draft.mkdir()
    for table in TABLES:
        made.extract(table, draft)
    draft.replace(target)


_NO_RUN = "status"


def cluster_status(settings: Settings) -> list[dict[str, str]]:
    """Return a row for each worker, by name; raise `Transient` if there is no worker or no scheduler."""
    chosen, space = settings.cluster, space_of(settings)
    with joined(settings) as cluster:
        freight = Freight(chosen.freight, _NO_RUN)  # never opened
        tokenizer = settings.chunk.tokenizer
        sender = Sender(cluster, freight, _NO_RUN, Path(), space, tokenizer, (), lambda _: "")
        resources = cluster.places()
        rows = [_row(place, done, resources.get(place, {})) for place, done in sender.checks().items()]
    return sorted(rows, key=lambda row: row["worker"])


def _row(place: str, done: Receipt, resources: dict[str, float]) -> dict[str, str]:
    return {
        "worker": done.worker,
        "address": place,
        "resources": ", ".join(f"{name}={count:g}" for name, count in resources.items()),
        "state": "ready" if done.outcome == "done" else done.outcome,
        "about": done.message,
    }
