"""Patterns of paths mean what they mean in `.gitignore`, end in good time, and are explained where they are wrong."""

import re
import subprocess
import warnings
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from docmill.storage.errors import ConfigError
from docmill.tasks.paths.patterns import patterns_of
from docmill.tasks.sources.discover import discover, open_source
from docmill.tasks.sources.source import DiscoverOptions
from tests.kit.drawing import examples

SOON = 30  # seconds; the walk takes a moment, the interpreter up to some seconds on a busy machine
WALK = """
import sys
from docmill.tasks.sources.discover import discover, open_source
from docmill.tasks.sources.source import DiscoverOptions
print([file.uri for file in discover(open_source(sys.argv[1]), DiscoverOptions()).found])
"""
ATOMS = (*"ab-*?/!\\ #[]", "**", "\\*", "[ab]", "[a-b]", "[]a]", "[b-]", "[\\]")
NEGATED = ("[!a]", "[^ab]", "[!]]", "[^-b]")
NAMES = st.text("ab-*]\\! #", min_size=1, max_size=4)
DEEP = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


def lines_of(*atoms: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.lists(st.sampled_from(atoms), max_size=6).map("".join), min_size=1, max_size=3)


def agree(lines: list[str], *paths: str) -> None:
    """Compare with pathspec; a set of patterns that it refuses has to be refused."""
    try:
        with warnings.catch_warnings(action="ignore"):  # pathspec does not escape `[` and `--` within brackets
            oracle = GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        with pytest.raises(ConfigError):
            patterns_of(lines, "here")
        return
    patterns = patterns_of(lines, "here")
    for path in paths:
        assert patterns.match(path) == oracle.match_file(path), path


@example(["*", "!a/"], "a/b")
@example(["a/**/b"], "a/a/b/a")
@example(["**/a/**/b/**"], "a/b/a")
@example(["**/"], "a/b")
@example(["*a*b"], "aab")
@example(["b", "!b/**/b"], "b/a/b")
@examples(100)
@given(lines_of(*ATOMS), DEEP)
def test_patterns_select_the_paths_that_pathspec_selects(lines: list[str], path: str) -> None:
    assume(not any(re.search(r"\[[!^]", line) for line in lines))  # see the next test
    agree(lines, path, f"{path}/")


@examples(100)
@given(lines_of(*(atom for atom in ATOMS if atom != "/"), *NEGATED), NAMES)
def test_negated_brackets_select_the_names_that_pathspec_selects(lines: list[str], name: str) -> None:
    agree(lines, name)  # no folders: those of pathspec match a slash, unlike those of git


def test_no_bracket_matches_a_slash() -> None:
    assert not patterns_of(["/a[!b]c", "/a[+-9]c"], "here").match("a/c")


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("*a*a*a*a*a*a*a*a*a*a*a*b", ["a" * 240]),
        ("[!b]*[!b]*[!b]*[!b]*[!b]*[!b]*[!b]*[!b]*c", ["a" * 240]),
        ("**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b", ["a"] * 200),
        ("a*/**/a*/**/a*/**/a*/**/a*/**/a*/**/a*/**/b", ["aaaa"] * 200),
    ],
)
def test_no_pattern_takes_long(tmp_path: Path, warm_programs: Path, line: str, names: list[str]) -> None:
    path = tmp_path.joinpath(*names)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("text")
    (tmp_path / ".docmillignore").write_text(f"{line}\n")
    command = [str(warm_programs / "python"), "-c", WALK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=True)
    assert done.stdout.strip() == str(["/".join(names)])


BACKSLASH = "a backslash must be followed by the character that it escapes"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\\", rf"{BACKSLASH}: '\\'"),
        ("a\\/b", rf"{BACKSLASH}: 'a\\/b'"),
        ("!", "a pattern must follow the exclamation mark: '!'"),
        ("[z-a]", "the range z-a is in the wrong order: '[z-a]'"),
    ],
)
def test_a_wrong_pattern_is_an_error_that_says_where(tmp_path: Path, line: str, message: str) -> None:
    ignored = tmp_path / "deep" / ".docmillignore"
    ignored.parent.mkdir()
    ignored.write_text(f"# drafts\n\n{line}\n")
    with pytest.raises(ConfigError) as wrong:
        discover(open_source(str(tmp_path)), DiscoverOptions())
    assert str(wrong.value) == f"{ignored}:3: {message}"
    for key in ("include", "exclude"):
        options = DiscoverOptions(**{key: ("*.md", line)})  # type: ignore[arg-type]
        with pytest.raises(ConfigError) as wrong:
            discover(open_source(str(tmp_path)), options)
        assert str(wrong.value) == f"[discover] {key}: {message}"
