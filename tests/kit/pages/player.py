"""Play a page of the documentation: do what it has its reader do, in a fresh folder, and keep what was printed."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.kit.pages.blocks import Block, blocks_of
from tests.kit.pages.prepared import SERVERS, environment_of, lay_out, lay_out_store

LIMIT_S = 300  # of one block: ten times what the slowest takes on a machine that does nothing else
# What a block leaves to the next of its page: variables and the working folder.
_BASH = """\
trap 'code=$?; env -0 > "$0.env"; pwd > "$0.folder"; exit $code' EXIT
. "$0.code"
"""


@dataclass(slots=True)
class Played:
    """A block that has run: its exit status, and what it printed on standard output and standard error.

    Where the page shows errors, `output` is both streams as they came, and `errors` is empty.
    """

    block: Block
    status: int
    output: str
    errors: str


@dataclass(slots=True)
class Player:
    """The state of a page between two blocks."""

    page: str
    folder: Path
    scratch: Path
    shelf: Path
    environment: dict[str, str]
    here: Path
    servers: ExitStack = field(default_factory=ExitStack)
    python: "subprocess.Popen[str] | None" = None
    left: list[int] = field(default_factory=list)

    def play(self, block: Block) -> Played | None:
        """Do what a block says; return what came of it if it is run."""
        self._prepare(block)
        if block.title and not block.directive("not run"):
            target = self.here / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.code, encoding="utf-8")
        if not block.runs:
            return None
        output, errors = self.scratch / f"{block.line}.out", self.scratch / f"{block.line}.err"
        written = (output, output if block.shows_errors else errors)
        status = self._bash(block, *written) if block.language == "bash" else self._python(block, *written)
        return Played(block, status, *(path.read_text("utf-8") if path.exists() else "" for path in (output, errors)))

    def _prepare(self, block: Block) -> None:
        for name, value in block.asked:
            if name == "files":
                lay_out(value, self.here)
            elif name == "store":
                lay_out_store(value, self.here, self.shelf, self.environment)
            elif name == "with":
                self.environment |= self.servers.enter_context(SERVERS[value]())

    def _bash(self, block: Block, output: Path, errors: Path) -> int:
        script = self.scratch / f"{block.line}"
        script.with_suffix(".code").write_text(block.code, encoding="utf-8")
        command = ["bash", "-e", "-c", _BASH, str(script)]
        with output.open("ab") as out, errors.open("ab") as err:
            started = subprocess.Popen(
                command,
                cwd=self.here,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.left.append(started.pid)
        status = started.wait(LIMIT_S)
        variables = script.with_suffix(".env").read_text("utf-8").split("\0")
        self.environment = dict(one.split("=", 1) for one in variables if "=" in one)
        self.here = Path(script.with_suffix(".folder").read_text("utf-8").strip())
        return status

    def _python(self, block: Block, output: Path, errors: Path) -> int:
        script = self.scratch / f"{block.line}.py"
        script.write_text(block.code, encoding="utf-8")
        asked = {"code": script, "name": f"{self.page}:{block.line}", "folder": self.here, "stdout": output}
        told = {**{name: str(value) for name, value in asked.items()}, "stderr": str(errors)}
        session = self._session()
        assert session.stdin
        assert session.stdout
        print(json.dumps({**told, "environment": self.environment}), file=session.stdin, flush=True)
        return int(session.stdout.readline() or session.wait())

    def _session(self) -> "subprocess.Popen[str]":
        if self.python is None:
            warm = shutil.which("python", path=self.environment["PATH"])
            self.python = subprocess.Popen(
                [warm or sys.executable, "-m", "tests.kit.pages.python_session"],
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            self.left.append(self.python.pid)
        return self.python

    def end(self) -> None:
        """End what the page has left running."""
        for group in self.left:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        if self.python is not None:
            self.python.communicate()
        self.servers.close()


@contextmanager
def player(page: str, folder: Path, shelf: Path, *programs: Path) -> Iterator[Player]:
    """Return a player that begins in an empty folder within a folder, and end all that it starts.

    Programs are looked up in `programs` before the environment's own.
    """
    home, scratch = folder / "reader", folder / "scratch"
    for fresh in (home, scratch):
        fresh.mkdir()
    environment = environment_of(home, shelf, (*programs, Path(sys.executable).parent))
    own = Player(page, home, scratch, shelf, environment, home)
    try:
        yield own
    finally:
        own.end()


def play(page: Path, folder: Path, shelf: Path, *programs: Path) -> Iterator[Played]:
    """Play a page from top to bottom, and yield each block that has run."""
    with player(page.name, folder, shelf, *programs) as own:
        for block in blocks_of(page):
            if played := own.play(block):
                yield played
