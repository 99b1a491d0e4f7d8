"""Cluster status: the workers of a cluster, and whether they would make the rows that this machine would."""

from pathlib import Path

from docmill.flows.cluster.cluster_engine import joined
from docmill.flows.cluster.sender import Sender
from docmill.flows.config.from_settings import space_of
from docmill.flows.config.settings import Settings
from docmill.storage.remote.objects.freight import Freight
from docmill.tasks.work.remote.parcels import Receipt

_NO_RUN = "status"


def cluster_status(settings: Settings) -> list[dict[str, str]]:
    """Return a row about each worker, by name; raise `Transient` if there is none, or no scheduler."""
    chosen, space = settings.cluster, space_of(settings)
    with joined(settings) as cluster:
        freight = Freight(chosen.freight, _NO_RUN)  # which nobody opens
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
