"""Threads of PyTorch sleep while they wait, and oneDNN keeps little, unless the user has said otherwise."""

import os
import sys

import pytest

from docmill.flows.cli import program


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("OMP_WAIT_POLICY", None, "passive"),
        ("OMP_WAIT_POLICY", "active", "active"),
        ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", None, "32"),
        ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "1024", "1024"),
    ],
)
def test_the_command_sets_what_the_user_has_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, given: str | None, taken: str
) -> None:
    monkeypatch.setenv(name, given or "")
    if given is None:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "argv", ["docmill", "--version"])
    with pytest.raises(SystemExit):
        program.main()
    assert os.environ[name] == taken
    assert capsys.readouterr().out.startswith("docmill ")
