"""Leftovers: what workers have finished for a driver that died before it fetched it."""

from pathlib import Path
from zipfile import ZipFile

from docmill.storage.files import TEMPORARY, remove
from docmill.storage.remote.objects.freight import Freight
from docmill.storage.snapshots.artifacts import staging
from docmill.tasks.work.pool.plain_json import Readers, Unreadable, decode
from docmill.tasks.work.remote.parcels import Receipt
from docmill.tasks.work.remote.perform import BATCH, EMBED, TABLES


def take_over(freight: Freight, root: Path) -> int:
    """Bring the finished results of earlier runs into staging, and sweep their freight; return how many there are.

    The caller holds the writer's lock of the store, so that no other run of it goes on.
    """
    count = 0
    for run in freight.runs():
        for name, data in freight.receipts(run).items():
            if name.startswith((BATCH, EMBED)):
                count += _bring(freight, root / staging.FOLDER / run, name, data)
    freight.sweep()
    if count:
        staging.take_over(root)  # what another docmill has made may have other columns
    return count


def _bring(freight: Freight, folder: Path, name: str, data: bytes) -> bool:
    """Fetch a result unless it is here; return whether it was fetched."""
    try:
        receipt: Receipt = decode(data, Readers().of(Receipt))
    except Unreadable:
        return False  # of another docmill; to make the result again is safer
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
    """Lay the tables of a batch, whole or not at all."""
    remove(draft)
    draft.mkdir()
    for table in TABLES:
        made.extract(table, draft)
    draft.replace(target)
