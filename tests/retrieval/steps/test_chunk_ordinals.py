"""Chunk ordinals: where each chunk is, and that a snapshot reads only files that an open one has not read."""

import gc
from collections.abc import Sequence
from pathlib import Path

import pytest

from docmill.storage.search.rank.candidates import chunk_ordinals
from docmill.storage.search.rank.candidates.chunk_ordinals import ChunkOrdinals, Place
from docmill.storage.snapshots.history.folder import StoredSnapshot
from docmill.storage.snapshots.history.snapshots import StoredFile
from docmill.storage.snapshots.tables.tables import read_stored_file
from tests.kit.workbench import Workbench

DOCUMENTS = 30
WHEELS = "".join(f"# Wheel {n}\n\nThe old wheel of the mill turns {n} times each day.\n\n" for n in range(40))
TITLED = "# Mill\n\nThe mill grinds the wheat of the whole valley by day.\n\n" + WHEELS
"""With so many chunks that they are in several files, as a file has at least 500."""


@pytest.fixture
def bench(tmp_path: Path, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path, {"split": {"structure": {"size": 16, "small": 0}}})
    titled = {f"{number:02}.md": f"{TITLED}\nIt is number {number}.\n" for number in range(DOCUMENTS)}
    made.write(titled | {"plain.txt": "It snows.\n"})
    made.ingest()
    return made


def places(stored: StoredSnapshot, ids: Sequence[str]) -> dict[str, Place]:
    return ChunkOrdinals(stored).of(ids)


def ids_of(bench: Workbench, uri: str = "") -> list[str]:
    with bench.store as store:
        found = store.sql("SELECT uri, chunk_id FROM chunks ORDER BY uri, ordinal").to_pylist()
    return [one["chunk_id"] for one in found if uri in one["uri"]]


def test_places_tell_documents_sections_and_titles_apart(bench: Workbench) -> None:
    with bench.store as store:
        found = places(store.stored, [*ids_of(bench), "0" * 32])
    assert len(found) == len(ids_of(bench))
    mill, wheel, *_ = (found[key] for key in ids_of(bench, "17.md"))
    assert (mill.document, mill.ordinal, wheel.ordinal) == (wheel.document, 0, 1)
    assert mill.section != wheel.section
    assert mill.titled == mill.running == 1
    [plain] = (found[key] for key in ids_of(bench, "plain.txt"))
    assert plain.titled == 0
    assert len({one.document for one in found.values()}) == DOCUMENTS + 1


def test_a_later_snapshot_reads_what_changed_and_knows_the_same(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[StoredFile] = []

    def noted(root: Path, piece: StoredFile, columns: list[str] | None = None) -> object:
        read.append(piece)
        return read_stored_file(root, piece, columns)

    monkeypatch.setattr(chunk_ordinals, "read_stored_file", noted)
    with bench.store as before:
        first = ChunkOrdinals(before.stored)
        first.of(ids_of(bench))
        bench.write({"03.md": "No title any more.\n", "new.md": "# New\n\nIt is new.\n"})
        (bench.docs / "09.md").unlink()
        bench.ingest()
        with bench.store as after:
            own = {*after.stored.pieces("chunks"), *after.stored.pieces("documents")}
            fresh = own - {*before.stored.pieces("chunks"), *before.stored.pieces("documents")}
            read.clear()
            found = places(after.stored, ids_of(bench))
            assert {*read} == fresh != own
            del first
            gc.collect()
            assert bench.root not in chunk_ordinals._LATEST, "nothing is kept of a snapshot that nobody uses"
            assert places(after.stored, ids_of(bench)) == found
            assert {*read} == own


def test_a_snapshot_without_chunks_has_no_places(tmp_path: Path, fake_model: str) -> None:
    assert fake_model
    bench = Workbench(tmp_path)
    bench.write({"blank.md": ""})
    bench.ingest()
    with bench.store as store:
        assert places(store.stored, ["0" * 32]) == {}
