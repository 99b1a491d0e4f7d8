"""Terminal sessions: what one sees of a command on a terminal, with its colours, is what was reviewed."""

from pathlib import Path

import pytest

from tests.kit.making.make_terminal import FOLDER
from tests.kit.making.terminal_sessions import SESSIONS, first_search, sessions


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, token_counts_folder: Path) -> dict[str, str]:
    return dict(sessions(tmp_path_factory.mktemp("sessions"), token_counts_folder))


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_looks_as_it_was_reviewed(name: str, shown: dict[str, str]) -> None:
    assert shown[name] == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_first_search_says_that_it_loads_the_model(tmp_path: Path) -> None:
    assert first_search(tmp_path) == (FOLDER / "first-search.txt").read_text(encoding="utf-8")
