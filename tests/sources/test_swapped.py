"""A file, or a folder above it, that becomes a link between listing and reading is not read outside of the source."""

import os
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docmill.flows.runs.report import Report
from docmill.tasks.paths.local_file import LocalFile, Reach
from docmill.tasks.sources import discover, walk
from docmill.tasks.sources.source import DiscoverOptions, Listing
from tests.kit.workbench import Workbench

SECRET = "The secret password is swordfish."
Swap = Callable[[Workbench], None]

pytestmark = pytest.mark.usefixtures("fake_model")


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    """Return a source with a file, a file in a folder and an archive, and the same names with a secret elsewhere."""
    bench = Workbench(tmp_path)
    bench.write({"a.md": "A plain text.", "deep/b.md": "Another text.", "../elsewhere/b.md": SECRET})
    pack(bench.docs / "c.tar", "An archived text.", tmp_path)
    pack(tmp_path / "elsewhere" / "c.tar", SECRET, tmp_path)
    return bench


def pack(path: Path, text: str, folder: Path) -> None:
    (folder / "member.md").write_text(text)
    with tarfile.open(path, "w") as archive:
        archive.add(folder / "member.md", "member.md")


def swap_file(bench: Workbench) -> None:
    (bench.docs / "a.md").unlink()
    (bench.docs / "a.md").symlink_to(bench.folder / "elsewhere" / "b.md")


def swap_folder(bench: Workbench) -> None:
    shutil.rmtree(bench.docs / "deep")
    (bench.docs / "deep").symlink_to(bench.folder / "elsewhere")


def swap_archive(bench: Workbench) -> None:
    (bench.docs / "c.tar").unlink()
    (bench.docs / "c.tar").symlink_to(bench.folder / "elsewhere" / "c.tar")


def swap_for_pipe(bench: Workbench) -> None:
    (bench.docs / "a.md").unlink()
    os.mkfifo(bench.docs / "a.md")


SWAPS = {swap_file: "a.md", swap_folder: "deep/b.md", swap_archive: "c.tar", swap_for_pipe: "a.md"}


def ingest_swapped(bench: Workbench, swap: Swap, monkeypatch: pytest.MonkeyPatch) -> Report:
    """Ingest a source that changes as soon as it is listed."""
    plain = discover.FolderSource.list

    def listed(self: discover.FolderSource, options: DiscoverOptions, *more: Any) -> Listing:
        found = plain(self, options, *more)
        swap(bench)
        return found

    monkeypatch.setattr(discover.FolderSource, "list", listed)
    return bench.ingest()


@pytest.mark.parametrize("mode", ["inside", "none"])
@pytest.mark.parametrize(("swap", "uri"), SWAPS.items())
def test_what_took_the_place_of_a_listed_file_is_rejected(
    bench: Workbench, swap: Swap, uri: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.settings["discover"] = {"follow_links": mode}
    report = ingest_swapped(bench, swap, monkeypatch)
    assert report.documents.rejected == 1
    assert bench.store.sql("SELECT uri, reason FROM rejects").to_pylist() == [{"uri": uri, "reason": "unreadable"}]
    assert not [chunk for chunk in bench.chunks() if "swordfish" in chunk.text]
    assert len(bench.chunks()) == 2


def test_a_folder_that_is_swapped_while_it_is_listed_gives_no_names(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = walk._entries

    def swapped(path: Path) -> list[os.DirEntry[str]]:
        if path.name == "deep" and not path.is_symlink():
            swap_folder(bench)
        return plain(path)

    monkeypatch.setattr(walk, "_entries", swapped)
    bench.ingest()
    assert {chunk.text for chunk in bench.chunks()} == {"A plain text.", "An archived text."}
    assert bench.store.sql("SELECT uri, reason FROM rejects").to_pylist() == [{"uri": "deep", "reason": "unreadable"}]


def test_a_link_inside_is_followed_to_where_it_leads_now(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write({".versions/3/v.md": "Version three.", ".versions/4/v.md": "Version four."})
    (bench.docs / "now").symlink_to(bench.docs / ".versions" / "3")

    def turn(bench: Workbench) -> None:
        (bench.docs / "now").unlink()
        (bench.docs / "now").symlink_to(".versions/4")

    ingest_swapped(bench, turn, monkeypatch)
    assert "Version four." in {chunk.text for chunk in bench.chunks()}


def test_a_file_opens_only_within_its_reach(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    (root / "real").mkdir(parents=True)
    (root / "real" / "a").write_text("here")
    (tmp_path / "out").write_text("there")
    (root / "inside").symlink_to("real/a")
    (root / "round").symlink_to(root / "real")
    (root / "outside").symlink_to(tmp_path / "out")
    (root / "loop").symlink_to("loop")
    (root / "up").symlink_to("..")
    names = ["real/a", "inside", "round/a", "outside", "loop", "up/out", "real", "gone", "real/a/x"]

    def opens(reach: Reach) -> list[str]:
        return [name for name in names if is_opened(LocalFile(str(root / name), reach))]

    assert opens(Reach(str(root))) == ["real/a", "inside", "round/a"]
    assert opens(replace(Reach(str(root)), links=False)) == ["real/a"]
    assert opens(Reach()) == ["real/a", "inside", "round/a", "outside", "up/out"]


def is_opened(file: LocalFile) -> bool:
    try:
        file.open().close()
    except OSError:
        return False
    return True


def test_no_file_stays_open(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_text("x")
    before = len([*Path("/dev/fd").iterdir()])
    for name in ("a/b/c", "a/b", "a/b/d", "a/x/d"):
        is_opened(LocalFile(str(tmp_path / name), Reach(str(tmp_path))))
    assert len([*Path("/dev/fd").iterdir()]) == before
