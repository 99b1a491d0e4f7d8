"""A commit writes its own postings alone; the merge after it waits for the next commit, and may be lost at any time."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docmill.storage import failpoints
from docmill.storage.search.keywords.keyword_writer import merged, overdue, update
from docmill.storage.search.keywords.segments.merge_segments import FULL_POSTINGS, MOST_BEHIND, MOST_SEGMENTS, choose
from docmill.storage.search.keywords.segments.merged_ahead import taken
from docmill.storage.search.keywords.segments.state import KeywordState
from docmill.storage.snapshots.clean.compact import compact, vacuum
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.garbage import sweep
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import open_store
from tests.kit.faults.lost_merges import HARMS, add_note, assert_searches_agree, files_in, keywords_of, segments
from tests.kit.victim import Countdown, ingest, start
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")


@pytest.fixture(autouse=True)
def unwatched() -> Iterator[None]:
    yield
    failpoints.watch = None


@pytest.fixture(scope="module")
def crowded_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crowded")


@pytest.fixture
def crowded(crowded_folder: Path, tmp_path: Path) -> Callable[[], Workbench]:
    """Return a maker of benches whose next commit is followed by a merge."""
    if not (crowded_folder / "store").exists():
        bench = Workbench(crowded_folder)
        for number in range(MOST_SEGMENTS - 1):
            add_note(bench, number)
            bench.ingest()
        add_note(bench, MOST_SEGMENTS)

    def make() -> Workbench:
        shutil.rmtree(tmp_path / "bench", ignore_errors=True)
        shutil.copytree(crowded_folder, tmp_path / "bench", symlinks=True)
        return Workbench(tmp_path / "bench")

    return make


def test_a_commit_writes_one_segment_and_the_next_one_takes_the_merge(crowded: Callable[[], Workbench]) -> None:
    bench = crowded()
    before = keywords_of(bench)
    bench.ingest()
    after = keywords_of(bench)
    assert after.segments[:-1] == before.segments, "the commit kept the segments that it found"
    assert len(after.segments) == MOST_SEGMENTS
    merged = taken(bench.root, after)
    assert len(merged.segments) == 1
    add_note(bench, MOST_SEGMENTS + 1)
    bench.ingest()
    assert keywords_of(bench).segments[:-1] == merged.segments
    assert segments(bench) == 2
    assert verify(bench.root, deep=True) == []
    assert_searches_agree(bench)


def test_a_commit_that_changes_chunks_of_merged_segments_buries_them_there(crowded: Callable[[], Workbench]) -> None:
    bench = crowded()
    bench.ingest()
    bench.write({"note-3.txt": "Another note, of rain alone and no knob.\n", "note-4.txt": None})
    bench.ingest(allow_delete=True)
    (merged, fresh) = keywords_of(bench).segments
    assert (merged.rows, merged.dead, fresh.rows) == (MOST_SEGMENTS, 2, 1)
    assert verify(bench.root, deep=True) == []
    assert_searches_agree(bench)


def test_readers_of_the_snapshots_before_keep_their_segments(crowded: Callable[[], Workbench]) -> None:
    bench = crowded()
    held = open_store(bench.root)
    before = [(hit.chunk_id, hit.score) for hit in held.search("knob", k=50, mode="keyword")]
    bench.ingest()
    add_note(bench, MOST_SEGMENTS + 1)
    bench.ingest()
    vacuum(bench.root, Retention(keep_snapshots=1))
    assert [(hit.chunk_id, hit.score) for hit in held.search("knob", k=50, mode="keyword")] == before
    again = open_store(bench.root, held.snapshot.number)
    assert [(hit.chunk_id, hit.score) for hit in again.search("knob", k=50, mode="keyword")] == before


def test_the_merge_waits_through_sweeps_and_vacuums(crowded: Callable[[], Workbench]) -> None:
    bench = crowded()
    bench.ingest()
    merged = taken(bench.root, keywords_of(bench))
    sweep(bench.root)
    vacuum(bench.root, Retention(keep_snapshots=1))
    assert taken(bench.root, keywords_of(bench)) == merged != keywords_of(bench)


def test_a_merge_of_another_state_is_not_taken_and_its_files_are_swept(crowded: Callable[[], Workbench]) -> None:
    bench = crowded()
    bench.ingest()
    (waiting,) = {bench.root / file.path for file in taken(bench.root, keywords_of(bench)).files()} - {
        bench.root / file.path for file in keywords_of(bench).files()
    }
    assert waiting in files_in(bench)
    compact(bench.root, Retention(keep_snapshots=1))
    assert segments(bench) == 1
    kept = {bench.root / file.path for file in keywords_of(bench).files()}
    assert files_in(bench) == kept
    add_note(bench, MOST_SEGMENTS + 1)
    bench.ingest()
    assert segments(bench) == 2
    assert verify(bench.root, deep=True) == []


@pytest.mark.parametrize("harm", HARMS)
def test_a_lost_merge_costs_only_that_merge(
    crowded: Callable[[], Workbench], harm: Callable[[Workbench], None]
) -> None:
    bench = crowded()
    bench.ingest()
    vacuum(bench.root, Retention(keep_snapshots=1))
    harm(bench)
    assert taken(bench.root, keywords_of(bench)) == keywords_of(bench)
    for number in (1, 2):
        add_note(bench, MOST_SEGMENTS + number)
        bench.ingest()
    # The first of these commits does without it, and merges again for the second.
    assert segments(bench) == 2
    assert verify(bench.root, deep=True) == []
    assert_searches_agree(bench)


def test_a_disk_that_is_full_for_the_merge_does_not_undo_the_commit(crowded: Callable[[], Workbench]) -> None:
    bench = crowded()

    def fill() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    failpoints.watch = Countdown("before write merged-keywords.json", fill)
    report = bench.ingest()
    failpoints.watch = None
    assert report.snapshot == MOST_SEGMENTS
    assert taken(bench.root, keywords_of(bench)) == keywords_of(bench)
    add_note(bench, MOST_SEGMENTS + 1)
    bench.ingest()
    assert segments(bench) == MOST_SEGMENTS + 1
    assert len(taken(bench.root, keywords_of(bench)).segments) == 1
    assert bench.ingest().snapshot is None


@pytest.mark.slow
def test_a_kill_at_any_moment_of_the_merge_loses_nothing(
    crowded: Callable[[], Workbench], token_counts_folder: Path
) -> None:
    counted = Countdown(0, lambda: None)
    failpoints.watch = counted
    crowded().ingest()
    failpoints.watch = None
    names = [name for name in counted.seen if "keywords" in name or name == "after put snapshots"]
    committed = names.index("after put snapshots")
    assert {*names[committed:]} >= {"after rename keywords", "after replace merged-keywords.json"}
    for at in range(committed + 1, len(names)):
        bench = crowded()
        process = start(ingest, bench, token_counts_folder, at, among="keywords")
        process.join(120)
        assert process.exitcode == -9, names[at]
        assert snapshots.read(bench.root).number == MOST_SEGMENTS
        assert verify(bench.root, deep=True) == []
        for number in (1, 2, 3):
            add_note(bench, MOST_SEGMENTS + number)
            bench.ingest()
        # One of all before the kill, and one of each commit since; without the merge there would be eleven.
        assert segments(bench) <= 4, names[at]
        assert verify(bench.root, deep=True) == []
        assert_searches_agree(bench)
        compact(bench.root, Retention(keep_snapshots=1))
        assert files_in(bench) == {bench.root / file.path for file in keywords_of(bench).files()}


def test_merges_that_are_never_taken_leave_their_work_to_a_commit(crowded: Callable[[], Workbench]) -> None:
    bench, seen = crowded(), []
    for number in range(MOST_SEGMENTS + 3):
        bench.ingest()
        shutil.rmtree(bench.root / "cache")
        seen.append(segments(bench))
        add_note(bench, MOST_SEGMENTS + 1 + number)
    assert seen == [*range(MOST_SEGMENTS, MOST_BEHIND + 1), 1, 2]
    assert verify(bench.root, deep=True) == []


def test_a_merge_is_overdue_when_twice_as_many_segments_wait_as_it_takes(tmp_path: Path) -> None:
    state = KeywordState()
    for number in range(MOST_BEHIND + 1):
        assert not overdue(state)
        state = update(tmp_path, state, (), [(f"chunk-{number}", "words of a chunk")])
    assert overdue(state)
    assert not overdue(merged(tmp_path, state))


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([(100, 0, 100)] * MOST_SEGMENTS, []),
        ([(100, 0, 100)] * (MOST_SEGMENTS + 1), [list(range(MOST_SEGMENTS + 1))]),
        ([(900_000, 0, 9_000_000)] + [(1, 0, 10)] * MOST_SEGMENTS, []),
        ([(50_000, 0, 500_000)] + [(1, 0, 10)] * MOST_SEGMENTS, [list(range(1, MOST_SEGMENTS + 1))]),
        ([(1, 0, 4**n) for n in range(MOST_SEGMENTS + 2)], [[0, 1, 2]]),
        ([(1, 0, 0)] * 2 + [(1, 0, 9)] * MOST_SEGMENTS, [list(range(MOST_SEGMENTS + 2))]),
        ([(100, 20, 100), (100, 21, 100)], [[1]]),
        ([(9, 9, FULL_POSTINGS), (9, 0, FULL_POSTINGS)] * 9, [[i] for i in range(0, 18, 2)]),
    ],
)
def test_small_segments_merge_and_worn_ones_are_rewritten(
    sizes: list[tuple[int, int, int]], groups: list[list[int]]
) -> None:
    assert choose(sizes) == groups


def test_segments_merge_sooner_for_one_that_is_to_come() -> None:
    assert choose([(100, 0, 100)] * (MOST_SEGMENTS - 1), to_come=1) == []
    assert choose([(100, 0, 100)] * MOST_SEGMENTS, to_come=1) == [list(range(MOST_SEGMENTS))]
