"""A damaged snapshot on the object store: it is not let into a mirror, and what a mirror has whole goes back."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from docmill.storage.errors import StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.remote.objects.lease import KEY as LEASE
from docmill.storage.snapshots.clean.compact import vacuum
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import open_store
from tests.kit.remote_bench import RemoteBench

FIRST, SECOND = "snapshots/000001.json", "snapshots/000002.json"


@pytest.fixture
def laid(far: RemoteBench) -> RemoteBench:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n"})
    far.ingest()
    far.write({"guide.md": "# Guide\n\nTurn the blue knob.\n"})
    far.ingest()
    return far


def never(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    pytest.fail(f"embedded {texts}")


def flip(bench: RemoteBench, key: str) -> bytes:
    """Change one digit of an object, and return the whole content."""
    whole = bench.objects.read(key)
    bench.objects.put(key, whole.replace(b'"rows": 1', b'"rows": 7', 1).replace(b'"rows":1', b'"rows":7', 1))
    assert bench.objects.read(key) != whole
    return whole


def hits(bench: RemoteBench, at: int | None = None) -> list[str]:
    with open_store(bench.root, at) as store:
        return [hit.text for hit in store.search("knob", k=1)]


def test_a_mirror_that_met_a_damaged_snapshot_is_whole_once_the_object_is(laid: RemoteBench) -> None:
    whole = flip(laid, SECOND)
    two = laid.on("two")
    with pytest.raises(
        StoreError,
        match=r"000002\.json is damaged \(its checksum is wrong\), and it is the newest snapshot; .*docmill repair",
    ):
        hits(two)
    assert hits(two, 1)[0].endswith("red knob.")
    with pytest.raises(StoreError, match=r"000002\.json is damaged"):
        two.ingest()
    laid.objects.put(SECOND, whole)
    assert hits(two)[0].endswith("blue knob.")
    assert verify(two.root, deep=True) == []


def test_a_snapshot_that_is_damaged_in_a_mirror_is_fetched_again(
    laid: RemoteBench, caplog: pytest.LogCaptureFixture
) -> None:
    two = laid.on("two")
    assert hits(two)
    path = two.root / SECOND
    path.write_bytes(path.read_bytes()[:-40] + b"x" * 40)
    assert hits(two)[0].endswith("blue knob.")
    assert f"{path} was damaged; it has been fetched again" in caplog.text
    assert verify(two.root, deep=True) == []


def test_a_machine_that_has_the_snapshot_whole_names_the_damage_and_mends_it(laid: RemoteBench) -> None:
    whole = flip(laid, SECOND)
    (finding,) = verify(laid.root, deep=True)
    assert (finding.kind, finding.message) == ("snapshot", f"{laid.address}/{SECOND} is damaged")
    assert repair(laid.root, never).done == [f"sent {SECOND} again to {laid.address}"]
    assert laid.objects.read(SECOND) == whole
    assert verify(laid.root, deep=True) == []


def test_a_machine_without_it_asks_for_it_and_commits_nothing(laid: RemoteBench) -> None:
    whole = flip(laid, SECOND)
    two = laid.on("two")
    open_folder(two.root).refresh()
    assert [finding.kind for finding in verify(two.root)] == ["snapshot"]
    done = repair(two.root, never)
    assert (done.at_stake, done.lost) == (["snapshot 2"], [])
    assert laid.keys("snapshots") == {FIRST, SECOND}
    assert hits(laid)[0].endswith("blue knob.")
    assert laid.objects.read(SECOND) == whole
    assert laid.keys("aside") == set()
    assert hits(two)[0].endswith("blue knob.")


def test_an_accepted_loss_uses_no_number_twice_and_the_lost_snapshot_may_come_back(laid: RemoteBench) -> None:
    flip(laid, SECOND)
    two = laid.on("two")
    open_folder(two.root).refresh()
    done = repair(two.root, never, accept_loss=True)
    assert done.lost == ["snapshot 2"]
    assert laid.keys("snapshots") == {FIRST, "snapshots/000003.json"}
    assert hits(two)[0].endswith("red knob.")
    assert verify(two.root, deep=True) == []
    assert hits(laid)[0].endswith("red knob.")
    assert hits(laid, 2)[0].endswith("blue knob.")
    assert hits(two, 2)[0].endswith("blue knob.")


def test_nothing_is_removed_as_long_as_an_older_snapshot_is_damaged(laid: RemoteBench) -> None:
    whole, tables = flip(laid, FIRST), laid.keys("tables")
    two = laid.on("two")
    assert hits(two)[0].endswith("blue knob.")
    assert [finding.kind for finding in verify(two.root)] == ["past"]
    assert vacuum(two.root, Retention(keep_snapshots=1, grace_hours=0.0)).bytes == 0
    assert laid.keys("tables") == tables
    laid.objects.put(FIRST, whole)
    assert hits(two, 1)[0].endswith("red knob.")


def test_a_store_of_which_only_a_damaged_snapshot_is_left_says_so(laid: RemoteBench) -> None:
    for key in (FIRST, SECOND):
        flip(laid, key)
    two = laid.on("two")
    open_folder(two.root).refresh()
    assert [finding.kind for finding in verify(two.root)] == ["snapshot", "snapshot"]
    for asked in (lambda: hits(two), lambda: hits(two, 1), lambda: repair(two.root, never), two.ingest):
        with pytest.raises(StoreError, match=r"000002\.json is damaged"):
            asked()


@pytest.mark.parametrize("identity", [b"", b"{broken", None])
def test_a_damaged_identity_empties_no_mirror(laid: RemoteBench, identity: bytes | None) -> None:
    before = sorted(laid.root.rglob("*.parquet"))
    if identity is None:
        laid.objects.delete(["store.json"])
    else:
        laid.objects.put("store.json", identity)
    laid.objects.delete([LEASE])
    assert hits(laid)[0].endswith("blue knob.")
    assert set(before) <= set(laid.root.rglob("*.parquet"))
    assert snapshots.numbers(laid.root) == [1, 2]
    laid.write({"guide.md": "# Guide\n\nTurn the green knob.\n"})
    assert laid.ingest().snapshot == 3
    assert hits(laid.on("two"))[0].endswith("green knob.")
