"""Cluster engine: an engine whose batches and texts go to the workers of a cluster."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from docmill.flows.cluster.cluster import RemoteWorkers
from docmill.flows.cluster.left_freight import take_over
from docmill.flows.cluster.sender import Asked, Sender
from docmill.flows.cluster.workers_table import summed
from docmill.flows.config.settings import ClusterSettings, Settings
from docmill.flows.runs.engine import Engine, Node, RunSite
from docmill.flows.runs.phases import Phase
from docmill.storage.address import absolute, is_address, url_of
from docmill.storage.embedding.encoder import EmbeddingSpace, Window
from docmill.storage.errors import ConfigError
from docmill.storage.files import put_if_absent
from docmill.storage.history.folder import StoreFolder
from docmill.storage.keys import key_of
from docmill.storage.objects.freight import Freight
from docmill.tasks.batch.batch import BatchDone, Order, process_batch
from docmill.tasks.batch.embed import Embedding, Encoding, embed_batches
from docmill.tasks.batch.orders import load_order, passwords_of
from docmill.tasks.batch.unpack import unpack
from docmill.tasks.publishing.fill import embed_pending
from docmill.tasks.workers.pool import shared_pool

T = TypeVar("T")
MOST_SLOTS = 256
"""Batches in process at a time, each with a thread that waits for it."""
_AHEAD = 2
"""Batches for each thread of a worker: one at work, and one that waits there."""
_LEAST_SLOTS = 2


class ClusterEngine:
    """Runs batches and embedding on a cluster, and all else where `inner` does, which also records the steps."""

    name = "dask"

    def __init__(self, inner: Engine, cluster: RemoteWorkers, chosen: ClusterSettings) -> None:
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
        """Check the workers, take over what others have left in the freight, and leave none after the run."""
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
        )
        own.check()
        if count := take_over(freight, site.store.root):
            self.tell(f"took over {count} results that workers had finished")
        self._sender = own
        with self._inner.attend(site):
            yield
        freight.sweep()
        for line in summed(own.receipts):
            self.log(line)

    def submit(self, step: Callable[..., T], *args: Any, node: Node | None = None) -> Future[T]:
        return self._inner.submit(self._placed(step), *args, node=node)

    def record(self, node: Node, began: float, seconds: float, message: str) -> None:
        self._inner.record(node, began, seconds, message)

    def progress(self, phase: Phase) -> None:
        self._inner.progress(phase)

    def log(self, message: str) -> None:
        self._inner.log(message)

    def tell(self, message: str) -> None:
        self._inner.tell(message)

    def _placed(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Return a step that does its work on the cluster, or the step itself if that is not for workers."""
        sender = self._sender
        assert sender is not None

        @wraps(step)
        def process(order: Path) -> BatchDone:
            return _process(sender, order)

        @wraps(step)
        def embed(order: Path) -> Embedding:
            done: Embedding = step(order, Encoding(lambda *_: FarEncoder(sender), self.embedders))
            return done

        if step is process_batch:
            return process
        return embed if step in (embed_batches, embed_pending) else step


@dataclass(frozen=True, slots=True)
class FarEncoder:
    """A `DocumentEncoder` whose model is on the workers; each call goes to one of them."""

    sender: Sender

    @property
    def space(self) -> EmbeddingSpace:
        return self.sender.space

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return float32 (n, dim), rows of unit L2 norm, in the order of `texts`."""
        return self.sender.embed(texts)

    def encode_late(self, windows: Sequence[Window]) -> npt.NDArray[np.float32]:
        """Return float32 (all spans, dim), rows of unit L2 norm."""
        return self.sender.embed((), windows)


def _process(sender: Sender, order: Path) -> BatchDone:
    task = load_order(order, Order)
    # Archives are unpacked here: each worker would need the whole of them.
    unpack(task.unpacks, shared_pool(task.recipe.limits), passwords_of(order.parent))
    try:
        done = sender.process(task)
    except Asked:
        return process_batch(order)  # one desk for all questions: one budget, one journal
    for work in task.works:
        if work.place:
            Path(work.path).unlink(missing_ok=True)
    return done


def _store_key(folder: StoreFolder) -> str:
    """Return the name of a store in the freight: that of its address, or a random one that its folder keeps."""
    if is_address(folder.name):
        return key_of(folder.name)
    path = folder.root / "cache" / "freight"
    path.parent.mkdir(parents=True, exist_ok=True)
    put_if_absent(path, secrets.token_hex(16).encode())
    return path.read_text("ascii")


def _freight_of(chosen: ClusterSettings, store: StoreFolder) -> str:
    """Return the address of the freight; raise `ConfigError` for one that is missing, or inside of the store."""
    if not chosen.freight:
        raise ConfigError("cluster.freight is not set; name s3://BUCKET/PREFIX or a folder that all machines share")
    freight, own = absolute(url_of(chosen.freight) or chosen.freight), absolute(store.name)
    if f"{freight}/".startswith(f"{own}/"):
        raise ConfigError(f"cluster.freight {freight} is inside of the store {own}, which lists what is below it")
    return freight


@contextmanager
def on_cluster(engine: Engine, settings: Settings, dry_run: bool = False) -> Iterator[Engine]:
    """Yield the engine of a run: one on the cluster of the settings, or the given one, as for a dry run."""
    if settings.engine != "dask" or dry_run:
        yield engine
        return
    from docmill.flows.cluster.dask_cluster import DaskCluster

    cluster = DaskCluster(settings.cluster)
    try:
        yield ClusterEngine(engine, cluster, settings.cluster)
    finally:
        cluster.close()
