"""Half a character, as in an argument that is not UTF-8, is a wrong query and not a failure of the program."""

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.storage.errors import QueryError
from docmill.storage.snapshots.read.store import Store
from tests.kit.workbench import Workbench

HALF = "a\udcff"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    made = Workbench(tmp_path_factory.mktemp("half"), {"embedding": {"model": fake_model}})
    made.write({"tea.txt": "Green tea.\n"})
    made.ingest()
    return made


ASKED: dict[str, Callable[[Store], object]] = {
    "the statement": lambda store: store.sql(f"SELECT '{HALF}'"),
    "where": lambda store: store.search("tea", mode="keyword", where=f"uri = '{HALF}'"),
    "the uri": lambda store: store.document(HALF),
    "the query": lambda store: store.search(HALF, mode="keyword"),
}


@pytest.mark.parametrize("what", ASKED)
def test_half_a_character_is_a_wrong_query(bench: Workbench, what: str) -> None:
    with bench.store as store, pytest.raises(QueryError, match=f"^{what} is not valid text: it has a lone surrogate"):
        ASKED[what](store)


@pytest.mark.parametrize(
    "arguments",
    [["sql", f"SELECT '{HALF}'"], ["search", "tea", "--where", f"uri = '{HALF}'"], ["search", HALF],
     ["undelete", HALF], ["restore", HALF], ["remove", HALF], ["publish", HALF],
     ["sql", "SELECT 1", "--at", HALF], ["diff", HALF], ["tag", HALF]],
)  # fmt: skip
def test_a_command_says_so_in_one_line(bench: Workbench, arguments: list[str]) -> None:
    done = CliRunner().invoke(app, [*arguments, "--store", str(bench.root)])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("docmill: ")
    assert done.stderr.count("\n") == 1
