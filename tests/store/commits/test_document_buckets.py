"""The tables of documents and of chunks have buckets of their own; a store in which both had as many gets them."""

from pathlib import Path

import pytest

from docmill.storage.snapshots.clean.compact import compact
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.history.folder import StoredSnapshot, StoreFolder
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import open_store
from docmill.storage.snapshots.tables import tables
from docmill.storage.snapshots.tables.tables import bucket_counts, rebucket
from docmill.storage.snapshots.write.commit import put
from tests.kit.workbench import Workbench
from tests.store.damage.test_repair import never

pytestmark = pytest.mark.usefixtures("fake_model")

COUNT = 12
PAGES = {
    f"{n}.md": "\n\n".join(f"# Part {part}\n\n" + f"Sentence of part {part} of page {n}. " * 40 for part in range(4))
    for n in range(COUNT)
}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """Return a bench whose store has several buckets of documents and more of chunks."""
    monkeypatch.setattr(tables, "ROWS_PER_BUCKET", 4)
    made = Workbench(tmp_path)
    made.write(PAGES)
    made.ingest()
    return made


def read(bench: Workbench) -> StoredSnapshot:
    found = StoreFolder(bench.root).newest()
    assert found is not None
    return found


def as_before(bench: Workbench) -> None:
    """Commit the snapshot as an older docmill wrote it: documents in as many buckets as chunks."""
    base = read(bench)
    spread = rebucket(base.root, base.pieces("documents"), "documents", base.snapshot.buckets)
    number, named = base.number + 1, {**base.snapshot.tables, "documents": spread}
    put(base.changed(number=number, document_buckets=0, tables=named), base)
    assert read(bench).snapshot.format == snapshots.FORMAT


def assert_whole(bench: Workbench) -> None:
    own, every = read(bench).snapshot, open_store(bench.root)
    assert 1 < own.buckets_of("documents") < own.buckets
    assert own.format > snapshots.FORMAT, "an older docmill would look for a document in another bucket"
    assert len(list(every.documents())) == COUNT
    assert {every.document(uri).uri for uri in PAGES} == PAGES.keys()
    assert {finding.kind for finding in verify(bench.root, deep=True)} <= {"past"}


def test_documents_have_fewer_buckets_than_chunks(bench: Workbench) -> None:
    assert_whole(bench)


def test_a_commit_gives_an_older_store_its_buckets(bench: Workbench) -> None:
    as_before(bench)
    assert {row.uri for row in open_store(bench.root).documents()} == PAGES.keys()
    assert open_store(bench.root).document("3.md").uri == "3.md"
    bench.write({"3.md": "Another text."})
    assert bench.ingest().parsed == 1
    assert_whole(bench)


def test_compact_gives_an_older_store_its_buckets(bench: Workbench) -> None:
    as_before(bench)
    compact(bench.root, Retention())
    assert_whole(bench)


@pytest.mark.parametrize("table", ["documents", "chunks"])
def test_a_damaged_file_takes_only_its_own_documents(bench: Workbench, table: str) -> None:
    piece = read(bench).pieces(table)[0]
    (bench.root / piece.file.path).write_bytes(b"")
    repair(bench.root, never, accept_loss=True)
    assert {finding.kind for finding in verify(bench.root, deep=True)} == {"past"}, "of the snapshot before"
    left = {row.uri for row in open_store(bench.root).documents()}
    assert 0 < len(left) < COUNT
    assert len(left) >= COUNT - piece.rows
    bench.ingest()
    assert_whole(bench)


@pytest.mark.parametrize(
    ("documents", "chunks", "wanted"),
    [(0, 0, (1, 1)), (400, 5_000, (1, 16)), (5_000, 5_000, (16, 16)), (9_000, 0, (1, 1))],
)
def test_the_files_of_documents_divide_those_of_chunks(documents: int, chunks: int, wanted: tuple[int, int]) -> None:
    counts = bucket_counts(documents, chunks, None)
    assert (counts["documents"], counts["chunks"]) == wanted
