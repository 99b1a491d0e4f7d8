"""`docmill init --source` writes the settings of a kind of source, which are right once they are uncommented."""

import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docmill.flows.cli.app import app
from docmill.flows.cli.commands.init import SOURCE, source_block
from docmill.flows.config.settings import Settings
from docmill.tasks.sources.connectors.own_connectors import CONNECTORS

KINDS = sorted({connector.kind for connector in CONNECTORS.values()})


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_a_source_is_written_as_toml(kind: str) -> None:
    lines = source_block(kind).splitlines()
    assert not [line for line in lines if line and not line.startswith("#")]
    table = tomllib.loads("\n".join(line[1:] for line in lines if re.match(r"#(\[|\w+ = )", line)))
    connector = next(one for one in CONNECTORS.values() if one.kind == kind)
    assert {*table["source"]["NAME"]} | {connector.takes} == {*connector.load().settings.model_fields} | {
        connector.takes
    }


def test_the_help_names_every_kind() -> None:
    assert {*re.findall(r"\w+", str(SOURCE.help).partition(": ")[2])} == {*KINDS}


def test_the_settings_are_added_to_a_file_that_is_there(tmp_path: Path) -> None:
    def init(*flags: str) -> str:
        result = CliRunner().invoke(app, ["init", str(tmp_path), *flags])
        assert result.exit_code == 0, result.output
        return (tmp_path / "docmill.toml").read_text(encoding="utf-8")

    first = init("--source", "web")
    assert first.count("#[source.NAME]") == 1
    second = init("--source", "sql", "--source", "git")
    assert second.startswith(first)
    assert second.count("#[source.NAME]") == 3
    Settings(**tomllib.loads(second))


def test_an_unknown_kind_is_told_with_the_nearest(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["init", str(tmp_path), "--source", "wep"])
    assert result.exit_code == 1
    assert "no source of the kind 'wep' has settings; the nearest is 'web'" in result.stderr
    assert not (tmp_path / "docmill.toml").exists()
