"""Threads of PyTorch sleep while they wait, unless the user has said otherwise."""

import os
import sys

import pytest

from docmill.flows.cli import program

NAME = "OMP_WAIT_POLICY"


@pytest.mark.parametrize(("given", "taken"), [(None, "passive"), ("active", "active")])
def test_the_command_lets_threads_sleep(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str | None, taken: str
) -> None:
    monkeypatch.setenv(NAME, given or "")
    if given is None:
        monkeypatch.delenv(NAME)
    monkeypatch.setattr(sys, "argv", ["docmill", "--version"])
    with pytest.raises(SystemExit):
        program.main()
    assert os.environ[NAME] == taken
    assert capsys.readouterr().out.startswith("docmill ")
