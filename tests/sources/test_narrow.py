"""What is left to the plan: it comes to what it would come to with all documents, and only what changed is a row."""

import io
import os
import shutil
import time
import zipfile
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docmill.flows.config.from_settings import opener_of, recipe_of, space_of
from docmill.flows.config.settings import Settings
from docmill.storage.arrow_schema import from_table
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.schema import RejectRow
from docmill.storage.snapshots.tables.row_columns import RowColumns
from docmill.storage.snapshots.tables.tables import read_table
from docmill.tasks.publishing.plan import KnownDocument, Plan, StoreState, plan
from docmill.tasks.publishing.skip_unchanged import Listed, narrow
from docmill.tasks.sources.discover import discover, open_source
from docmill.tasks.sources.expand_archives import expand
from docmill.tasks.sources.fingerprint import SETTLED_NS, Fingerprints
from docmill.tasks.sources.listings import Listings
from docmill.tasks.sources.source import DiscoverOptions, Listing, SourceFile
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

PAGE = "# Page {0}\n\nThe text of page {0}.\n"


def _archive(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, PAGE.format(name))
    return data.getvalue()


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Return a bench with some documents of each kind, of which none is left to the plan while nothing changes."""
    bench = Workbench(tmp_path_factory.mktemp("narrow"))
    bench.write({f"part/page-{number}.md": PAGE.format(number) for number in range(12)})
    bench.write({"twin.md": PAGE.format(3), "empty.txt": "", "set.zip": _archive("one.md", "two.md")})
    for path in bench.docs.rglob("*.*"):
        os.utime(path, ns=(0, time.time_ns() - 2 * SETTLED_NS))
    bench.ingest()
    return bench


def _listings(bench: Workbench) -> list[Listed]:
    settings = _settings(bench)
    source = open_source(str(bench.docs))
    found = discover(source, DiscoverOptions())
    taken = Listing(Fingerprints(bench.root).taken(found.found), found.skipped, found.rules)
    held = Listings(bench.root, recipe_of(settings, space_of(settings)).archives)
    return expand([(source, taken)], held, opener_of(settings), False, lambda _: None)


def _settings(bench: Workbench) -> Settings:
    return Settings.model_validate({"store": bench.root, "embedding": {"model": NAME}})


def _rejects(bench: Workbench) -> dict[str, RejectRow]:
    rows = from_table(read_table(open_folder(bench.root).newest(), "rejects"), RejectRow)
    return {row.uri: row for row in rows}


def _both(bench: Workbench) -> tuple[Plan, Plan, StoreState]:
    """Return the plan of all documents, that of what is left of them, and the state of the latter."""
    base, listings = open_folder(bench.root).newest(), _listings(bench)
    settings = _settings(bench)
    recipe = recipe_of(settings, space_of(settings))
    held = read_table(base, "documents", [one.name for one in fields(KnownDocument)])
    known = {row.uri: row for row in from_table(held, KnownDocument)}
    whole = plan(StoreState(known, _rejects(bench)), listings, recipe, retry=False)
    left = narrow(base, listings, StoreState({}, _rejects(bench)), recipe)
    planned = plan(left.state, left.listings, recipe, retry=False)
    assert left.unchanged + len(planned.unchanged) == len(whole.unchanged)
    assert left.state.held == {"docs": len(known)}
    return whole, planned, left.state


def _told(todo: Plan) -> dict[str, object]:
    told = {one.name: getattr(todo, one.name) for one in fields(Plan) if one.name not in ("unchanged", "settled")}
    rows = [(one.file.uri, one.content_hash, one.work, one.known and one.known.chunk_key) for one in todo.planned]
    lists = {name: sorted(value) for name, value in told.items() if isinstance(value, list) and name != "planned"}
    return told | lists | {"planned": sorted(rows, key=str)}


def test_of_what_is_as_it_was_nothing_is_left(ingested: Workbench) -> None:
    _, planned, state = _both(ingested)
    assert (planned.empty, planned.unchanged, planned.rejected) == (True, [], ["empty.txt"])
    assert (state.documents, state.elsewhere) == ({}, ())


def _edit(docs: Path) -> None:
    (docs / "part/page-1.md").write_text(PAGE.format("one"))


def _rename(docs: Path) -> None:
    (docs / "part").rename(docs / "section")


def _restore_a_reject(docs: Path) -> None:
    (docs / "empty.txt").write_text(PAGE.format("full"))


def _copy(docs: Path) -> None:
    shutil.copy(docs / "part/page-5.md", docs / "copy.md")
    shutil.copy(docs / "part/page-6.md", docs / "copy.txt")  # the same bytes are another document under this suffix
    (docs / "part/page-7.md").unlink()


def _lose_an_archive(docs: Path) -> None:
    (docs / "set.zip").write_bytes(_archive("one.md")[:60])


def _swap(docs: Path) -> None:
    first, second = docs / "part/page-8.md", docs / "part/page-9.md"
    first.rename(docs / "aside.md")
    second.rename(first)
    (docs / "aside.md").rename(second)


@pytest.mark.parametrize("change", [_edit, _rename, _restore_a_reject, _copy, _lose_an_archive, _swap])
def test_the_plan_of_what_is_left_is_the_plan_of_all(ingested: Workbench, change: object, tmp_path: Path) -> None:
    bench = ingested.copy(tmp_path)
    assert callable(change)
    change(bench.docs)
    whole, planned, state = _both(bench)
    assert _told(planned) == _told(whole)
    assert planned.planned or planned.deleted
    assert len(state.documents) < 14 if change is not _rename else len(state.documents) == 12


def test_another_recipe_leaves_every_document(ingested: Workbench, tmp_path: Path) -> None:
    bench = ingested.copy(tmp_path)
    bench.settings = {"chunk": {"context_tokens": 20}}
    report = bench.ingest()
    assert (report.documents.unchanged, len(report.rechunked)) == (0, 15)


def test_the_files_of_a_folder_are_columns(tmp_path: Path) -> None:
    for name in ("b.md", "a-b.md", "a/c.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / os.fsdecode(b"\xff.md")).write_text("no text is its name")
    files = discover(open_source(str(tmp_path)), DiscoverOptions()).found
    assert isinstance(files, RowColumns)
    assert [file.uri for file in files] == ["a-b.md", "a/c.md", "b.md", "\\xff.md"]
    assert [files[place] for place in range(-4, 4)] == [*files, *files]
    assert files.table.num_rows == 3
    for file in files:
        status = Path(file.path).stat()
        assert (file.size, file.mtime_ns, file.inode) == (status.st_size, status.st_mtime_ns, status.st_ino)
        assert (file.source, file.place, file.item) == (tmp_path.name, (), None)


def test_rows_are_parted_by_a_field() -> None:
    table = pa.table({"uri": pa.array(["a", "b", "c"], pa.large_string()), "size": [1, 2, 3]})
    other = SourceFile("d", "", "s", 4, 0)
    files = RowColumns(SourceFile, table, {"source": "s", "path": "", "mtime_ns": 0}, (other,))
    left, apart = files.parted("uri", ["b", "d"])
    assert ([one.uri for one in left], [one.uri for one in apart]) == (["a", "c"], ["b", "d"])
    assert [one.size for one in left.beside(apart)] == [1, 3, 2, 4]


def test_fingerprints_of_files_that_are_gone_are_forgotten(ingested: Workbench, tmp_path: Path) -> None:
    bench = ingested.copy(tmp_path)
    (bench.docs / "part/page-1.md").unlink()
    (bench.docs / "part/page-2.md").write_text(PAGE.format("two"))
    os.utime(bench.docs / "part/page-2.md", ns=(0, time.time_ns() - 2 * SETTLED_NS))
    files = discover(open_source(str(bench.docs)), DiscoverOptions()).found
    prints = Fingerprints(bench.root)
    taken = prints.taken(files)
    prints.save([files])
    assert {file.uri: file.content_hash for file in taken} == {
        file.uri: file.content_hash for file in Fingerprints(bench.root).taken(files)
    }
    assert [file.uri for file in Fingerprints(bench.root).lacking(files)] == []
    names = pq.read_table(bench.root / "cache/files.parquet").column("path").to_pylist()
    here = {file.path for file in files} | {
        file.path for file in discover(open_source(str(ingested.docs)), DiscoverOptions()).found
    }
    assert set(names) == here
    assert names == sorted(names)
