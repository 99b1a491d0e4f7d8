"""Earlier snapshots: named, opened, searched, asked in SQL and compared."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import QueryError, StoreError
from docmill.storage.remote.mirror.open_folder import open_folder
from docmill.storage.snapshots.change.diff import Difference, diff
from docmill.storage.snapshots.change.tagging import delete_tag, set_tag
from docmill.storage.snapshots.history import snapshots, tags
from docmill.storage.snapshots.read.store import open_store
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

GUIDE = """# Guide

This guide says in some words what there is to do with it.

Turn the red knob until it stops and wait for some time.

Press the green button after that and go home for the day.
"""
SETTINGS = {"routes": [{"glob": "*.md", "strategy": "recursive", "options": {"size": 16}}]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("past")


@pytest.fixture
def bench(made: Path, tmp_path: Path) -> Workbench:
    """Give each test a copy of a store with three snapshots."""
    first = Workbench(made, SETTINGS)
    if not first.root.exists():
        first.write({"guide.md": GUIDE, "notes.txt": "Notes about snow.\n", "gone.txt": "This leaves.\n"})
        first.ingest()
        first.write({"guide.md": GUIDE.replace("red", "blue"), "new.txt": "This comes.\n"})
        (first.docs / "gone.txt").unlink()
        first.ingest(allow_delete=True)
        (first.docs / "notes.txt").rename(first.docs / "snow.txt")
        first.ingest()
    shutil.copytree(made, tmp_path, symlinks=True, dirs_exist_ok=True)
    return Workbench(tmp_path, SETTINGS)


def call(bench: Workbench, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--store", str(bench.root)])
    assert result.exit_code == 0, result.output
    return result.stdout


def between(bench: Workbench, old: int, new: int, texts: bool = False) -> Difference:
    return diff(open_folder(bench.root).read(old), open_folder(bench.root).read(new), texts)


def test_any_kept_snapshot_is_searched_by_number_or_tag(bench: Workbench) -> None:
    set_tag(bench.root, "release-1.0", 1)
    for at, color in ((1, "red"), ("1", "red"), ("release-1.0", "red"), (2, "blue"), (None, "blue")):
        (hit,) = open_store(bench.root, at).search("red blue knob", k=1, mode="hybrid")
        assert color in hit.text


def test_a_snapshot_that_is_not_there_says_which_are(bench: Workbench) -> None:
    with pytest.raises(StoreError, match="no snapshot 9; it has 1 to 3"):
        open_store(bench.root, 9)
    with pytest.raises(StoreError, match="no snapshot or tag 'x'; it has no tags"):
        open_store(bench.root, "x")
    (bench.root / "snapshots" / "000002.json").unlink()
    with pytest.raises(StoreError, match="it has 1, 3"):
        open_store(bench.root, 2)


def test_a_tag_is_set_listed_and_taken_away(bench: Workbench) -> None:
    assert call(bench, "tag", "v1", "--at", "1").split()[-2:] == ["v1", "1"]
    assert json.loads(call(bench, "tag", "v2", "--json")) == [{"tag": "v2", "snapshot": 3}]
    assert json.loads(call(bench, "tag", "--json")) == [{"tag": "v1", "snapshot": 1}, {"tag": "v2", "snapshot": 3}]
    call(bench, "tag", "v1", "--delete")
    assert tags.tags(bench.root) == {"v2": 3}
    assert set_tag(bench.root, "v2", 3) == 3, "the same again is no error"


@pytest.mark.parametrize("name", ["", "41", "../x", "a/b", "a b", ".x", "x" * 200, "文" * 90])
def test_a_tag_must_be_a_name(bench: Workbench, name: str) -> None:
    with pytest.raises(QueryError, match="begins with a letter"):
        set_tag(bench.root, name)


def test_a_tag_is_not_moved_in_silence(bench: Workbench) -> None:
    set_tag(bench.root, "v1", 1)
    with pytest.raises(QueryError, match="names snapshot 1; delete it first"):
        set_tag(bench.root, "v1", 2)
    with pytest.raises(QueryError, match="no tag 'v9'; there are v1"):
        delete_tag(bench.root, "v9")
    with pytest.raises(StoreError, match="has no snapshot"):
        set_tag(bench.root / "nowhere", "v1")
    assert not (bench.root / "nowhere").exists()


def test_sql_reads_the_tables_of_any_kept_snapshot(bench: Workbench) -> None:
    set_tag(bench.root, "v1", 1)
    gone = "SELECT uri FROM documents_at({}) ANTI JOIN documents USING (uri) ORDER BY uri"
    for name in ("1", "'v1'", "'1'", " 1 "):
        assert [row["uri"] for row in bench.store.sql(gone.format(name)).to_pylist()] == ["gone.txt", "notes.txt"]
    both = "SELECT count(*) AS n FROM chunks_at(1) a JOIN chunks_at(2) b USING (chunk_id)"
    assert bench.store.sql(both).to_pylist() == [{"n": 3}]
    assert call(bench, "sql", "SELECT uri FROM documents ORDER BY 1", "--at", "1", "--format", "csv").split() == [
        "uri", "gone.txt", "guide.md", "notes.txt",
    ]  # fmt: skip


def test_tags_that_differ_in_case_name_their_own_snapshots(bench: Workbench) -> None:
    set_tag(bench.root, "Move", 1)
    set_tag(bench.root, "move", 2)
    held = "(SELECT count(*) FROM documents_at('{}') WHERE uri = 'gone.txt') AS {}"
    asked = f"SELECT {held.format('Move', 'before')}, {held.format('move', 'since')}"
    assert bench.store.sql(asked).to_pylist() == [{"before": 1, "since": 0}]


def test_sql_says_that_a_snapshot_is_not_there(bench: Workbench) -> None:
    for name, said in (("9", "9"), ("'x'", "x"), ("1 + 1", "2"), ("'é'", "é")):
        with pytest.raises(QueryError, match=rf"no snapshot {said} .* number or tag of a kept one: chunks_at\(41\)"):
            bench.store.sql(f"FROM chunks_at({name})")


def test_views_for_other_duckdbs_have_the_past_too(bench: Workbench) -> None:
    program = shutil.which("duckdb", path=str(Path(sys.executable).parent))
    assert program
    bench.write({"more.txt": "More.\n"})
    bench.ingest()  # so that views.sql is written for this folder
    for number in (1, 2, 3, 4):
        asked = f"SELECT (SELECT count(*) FROM documents_at({number})), count(*) FROM chunks_at({number})"
        command = [program, "-init", str(bench.root / "views.sql"), "-csv", "-noheader", "-c", asked]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        state = snapshots.read(bench.root, number)
        assert done.stdout.strip() == f"{state.rows('documents')},{state.rows('chunks')}"


@pytest.mark.parametrize(("name", "said"), [("9", "9"), ("'v1'", "v1"), ("1 + 8", "9")])
def test_views_for_other_duckdbs_say_that_a_snapshot_is_not_there(bench: Workbench, name: str, said: str) -> None:
    bench.write({"more.txt": "More.\n"})
    bench.ingest()
    with duckdb.connect() as connection:
        connection.execute((bench.root / "views.sql").read_text())
        for table in ("documents", "chunks"):
            with pytest.raises(duckdb.InvalidInputException, match=f"no snapshot {said} to read {table} from;"):
                connection.execute(f"SELECT count(*) FROM {table}_at({name})").fetchall()


def test_a_diff_tells_documents_and_chunks_apart_by_what_became_of_them(bench: Workbench) -> None:
    found = between(bench, 1, 2)
    assert [(c.kind, c.before, c.after) for c in found.documents] == [
        ("removed", "gone.txt", None),
        ("changed", "guide.md", "guide.md"),
        ("added", None, "new.txt"),
    ]
    assert [(c.kind, (c.before or "")[:8], (c.after or "")[:8]) for c in found.chunks] == [
        ("removed", "gone.txt", ""),
        ("changed", "guide.md", "guide.md"),
        ("moved", "guide.md", "guide.md"),
        ("added", "", "new.txt["),
    ]


def test_a_diff_follows_a_document_to_its_new_name(bench: Workbench) -> None:
    found = between(bench, 2, 3)
    assert [(c.kind, c.before, c.after) for c in found.documents] == [("moved", "notes.txt", "snow.txt")]
    assert [(c.kind, c.before, c.after) for c in found.chunks] == [("moved", "notes.txt[0:17]", "snow.txt[0:17]")]


def test_a_diff_is_the_same_backwards(bench: Workbench) -> None:
    back = {"added": "removed", "removed": "added", "changed": "changed", "moved": "moved"}
    for old, new in ((1, 2), (2, 3), (1, 3)):
        forth, again = between(bench, old, new), between(bench, new, old)
        for one, other in ((forth.documents, again.documents), (forth.chunks, again.chunks)):
            assert {(c.kind, c.before, c.after) for c in one} == {(back[c.kind], c.after, c.before) for c in other}
    assert between(bench, 2, 2) == Difference(2, 2, (), ())


def test_a_diff_shows_the_lines_that_changed(bench: Workbench) -> None:
    (changed,) = (change for change in between(bench, 1, 2, texts=True).chunks if change.text)
    assert [line for line in changed.text if line[0] in "+-"] == [
        "-Turn the red knob until it stops and wait for some time.",
        "+Turn the blue knob until it stops and wait for some time.",
    ]
    shown = call(bench, "diff", "1", "2", "--text")
    assert "documents  1 added, 1 removed, 1 changed" in shown
    assert "      +Turn the blue knob until" in shown
    assert json.loads(call(bench, "diff", "1", "--json"))["new"] == 3


def test_chunks_that_moved_by_the_same_distance_are_one_line(bench: Workbench) -> None:
    lines = [
        f"Wheel number {number} turns and turns again, and the miller counts its {number} blades."
        for number in range(40)
    ]
    bench.write({"long.md": "\n\n".join(lines)})
    before = bench.ingest().snapshot
    bench.write({"long.md": "\n\n".join([*lines[:20], "A line that is new here, of a cat.", *lines[20:]])})
    after = bench.ingest().snapshot
    assert before
    assert after
    moved = [change for change in between(bench, before, after).chunks if change.kind == "moved"]
    first, last = moved[0].before or "", moved[-1].before or ""
    said = call(bench, "diff", str(before), str(after))
    assert f"{len(moved)} moved" in said
    assert len(moved) > 10
    assert re.findall(r"^  > (.*) → long\.md\[\d+:\d+\], (\d+) chunks$", said, re.MULTILINE) == [
        (f"{first.partition(':')[0]}:{last.partition(':')[2]}", str(len(moved)))
    ]


def test_text_that_wanders_to_another_document_has_moved(bench: Workbench) -> None:
    bench.write({"new.txt": "Something else.\n", "other.txt": "This comes.\n"})
    bench.ingest()
    found = between(bench, 3, 4)
    assert [(c.kind, c.before, c.after) for c in found.chunks] == [
        ("added", None, "new.txt[0:15]"),
        ("moved", "new.txt[0:11]", "other.txt[0:11]"),
    ]
