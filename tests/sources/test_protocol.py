"""Sources of every kind are one protocol, and only `open_source` knows which kinds there are."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from docmill.source_suite import check_bytes, check_checkpoint, check_links, check_listing, check_missing
from docmill.storage.errors import Rejected
from docmill.storage.remote.objects.bucket import connect
from docmill.tasks.sources.checkpoints import Checkpoint, Checkpoints
from docmill.tasks.sources.connectors.contract import SourceItem
from docmill.tasks.sources.discover import open_source
from docmill.tasks.sources.source import DiscoverOptions, Source
from tests.kit.house import MODULES, imports, name_of, syntax
from tests.kit.remote_bench import RemoteBench

AT_HOME = "tasks/sources/"
KINDS = ("object_source", "FolderSource", "ArchiveSource")
OF_ONE_KIND = {"url", "root"}
"""What a source of one kind has and others lack; to ask a source for it is to ask what it is."""
TEXT = "# Guide\n\nTurn the red knob.\n"


@pytest.mark.parametrize("path", [path for path in MODULES if not name_of(path).startswith(AT_HOME)], ids=name_of)
def test_nobody_asks_a_source_what_it_is(path: Path) -> None:
    taken = {name for name, _ in imports(path) if name.startswith("docmill.tasks.sources.")}
    assert not [name for name in taken if name.rpartition(".")[2] in KINDS or "object_source" in name]
    asked = [
        node.attr
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Attribute) and node.attr in OF_ONE_KIND and ast.unparse(node.value).endswith("source")
    ]
    assert not asked, f"{name_of(path)} asks a source for its {asked}"


@pytest.fixture(params=["a folder", "an object store"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a source of each kind, with the same files."""
    if request.param == "a folder":
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "guide.md").write_text(TEXT)
        return str(tmp_path)
    far: RemoteBench = request.getfixturevalue("far")
    connect(f"{far.address}/docs").put("deep/guide.md", TEXT.encode())
    return f"{far.address}/docs"


def test_a_source_of_each_kind_lists_and_fetches(where: str, tmp_path: Path) -> None:
    source = open_source(f"kept={where}")
    (file,) = source.list(DiscoverOptions(), Checkpoints()).found
    assert (file.uri, file.source, file.size) == ("kept/deep/guide.md", "kept", len(TEXT))
    assert source.covers(file.uri)
    source.fetch(file, tmp_path / "fetched", 1000)
    assert (tmp_path / "fetched").read_text() == TEXT
    assert source.link(file) == ("" if source.folder else f"{where}/deep/guide.md")


@pytest.mark.parametrize("check", [check_listing, check_checkpoint, check_bytes, check_missing, check_links])
def test_our_sources_keep_what_the_suite_asks_of_others(where: str, check: Callable[[Source], None]) -> None:
    check(open_source(f"kept={where}"))


def test_an_object_that_is_gone_is_rejected(far: RemoteBench, tmp_path: Path) -> None:
    objects = connect(f"{far.address}/docs")
    objects.put("guide.md", TEXT.encode())
    source = open_source(f"{far.address}/docs")
    (file,) = source.list(DiscoverOptions(), Checkpoints()).found
    objects.delete(["guide.md"])
    with pytest.raises(Rejected, match="unreadable: the object was removed after it was listed"):
        source.fetch(file, tmp_path / "fetched", 1000)


def test_a_checkpoint_is_kept_with_all_items_and_a_damaged_one_is_none(tmp_path: Path) -> None:
    items = {name: SourceItem(name, "1", 7, 8) for name in ("a.md", "b/c.md")}
    kept, noted = Checkpoints(tmp_path), Checkpoint("key", "state", items)
    kept.note("news", noted)
    assert Checkpoints(tmp_path).of("news", "key") == Checkpoint("key")
    kept.save()
    assert Checkpoints(tmp_path).of("news", "key") == noted
    assert Checkpoints(tmp_path).of("news", "another key") == Checkpoint("another key")
    (file,) = (tmp_path / "cache" / "sources").iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert Checkpoints(tmp_path).of("news", "key") == Checkpoint("key")
