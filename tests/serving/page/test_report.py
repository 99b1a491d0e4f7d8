"""A report: the page as files, whole or not there, with what it holds and what it leaves out."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.serving.open_stores import ServedStore
from docmill.flows.serving.page.page_bundle import bundle, questions
from docmill.flows.serving.page.report_files import write_folder, write_report
from docmill.storage import failpoints
from docmill.storage.errors import ConfigError
from docmill.storage.exports import folder_swap
from tests.kit.workbench import MakeBench, Workbench

DOCUMENTS: dict[str, str | bytes] = {
    "git.md": "# Undo\n\nTo undo a commit, reset the branch. It is easy.\n",
    "mill.md": "# Mill\n\nThe mill grinds </script><script>wheat\u2028.\n",
    "big.txt": "Long ago. " * 3000,
}


@pytest.fixture(scope="module")
def bench(make_bench: MakeBench) -> Workbench:
    changes = {"git.md": str(DOCUMENTS["git.md"]).replace("easy", "hard"), "new.md": "# New\n\nA page.\n"}
    return make_bench(DOCUMENTS, changes)


def value(folder: Path, name: str) -> Any:
    """Return what a script of a report gives to the page."""
    text = (folder / "data" / f"{name}.js").read_text("utf-8")
    found = re.fullmatch(r'docmill\.take\("[\w-]+", (".*")\);\n', text)
    assert found
    return json.loads(json.loads(found[1]))


def test_a_report_holds_the_texts_the_chunks_and_what_changed(tmp_path: Path, bench: Workbench) -> None:
    folder = tmp_path / "report"
    with bench.store as store:
        write_report(ServedStore("handbook", store), folder, 100)
    held = value(folder, "pack-0")
    with bench.store as store:
        assert {uri: own["text"] for uri, own in held.items()} == {
            row.uri: store.document(row.uri).text for row in store.documents()
        }
    chunks = {chunk.chunk_id: chunk for chunk in bench.chunks()}
    for own in held.values():
        for chunk in own["chunks"]:
            assert own["text"][chunk["start_char"] : chunk["end_char"]] == chunks.pop(chunk["chunk_id"]).text
    assert not chunks
    assert "easy" in held["git.md"]["before"]
    assert "before" not in held["mill.md"]  # its text is that of the snapshot before
    assert held["new.md"]["before"] is None
    assert [section["heading"] for section in held["git.md"]["outline"]] == ["Undo"]
    assert value(folder, "about")["before"] == 1
    assert {change["kind"] for change in value(folder, "changes")["difference"]["documents"]} == {"added", "changed"}
    assert {row["snapshot"] for row in value(folder, "health")["runs"]} == {1, 2}
    assert set(value(folder, "map")["since"]) == {1, 2}
    assert str(bench.root) not in (folder / "data" / "about.js").read_text("utf-8")


def test_a_report_replaces_a_report_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    folder.mkdir()
    write_folder(folder, [("about", 1), ("more", 1)])
    write_folder(folder, [("about", 2)])
    assert value(folder, "about") == 2
    assert [path.name for path in (folder / "data").iterdir()] == ["about.js"]
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"files besides its report: notes\.txt"):
        write_folder(folder, [])
    other = tmp_path / "other"
    other.mkdir()
    (other / "index.html").write_text("<html>mine</html>")
    with pytest.raises(ConfigError, match="not empty and holds no report"):
        write_folder(other, [])
    assert [path.name for path in other.iterdir()] == ["index.html"]
    with pytest.raises(ConfigError, match="no folder"):
        write_folder(other / "index.html", [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "report"]  # no draft is left


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_report_that_is_cut_off_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool
) -> None:
    if not exchanges:  # as on a file system that cannot swap two names
        monkeypatch.setattr(folder_swap, "_exchanged", lambda *_: False)
    folder = tmp_path / "report"

    def cut_at(name: str) -> None:
        def watch(moment: str) -> None:
            if moment == name:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(failpoints, "watch", watch)
            with pytest.raises(KeyboardInterrupt):
                write_folder(folder, [("about", 2), ("map", 2)])

    cut_at("before report map")
    assert not folder.exists()
    write_folder(folder, [("about", 1), ("map", 1)])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for moment in ("after report about", "before report map", "before export swap"):
        cut_at(moment)
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    write_folder(folder, [("about", 2)])
    assert value(folder, "about") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_names_that_scripts_take_for_something_else_stay_keys(tmp_path: Path) -> None:
    odd = {"__proto__": {"x": 1}, "</script><!--": "\u2028\ud800"}
    write_folder(tmp_path / "report", [("about", odd)])
    assert value(tmp_path / "report", "about") == odd


def test_a_report_of_fewer_documents_lists_the_others_and_the_command_says_so(tmp_path: Path, bench: Workbench) -> None:
    folder = tmp_path / "report"
    words = ["report", "--html", str(folder), "--documents", "1", "--store", str(bench.root)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert done.stdout.endswith("index.html: snapshot 2, 1 of 4 documents\n")
    assert "left out the texts of 3 documents: --documents N holds more" in done.stderr
    packs = {row["uri"]: row["pack"] for row in value(folder, "documents")}
    assert len(packs) == 4
    assert [pack for pack in packs.values() if pack is not None] == [0]
    assert value(folder, "about")["status"]["held"] == 1
    assert CliRunner().invoke(app, ["report", "--store", str(bench.root)]).exit_code == 2


def test_the_page_of_a_report_is_one_script_without_modules(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    write_folder(folder, [])
    page = (folder / "page" / "page.js").read_text("utf-8")
    assert not re.search(r"^(import|export)\b", page, re.MULTILINE)
    html = (folder / "index.html").read_text("utf-8")
    assert re.findall(r"<script\b[^>]*>", html) == ['<script defer src="page/page.js">']
    assert "script-src 'self' file:;" in html
    assert '"lengths"' in page
    assert questions()["lengths"].startswith("SELECT content_type")


def test_a_module_that_the_bundle_cannot_take_over_is_named(tmp_path: Path) -> None:
    (tmp_path / "main.js").write_text('import words from "./words.js";\n')
    with pytest.raises(ValueError, match=r"main\.js.*import words"):
        bundle(tmp_path)
