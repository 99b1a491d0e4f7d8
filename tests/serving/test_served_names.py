"""The names of the stores that a server is told to serve."""

from pathlib import Path

import pytest

from docmill.errors import ConfigError
from docmill.flows.cli.commands.serve_and_report import places
from docmill.flows.config.settings import Settings


def test_stores_are_called_by_their_folders_or_as_they_are_told(tmp_path: Path) -> None:
    settings = Settings(store=tmp_path / "own")
    handbook, year = tmp_path / "handbook", tmp_path / "year=2026" / "notes"
    assert places([], settings) == {"own": tmp_path / "own"}
    named = places([str(handbook), f"wiki={tmp_path / 'w'}", str(year)], settings)
    assert named == {"handbook": handbook, "wiki": tmp_path / "w", "notes": year}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["a/store", "b/store"], "b/store: two stores have this name"),
        (["x=a", "x=b"], "x=b: two stores have this name"),
        (["=a"], "=a: write NAME=STORE"),
        (["x="], "x=: write NAME=STORE"),
    ],
)
def test_two_stores_of_one_name_and_half_a_name_are_refused(given: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        places(given, Settings())
