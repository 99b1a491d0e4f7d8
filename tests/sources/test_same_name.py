"""Folders of the same name: their documents never mix, and none deletes those of the other."""

import json
import shutil
from pathlib import Path

import pytest

from docmill.storage.errors import SourceError
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    """Return a bench with the folders a/docs and b/docs, which have nine files in common and one each of their own."""
    made = Workbench(tmp_path)
    for team in "ab":
        folder = tmp_path / team / "docs"
        folder.mkdir(parents=True)
        for number in range(9):
            (folder / f"{number}.md").write_text(f"# Page {number}\n\nTold by team {team}.\n")
        (folder / f"only-{team}.md").write_text(f"# Only\n\nOf team {team} alone.\n")
    return made


def path(bench: Workbench, team: str) -> str:
    return str(bench.folder / team / "docs")


def uris(bench: Workbench) -> set[str]:
    return {chunk.uri for chunk in bench.chunks()}


def test_two_folders_of_one_name_are_refused_in_one_run(bench: Workbench) -> None:
    with pytest.raises(SourceError, match=r"a/docs and .*b/docs are both source 'docs'.*NAME=PATH"):
        bench.ingest(path(bench, "a"), path(bench, "b"), allow_delete=True)
    bench.ingest(path(bench, "a"), f"b={path(bench, 'b')}")
    assert {"only-a.md", "b/only-b.md"} <= uris(bench)
    assert len(uris(bench)) == 20


def test_a_second_folder_of_the_name_does_not_take_the_place_of_the_first(bench: Workbench) -> None:
    bench.ingest(path(bench, "a"))
    for dry_run in (True, False):
        with pytest.raises(SourceError, match=r"a/docs and .*b/docs .*NAME=PATH.*--allow-delete"):
            bench.ingest(path(bench, "b"), dry_run=dry_run)
    assert "only-a.md" in uris(bench)
    bench.ingest(path(bench, "b"), allow_delete=True)
    assert "only-b.md" in uris(bench)
    assert "only-a.md" not in uris(bench)
    with pytest.raises(SourceError, match=r"b/docs and .*a/docs"):
        bench.ingest(path(bench, "a"))


def test_a_name_that_a_person_gives_is_not_that_of_another_folder(bench: Workbench) -> None:
    bench.ingest(path(bench, "a"))
    with pytest.raises(SourceError, match=r"a/docs and .*b/docs are both source 'docs'"):
        bench.ingest(f"docs={path(bench, 'b')}")
    bench.ingest(f"b={path(bench, 'b')}")
    assert bench.ingest(path(bench, "a"), f"b={path(bench, 'b')}").documents.unchanged == 20


def test_a_folder_that_was_moved_keeps_its_documents(bench: Workbench) -> None:
    bench.ingest(path(bench, "a"))
    (bench.folder / "c").mkdir()
    shutil.move(path(bench, "a"), bench.folder / "c")
    assert bench.ingest(path(bench, "c")).documents.unchanged == 10


def test_a_copy_of_a_store_takes_the_copies_of_its_folders(
    bench: Workbench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bench.ingest(path(bench, "a"))
    copy = bench.copy(tmp_path_factory.mktemp("copy"))
    assert copy.ingest(path(copy, "a")).documents.unchanged == 10
    with pytest.raises(SourceError, match="both source 'docs'"):
        copy.ingest(path(copy, "b"))


def test_an_empty_folder_that_removed_a_source_does_not_keep_its_name(bench: Workbench) -> None:
    bench.ingest(path(bench, "a"))
    (bench.folder / "empty" / "docs").mkdir(parents=True)
    assert bench.ingest(path(bench, "empty"), allow_delete=True).documents.deleted == 10
    assert bench.ingest(path(bench, "b")).documents.added == 10


def test_single_files_of_folders_of_one_name_are_ingested_together_unless_their_names_are_the_same(
    bench: Workbench,
) -> None:
    bench.ingest(path(bench, "a") + "/1.md", path(bench, "b") + "/2.md")
    assert uris(bench) == {"1.md", "2.md"}
    with pytest.raises(SourceError, match="both source 'docs'"):
        bench.ingest(path(bench, "b") + "/1.md")


def test_a_list_of_places_that_cannot_be_read_is_no_error(bench: Workbench) -> None:
    bench.ingest(path(bench, "a"))
    for damaged in ("", "{", "[1]", '{"docs": 2}', json.dumps({"store": str(bench.root.resolve()), "claims": [[1]]})):
        (bench.root / "cache" / "places.json").write_text(damaged)
        assert bench.ingest(path(bench, "a")).documents.unchanged == 10
