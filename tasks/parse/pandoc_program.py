"""Pandoc program: one process reads document after document, as starting it takes longer than reading most documents.

It runs a loop in pandoc's own Lua; its Haskell heap has its own limit, and it inherits the worker's limits. Each
document is read in pandoc's sandbox: no file or URL that it names is opened.
"""

import atexit
import json
import os
import shutil
import subprocess
import time
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from docmill.storage.errors import Rejected

_HEAP_MB = 1024
"""Megabytes of pandoc's heap: with less, large valid documents fail; with more, a few workers fill a machine."""
_MAX_OUTPUT = 400_000_000
"""Maximum bytes of a tree: as Python objects, it takes several times as much memory."""
_TIMEOUT_S, _TIMEOUT_S_PER_MB, _MAX_TIMEOUT_S = 20.0, 60.0, 100.0  # valid documents take about 5 s per megabyte
_MOST_WAITING = 4
"""Times the limit of CPU time that a document may take by the clock: on a machine with more to do than processors, a
valid document waits as long as it works, and what is read must not depend on that."""
_LOOKS = 20  # at the CPU time, at most, for each time that the limit has passed by the clock
_USER = 11  # of the fields behind the name in /proc/PID/stat: ticks in user mode, then in the kernel
_HEAP_EXHAUSTED = 251  # the exit status of programs compiled with GHC
_MAX_MESSAGE = 200  # characters: pandoc names the position first, then repeats the lines around it
_MEGABYTE = 1e6  # bytes
_AS_THEY_ARE = ("docx", "odt", "epub", "man", "mdoc")  # whose bytes are no text, or whose tables are parted by tabs
_TAB = 4  # columns
_BLANKS = ("Space", "SoftBreak", "LineBreak")
_LOOP = """
local options = pandoc.ReaderOptions({standalone = true, columns = 72})
while true do
  local reader, size = (io.read('L') or ''):match('^(%S+) (%d+)\\n$')
  if not reader then break end
  local data = io.read(tonumber(size)) or ''
  local is_read, said = pcall(function() return pandoc.write(pandoc.read(data, reader, options, {}), 'json') end)
  said = tostring(said)
  io.write(is_read and '0 ' or '1 ', #said, '\\n', said)
  io.flush()
end
"""
"""A line gives the reader and the number of bytes that follow; the answer's line gives the status, 0 for a tree, and
its number of bytes. The empty table requests the sandbox: it lists the files that a document may read."""
_MOST = 500
"""Maximum documents per process: Haskell limits what it keeps of them, but docmill does not rely on that."""
_LAST_WORDS_S = 5.0  # for a process that closed its pipes to end
_TIMED_OUT, _TOO_LONG = -1000, -1001  # statuses that no process ends with


def read_tree(data: bytes, reader: str) -> dict[str, Any]:
    """Return `meta` and `blocks` of a document, as read by pandoc's `reader`, such as "odt".

    Raise Rejected: `corrupt` with pandoc's message, `memory`, `timeout`, `not_installed`.
    """
    program = _program()
    if not program:
        raise Rejected("not_installed", f"{reader} needs pandoc: pip install pypandoc_binary")
    seconds = min(_MAX_TIMEOUT_S, _TIMEOUT_S + _TIMEOUT_S_PER_MB * len(data) / _MEGABYTE)
    plain = data if reader in _AS_THEY_ARE else _as_typed(data)
    answer = ask_pandoc(program, reader, plain, PandocLimits(_HEAP_MB, seconds, _MAX_OUTPUT))
    if answer.timed_out:
        raise Rejected("timeout", f"pandoc took more than {seconds:.0f} seconds of CPU time")
    if answer.too_long:
        raise Rejected("too_large", f"pandoc's output has {answer.longest} bytes, the limit is {_MAX_OUTPUT}")
    if answer.status:
        raise _reason(answer.status, answer.said.decode("utf-8", "replace"), reader)
    return load_tree(answer.said)


def _as_typed(data: bytes) -> bytes:
    """Return text with the line ends and spaces that pandoc's readers expect, as pandoc's program does."""
    if b"\t" not in data and b"\r" not in data:
        return data
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").expandtabs(_TAB)
    return text.encode("utf-8", "surrogateescape")


def load_tree(written: bytes) -> dict[str, Any]:
    """Return a syntax tree that shares one node among equal words and spaces, which takes a quarter of the memory."""
    words: dict[str, Any] = {}
    blanks: dict[str, Any] = {}

    def shared(node: dict[str, Any]) -> Any:
        kind = node.get("t")
        if kind == "Str":
            return words.setdefault(node["c"], node)
        return blanks.setdefault(kind, node) if kind in _BLANKS else node

    tree: dict[str, Any] = json.loads(written, object_hook=shared)
    return tree


def _reason(status: int, said: str, reader: str) -> Rejected:
    if status == _HEAP_EXHAUSTED or "heap" in said.lower():
        return Rejected("memory", f"pandoc needs more than {_HEAP_MB} MB")
    if status < 0:
        return Rejected("crashed", f"pandoc was killed by signal {-status}")
    first = said.split("HasCallStack")[0]
    message = " ".join(first.split())[:_MAX_MESSAGE] or f"pandoc ended with status {status}"
    return Rejected("corrupt", f"cannot be read as {reader.partition('+')[0]}: {message}")


def _cpu_s(pid: int) -> float:
    """Return the seconds of CPU time that a process has taken; where no /proc states them, those of the clock."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return (int(fields[_USER]) + int(fields[_USER + 1])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.monotonic()


@cache
def _program() -> str:
    """Return the path of pandoc: from pypandoc_binary, else the system's, else ""."""
    spec = find_spec("pypandoc")
    bundled = Path(spec.origin).parent / "files" / "pandoc" if spec and spec.origin else None
    return str(bundled) if bundled and bundled.exists() else shutil.which("pandoc") or ""


class PandocAnswer(NamedTuple):
    """The result for a document: a status, 0 with the tree as JSON, 1 with pandoc's message, otherwise without text.

    Below 0 it is the signal that ended pandoc, above 1 pandoc's exit status.
    """

    status: int
    said: bytes
    longest: int = 0  # bytes of an answer that was too long

    @property
    def timed_out(self) -> bool:
        """Return whether pandoc was stopped because it took too long."""
        return self.status == _TIMED_OUT

    @property
    def too_long(self) -> bool:
        """Return whether the tree is larger than allowed; it was not read."""
        return self.status == _TOO_LONG


class PandocLimits(NamedTuple):
    """Limits for one document: megabytes of pandoc's heap, seconds, and bytes of the tree."""

    heap_mb: int
    seconds: float
    longest: int


class StandingPandoc:
    """A pandoc process that waits for documents."""

    def __init__(self, program: str, heap_mb: int) -> None:
        limits = ["+RTS", f"-M{heap_mb}m", "-RTS"]
        self._process = subprocess.Popen(
            [program, *limits, "lua", "-E", "-e", _LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.served = 0

    @property
    def ready(self) -> bool:
        """Return whether it can be used again."""
        return self._process.poll() is None and self.served < _MOST

    def ask(self, data: bytes, reader: str, limits: PandocLimits) -> PandocAnswer:
        """Return pandoc's answer for a document; after any status except 0 and 1 the process has ended."""
        late: list[bool] = []
        done = Event()
        Thread(target=self._watch, args=(limits.seconds, done, late), daemon=True).start()
        try:
            answer = self._answer(data, reader, limits.longest)
        finally:
            done.set()
        self.served += 1
        if answer is not None:
            return answer
        status = self._status()
        return PandocAnswer(_TIMED_OUT if late else status, b"")

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        with suppress(BrokenPipeError):  # from input that a dead process did not read
            self._process.communicate()

    def _status(self) -> int:
        """Return how the process ended after it closed its pipes."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_WORDS_S)
        self.close()
        return self._process.wait()

    def _watch(self, seconds: float, done: Event, late: list[bool]) -> None:
        """End the process when a document has taken too much CPU time, or at last too much time."""
        before, last, left = _cpu_s(self._process.pid), time.monotonic() + _MOST_WAITING * seconds, seconds
        while not done.wait(max(left, seconds / _LOOKS)):
            left = seconds - (_cpu_s(self._process.pid) - before)
            if left <= 0 or time.monotonic() > last:
                late.append(True)
                self._process.kill()
                return

    def _answer(self, data: bytes, reader: str, longest: int) -> PandocAnswer | None:
        """Return an answer, or None if the process ended before it was complete."""
        ask, answers = self._process.stdin, self._process.stdout
        assert ask is not None
        assert answers is not None
        with suppress(BrokenPipeError):
            ask.write(f"{reader} {len(data)}\n".encode() + data)
            ask.flush()
        status, _, size = answers.readline().partition(b" ")
        if not size.endswith(b"\n"):
            return None
        if int(size) > longest:
            self.close()
            return PandocAnswer(_TOO_LONG, b"", int(size))
        said = answers.read(int(size))
        return PandocAnswer(int(status), said) if len(said) == int(size) else None


_idle: list[StandingPandoc] = []
"""Waiting processes: as many as documents were read at once."""


def ask_pandoc(program: str, reader: str, data: bytes, limits: PandocLimits) -> PandocAnswer:
    """Return pandoc's answer for a document.

    If a signal ends a process that has read other documents before, a new process is used: a process has limited CPU
    time, and the other documents used part of it.
    """
    with suppress(IndexError):
        answer = _asked(_idle.pop(), reader, data, limits)
        if answer.status >= 0 or answer.timed_out or answer.too_long:
            return answer
    return _asked(StandingPandoc(program, limits.heap_mb), reader, data, limits)


def _asked(pandoc: StandingPandoc, reader: str, data: bytes, limits: PandocLimits) -> PandocAnswer:
    answer = pandoc.ask(data, reader, limits)
    if pandoc.ready:
        _idle.append(pandoc)
    else:
        pandoc.close()
    return answer


@atexit.register
def _close_idle() -> None:
    while _idle:
        _idle.pop().close()
