"""A long run on an object store: other machines see its steps, and any of them goes on with it."""

from docmill.storage.snapshots.clean.compact import vacuum
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.retention import Retention
from tests.kit.counting_encoder import LONG_RUN, PAGES, interrupt, slow_model
from tests.kit.remote_bench import RemoteBench


def test_another_machine_reads_what_is_pending_and_completes_it(far: RemoteBench) -> None:
    far.settings = dict(LONG_RUN)
    far.write(PAGES)
    interrupt(far)
    two = far.on("two")
    with two.store as reader:
        pending = reader.snapshot.pending
        assert pending
        words = reader.search("owl number 7", k=500, mode="keyword", distinct=False)
        assert len(words) == reader.snapshot.rows("chunks")
        assert verify(two.root, deep=True) == []
        with slow_model():
            report = two.ingest()
        assert (report.parsed, report.documents.unchanged, report.pending) == (0, len(PAGES), 0)
        assert report.embedded <= pending.chunks
        assert len(reader.search("owl number 7", k=500, mode="keyword", distinct=False)) == len(words)
    assert verify(far.root, deep=True) == []
    assert far.store.snapshot.number == report.snapshot
    vacuum(two.root, Retention(grace_hours=0.0))
    kept = {f"{snapshots.FOLDER}/{number:06d}.json" for number in snapshots.numbers(two.root)}
    assert far.keys(snapshots.FOLDER) == kept
    assert not any(state.pending for state in snapshots.each(two.root))
    assert verify(far.root, deep=True) == []
