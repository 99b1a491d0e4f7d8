"""The example package: installed into a folder, used by worker processes, changed, and removed."""

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest

import docmill
from docmill.storage.snapshots.clean.verify import verify
from tests.kit.house import PYTEST, ROOT
from tests.plugins.distributions import EXAMPLE, install

MILL = "# The mill\n\nIt grinds the wheat of the valley.\n\n## Water\n\nThe river turns the wheel all year.\n"
SNOW = "# Snow\n\nIt snows in the mountains from November on.\n"
BREAD = ">> title: Mill bread\n\nMix @wheat flour{500%g} and @water.\n\nBake for ~{40%minutes}.\n"
SETTINGS = """
sources = ["docs", "pages://wiki"]
engine = "local"

[source.wiki]
database = "./wiki.db"
url = "https://wiki.example.org/"

[parse]
workers = 2

[embedding]
model = "letter_pairs"

[chunk]
contextualizer = "trail"

[search]
rerank = "shared_words"

[[routes]]
glob = "*.md"
strategy = "paragraphs"
options = { least_words = 2 }
"""
CHUNKS = "SELECT text, context, strategy FROM chunks ORDER BY uri, start_char"
WHEEL = {"text": "The river turns the wheel all year.", "context": "The mill / Water", "strategy": "paragraphs"}
REJECTS = "SELECT uri, reason, message, regexp_replace(parser, '^.*? with ', '') AS with FROM rejects"
GIVEN = {
    "parsers": "cooklang",
    "splitters": "paragraphs",
    "contextualizers": "trail",
    "encoders": "letter_pairs",
    "rerankers": "shared_words",
    "sources": "pages",
}
PAGES = "CREATE TABLE pages (name TEXT PRIMARY KEY, text TEXT, revision INTEGER, deleted INTEGER DEFAULT 0)"
FROM_WIKI = "SELECT uri, source, source_url FROM documents WHERE source = 'wiki' ORDER BY uri"
RETURN = "        return spans"
FAILS = "        if 'snows' in part.text: raise RuntimeError('snow')\n"
FAILED = "strategy 'paragraphs' of docmill-example 1.0 failed"
ENDS = "        if 'snows' in part.text: __import__('os')._exit(7)\n"


def wiki(folder: Path, statement: str, *values: object) -> None:
    """Change the database that is the source of the example."""
    with closing(sqlite3.connect(folder / "wiki.db")) as database, database:
        database.execute(statement, values)


def make_wiki(folder: Path) -> None:
    """Make the database, with one page."""
    wiki(folder, PAGES)
    wiki(folder, "INSERT INTO pages VALUES ('ice.md', ?, 1, 0)", "# Ice\n\nThe pond is frozen until March.\n")


@dataclass
class Project:
    """A folder with documents, a docmill.toml and a store, and the folder of its plugins."""

    folder: Path
    site: Path
    program: Path

    def run(self, *arguments: str, status: int = 0) -> "subprocess.CompletedProcess[str]":
        """Run the command line in a process that finds the plugins."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (self.site, ROOT)))}
        command = [str(self.program), *arguments]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr or done.stdout
        return done

    def json(self, *arguments: str, status: int = 0) -> Any:
        """Run a command with --json and return what it says."""
        return json.loads(self.run(*arguments, "--json", status=status).stdout)

    def error(self, *arguments: str) -> str:
        """Run a command that fails, and return its message."""
        return self.run(*arguments, status=1).stderr

    def rows(self, statement: str) -> list[dict[str, Any]]:
        """Return the rows of a statement; reading a store needs no plugin."""
        with docmill.open_store(self.folder / "store") as store:
            return list(store.sql(statement).to_pylist())

    def edit(self, module: str, *changes: tuple[str, str]) -> None:
        """Change a module of the installed plugin."""
        path = self.site / "docmill_example" / f"{module}.py"
        text = path.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, warm_programs: Path) -> Project:
    """Return a project whose two documents the example, built and installed, has split in worker processes."""
    folder = tmp_path_factory.mktemp("made")
    site = install(copytree(EXAMPLE, tmp_path_factory.mktemp("example") / "source"), folder / "site")
    (folder / "docs").mkdir()
    (folder / "docs" / "mill.md").write_text(MILL)
    (folder / "docs" / "snow.md").write_text(SNOW)
    (folder / "docs" / "bread.cook").write_text(BREAD)
    (folder / "docmill.toml").write_text(SETTINGS)
    project = Project(folder, site, warm_programs / "docmill")
    make_wiki(folder)
    assert project.json("ingest")["documents"]["added"] == 4
    return project


@pytest.fixture
def project(tmp_path: Path, made: Project) -> Project:
    """Return a copy of the project and its plugins."""
    copytree(made.folder, tmp_path, symlinks=True, dirs_exist_ok=True)
    return Project(tmp_path, tmp_path / "site", made.program)


def test_the_example_is_listed_and_used(made: Project) -> None:
    assert made.json("plugins") == [
        {"group": f"docmill.{group}", "name": name, "distribution": "docmill-example", "version": "1.0", "problem": ""}
        for group, name in GIVEN.items()
    ]
    chunks = made.rows(CHUNKS)
    assert WHEEL in chunks
    assert {one["strategy"] for one in chunks} == {"paragraphs", "structure"}
    (best,) = made.json("search", "wheel river", "-k", "1")
    assert "shared_words gives 1.000" in json.dumps(best)


def read_by_the_example(project: Project) -> list[dict[str, Any]]:
    """Return the document that the parser of the example has read."""
    return project.rows("SELECT uri, format, title, reader, text_key FROM documents WHERE reader <> ''")


def test_a_file_of_a_new_format_is_read_and_read_again_by_the_next_version(project: Project) -> None:
    (before,) = read_by_the_example(project)
    reader = "cooklang (docmill-example 1.0, {})"
    assert {**before, "text_key": ""} == {
        "uri": "bread.cook", "format": "cooklang", "title": "Mill bread", "reader": reader.format(1), "text_key": "",
    }  # fmt: skip
    with docmill.open_store(project.folder / "store") as store:
        text = store.document("bread.cook").text
    assert text.startswith("# Mill bread\n\n## Ingredients\n\n- wheat flour (500 g)\n- water\n\nMix wheat flour")

    broken = ("facts = dict", "if b'Bake' in data: raise RuntimeError('burnt')\n        facts = dict")
    project.edit("cooklang", ("version = 1", "version = 2"), broken)
    report = project.json("ingest", status=3)
    assert (report["parsed"], report["documents"]["stale"], report["documents"]["unchanged"]) == (1, 1, 3)
    (row,) = project.rows("SELECT uri, reason, message, parser FROM rejects")
    assert (row["uri"], row["reason"]) == ("bread.cook", "plugin_failed")
    assert row["message"].startswith(
        "parser 'cooklang' of docmill-example 1.0 failed: RuntimeError: burnt (cooklang.py"
    )
    assert row["parser"] == f"cooklang by {reader.format(2)}"
    assert read_by_the_example(project) == [before]

    project.edit("cooklang", ("version = 2", "version = 3"), (broken[1], broken[0]))
    assert project.json("ingest")["parsed"] == 1
    (after,) = read_by_the_example(project)
    assert (after["reader"], after["text_key"] == before["text_key"]) == (reader.format(3), False)
    assert project.json("ingest")["parsed"] == 0


def test_a_document_stays_as_it_is_while_its_parser_is_gone(project: Project) -> None:
    before = read_by_the_example(project)
    project.edit("cooklang", ("class Cooklang:", "class Gone:"))
    report = project.json("ingest")
    assert (report["snapshot"], report["parsed"], report["documents"]["unchanged"]) == (None, 0, 4)
    assert read_by_the_example(project) == before
    (project.folder / "docs" / "other.cook").write_bytes(b"\0\1\2" * 20)
    assert project.json("ingest", status=3)["documents"]["rejected"] == 1
    (row,) = project.rows("SELECT uri, message FROM rejects")
    assert "parser 'cooklang' of docmill-example 1.0 cannot be used: AttributeError: " in row["message"]


def test_the_example_passes_the_suites_of_docmill(made: Project) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (made.site, ROOT)))}
    code = [*PYTEST, "-q", "-p", "no:cacheprovider", str(EXAMPLE / "suites.py")]
    done = subprocess.run(code, cwd=made.folder, env=environment, capture_output=True, text=True, check=False)
    assert "15 passed" in done.stdout, done.stdout


def test_the_source_of_the_example_is_asked_for_changes(project: Project) -> None:
    ice = {"uri": "wiki/ice.md", "source": "wiki", "source_url": "https://wiki.example.org/ice.md"}
    assert project.rows(FROM_WIKI) == [ice]
    wiki(project.folder, "INSERT INTO pages VALUES ('new/dew.md', ?, 2, 0)", "# Dew\n\nThe grass is wet at dawn.\n")
    report = project.json("ingest")
    assert (report["documents"]["added"], report["documents"]["unchanged"], report["parsed"]) == (1, 4, 1)
    wiki(project.folder, "UPDATE pages SET deleted = 1, revision = 3 WHERE name = 'new/dew.md'")
    assert project.json("ingest", "--allow-delete")["documents"]["deleted"] == 1
    assert project.rows(FROM_WIKI) == [ice]


def test_a_new_version_splits_again_and_a_crash_names_it_until_the_next(project: Project) -> None:
    before = project.rows(CHUNKS)
    project.edit("paragraphs", ("version = 1", "version = 2"), (RETURN, FAILS + RETURN))
    report = project.json("ingest", status=3)
    assert (report["documents"]["stale"], report["parsed"], report["embedded"]) == (1, 0, 0)
    assert set(report["rechunked"]) == {"mill.md", "snow.md", "wiki/ice.md"}
    assert project.rows(CHUNKS) == before
    assert project.rows(REJECTS) == [
        {
            "uri": "snow.md",
            "reason": "plugin_failed",
            "message": f"{FAILED}: RuntimeError: snow (paragraphs.py, line 37)",
            "with": "paragraphs (docmill-example 1.0, 2) with trail (docmill-example 1.0, 1)",
        }
    ]

    project.edit("paragraphs", ("version = 2", "version = 3"), (FAILS, ENDS))
    project.run("ingest", status=3)
    (row,) = project.rows(REJECTS)
    had = "paragraphs (docmill-example 1.0, 3) with trail (docmill-example 1.0, 1)"
    assert row["message"] == f"the parser's process died (exit status 7), in the hands of {had}"
    assert row["with"] == had

    project.edit("paragraphs", ("version = 3", "version = 4"), (ENDS, ""))
    project.run("ingest")
    assert project.rows(CHUNKS) == before
    assert project.rows(REJECTS) == []


def test_without_the_example_errors_say_so_and_what_it_made_is_searched(project: Project) -> None:
    before = project.rows(CHUNKS)
    rmtree(project.site)
    said = project.error("ingest")
    assert "chunk.contextualizer: contextualizer 'trail' does not exist; there are none, structural, " in said
    assert "routes[0]: strategy 'paragraphs' does not exist; there are recursive, structure, " in said
    assert said.count("; no installed plugin has this name\n") == 2
    said = project.error("search", "wheel", "--mode", "keyword")
    assert "'shared_words' is no reranker of docmill or an installed plugin (late)" in said
    said = project.error("search", "wheel", "--set", "search.rerank=")
    assert "the store's vectors are of letter_pairs; mode keyword does without it; model" in said
    assert "or give a folder or the name of an installed plugin" in said
    (best,) = project.json("search", "wheel river", "-k", "1", "--mode", "keyword", "--set", "search.rerank=")
    assert best["text"] == WHEEL["text"]
    assert project.rows(CHUNKS) == before
    assert project.run("plugins").stdout == "No plugins are installed.\n"
    assert not verify(project.folder / "store", deep=True)
