"""An archive named as a source lists and fetches its members, and gives the rows that it gives in a folder."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from docmill.source_suite import check_bytes, check_checkpoint, check_links, check_listing, check_missing
from docmill.storage.errors import Rejected
from docmill.tasks.archive.archive_options import ArchiveOptions
from docmill.tasks.sources.archive_source import ArchiveSource, Opener
from docmill.tasks.sources.checkpoints import Checkpoints
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions, Source, SourceFile
from docmill.tasks.work.pool.limits import Limits
from tests.kit.workbench import Workbench, summary
from tests.kit.writers.archives import tarred, zipped

pytestmark = pytest.mark.usefixtures("fake_model")

FILES: dict[str, str | bytes] = {
    "guide.md": "# Guide\n\nTurn the red knob.\n",
    "deep/prices.csv": "name,price\nknob,3\nbutton,4\n",
    "deep/inner.zip": zipped({"note.txt": "Plain notes about the northern valley.\n"}),
}
NAMES = ["deep/inner.zip/note.txt", "deep/prices.csv", "guide.md"]
OPENER = Opener(ArchiveOptions(), Limits(1))
PACKS = {
    "pack.zip": zipped(FILES),
    "pack.tar.gz": tarred(FILES, "w:gz"),
    "pack.tar": tarred(FILES, "w"),
    "notes.txt.gz": gzip.compress(b"Plain notes.\n"),
}
LONG_AGO = 1_600_000_000


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def opened(path: Path) -> Source:
    source = open_source(f"kept={path}", opener=OPENER)
    assert isinstance(source, ArchiveSource)
    return source


def found(source: Source, checkpoints: Checkpoints | None = None) -> list[SourceFile]:
    return list(source.list(DiscoverOptions(), checkpoints or Checkpoints()).found)


@pytest.mark.parametrize("check", [check_listing, check_checkpoint, check_bytes, check_missing, check_links])
def test_an_archive_keeps_what_the_suite_asks_of_every_source(tmp_path: Path, check: Callable[[Source], None]) -> None:
    check(opened(write(tmp_path, "pack.zip", PACKS["pack.zip"])))


@pytest.mark.parametrize("name", PACKS)
def test_members_are_items_with_versions_and_bytes(tmp_path: Path, name: str) -> None:
    source = opened(write(tmp_path, name, PACKS[name]))
    inner = ["notes.txt"] if name == "notes.txt.gz" else NAMES
    files = found(source)
    assert sorted(file.uri for file in files) == [f"kept/{name}/{one}" for one in inner]
    for file in files:
        source.fetch(file, tmp_path / "fetched", 1000)
        assert len((tmp_path / "fetched").read_bytes()) == file.size
        assert file.item
        assert len(file.item.version) == 32
    versions = {file.uri.rpartition("/")[2]: file.item and file.item.version for file in files}
    write(tmp_path, name, tarred(FILES | {"guide.md": "# Another\n"}, "w"))
    changed = {file.uri.rpartition("/")[2]: file.item and file.item.version for file in found(source)}
    assert {one for one in versions if changed.get(one) != versions[one]} == {inner[-1]}


def test_a_member_that_is_too_large_or_gone_is_rejected(tmp_path: Path) -> None:
    source = opened(write(tmp_path, "pack.zip", PACKS["pack.zip"]))
    guide = found(source)[-1]
    with pytest.raises(Rejected, match="too_large: more than 5 bytes"):
        source.fetch(guide, tmp_path / "fetched", 5)
    write(tmp_path, "pack.zip", zipped({}))
    with pytest.raises(Rejected, match="unreadable: the archive has no such member"):
        source.fetch(guide, tmp_path / "fetched", 1000)


def test_an_archive_that_is_as_it_was_is_not_opened_again(tmp_path: Path) -> None:
    path, checkpoints = write(tmp_path, "pack.zip", PACKS["pack.zip"]), Checkpoints(tmp_path)
    source = opened(path)
    before = found(source, checkpoints)
    checkpoints.save()
    path.write_bytes(b"x" * path.stat().st_size)
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert found(source, Checkpoints(tmp_path)) == before, "its size, time and inode are those of before"
    os.utime(path, (LONG_AGO + 9, LONG_AGO + 9))
    assert [file.uri for file in found(source, Checkpoints(tmp_path))] == ["kept/pack.zip"]


def test_a_document_that_begins_as_an_archive_is_a_file(tmp_path: Path) -> None:
    policy = Path(__file__).parents[1] / "corpus" / "legal" / "field-safety-policy.docx"
    source = opened(write(tmp_path, "policy.docx", policy.read_bytes()))
    (file,) = found(source)
    assert (file.uri, file.place, file.size) == ("kept/policy.docx", (), policy.stat().st_size)
    source.fetch(file, tmp_path / "fetched", file.size)
    assert (tmp_path / "fetched").read_bytes() == policy.read_bytes()


@pytest.mark.parametrize("name", ["pack.zip", "pack.tar.gz"])
def test_an_archive_gives_the_same_rows_named_and_found_in_a_folder(tmp_path: Path, name: str) -> None:
    named, inside = Workbench(tmp_path / "named"), Workbench(tmp_path / "inside")
    rows = []
    for bench, source in ((named, named.docs / name), (inside, inside.docs)):
        bench.write({name: PACKS[name]})
        os.utime(bench.docs / name, (LONG_AGO, LONG_AGO))
        assert summary(bench.ingest(str(source))) == {"added": 3, "parsed": 3, "embedded": 3}
        assert bench.ingest(str(source)).snapshot is None
        found = "FROM documents ORDER BY uri"
        rows.append((bench.store.sql(found).to_pylist(), bench.chunks()))
    assert rows[0] == rows[1]
    assert summary(named.ingest()) == {"unchanged": 3}, "and the other way round is the same document"


def test_patterns_settings_and_a_damaged_archive_are_as_in_a_folder(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, {"discover": {"exclude": ["pack.zip/deep/"]}})
    bench.write({"pack.zip": PACKS["pack.zip"]})
    source = str(bench.docs / "pack.zip")
    assert bench.ingest(source).documents.added == 1
    (bench.docs / "pack.zip").write_bytes(PACKS["pack.zip"][:200])
    report = bench.ingest(source)
    assert (report.documents.stale, report.documents.rejected, report.exit_status) == (1, 1, 3)
    assert [(row.uri, row.reason) for row in report.rejects] == [("pack.zip", "corrupt")]
    assert summary(bench.ingest(source)) == {"stale": 1, "rejected": 1}
