"""Play a page of the documentation and show what its blocks print: `python -m tests.kit.making.make_blocks PAGE`.

With `--write` the text that follows a block becomes what the block printed, wherever the two differ, with `...` in
place of what surely varies from run to run: times, names of runs, hashes. Look at the difference before you commit it.
"""

import argparse
import re
import textwrap
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.test_blocks import difference
from tests.kit.pages.blocks import Block
from tests.kit.pages.player import Played, play

VARIES = (
    (re.compile(r"^(  time {2,})\w.*$", re.MULTILINE), r"\1..."),
    (re.compile(r"\d{8}T\d{12}-\d+"), "..."),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00"), "..."),
    (re.compile(r"\b[0-9a-f]{32,}\b"), "..."),
)
SHELF = Path.home() / ".cache" / "docmill-pages"


def show(played: Played, seconds: float) -> None:
    """Print a block, what it printed, and how that differs from the page."""
    block = played.block
    print(f"── line {block.line}: {seconds:.1f} s, exit status {played.status}")
    print(textwrap.indent(block.code.rstrip(), "$ "))
    print(played.output, played.errors and textwrap.indent(played.errors, "! "), sep="", end="")
    if block.expected is not None and (found := difference(played)):
        print(f"✗ line {block.expected_line} differs\n{found}")


def replaced(lines: list[str], block: Block, output: str) -> list[str]:
    """Return the lines of a page with another text after a block."""
    fence = lines[block.expected_line - 1]
    indent = fence[: len(fence) - len(fence.lstrip())]
    end = lines.index(f"{indent}```", block.expected_line)
    for pattern, shown in VARIES:
        output = pattern.sub(shown, output)
    return [*lines[: block.expected_line], *textwrap.indent(output.rstrip(), indent).splitlines(), *lines[end:]]


def main() -> None:
    """Play the pages that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="write what blocks print into the page")
    parser.add_argument("--shelf", type=Path, default=SHELF, help=f"where prepared stores stay, by default {SHELF}")
    asked = parser.parse_args()
    for page in asked.pages:
        done: list[Played] = []
        with TemporaryDirectory() as folder:
            start = time.monotonic()
            for played in play(page, Path(folder), asked.shelf):
                show(played, time.monotonic() - start)
                done.append(played)
                start = time.monotonic()
        lines = page.read_text(encoding="utf-8").splitlines()
        for played in reversed(done):
            if asked.write and played.block.expected is not None and difference(played):
                lines = replaced(lines, played.block, played.output)
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
