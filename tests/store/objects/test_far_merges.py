"""Commits to a bucket leave merging to the time after them once a machine has committed twice in a row."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docmill.storage import failpoints
from docmill.storage.remote.objects import lease
from docmill.storage.search.keywords.segments import merge_segments
from docmill.storage.search.keywords.segments.merged_ahead import is_noted, taken
from docmill.storage.snapshots.clean.compact import compact, vacuum
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from tests.kit.faults.lost_merges import HARMS, add_note, assert_searches_agree, files_in, keywords_of, segments
from tests.kit.remote_bench import RemoteBench
from tests.kit.victim import Countdown, ingest, start
from tests.kit.workbench import Workbench

MOST_SEGMENTS = 3  # small ones side by side, in place of 8: a test needs fewer commits
QUICK = 2  # kills of the quick test
Harm = Callable[[Workbench], None]


@pytest.fixture(autouse=True)
def few_segments(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(merge_segments, "MOST_SEGMENTS", MOST_SEGMENTS)
    yield
    failpoints.watch = None


@pytest.fixture
def crowded(far: RemoteBench) -> RemoteBench:
    """Return a bench whose next commit is followed by a merge in the mirror of its machine."""
    for number in range(MOST_SEGMENTS - 1):
        add_note(far, number)
        far.ingest()
    add_note(far, MOST_SEGMENTS)
    return far


@pytest.fixture
def again(crowded: RemoteBench, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], RemoteBench]:
    """Return what brings the crowded bench and its bucket back to what they were."""
    before = tmp_path_factory.mktemp("before") / "bench"
    shutil.copytree(crowded.folder, before, symlinks=True)
    keys = sorted(crowded.keys())
    held = {key: crowded.objects.read(key) for key in keys}

    def bring_back() -> RemoteBench:
        crowded.objects.delete([*crowded.keys()])
        for key, data in held.items():
            crowded.objects.put(key, data)
        shutil.rmtree(crowded.folder)
        shutil.copytree(before, crowded.folder, symlinks=True)
        return crowded

    return bring_back


def commit(bench: RemoteBench, number: int) -> int:
    """Commit one more note from a machine, and return how many segments the snapshot has."""
    add_note(bench, number)
    bench.ingest()
    return segments(bench)


def test_a_machine_that_commits_again_takes_its_own_merge_and_uploads_it(crowded: RemoteBench) -> None:
    before = keywords_of(crowded)
    crowded.ingest()
    after = keywords_of(crowded)
    assert after.segments[:-1] == before.segments, "the commit kept the segments that it found"
    merged = taken(crowded.root, after)
    assert (len(after.segments), len(merged.segments)) == (MOST_SEGMENTS, 1)
    assert merged.segments[0].file.path not in crowded.keys("keywords"), "no snapshot names it yet"
    assert commit(crowded, MOST_SEGMENTS + 1) == 2
    assert keywords_of(crowded).segments[0] == merged.segments[0]
    assert {file.path for file in keywords_of(crowded).files()} <= crowded.keys("keywords")
    assert_searches_agree(crowded.on("reader"))
    assert verify(crowded.root, deep=True) == []


def test_another_machine_merges_within_its_commit(crowded: RemoteBench) -> None:
    crowded.ingest()
    two = crowded.on("two")
    assert commit(two, MOST_SEGMENTS + 1) == 1
    assert is_noted(two.root, keywords_of(two))
    assert verify(two.root, deep=True) == []
    # The merge of the first machine is of a state that is over by now.
    assert commit(crowded, MOST_SEGMENTS + 2) == 2
    assert_searches_agree(crowded.on("reader"))
    assert verify(crowded.root, deep=True) == []


def test_machines_in_turn_and_new_ones_have_as_few_segments_as_before(far: RemoteBench) -> None:
    for number in range(2 * MOST_SEGMENTS + 1):
        machine = far.on("one" if number % 2 else f"new-{number}")
        assert commit(machine, number) <= MOST_SEGMENTS
        noted = keywords_of(machine)
        assert taken(machine.root, noted) == noted, "no merge that the next commit would do without"
    assert_searches_agree(far.on("reader"))


def test_a_machine_that_takes_over_now_and_then_leaves_one_segment_more_at_most(far: RemoteBench) -> None:
    for number in range(3 * MOST_SEGMENTS):
        assert commit(far.on("two" if number % 5 > 2 else "one"), number) <= MOST_SEGMENTS + 1
    assert_searches_agree(far.on("reader"))
    assert verify(far.root, deep=True) == []


@pytest.mark.parametrize("harm", HARMS)
def test_a_lost_merge_costs_only_that_merge(crowded: RemoteBench, harm: Harm) -> None:
    crowded.ingest()
    vacuum(crowded.root, Retention(keep_snapshots=1, grace_hours=0.0))
    harm(crowded)
    assert taken(crowded.root, keywords_of(crowded)) == keywords_of(crowded)
    assert commit(crowded, MOST_SEGMENTS + 1) in (1, MOST_SEGMENTS + 1)
    assert commit(crowded, MOST_SEGMENTS + 2) == 2
    assert verify(crowded.root, deep=True) == []
    assert_searches_agree(crowded.on("reader"))


def test_the_merge_waits_through_vacuums_of_this_machine_and_another(crowded: RemoteBench) -> None:
    crowded.ingest()
    merged = taken(crowded.root, keywords_of(crowded))
    for machine in (crowded, crowded.on("two")):
        vacuum(machine.root, Retention(keep_snapshots=1, grace_hours=0.0))
    assert taken(crowded.root, keywords_of(crowded)) == merged != keywords_of(crowded)
    assert commit(crowded, MOST_SEGMENTS + 1) == 2
    assert_searches_agree(crowded.on("reader"))


def test_a_compaction_elsewhere_leaves_a_merge_to_nobody_and_its_files_are_removed(crowded: RemoteBench) -> None:
    crowded.ingest()
    compact(crowded.on("two").root, Retention(keep_snapshots=1, grace_hours=0.0))
    assert commit(crowded, MOST_SEGMENTS + 1) == 2
    vacuum(crowded.root, Retention(keep_snapshots=1, grace_hours=0.0))
    assert files_in(crowded) == {crowded.root / file.path for file in keywords_of(crowded).files()}
    assert verify(crowded.root, deep=True) == []


def boundaries(bench: RemoteBench) -> list[str]:
    """Return the names of all effects on keywords of a commit that is followed by a merge, and of one that takes it."""
    counted = Countdown(0, lambda: None, "keywords")
    failpoints.watch = counted
    bench.ingest()
    add_note(bench, MOST_SEGMENTS + 1)
    bench.ingest()
    failpoints.watch = None
    return counted.seen


def commit_twice(bench: Workbench) -> None:
    merge_segments.MOST_SEGMENTS = MOST_SEGMENTS  # in a process of its own
    ingest(bench)
    add_note(bench, MOST_SEGMENTS + 1)
    ingest(bench)


def few(number: int) -> range:
    return range(3, number + 1, number // QUICK)


def every(number: int) -> range:
    return range(1, number + 1)


@pytest.mark.parametrize("places", [few, pytest.param(every, marks=pytest.mark.soak)])
def test_a_kill_at_any_effect_on_keywords_loses_nothing(
    again: Callable[[], RemoteBench], token_counts_folder: Path, places: Callable[[int], range]
) -> None:
    names = boundaries(again())
    assert {*names} >= {"before remote upload keywords", "after rename keywords", "after replace merged-keywords.json"}
    killed, chosen = 0, places(len(names))
    for at in chosen:
        bench = again()
        process = start(commit_twice, bench, token_counts_folder, at, among="keywords")
        process.join(120)
        assert process.exitcode in (-9, 0), names[at - 1]  # uploads come in another order from run to run
        killed += process.exitcode == -9
        assert verify(bench.root, deep=True) == [], names[at - 1]
        bench.objects.delete([lease.KEY])  # as if it had run out
        for number, machine in enumerate(("one", "one", "two") if at % 2 else ("two", "one", "one"), start=2):
            assert commit(bench.on(machine), MOST_SEGMENTS + number) <= MOST_SEGMENTS + 1, names[at - 1]
            assert snapshots.read(bench.on(machine).root).number >= MOST_SEGMENTS
        assert verify(bench.root, deep=True) == [], names[at - 1]
        assert_searches_agree(bench.on("reader"))
    assert killed == len(chosen)
