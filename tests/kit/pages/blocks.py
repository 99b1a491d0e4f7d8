"""The blocks of a page of the documentation, in order, with the directives that stand before them.

A page is Markdown. What a reader is meant to type stands in fenced blocks, and a test runs them from top to bottom:

    ```bash, ```python       run
    ```toml title="NAME"     a block of any other language with a title is a file that the reader saves under that name
    ```text                  what the block before it prints; `...` stands for anything, on one line or over several

A text with a line that begins with `docmill: ` is compared with standard output and standard error, as they came; any
other with standard output alone. A text always belongs to the block before it. What nobody types or prints stands in a
block of another language, or of none.

Directives are comments on lines of their own. They count for the next block:

    <!-- files: NAME -->     a prepared folder is laid out before it; see `prepared.py`
    <!-- store: NAME -->     a prepared folder and the store made of it are
    <!-- with: NAME -->      a server on loopback runs from here on, until the page ends
    <!-- status: 3 -->       it ends with this exit status in place of 0
    <!-- not run: REASON --> it cannot run here, and neither is its text compared
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

RUN = ("bash", "python")
DIRECTIVES = ("files", "store", "with", "status", "not run")
_DIRECTIVE = re.compile(rf"^ *<!-- ({'|'.join(DIRECTIVES)}): (.+?) -->$")
_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[\w+-]*)(?P<more>.*)$")
_TITLE = re.compile(r'title="([^"]+)"')


class WrongPageError(Exception):
    """A page breaks the rules of blocks; the message names its line."""


@dataclass(slots=True)
class Block:
    """A fenced block: its code without indent, its first line in the page, and what directives say of it."""

    language: str
    code: str
    line: int
    title: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    expected: str | None = None
    expected_line: int = 0

    def directive(self, name: str) -> str:
        """Return what a directive before the block says, or nothing."""
        return dict(self.asked).get(name, "")

    @property
    def runs(self) -> bool:
        """Say whether the block is run."""
        return self.language in RUN and not self.title and not self.directive("not run")

    @property
    def shows_errors(self) -> bool:
        """Say whether its text shows standard error, too."""
        return bool(re.search(r"^docmill: ", self.expected or "", re.MULTILINE))


def blocks_of(page: Path) -> list[Block]:
    """Return what a page has a reader type and save, each with the text that follows it.

    Raises:
        WrongPageError: a text follows no block, a directive counts for none, or a fence stays open.
    """
    found: list[Block] = []
    before: Block | None = None
    for block in _fenced(page.read_text(encoding="utf-8")):
        if block.language != "text":
            before = block if block.language in RUN and not block.title else None
            if before or block.title:
                found.append(block)
            elif block.asked:
                raise WrongPageError(f"{page.name}:{block.line}: a directive stands before a block that is not run")
        elif before is None:
            raise WrongPageError(f"{page.name}:{block.line}: a text follows no block that runs; give it no language")
        else:
            before.expected, before.expected_line, before = block.code, block.line, None
    return found


def _fenced(text: str) -> Iterator[Block]:
    """Yield all fenced blocks of a page."""
    lines = enumerate(text.splitlines(), start=1)
    asked: list[tuple[str, str]] = []
    for number, line in lines:
        if directive := _DIRECTIVE.match(line):
            asked.append((directive[1], directive[2]))
        elif opened := _FENCE.match(line):
            code = _until(opened["indent"] + opened["fence"], lines, number)
            title = _TITLE.search(opened["more"])
            yield Block(opened["language"], code, number, title[1] if title else "", asked)
            asked = []
    if asked:
        raise WrongPageError(f"no block follows the directive {asked[0][0]!r}")


def _until(fence: str, lines: Iterator[tuple[int, str]], opened: int) -> str:
    """Return the lines up to a closing fence, without their indent."""
    code: list[str] = []
    for _, line in lines:
        if line.rstrip() == fence:
            return textwrap.dedent("".join(f"{one}\n" for one in code))
        code.append(line)
    raise WrongPageError(f"the block that opens on line {opened} does not end")
