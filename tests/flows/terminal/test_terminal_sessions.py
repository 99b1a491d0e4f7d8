"""Terminal sessions: what one sees of a command on a terminal, with its colours, is what was reviewed."""

from pathlib import Path

import pytest

from tests.kit.making.make_terminal import FOLDER
from tests.kit.making.terminal_sessions import SESSIONS, first_search, sessions


def test_each_session_looks_as_it_was_reviewed(tmp_path: Path, token_counts_folder: Path, warm_programs: Path) -> None:
    shown = dict(sessions(tmp_path, token_counts_folder, warm_programs))
    assert list(shown) == list(SESSIONS)
    for name, session in shown.items():
        assert session == (FOLDER / f"{name}.txt").read_text(encoding="utf-8"), name


@pytest.mark.slow
def test_the_first_search_says_that_it_loads_the_model(tmp_path: Path, warm_programs: Path) -> None:
    assert first_search(tmp_path, warm_programs) == (FOLDER / "first-search.txt").read_text(encoding="utf-8")
