"""Segments of the keyword index of a bench, the merge that waits for its next commit, and what may become of it."""

import os
import shutil
from pathlib import Path

import pytest

from docmill.storage.search.keywords.segments.merged_ahead import taken
from docmill.storage.search.keywords.segments.state import KeywordState
from docmill.storage.snapshots.history import snapshots
from docmill.storage.snapshots.read.store import open_store
from tests.kit.workbench import Workbench


def add_note(bench: Workbench, number: int) -> None:
    bench.write({f"note-{number}.txt": f"Note of day {number}, about rain and the {'very ' * number}red knob.\n"})


def keywords_of(bench: Workbench) -> KeywordState:
    return snapshots.read(bench.root).keywords


def segments(bench: Workbench) -> int:
    return len(keywords_of(bench).segments)


def files_in(bench: Workbench) -> set[Path]:
    return set((bench.root / "keywords").iterdir())


def assert_searches_agree(bench: Workbench) -> None:
    """Compare with an index of the same chunks that has one segment."""
    chunks = {row.chunk_id: row.text for row in bench.chunks()}
    found = {hit.chunk_id: hit.score for hit in open_store(bench.root).search("knob rain", k=50, mode="keyword")}
    clean = bench.folder.parent / "clean"
    shutil.rmtree(clean, ignore_errors=True)
    other = Workbench(clean)
    shutil.copytree(bench.docs, other.docs)
    other.ingest()
    expected = {hit.chunk_id: hit.score for hit in open_store(other.root).search("knob rain", k=50, mode="keyword")}
    assert len(found) == len(chunks)
    assert found == pytest.approx(expected, rel=0, abs=1e-9)


def lose_the_note(bench: Workbench) -> None:
    shutil.rmtree(bench.root / "cache")


def break_the_note(bench: Workbench) -> None:
    (note,) = (bench.root / "cache").glob("merged*")
    note.write_bytes(note.read_bytes().replace(b'"dead":0', b'"dead":1'))


def lose_the_files(bench: Workbench) -> None:
    kept = {bench.root / file.path for file in keywords_of(bench).files()}
    for path in files_in(bench) - kept:
        path.unlink()


def cut_the_files(bench: Workbench) -> None:
    kept = {file.path for file in keywords_of(bench).files()}
    for file in taken(bench.root, keywords_of(bench)).files():
        if file.path not in kept:
            os.truncate(bench.root / file.path, file.bytes // 2)


HARMS = [lose_the_note, break_the_note, lose_the_files, cut_the_files]
