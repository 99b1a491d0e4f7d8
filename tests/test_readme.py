"""The README is true: its commands print what it says, its code runs, and its picture is theirs."""

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from packaging.version import Version

from docmill.tasks.parse.formats import FORMATS
from docmill.tasks.split.strategies import SPLITTERS
from tests.kit.making.make_picture import BLOCK, PICTURE, README, record, with_outputs

ROOT = Path(__file__).parents[1]
TEXT = README.read_text(encoding="utf-8")
NUMBERS = (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8")
LINES = 180
"""A stranger reads no more than this."""
SVG = "{http://www.w3.org/2000/svg}"


def untimed(text: str) -> str:
    """Return what commands print without the seconds that they took."""
    return re.sub(r"^  time .*\n?", "", text, flags=re.MULTILINE)


def standing(picture: str) -> str:
    """Return the text that an SVG shows at its end, or where nothing moves, line by line."""
    lines: dict[int, dict[float, str]] = {}
    for group in ElementTree.fromstring(picture).iter(f"{SVG}g"):
        if group.get("opacity") != "0":
            for one in group.iter(f"{SVG}text"):
                lines.setdefault(int(one.attrib["y"]), {})[float(one.attrib["x"])] = one.text or ""
    return "\n".join("".join(text for _, text in sorted(lines[y].items())) for y in sorted(lines)) + "\n"


@pytest.mark.slow
def test_the_commands_print_what_the_readme_and_its_picture_say(tmp_path: Path) -> None:
    picture, outputs = record(tmp_path)
    assert untimed(with_outputs(TEXT, outputs)) == untimed(TEXT), "python -m tests.kit.making.make_picture"
    drawn = PICTURE.read_text(encoding="utf-8")
    assert _unspaced(standing(picture)) == _unspaced(standing(drawn)), "python -m tests.kit.making.make_picture"


def _unspaced(text: str) -> list[str]:
    """Return lines without blanks, as stretches of blanks are not drawn, and without the seconds that commands took.

    On a busy machine the line of the seconds is longer than the screen, so all up to the next prompt is left out.
    """
    untaken = re.sub(r"^ *time [^$]*", "", text, flags=re.MULTILINE)
    return [re.sub(r"\s", "", line) for line in untaken.splitlines()]


def test_every_command_of_the_readme_has_its_output() -> None:
    commands = re.findall(r"^\$ docmill (\w+)", "".join(BLOCK.findall(TEXT)), re.MULTILINE)
    assert set(commands) == {"ingest", "search", "plan", "sql", "verify"}
    for block in BLOCK.findall(TEXT):
        assert re.search(r"^[^$]", block, re.MULTILINE), block


def test_the_picture_shows_the_last_screen_and_needs_nothing_else() -> None:
    picture = PICTURE.read_text(encoding="utf-8")
    assert re.sub(r"\s", "", standing(picture)).count("$docmillingestdocs") == 2
    assert "1 parsed, 1 embedded" in standing(picture)
    assert {one.tag.removeprefix(SVG) for one in ElementTree.fromstring(picture).iter()} <= {
        *("svg", "title", "style", "rect", "path", "circle", "text", "g")
    }
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import|@font-face|href|on\w+=", picture) == []
    assert len(picture) < 100_000


def test_the_python_code_in_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "tests" / "corpus" / "handbook", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCMILL_EMBEDDING__MODEL", fake_model)
    monkeypatch.setenv("DOCMILL_ENGINE", "local")
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert [line[:2] for line in capsys.readouterr().out.splitlines()] == ["1 ", "2 ", "3 "]


def test_the_lines_that_install_work_before_publication_and_after() -> None:
    lines = re.findall(r"^(?:pip|uv tool) install (\S+)", TEXT, re.MULTILINE)
    published = Version(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]) >= Version("0.3.0")
    assert lines == ["docmill" if published else "./docmill"] * 2, "docs/design/releasing.md"


def test_the_readme_counts_formats_and_strategies() -> None:
    assert f"{len(FORMATS)} formats and {len(SPLITTERS)} strategies" in TEXT


def test_the_readme_is_short() -> None:
    assert len(TEXT.splitlines()) <= LINES


def figures(page: str) -> Iterator[tuple[str, str]]:
    """Yield figure and command of each row of a page's tables that ends with a command, `same` resolved."""
    command = ""
    for row in re.findall(r"^\| (.+) \|$", page, re.MULTILINE):
        cells = re.split(r" \| ", row)
        if found := re.search(r"`((?:python -m|make) [^`]*)`", cells[-1]):
            command = found[1]
        if cells[-1].startswith(("same", "`")) and command:
            yield cells[1], " ".join(command.split()[:3])


def test_every_figure_of_the_readme_is_one_of_the_page_of_numbers_with_the_same_command() -> None:
    told = list(figures(TEXT))
    assert len(told) == 10
    for cell, command in told:
        module = command.split()[-1]
        assert module in NUMBERS, command
        assert [one for one in re.findall(r"\d*\.\d+|\d+", cell) if one not in NUMBERS] == [], cell
        if module.startswith("tests."):
            assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()


def test_every_link_of_the_readme_leads_to_a_page() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")  # its strict build asks that each page of it exists
    links = re.findall(r"\]\((?!https?:)([^)#]+)", TEXT)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).is_file() and link.removeprefix("docs/") not in site] == []
