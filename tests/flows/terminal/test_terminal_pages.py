"""Terminal pages: help and settings as a reader sees them at 80 columns, in groups and panels."""

import pytest
import typer

from docmill.flows.cli.app import app
from docmill.flows.cli.program import GROUPS, MODULES
from docmill.flows.config.configuration import keys
from tests.kit.making.make_terminal import FOLDER, PAGES, pages
from tests.kit.making.terminal_sessions import SESSIONS

WIDTH = 80


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    return dict(pages())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_printed_as_it_was_reviewed(name: str, printed: dict[str, str]) -> None:
    assert printed[name] == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_every_page_was_reviewed_and_fits_the_terminal(printed: dict[str, str]) -> None:
    assert {path.stem for path in FOLDER.iterdir()} == PAGES.keys() | SESSIONS.keys() | {"first-search"}
    wide = [line for name in PAGES for line in printed[name].splitlines() if len(line) > WIDTH]
    assert [line for line in wide if " " in line.strip()] == []


def test_every_command_that_is_shown_has_a_group() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    shown = {name for name, command in commands.items() if not command.hidden}
    grouped = [name for names in GROUPS.values() for name in names]
    assert shown - set(grouped) == set()
    assert len(grouped) == len(set(grouped))


def test_the_help_of_ingest_has_the_options_that_one_needs(printed: dict[str, str]) -> None:
    options = [line for line in printed["ingest"].splitlines() if line.startswith("  -")]
    assert len(options) <= 17
    assert len(printed["ingest"].splitlines()) <= 52


def test_the_page_of_settings_names_every_key_variable_and_place_and_no_secret(printed: dict[str, str]) -> None:
    page = printed["settings"]
    assert [key.dotted for key in keys() if f"  {key.dotted} = " not in page or key.variable not in page] == []
    for place in ("from --wait;", "from --set search.rerank;", "from DOCMILL_SEARCH__WEIGHT;", "docmill.toml:5;"):
        assert place in page
    assert not [text for text in printed.values() if "never" in text.replace("always", "") and "seen" in text]


def test_the_commands_of_a_module_are_of_one_group_and_it_is_named_by_them() -> None:
    grouped = {name: title for title, names in GROUPS.items() for name in names}
    assert {name for names in MODULES.values() for name in names} == {*grouped}
    for module, names in MODULES.items():
        assert len({grouped[name] for name in names}) == 1, f"{module} has commands of several groups"
        words = {*module.rpartition(".")[2].split("_")} - {"and", "group"}
        assert words <= {*names} or module == "snapshots", f"{module} is named by none of its commands"
