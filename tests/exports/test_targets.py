"""What an export refuses, and what it says: targets that hold something else, or were exported otherwise."""

import errno
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from docmill.storage import failpoints
from docmill.storage.errors import ConfigError, DocmillError, Locked, QueryError, StoreError, Transient
from docmill.storage.exports.export_lock import claim
from docmill.storage.exports.last_export import VERSION
from docmill.storage.search.encode import encoder, space
from docmill.storage.snapshots.change.tagging import delete_tag
from docmill.storage.snapshots.history.retention import Retention
from docmill.storage.snapshots.read.store import Store
from docmill.tasks.publishing.reembed import CommitTerms, reembed
from tests.exports.exported_rows import FILES, entries, read_lance, read_parquet, same, wanted
from tests.kit.fake_encoder import DIMENSION, TokenCounts, write_model
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")
LARGER = "larger"


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("out.csv", "cannot export to 'out.csv'; write NAME.jsonl or NAME.parquet for one file; jsonl:FOLDER"),
        ("csv:out", "cannot export to 'csv:out'"),
        ("", "cannot export to ''"),
        ("s3://bucket/out.jsonl", "nothing is written into a bucket: export to a folder, and copy it"),
        ("jsonl:", "jsonl: names no folder of this machine"),
        ("parquet:/", "names no folder of this machine"),
        ("lancedb:s3://bucket/base", "names no folder of this machine"),
        ("lancedb://host/base", "lancedb://host/base names no folder of this machine"),
        ("parquet://host/parts", "parquet://host/parts names no folder of this machine"),
        ("lancedb:host:8000", "lancedb:host:8000 names no folder of this machine"),
        ("qdrant://host:6333", "a server is qdrant:http://host:6333"),
        ("qdrant:host:6333", "a server is qdrant:http://host:6333"),
        ("qdrant:file:///nowhere/x", "qdrant:file:///nowhere/x names no folder of this machine"),
        ("qdrant:", "qdrant: names no place"),
        ("qdrant:https://me:hunter2@localhost", "set QDRANT_API_KEY"),
        ("postgresql://", "names no place"),
        ("postgresql://me:hunter2@localhost/base", "set PGPASSWORD"),
        ("postgresql://localhost/base?password=hunter2", "set PGPASSWORD"),
        ("postgres://localhost/base?user=me&sslpassword=hunter2", "set PGPASSWORD"),
    ],
)
def test_a_wrong_address_is_told_what_would_be_right(to: str, said: str, store: Store, here: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)) as failure:
        store.export(to)
    assert "hunter2" not in str(failure.value)
    assert not [*entries(here)]


@pytest.mark.parametrize("table", ["a b", "", "1st", 'x"; DROP TABLE y', "x" * 64])
def test_a_table_has_a_plain_name(table: str, store: Store) -> None:
    with pytest.raises(ConfigError, match="--table takes letters, digits and _"):
        store.export("lancedb:base", table=table)


def test_options_that_do_not_go_together_are_told(store: Store, first: Store) -> None:
    with pytest.raises(ConfigError, match="--table names a table"):
        store.export("out.jsonl", table="chunks")
    with pytest.raises(ConfigError, match="--since writes changes into files"):
        store.export("lancedb:base", since=1)
    with pytest.raises(ConfigError, match="--since takes a snapshot before 1, got 2"):
        first.export("out.jsonl", since=2)
    with pytest.raises(StoreError, match="no snapshot 9"):
        store.export("out.jsonl", since=9)
    with pytest.raises(QueryError, match="nothing"):
        store.export("out.jsonl", where="nothing = 1")


def foreign(here: Path) -> dict[str, str]:
    """Make something of another program at each target, and return what is said of it."""
    (here / "out.jsonl").write_text('{"mine": 1}\n')
    (here / "out.parquet").mkdir()
    for folder in ("lines", "parts", "set/data"):
        (here / folder).mkdir(parents=True)
        (here / folder / "mine.txt").write_text("mine")
    lancedb.connect(here / "base").create_table("chunks", pa.table({"chunk_id": ["mine"]}))
    return {
        "jsonl": "exists, and no export wrote it",
        "parquet": "is a folder",
        "jsonl folder": "holds 'mine.txt', which no export wrote",
        "parquet folder": "holds 'mine.txt', which no export wrote",
        "hugging face": "holds 'mine.txt', which no export wrote",
        "lance": "is a table that no export wrote",
    }


def test_what_another_program_has_written_stays(store: Store, here: Path) -> None:
    said = foreign(here)
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    for kind, (to, _) in FILES.items():
        for replace in (False, True):
            with pytest.raises(StoreError, match=said[kind]):
                store.export(to, replace=replace)
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


@pytest.fixture
def larger(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, bench: Workbench) -> Iterator[Store]:
    """Return the same store with the vectors of another model."""
    folder = write_model(tmp_path_factory.mktemp("models") / LARGER, 2 * DIMENSION)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(space.FOLDERS, LARGER, lambda: folder)
        patch.setitem(encoder.LOADERS, LARGER, TokenCounts)
        own = bench.copy(tmp_path / "larger")
        own.settings["embedding"] = {"model": LARGER}
        delete_tag(own.root, "first", 0.0)
        reembed(own.root, space.describe_model(LARGER), CommitTerms(Retention()))
        with own.store as found:
            yield found


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    """Return another store."""
    made = Workbench(tmp_path / "other")
    made.write({"other.md": "# Other\n\nWords.\n"})
    made.ingest()
    with made.store as own:
        yield own


def test_a_target_that_was_exported_otherwise_is_refused_and_can_be_replaced(
    store: Store, first: Store, other: Store, larger: Store, here: Path
) -> None:
    code = {"where": "content_type = 'code'"}
    cases: list[tuple[Store, dict[str, Any], str]] = [
        (first, {}, "was exported from snapshot 2, which is newer than snapshot 1"),
        (other, {}, "holds an export of another store"),
        (larger, {}, "holds vectors of token-counts (16 numbers), the store has others, of larger (32 numbers)"),
        (store, code, "was exported without --where, not with --where \"content_type = 'code'\""),
        (store, {"where": "page = 1"}, "was exported without --where, not with --where 'page = 1'"),
    ]
    now = wanted(store)
    expected = [wanted(one, options.get("where", "true")) for one, options, _ in cases]
    for to, read in (FILES[kind] for kind in ("parquet", "jsonl folder", "lance")):
        for (one, options, said), rows in zip(cases, expected, strict=True):
            store.export(to, replace=True)
            with pytest.raises(StoreError, match=re.escape(f"{said}; name another target, or replace it")):
                one.export(to, **options)
            assert same(read(here), now), "nothing has changed"
            done = one.export(to, replace=True, **options)
            assert same(read(here), rows)
            assert (done.added, done.removed) == (len(rows), 0)
            assert one.export(to, **options).added == 0


def test_a_folder_of_one_format_is_not_updated_in_the_other(store: Store, here: Path) -> None:
    store.export("jsonl:rows")
    with pytest.raises(StoreError, match="rows was exported as jsonl, not parquet; name another target, or replace"):
        store.export("parquet:rows")
    assert store.export("parquet:rows", replace=True).added
    assert {Path(name).suffix for name in entries(here / "rows")} == {".json", ".parquet"}


@pytest.mark.usefixtures("here")
def test_a_server_that_does_not_answer_leaves_no_thread(store: Store) -> None:
    pytest.importorskip("qdrant_client")
    before = {*threading.enumerate()}
    with pytest.raises(Transient, match="export again to finish"):
        store.export("qdrant:http://127.0.0.1:1")
    assert {*threading.enumerate()} <= before, "a thread of TLS crashes a process that ends meanwhile"


def test_two_exports_to_one_target_do_not_meet(store: Store, here: Path) -> None:
    for to, place in {"out.jsonl": "out.jsonl", "parquet:parts": "parts", "hf:set": "set/data"}.items():
        with claim(here / place), pytest.raises(Locked, match="another export writes to"):
            store.export(to)
        assert store.export(to).added


def fail(number: int) -> Callable[[str], None]:
    def act(name: str) -> None:
        if name.startswith("after export "):
            raise OSError(number, os.strerror(number))

    return act


def test_a_full_disk_leaves_the_export_before(store: Store, first: Store, here: Path) -> None:
    before, after = wanted(first), wanted(store)
    for to, read in FILES.values():
        first.export(to)
        failpoints.watch = fail(errno.ENOSPC)
        with pytest.raises(Transient, match="No space left on device"):
            store.export(to)
        failpoints.watch = None
        assert to.startswith("lancedb:") or same(read(here), before)
        store.export(to)
        assert same(read(here), after)
        assert not [name for name in entries(here) if name.startswith(".")], "nothing is left lying"


@pytest.mark.usefixtures("here")
def test_a_local_qdrant_on_a_full_disk_ends_in_one_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    local = pytest.importorskip("qdrant_client.local.persistence")

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patched:
        patched.setattr(local.CollectionPersistence, "persist", full)
        with pytest.raises(StoreError, match=r"chunks: disk I/O error; free some space if there is none"):
            store.export("qdrant:points")
    assert store.export("qdrant:points").chunks


@pytest.mark.usefixtures("here")
def test_an_export_in_the_name_of_principals_is_not_that_of_all(store: Store) -> None:
    store.export("out.jsonl")
    seen = store.seen_by(["all"])
    with pytest.raises(StoreError, match=r"out\.jsonl was exported without --principal; name another target"):
        seen.export("out.jsonl")
    seen.export("out.jsonl", replace=True)
    with pytest.raises(StoreError, match=r"out\.jsonl was exported with --principal"):
        store.export("out.jsonl")


def test_a_file_that_has_changed_is_not_taken_for_an_export(store: Store, here: Path) -> None:
    store.export("out.jsonl")
    store.export("parquet:parts")
    with (here / "out.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(StoreError, match="has changed since it was exported"):
        store.export("out.jsonl")
    next((here / "parts").glob("*.parquet")).write_bytes(b"no")
    with pytest.raises(StoreError, match="write all again with --replace"):
        store.export("parquet:parts")
    store.export("parquet:parts", replace=True)
    assert same(read_parquet(here / "parts"), wanted(store))


def test_a_table_that_another_program_has_added_to_is_told(store: Store, first: Store, here: Path) -> None:
    first.export("lancedb:base")
    table = lancedb.connect(here / "base").open_table("chunks")
    rows = table.to_arrow()
    table.add(rows.filter(pc.equal(rows.column("uri"), "notes.txt")))
    with pytest.raises(StoreError, match="another program has written to it"):
        store.export("lancedb:base")
    store.export("lancedb:base", replace=True)
    assert same(read_lance(here / "base"), wanted(store))


def test_an_export_of_a_newer_docmill_is_refused(store: Store, here: Path) -> None:
    store.export("parquet:parts")
    manifest = here / "parts" / "_export.json"
    manifest.write_text(manifest.read_text().replace(f'"version": {VERSION}', '"version": 99, "colour": "red"'))
    with pytest.raises(DocmillError, match="was exported by another docmill"):
        store.export("parquet:parts")
