"""Remote rewriting: let workers rewrite the buckets that a commit changes. The driver does the rest."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from docmill.flows.cluster.cluster import WorkerLost
from docmill.flows.cluster.sender import Sender, SentStep
from docmill.flows.runs.phases import counted
from docmill.storage.errors import Transient
from docmill.storage.files import temporary
from docmill.storage.plugins.origin import described
from docmill.storage.snapshots.tables.rewrite_buckets import Exchanged, Rewriting, TableChange, joined, rewrite_here
from docmill.tasks.work.remote.parcels import Receipt
from docmill.tasks.work.remote.rewriting import pack_change, take_made
from docmill.tasks.work.remote.worker_steps import REWRITE

LEAST_BUCKETS = 64
"""Minimal number of buckets for rewriting on workers. From 8 on, this saves half of the driver's CPU time. But the
driver writes 64 buckets of 300 chunks in the 0.3 s that a worker takes to receive, rewrite and return 16 of them."""
BUCKETS_EACH = 16
"""Buckets in a parcel, about 3 MB each way. A call of a worker takes the driver 2.4 ms, so smaller parcels cost more;
with larger ones, some of many workers would get none."""
MOST_FAILURES = 3
"""Failures after which a change is no longer sent to workers. A worker that dies over several parcels is one failure.
After so many, further ones are likely, and buckets too large for workers would kill more of them."""


def remote_rewriting(sender: Sender, lanes: int) -> Rewriting:
    """Return a `Rewriting` that sends buckets to `lanes` workers at a time."""

    def rewriting(root: Path, change: TableChange) -> Exchanged:
        if len(change.buckets) < LEAST_BUCKETS:
            return rewrite_here(root, change)
        parts, failures = _parts(change), set[str]()
        with ThreadPoolExecutor(lanes, "docmill-rewrite") as threads:
            far = list(threads.map(partial(_rewritten, sender, root, failures), parts))
        if left := sum(len(part.buckets) for one, part in zip(far, parts, strict=True) if one is None):
            sender.news.append(f"the driver rewrites {counted(left, 'buckets')} of {change.name} itself")
        # One after the other, so that there are no more rows in memory than without workers.
        made = [one or _rewritten_here(sender, root, part) for one, part in zip(far, parts, strict=True)]
        return joined(change.name, change.columns, made)

    return rewriting


def _parts(change: TableChange) -> list[TableChange]:
    starts = range(0, len(change.buckets), BUCKETS_EACH)
    return [replace(change, buckets=change.buckets[first : first + BUCKETS_EACH]) for first in starts]


def _rewritten_here(sender: Sender, root: Path, part: TableChange) -> Exchanged:
    if sender.stopped:
        raise Transient("the run was stopped before its commit; run again")
    return rewrite_here(root, part)


def _rewritten(sender: Sender, root: Path, failures: set[str], part: TableChange) -> Exchanged | None:
    """Return buckets rewritten by a worker, or None if none did this or the result is not as requested.

    A failure is added to `failures`.
    """
    if sender.stopped or len(failures) >= MOST_FAILURES:
        return None
    name = sender.name_of(REWRITE)
    try:
        with temporary(sender.folder) as draft:
            done = _carried(sender, root, part, name, draft)
            sender.fetch(done, draft)
            made = take_made(root, part, draft)
        sender.freight.drop([done.key])
        return made
    # A commit does not fail because of a worker: the buckets can be rewritten here.
    except Exception as error:
        failures.add(error.place if isinstance(error, WorkerLost) and error.place else name)
        sender.news.append(f"{name}: failed: {described(error)}")
        return None


def _carried(sender: Sender, root: Path, part: TableChange, name: str, draft: Path) -> Receipt:
    """Return the receipt of a rewrite. Files are sent to a worker that cannot read the store."""
    pack_change(root, part, sender.store, draft)
    done = sender.carried(SentStep(REWRITE, name, once=True), draft)
    if done.outcome != "asks":
        return done
    sender.freight.drop([done.key])
    pack_change(root, part, "", draft)
    return sender.carried(SentStep(REWRITE, sender.name_of(REWRITE), once=True), draft)
