"""The documentation names every command, strategy, format and verb, and each option with its default and bounds."""

import json
import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest
import typer

from docmill.flows.cli.app import app
from docmill.storage.errors import ConfigError
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.split.parts.options import Options
from docmill.tasks.split.strategies import SPLITTERS, options_of

ROOT = Path(__file__).parents[1]
PAGES = "".join(
    path.read_text(encoding="utf-8") for path in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
)


def test_the_documentation_names_every_command_strategy_and_format() -> None:
    names = {name for group in (typer.main.get_command(app).commands, SPLITTERS, FORMATS) for name in group}  # type: ignore[attr-defined]
    assert {name for name in names if not re.search(rf"\b{name}\b", PAGES)} == set()


def test_the_documentation_says_each_option_of_each_strategy_with_its_default_and_true_bounds() -> None:
    rows = dict.fromkeys(SPLITTERS, "")
    for names, said in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (`\w+`(?: = |, ).*) \|$", PAGES, re.MULTILINE):
        rows |= {name: rows[name] + said for name in re.findall(r"\w+", names)}
    rows["sliding_window"] += rows["fixed"]  # "likewise"
    for name, splitter in SPLITTERS.items():
        for field in fields(splitter.options)[len(fields(Options)) :]:
            default = json.dumps(field.default)
            assert f"`{field.name}`" in rows[name], f"{name}.{field.name}"
            assert f"`{default.removesuffix('.0')}`" in rows[name], f"{name}.{field.name} = {default}"
        for option, low, high in re.findall(r"`(\w+)` = [^(;|]*\((\d+) to (\d+)", rows[name]):
            if option in splitter.options.__dataclass_fields__:
                for value in (int(low), int(high)):
                    options_of(name, {option: value})
                for value in (int(low) - 1, int(high) + 1):
                    with pytest.raises(ConfigError):
                        options_of(name, {option: value})


def test_the_documentation_names_every_verb_of_make() -> None:
    done = subprocess.run(["make", "-C", str(ROOT)], capture_output=True, text=True, check=True)
    verbs = set(re.findall(r"^make (\w+)", done.stdout, re.MULTILINE))
    assert {"demo", "test", "lint", "bench", "clean"} <= verbs
    assert {verb for verb in verbs if f"make {verb}" not in PAGES} == set()
