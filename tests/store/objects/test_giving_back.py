"""A damaged object: every machine sees it, no repair gives it up unasked, and whoever has it whole gives it back."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.clean.compact import vacuum
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import open_store
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import all_is_past

PAGES: dict[str, str | bytes] = {
    f"page-{number}.md": f"# Page {number}\n\nThe knob is number{number}.\n" for number in range(10)
}


@pytest.fixture
def laid(far: RemoteBench) -> RemoteBench:
    far.write(PAGES)
    far.ingest()
    return far


def never(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    pytest.fail(f"embedded {texts}")


def flip(bench: RemoteBench, folder: str) -> str:
    """Turn one bit in the middle of the first object below a folder, or of the one with this key; return the key."""
    key = min(bench.keys(folder), default=folder)
    data = bytearray(bench.objects.read(key))
    data[len(data) // 2] ^= 1
    bench.objects.put(key, bytes(data))
    return key


def fresh(bench: RemoteBench, machine: str) -> RemoteBench:
    """Return the bench on a machine that has seen the list of snapshots and nothing else."""
    two = bench.on(machine)
    open_folder(two.root).refresh()
    return two


TRUTH = ("artifacts/texts", "tables/chunks", "tables/runs")
INDEXES = ("artifacts/embeddings", "keywords", "vectors", "inventories")


@pytest.mark.parametrize("folder", [*TRUTH, *INDEXES])
def test_a_machine_that_has_a_damaged_object_whole_sees_it_and_heals_it(laid: RemoteBench, folder: str) -> None:
    assert verify(laid.root, deep=True) == []
    key = flip(laid, folder)
    (finding,) = verify(laid.root, deep=True)
    assert f"{laid.address}/{key} does not have the content that was written" in finding.message
    assert finding.mend == f"docmill repair --store {laid.address}"
    done = repair(laid.root, never)
    assert (done.done, done.lost) == ([f"sent 1 objects again to {laid.address}"], [])
    assert verify(laid.root, deep=True) == []
    assert verify(fresh(laid, "two").root, deep=True) == []


def test_an_object_that_only_an_older_snapshot_needs_is_compared_and_healed_too(laid: RemoteBench) -> None:
    before = laid.keys("tables/documents")
    laid.write({"page-3.md": "# Page 3\n\nAnother knob.\n"})
    laid.ingest()
    former = sorted(before - {f"tables/documents/{name}.parquet" for name in laid.files("documents")})[0]
    flip(laid, former)
    two = fresh(laid, "two")
    for bench in (two, laid):
        assert verify(bench.root) == []
        (finding,) = verify(bench.root, deep=True)
        assert (finding.kind, finding.mend) == ("past", f"docmill repair --store {laid.address}")
        assert f"{former} does not have the content that was written, named by 000001" in finding.message
    assert repair(two.root, never).at_stake == []
    assert laid.keys("aside") == {f"aside/{former}"}
    assert repair(laid.root, never).lost == []
    assert verify(two.root, deep=True) == []


@pytest.mark.parametrize("folder", ["artifacts/texts", "tables/chunks"])
def test_a_repair_on_a_machine_without_the_file_loses_nothing_and_asks_for_it(laid: RemoteBench, folder: str) -> None:
    key, before = flip(laid, folder), laid.keys()
    two = fresh(laid, "two")
    assert any(key in finding.message for finding in verify(two.root))
    done = repair(two.root, never)
    assert (len(done.at_stake), done.lost) == (10, [])
    assert done.done == [f"set aside 1 damaged or missing objects below {laid.address}/aside/"]
    assert before <= laid.keys()
    assert len(laid.keys("snapshots")) == 1
    assert [one.path for one in open_folder(two.root).set_aside()] == [key]
    open_folder(laid.root).refresh()  # as any command of the machine that has it whole does
    assert laid.keys("aside") == set()
    assert repair(two.root, never).at_stake == []
    assert verify(two.root, deep=True) == []
    assert [hit.uri for hit in two.store.search("number3", k=1)] == ["page-3.md"]
    assert two.store.document("page-3.md").text == PAGES["page-3.md"]


@pytest.mark.parametrize("folders", [("keywords", "vectors"), ("inventories",)])
def test_an_index_that_no_machine_has_is_built_again_where_it_was_damaged(
    laid: RemoteBench, folders: tuple[str, ...]
) -> None:
    damaged = [flip(laid, folder) for folder in folders]
    two = fresh(laid, "two")
    done = repair(two.root, never)
    assert "committed snapshot 2" in done.done
    assert done.at_stake == []
    again = laid.keys().intersection(damaged)  # postings of the same chunks are the same file
    assert {one.path for one in open_folder(two.root).set_aside()} >= {*damaged} - again
    assert all_is_past(two)
    assert [hit.uri for hit in laid.on("three").store.search("number3", k=1)] == ["page-3.md"]


def test_a_loss_that_is_accepted_leaves_the_object_set_aside_until_its_time_is_over(laid: RemoteBench) -> None:
    key = flip(laid, "artifacts/texts")
    damaged = laid.objects.read(key)
    two = fresh(laid, "two")
    done = repair(two.root, never, accept_loss=True)
    assert sorted(done.lost) == sorted(PAGES)
    assert laid.objects.read(f"aside/{key}") == damaged
    assert not {key} & laid.keys()
    vacuum(two.root, Retention(grace_hours=0.0))
    assert laid.keys("aside") == {f"aside/{key}"}
    report = two.ingest()
    assert report.documents.added == 10
    assert two.store.document("page-3.md").text == PAGES["page-3.md"]
    assert verify(fresh(laid, "three").root, deep=True) == [] or all_is_past(two)
    vacuum(two.root, Retention(undelete_days=0.0))
    assert laid.keys("aside") == set()


def test_what_was_given_up_comes_back_for_its_snapshot_from_a_machine_that_has_it(laid: RemoteBench) -> None:
    key = flip(laid, "artifacts/texts")
    repair(fresh(laid, "two").root, never, accept_loss=True)
    open_folder(laid.root).refresh()
    assert {key} <= laid.keys()
    with open_store(laid.on("three").root, 1) as past:
        assert past.document("page-3.md").text == PAGES["page-3.md"]
    assert verify(fresh(laid, "two").root, deep=True) == []


def test_a_damaged_file_of_a_mirror_stays_as_long_as_no_whole_one_can_be_fetched(laid: RemoteBench) -> None:
    key = flip(laid, "artifacts/texts")
    (laid.root / key).write_bytes(b"x" * (laid.root / key).stat().st_size)
    assert verify(laid.root, deep=True)
    done = repair(laid.root, never)
    assert len(done.at_stake) == 10
    assert (laid.root / key).read_bytes().startswith(b"xxx")
