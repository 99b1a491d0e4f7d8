"""Unpack: extract the archive members that batches need, from each archive once."""

import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from docmill.storage.errors import Rejected
from docmill.storage.files import write_whole
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.contents import DONE, Place
from docmill.tasks.archive.listing import extract
from docmill.tasks.paths.local_file import LocalFile
from docmill.tasks.work.batch.step_orders import load_order
from docmill.tasks.work.pool.pool import Pool


@dataclass(frozen=True, slots=True)
class UnpackOrder:
    """The members of an archive to extract, and their file names in the order's folder."""

    file: LocalFile
    name: str
    wanted: tuple[tuple[Place, str], ...]
    options: ArchiveOptions


@dataclass(frozen=True, slots=True)
class Laying:
    """The input of one worker call: an order, the folder for its members, and the passwords, which orders lack."""

    task: UnpackOrder
    folder: Path
    passwords: tuple[str, ...]


def lay(job: Laying) -> None:
    """Extract the members that an order names; runs in a worker process."""
    targets = {place: job.folder / name for place, name in job.task.wanted}
    extract(job.task.file, job.task.name, targets, replace(job.task.options, passwords=job.passwords))


def unpack(orders: Sequence[Path], pool: Pool, passwords: tuple[str, ...] = ()) -> None:
    """Carry out the orders that no other batch has carried out; return when all are done.

    The first batch that needs a member unpacks everything requested from that archive. So an archive that can only be
    read from the start is read once, not once a batch.
    """
    with ExitStack() as stack:
        # All batches take the locks in the same order, so that no two can wait for each other.
        open_ends = [order for order in sorted(orders) if stack.enter_context(_begun(order))]
        jobs = [Laying(load_order(order, UnpackOrder), order.parent, passwords) for order in open_ends]
        for order, result in zip(open_ends, pool.map(lay, jobs), strict=True):
            why = [result.reason, result.message] if isinstance(result, Rejected) else []
            # Failures are recorded as well, so that other batches do not try the same archive again.
            write_whole(order.parent / DONE, json.dumps(why).encode())


@contextmanager
def _begun(order: Path) -> Iterator[bool]:
    """Lock an order, and yield whether it still has to be done."""
    with order.open("rb+") as file:  # NFS and SMB lock a file exclusively only if it is open for writing
        # Blocking is right here: another batch is unpacking what this one needs.
        fcntl.flock(file, fcntl.LOCK_EX)
        yield not (order.parent / DONE).exists()
