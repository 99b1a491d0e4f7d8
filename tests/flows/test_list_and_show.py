"""`docmill list` and `docmill show` print what `Store.documents` and `Store.outline` return in Python."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import docmill
from docmill.flows.cli.app import app
from tests.kit.workbench import Workbench

pytestmark = pytest.mark.usefixtures("fake_model")

BIRDS = "---\ntitle: Birds\nauthor: Ann\n---\n# Birds\n\nThey sing.\n\n## Owls\n\nThey hoot.\n"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    made = Workbench(tmp_path)
    made.write({"a/birds.md": BIRDS, "a/notes.txt": "Notes about snow.\n", "b/more.txt": "More words.\n"})
    made.ingest()
    return made


def printed(bench: Workbench, *arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--store", str(bench.root)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_list_prints_a_row_a_document(bench: Workbench) -> None:
    head, _, *rows = printed(bench, "list").splitlines()
    assert head.split() == ["uri", "type", "content", "chunks", "bytes", "created", "modified", "warnings"]
    assert [row.split()[:2] for row in rows] == [
        ["a/birds.md", "markdown"],
        ["a/notes.txt", "text"],
        ["b/more.txt", "text"],
    ]


def test_list_takes_the_filters_of_python(bench: Workbench) -> None:
    with docmill.open_store(bench.root) as store:
        for arguments, how in (
            ([], {}),
            (["a/"], {"prefix": "a/"}),
            (["--where", "format = 'text'"], {"where": "format = 'text'"}),
            (["--after", "a/birds.md", "-n", "1"], {"after": "a/birds.md", "limit": 1}),
            (["no/"], {"prefix": "no/"}),
        ):
            found = json.loads(printed(bench, "list", *arguments, "--json"))
            rows = store.documents(**how)
            assert [one["uri"] for one in found] == [row.uri for row in rows]
            assert [one["chunks"] for one in found] == [row.chunks for row in rows]
    assert printed(bench, "list", "no/") == "No document matches.\n"


def test_list_shows_an_earlier_snapshot(bench: Workbench) -> None:
    bench.write({"c.txt": "A third text.\n"})
    bench.ingest()
    assert len(json.loads(printed(bench, "list", "--json"))) == 4
    assert len(json.loads(printed(bench, "list", "--at", "1", "--json"))) == 3


def test_show_prints_facts_outline_and_chunks(bench: Workbench) -> None:
    found = json.loads(printed(bench, "show", "a/birds.md", "--json"))
    with docmill.open_store(bench.root) as store:
        document, sections = store.document("a/birds.md"), store.outline("a/birds.md")
    assert found["document"]["author"] == document.row.author == "Ann"
    assert found["document"]["metadata"] == document.metadata
    assert [(one["number"], one["heading"]) for one in found["sections"]] == [
        (one.number, one.heading) for one in sections
    ]
    assert [one["text"] for one in found["chunks"]] == [
        document.text[one["start_char"] : one["end_char"]] for one in found["chunks"]
    ]
    said = printed(bench, "show", "a/birds.md")
    assert all(word in said for word in ("\noutline\n", "\nchunks\n", "Owls", "They hoot.", "Ann"))


def test_show_says_that_there_is_no_such_document(bench: Workbench) -> None:
    done = CliRunner().invoke(app, ["show", "birds.md", "--store", str(bench.root)])
    assert done.exit_code == 1
    assert done.stderr == "docmill: no document 'birds.md' in snapshot 1; alike: 'a/birds.md'\n"


def test_without_logged_queries_none_is_called_answered(bench: Workbench) -> None:
    assert printed(bench, "queries", "gaps") == printed(bench, "queries", "list")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("query", "search"), ("ls", "list"), ("add", "ingest"), ("rm", "remove"), ("find", "search"), ("cat", "show")],
)
def test_the_name_that_another_tool_gives_a_command_is_understood(typed: str, meant: str) -> None:
    done = CliRunner().invoke(app, [typed, "x"])
    assert done.exit_code == 2
    assert f"No such command '{typed}'. Type docmill {meant} instead." in done.stderr.replace("root", "docmill")


def test_a_misspelt_command_is_still_guessed() -> None:
    done = CliRunner().invoke(app, ["serch"])
    assert "Did you mean 'search'" in done.stderr
