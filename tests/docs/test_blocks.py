"""The documentation is true: what it has its reader type runs, in order, and prints what it says.

`tests/kit/pages/blocks.py` says how a page is written. `python -m tests.kit.making.make_blocks PAGE` plays one page,
shows what its blocks print, and with `--write` writes that into the page.
"""

import doctest
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.kit.house import ROOT
from tests.kit.pages.blocks import WrongPageError, blocks_of
from tests.kit.pages.player import Played, play

REFERENCE = ROOT / "docs" / "reference"  # made from the code: nobody types what stands there
FOUND = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent != REFERENCE]
PAGES = {path.relative_to(ROOT).as_posix(): path for path in FOUND}
BLOCKS = {name: blocks_of(path) for name, path in PAGES.items()}
NOT_RUN = [(name, block) for name, blocks in BLOCKS.items() for block in blocks if block.directive("not run")]
IN_SOAK = {
    "docs/cookbook.md",
    "docs/guides/moving-and-backup.md",
    "docs/guides/embedding-models.md",
    "docs/guides/models-and-costs.md",
}
"""Long pages whose commands other pages and tests run, too: together they take a third of the CPU time of all pages."""
NEEDED = {
    "docs/guides/adapters.md": ("langchain_core", "llama_index", "haystack"),
    "docs/guides/loaders.md": ("langchain_core",),
}
"""Packages of extras that a page imports."""
MOST_NOT_RUN = 24  # each with its reason; a page that needs more of them should be another page


@pytest.fixture(scope="session")
def shelf(shared: Path) -> Path:
    """Return the folder in which the stores of pages stand, one for all processes of the tests."""
    return shared / "shelf"


def difference(played: Played) -> str:
    """Return how what a block printed differs from what its page says; nothing if it does not."""
    block, checker, wanted = played.block, doctest.OutputChecker(), int(played.block.directive("status") or 0)
    if played.status != wanted:
        return f"exit status {played.status} in place of {wanted}\n{played.output}{played.errors}"
    got = "".join(f"{line.rstrip()}\n" for line in played.output.rstrip().splitlines())
    if block.expected is None or checker.check_output(block.expected, got, doctest.ELLIPSIS):
        return ""
    example = doctest.Example(block.code, block.expected)
    return checker.output_difference(example, got, doctest.ELLIPSIS) + played.errors


def played_pages() -> list[ParameterSet]:
    """Return the pages that have something to run; the long ones are marked `soak`."""
    names = [name for name, blocks in BLOCKS.items() if any(block.runs for block in blocks)]
    return [pytest.param(name, marks=[*[pytest.mark.soak] * (name in IN_SOAK), _with_packages(name)]) for name in names]


def _with_packages(name: str) -> pytest.MarkDecorator:
    missing = [package for package in NEEDED.get(name, ()) if find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@pytest.mark.slow
@pytest.mark.parametrize("name", played_pages())
def test_every_block_of_a_page_runs_and_prints_what_the_page_says(
    name: str, tmp_path: Path, shelf: Path, warm_programs: Path
) -> None:
    for played in play(PAGES[name], tmp_path, shelf, warm_programs):
        assert not (found := difference(played)), f"{name}:{played.block.line}: {found}"


def test_few_blocks_are_left_out_and_each_for_a_reason() -> None:
    for name, block in NOT_RUN:
        print(f"{name}:{block.line}: not run: {block.directive('not run')}")
    assert len(NOT_RUN) <= MOST_NOT_RUN


def page(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text.replace("'''", "```"), encoding="utf-8")
    return path


FAITHFUL = """\
Text.

'''toml title="sub/a.toml"
x = 1
'''

=== "Bash"

    '''bash
    export GREETING=hello; cd sub; cat a.toml
    sleep 600 &
    '''

    '''text
    x = ...
    '''

'''python
import os
a = os.environ["GREETING"]
'''

<!-- status: 3 -->
'''bash
echo "docmill: $GREETING" >&2; pwd; exit 3
'''

'''text
docmill: hello
.../sub
'''

'''python
print(a, os.path.basename(os.getcwd()))
'''

'''text
hello sub
'''

<!-- not run: there is no such program -->
'''bash
no-such-program
'''

'''text
anything
'''
"""


def test_blocks_share_folder_environment_and_names(tmp_path: Path, shelf: Path) -> None:
    played = list(play(page(tmp_path, FAITHFUL), tmp_path, shelf))
    assert [difference(one) for one in played] == ["", "", "", ""]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("'''bash\nfalse\necho later\n'''\n", "exit status 1"),
        ("'''bash\nno-such-program\n'''\n", "no-such-program"),
        ("'''bash\necho a\n'''\n\n'''text\nb\n'''\n", "Expected:\n    b\nGot:\n    a\n"),
        ("'''python\n1 / 0\n'''\n", "ZeroDivisionError"),
        ("<!-- status: 2 -->\n'''bash\ntrue\n'''\n", "exit status 0 in place of 2"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_page_that_is_wrong_is_found(text: str, said: str, tmp_path: Path, shelf: Path) -> None:
    (played,) = play(page(tmp_path, text), tmp_path, shelf)
    assert said in difference(played)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("'''text\nb\n'''\n", "page.md:1: a text follows no block"),
        ("<!-- status: 2 -->\n'''\nnothing\n'''\n", "stands before a block that is not run"),
        ("'''bash\necho\n", "line 1 does not end"),
        ("<!-- files: notes -->\n", "no block follows"),
    ],
)
def test_a_page_that_breaks_the_rules_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(WrongPageError, match=said):
        blocks_of(page(tmp_path, text))
