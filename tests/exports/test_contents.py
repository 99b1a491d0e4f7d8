"""What an export has: changes since a snapshot, pending vectors, parts; what it writes anew, and what it prints."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import StoreError
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.storage.snapshots.tables import tables
from tests.exports.exported_rows import FILES, entries, read_jsonl, read_parquet, same, wanted
from tests.kit.counting_encoder import LONG_RUN, PAGES, interrupt
from tests.kit.remote_bench import RemoteBench
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")


def test_an_export_since_a_snapshot_has_what_changed_and_what_left(store: Store, first: Store, here: Path) -> None:
    before, now = wanted(first), wanted(store)
    done = store.export("delta.jsonl", since="first")
    rows = read_jsonl(here / "delta.jsonl")
    gone = {key for key, row in rows.items() if row["deleted"]}
    assert gone == before.keys() - now.keys()
    assert all(rows[key].keys() == {"chunk_id", "deleted", "digest", "snapshot"} for key in gone)
    fresh = {key for key in now if before.get(key, {}) | {"vector": 0} != now[key] | {"vector": 0}}
    assert rows.keys() - gone == fresh
    assert same({key: rows[key] for key in fresh}, {key: now[key] for key in fresh})
    assert len(fresh) < len(now), "what has not changed is left out"
    assert done.chunks == len(rows)
    store.export("parquet:delta", since=1)
    assert {key: row["deleted"] for key, row in read_parquet(here / "delta").items()} == {
        key: row["deleted"] for key, row in rows.items()
    }
    assert store.export("delta.jsonl", since=1).added == 0
    with pytest.raises(StoreError, match="was exported with --since '1', not without --since"):
        store.export("delta.jsonl")
    with pytest.raises(StoreError, match="was exported with --since '1', not with --since '2'"):
        store.export("delta.jsonl", since=2)


def test_a_card_that_a_person_has_written_stays(store: Store, first: Store, here: Path) -> None:
    first.export("hf:set")
    card = here / "set" / "README.md"
    assert "path: data/*.parquet" in card.read_text()
    card.write_text("Mine.")
    (here / "set" / ".git").mkdir()
    store.export("hf:set")
    assert card.read_text() == "Mine."
    assert [*entries(here / "set")] == [".git", "README.md", "data", "figures"]


def test_an_export_since_a_snapshot_may_have_only_what_left(tmp_path: Path, here: Path) -> None:
    own = Workbench(tmp_path / "own")
    own.write({"stays.txt": "Snow.\n", "gone.txt": "Rain.\n"})
    own.ingest()
    (gone,) = (row.chunk_id for row in own.chunks() if row.uri == "gone.txt")
    (own.docs / "gone.txt").unlink()
    own.ingest(allow_delete=True)
    with own.store as store:
        assert store.export("delta.jsonl", since=1).chunks == 1
    assert [*read_jsonl(here / "delta.jsonl")] == [gone]


def test_only_files_with_a_change_are_written(tmp_path: Path, here: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "ROWS_PER_BUCKET", 2)
        own = Workbench(tmp_path / "spread")
        own.write({f"{n}.txt": f"Text number {n} of the mill.\n" for n in range(16)})
        own.ingest()
        with own.store as store:
            store.export("parquet:parts")
        before = {path.name: path.stat().st_ino for path in (here / "parts").glob("*.parquet")}
        assert len(before) >= 4
        own.write({"3.txt": "Another text.\n"})
        own.ingest()
        with own.store as store:
            store.export("parquet:parts")
            after = {path.name: path.stat().st_ino for path in (here / "parts").glob("*.parquet")}
            assert len(before.items() - after.items()) == 1, "the chunk that left and the new one are of one document"
            assert same(read_parquet(here / "parts"), wanted(store))
        for count in (40, 4):  # the folder spreads its rows over more files, and then over fewer
            for path in own.docs.glob("*.txt"):
                path.unlink()
            own.write({f"{n}.txt": f"Text number {n} of the wheel.\n" for n in range(count)})
            own.ingest(allow_delete=True)
            with own.store as store:
                store.export("parquet:parts")
                assert same(read_parquet(here / "parts"), wanted(store))


def test_chunks_that_wait_for_their_vectors_follow_later(tmp_path: Path, here: Path) -> None:
    own = Workbench(tmp_path / "slow", dict(LONG_RUN))
    own.write(dict(PAGES))
    interrupt(own)
    done = CliRunner().invoke(app, ["export", "out.jsonl", "--json", "--store", str(own.root)])
    told = json.loads(done.stdout)
    assert done.exit_code == 3
    assert told["pending"] > 0
    assert f"left out, as they wait for their vectors: {told['pending']} chunks" in done.stderr
    with own.store as store:
        assert told["chunks"] == len(store._sources._vectors.held([row.chunk_id for row in own.chunks()]))
        assert told["chunks"] + told["pending"] == len(own.chunks())
    own.ingest()
    with own.store as store:
        assert store.export("out.jsonl").pending == 0
        assert same(read_jsonl(here / "out.jsonl"), wanted(store))


def test_a_long_chunk_has_the_mean_of_the_vectors_of_its_parts(tmp_path: Path, here: Path) -> None:
    own = Workbench(tmp_path / "long", {"embedding": {"model": "token-counts", "parts": 32}})
    own.write({"long.txt": " ".join(f"The miller of mill {n} grinds rye and wheat." for n in range(40))})
    own.ingest()
    assert any(row.part_keys for row in own.chunks())
    with own.store as store:
        store.export("out.parquet")
        assert same(read_parquet(here / "out.parquet"), wanted(store))


def test_a_line_holds_a_row_also_for_readers_that_cut_at_line_ends_of_unicode(tmp_path: Path, here: Path) -> None:
    own, text = Workbench(tmp_path / "own"), "A line\u2028and\u2029another\x85one."
    own.write({"page.csv": f"note\n{text}\n"})
    own.ingest()
    with own.store as store:
        store.export("out.jsonl")
        (row,) = store.sql("SELECT text FROM chunks").to_pylist()
    (line,) = (here / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["text"] == row["text"]
    assert "\u2028" in row["text"]


def test_an_empty_selection_is_an_empty_export(store: Store, here: Path) -> None:
    for to, read in FILES.values():
        assert store.export(to, where="false").chunks == 0
        if to.startswith("hf:") or to == "parquet:parts":
            continue  # a folder without a file, which pyarrow does not read
        assert read(here) == {}


def test_the_command_prints_one_line_or_json(bench: Workbench, here: Path) -> None:
    def run(*words: str) -> Any:
        return CliRunner().invoke(app, ["export", *words, "--store", str(bench.root)])

    count = len(bench.chunks())
    assert run("out.jsonl").stdout == f"out.jsonl: snapshot 2, {count} chunks ({count} added)\n"
    assert run("out.jsonl").stdout == f"out.jsonl: snapshot 2, {count} chunks (no change)\n"
    assert json.loads(run("out.jsonl", "--json").stdout) == {
        "target": "out.jsonl", "snapshot": 2, "chunks": count, "added": 0, "changed": 0, "removed": 0, "pending": 0,
        "figures": 2,
    }  # fmt: skip
    refused = run("out.jsonl", "--at", "first", "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stderr)["error"]["kind"] == "StoreError"
    assert json.loads((here / "out.jsonl.export.json").read_text())


def test_an_export_runs_from_a_bucket(far: RemoteBench, here: Path) -> None:
    far.write({"guide.md": "# Guide\n\nTurn the red knob.\n", "notes.txt": "Notes about snow.\n"})
    far.ingest()
    with open_store(far.address) as store:
        done = store.export("parquet:parts")
        assert same(read_parquet(here / "parts"), wanted(store))
    with open_store(far.on("two").root) as store:  # another machine, with the same target
        assert store.export("parquet:parts") == done.__class__(done.target, 1, done.chunks, 0, 0, 0, 0)
