"""`make bench` gathers the figures of its commands, and fails on a judged one that is worse than the last release's."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench import released, start
from tests.bench.table import FIGURES, Figure, show

SIZE = Figure("size / text", 5.0, "", judged=True)


def gathered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *figures: Figure) -> Path:
    """Show figures as a command of `make bench` does."""
    path = tmp_path / "figures.jsonl"
    monkeypatch.setenv(FIGURES, str(path))
    show("Store", list(figures))
    return path


def asked(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["released", *arguments])
    released.main()


@pytest.fixture
def last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "released.json"
    monkeypatch.setattr(released, "RELEASED", path)
    return path


@pytest.mark.usefixtures("last")
def test_a_judged_figure_that_is_15_percent_worse_fails_and_a_slower_clock_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = gathered(tmp_path, monkeypatch, SIZE, Figure("search", 10.0, "ms"))
    asked(monkeypatch, str(before), "--record")
    before.unlink()
    slower = Figure("search", 100.0, "ms")
    asked(monkeypatch, str(gathered(tmp_path, monkeypatch, Figure("size / text", 5.7, "", judged=True), slower)))
    printed = capsys.readouterr().out
    assert "| Store: size / text | 5.7  | 5  | 1.14 | judged |" in printed
    assert "| Store: search | 100 ms | 10 ms | 10.00 |  |" in printed
    with pytest.raises(SystemExit, match="more than 15%: Store: size / text"):
        asked(monkeypatch, str(gathered(tmp_path, monkeypatch, Figure("size / text", 5.8, "", judged=True))))


def test_a_figure_that_the_release_lacks_is_told_and_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last.write_text(json.dumps({"version": "1.0", "figures": {}}))
    asked(monkeypatch, str(gathered(tmp_path, monkeypatch, SIZE)))
    assert "| Store: size / text | 5  |  |  | judged |" in capsys.readouterr().out


def test_figures_that_were_not_measured_stay_as_the_release_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: Path
) -> None:
    last.write_text(json.dumps({"version": "1.0", "figures": {"Start": {"help": 0.1}}}))
    asked(monkeypatch, str(gathered(tmp_path, monkeypatch, SIZE)), "--record")
    figures: dict[str, Any] = json.loads(last.read_text())["figures"]
    assert figures == {"Start": {"help": 0.1}, "Store": {"size / text": 5.0}}


def test_the_release_has_the_judged_figures_of_the_start() -> None:
    figures = json.loads(released.RELEASED.read_text(encoding="utf-8"))["figures"]["Start"]
    assert {name for name in figures if name.endswith(": modules")} == {f"{name}: modules" for name in start.COMMANDS}
