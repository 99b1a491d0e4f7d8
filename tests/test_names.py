"""The documentation names every command, strategy, format and verb, and each option with its default and bounds."""

import json
import re
import subprocess
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import typer
from packaging.version import Version

from docmill.flows.cli.app import app
from docmill.storage.errors import ConfigError
from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.split.parts.strategy_options import Options
from docmill.tasks.split.strategies import SPLITTERS, options_of
from tests.kit.pages.blocks import blocks_of

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "reference").glob("*.md")))
LARGEST = 32_768
COMMAND = re.compile(r"\bdocmill (\w[\w-]*)")
STANDING = {"cluster", "schedule", "watch", "worker"}  # these do not end by themselves; tests below tests start them
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
STRATEGIES = (ROOT / "docs" / "reference" / "strategies.md").read_text(encoding="utf-8")


def test_the_reference_names_every_command_strategy_and_format() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    shown = [name for name, command in commands.items() if not command.hidden]
    names = {name for group in (shown, SPLITTERS, FORMATS) for name in group}
    assert {name for name in names if not re.search(rf"\b{name}\b", REFERENCE)} == set()
    hidden = {*commands} - {*shown}
    assert {name for name in hidden if f"docmill {name}" not in CHANGES} == set(), "what an old name has become"


def told(strategy: str) -> dict[str, tuple[str, str]]:
    """Return what the page on strategies tells of the options of one: default and bounds, by name."""
    (section,) = re.findall(rf"^## `{strategy}`$(.*?)(?=^## |\Z)", STRATEGIES, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^- `(\w+)` \((`[^`]*`|none)(?:, (.*?))?\): ", section, re.MULTILINE)
    found = {name: (default, bounds) for name, default, bounds in rows}
    if also := re.search(r"^Also (.*) of \[`(\w+)`\]", section, re.MULTILINE):
        found |= {name: told(also[2])[name] for name in re.findall(r"\w+", also[1])}
    return found


@pytest.mark.parametrize("name", SPLITTERS)
def test_the_reference_says_each_option_of_a_strategy_with_its_default_and_true_bounds(name: str) -> None:
    for field in fields(SPLITTERS[name].options)[len(fields(Options)) :]:
        default, _ = told(name)[field.name]
        assert json.loads(default.strip("`")) == json.loads(json.dumps(field.default)), field.name
    for option, (_, bounds) in told(name).items():
        if option == "size":
            continue  # a default of its own; its bounds are those of every strategy
        if found := re.match(r"(-?[\d.]+) to ([\d.]+)", bounds):
            low, high = map(float if "." in bounds else int, found.groups())
            for value in (low, high):
                # The size bounds some of the others.
                options_of(name, {"size": min(LARGEST, options_of(name, {}).longest), option: value})
            for value in (low - 1, high + 1):
                with pytest.raises(ConfigError):
                    options_of(name, {option: value})


def test_the_documentation_names_every_verb_of_make() -> None:
    done = subprocess.run(["make", "-C", str(ROOT)], capture_output=True, text=True, check=True)
    verbs = set(re.findall(r"^make (\w+)", done.stdout, re.MULTILINE))
    assert {"demo", "test", "lint", "bench", "clean"} <= verbs
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert {verb for verb in verbs if f"make {verb}" not in text} == set()


def test_the_version_is_the_newest_of_the_changelog_or_a_later_one_in_development() -> None:
    version = Version(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
    released = Version(re.findall(r"^## (\d\S+), \d{4}-\d\d-\d\d$", CHANGES, re.MULTILINE)[0])
    assert version > released if version.is_devrelease else version == released
    assert version.is_devrelease == ("## Unreleased" in CHANGES)


def test_every_command_is_run_by_a_page() -> None:
    pages = [path for path in PAGES if path.parent.name != "reference"]
    ran = {name for path in pages for block in blocks_of(path) if block.runs for name in COMMAND.findall(block.code)}
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert {name for name, command in commands.items() if not command.hidden} - ran - STANDING == set()
