"""Members that a run reads are laid once, whoever asks first, and what cannot be laid says why."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from docmill.storage.errors import Rejected
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.archive.contents import why_missing
from docmill.tasks.paths.local_file import LocalFile
from docmill.tasks.work.batch.step_orders import save_order
from docmill.tasks.work.batch.unpack import UnpackOrder, unpack
from docmill.tasks.work.pool.limits import Limits
from docmill.tasks.work.pool.pool import Pool
from tests.kit.writers.archives import tarred


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Limits(workers=1)) as pool:
        yield pool


def order(folder: Path, archive: Path) -> Path:
    wanted = (((0,), "one"), ((1,), "two"))
    return save_order(
        UnpackOrder(LocalFile(str(archive)), archive.name, wanted, ArchiveOptions()), folder / "order.json"
    )


def test_batches_that_need_the_same_archive_unpack_it_once(tmp_path: Path, pool: Pool) -> None:
    (tmp_path / "x.tgz").write_bytes(tarred({"a.md": "A", "b.md": "B", "c.md": "C"}))
    orders = [order(tmp_path / name, tmp_path / "x.tgz") for name in ("first", "second")]
    with ThreadPoolExecutor(4) as threads:
        for _ in threads.map(lambda turn: unpack(orders[:: 1 if turn % 2 else -1], pool), range(8)):
            pass
    laid = [(path.parent / name).read_text() for path in orders for name in ("one", "two")]
    assert laid == ["A", "B", "A", "B"]
    (tmp_path / "first" / "one").unlink()
    unpack(orders, pool)
    assert not (tmp_path / "first" / "one").exists()


def test_an_archive_that_changes_while_it_is_read_is_a_reason_for_each_of_its_members(
    tmp_path: Path, pool: Pool
) -> None:
    (tmp_path / "x.tgz").write_bytes(tarred({"a.md": "A"}))
    shorter = order(tmp_path / "shorter", tmp_path / "x.tgz")
    broken = order(tmp_path / "broken", tmp_path / "x.zip")
    (tmp_path / "x.zip").write_bytes(b"PK\3\4 no more")
    unpack([shorter, broken], pool)
    assert (shorter.parent / "one").read_text() == "A"
    reasons = [why_missing(path.parent / "two") for path in (shorter, broken)]
    assert [why.reason for why in reasons] == ["unreadable", "corrupt"]
    assert all(isinstance(why, Rejected) for why in reasons)
