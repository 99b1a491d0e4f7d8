"""Remote rewriting: let workers rewrite the buckets that a commit changes; what they do not do, the driver does."""

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
"""Buckets from which on workers rewrite them. They save the driver half of its CPU time from 8 on, but it writes 64
buckets of 300 chunks in the 0.3 s that a worker takes to get 16 of them, rewrite them and send them back."""
BUCKETS_EACH = 16
"""Buckets of a parcel: some 3 MB each way. To call a worker takes the driver 2.4 ms, so smaller parcels cost it more;
larger ones leave some of many workers without any."""
MOST_FAILURES = 3
"""Failures after which a change goes to no worker any more; one worker that dies over several parcels is one failure.
What fails so often would fail on, and kill further workers if buckets are too large for them."""


def remote_rewriting(sender: Sender, lanes: int) -> Rewriting:
    """Return a `Rewriting` that sends buckets to workers, to so many at a time."""

    def rewriting(root: Path, change: TableChange) -> Exchanged:
        if len(change.buckets) < LEAST_BUCKETS:
            return rewrite_here(root, change)
        parts, failures = _parts(change), set[str]()
        with ThreadPoolExecutor(lanes, "docmill-rewrite") as threads:
            far = list(threads.map(partial(_rewritten, sender, root, failures), parts))
        if left := sum(len(part.buckets) for one, part in zip(far, parts, strict=True) if one is None):
            sender.news.append(f"the driver rewrites {counted(left, 'buckets')} of {change.name} itself")
        # One after the other, so that no more rows are in memory than without workers.
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
    """Return what a worker has made of some buckets, or None if none has, or if it is not what was asked for.

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
    # Whatever went wrong with a worker, a commit does not fail for it: the buckets can be rewritten here.
    except Exception as error:
        failures.add(error.place if isinstance(error, WorkerLost) and error.place else name)
        sender.news.append(f"{name}: failed: {described(error)}")
        return None


def _carried(sender: Sender, root: Path, part: TableChange, name: str, draft: Path) -> Receipt:
    """Return the receipt of a rewrite; a worker that cannot read the store is sent its files."""
    pack_change(root, part, sender.store, draft)
    done = sender.carried(SentStep(REWRITE, name, once=True), draft)
    if done.outcome != "asks":
        return done
    sender.freight.drop([done.key])
    pack_change(root, part, "", draft)
    return sender.carried(SentStep(REWRITE, sender.name_of(REWRITE), once=True), draft)
