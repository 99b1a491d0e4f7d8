"""Pandoc program: read a document as a syntax tree in a separate process.

Pandoc's Haskell heap has its own limit, and its process inherits those of the worker. A sandbox keeps it from reading
any file or URL that a document names.
"""

import json
import shutil
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docmill.storage.errors import Rejected
from docmill.tasks.parse.pandoc.process.standing_pandoc import PandocLimits, ask_pandoc

_HEAP_MB = 1024
"""Megabytes of pandoc's heap: with less, large valid documents fail; with more, a few workers fill a machine."""
_MAX_OUTPUT = 400_000_000
"""Bytes of a tree: as Python objects, it takes several times as much memory."""
_TIMEOUT_S, _TIMEOUT_S_PER_MB, _MAX_TIMEOUT_S = 20.0, 60.0, 100.0  # valid documents take about 5 s a megabyte
_HEAP_EXHAUSTED = 251  # the exit status of programs by GHC
_MAX_MESSAGE = 200  # characters: pandoc names the position first, then repeats the lines around it
_MEGABYTE = 1e6  # bytes
_CONTAINERS = ("docx", "odt", "epub")  # whose bytes are no text
_TAB = 4  # columns
_BLANKS = ("Space", "SoftBreak", "LineBreak")


def read_tree(data: bytes, reader: str) -> dict[str, Any]:
    """Return `meta` and `blocks` of a document, as read by pandoc's `reader`, such as "odt".

    Raise Rejected: `corrupt` with pandoc's message, `memory`, `timeout`, `not_installed`.
    """
    program = _program()
    if not program:
        raise Rejected("not_installed", f"{reader} needs pandoc: pip install pypandoc_binary")
    seconds = min(_MAX_TIMEOUT_S, _TIMEOUT_S + _TIMEOUT_S_PER_MB * len(data) / _MEGABYTE)
    plain = data if reader in _CONTAINERS else _as_typed(data)
    answer = ask_pandoc(program, reader, plain, PandocLimits(_HEAP_MB, seconds, _MAX_OUTPUT))
    if answer.timed_out:
        raise Rejected("timeout", f"pandoc took more than {seconds:.0f} seconds")
    if answer.too_long:
        raise Rejected("too_large", f"pandoc's output has {answer.longest} bytes, the limit is {_MAX_OUTPUT}")
    if answer.status:
        raise _reason(answer.status, answer.said.decode("utf-8", "replace"), reader)
    return load_tree(answer.said)


def _as_typed(data: bytes) -> bytes:
    """Return text with the ends of lines and the blanks that pandoc's readers count on; its program makes them, too."""
    if b"\t" not in data and b"\r" not in data:
        return data
    text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").expandtabs(_TAB)
    return text.encode("utf-8", "surrogateescape")


def load_tree(written: bytes) -> dict[str, Any]:
    """Return a syntax tree that shares one node among equal words and spaces: a quarter of the memory."""
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


@cache
def _program() -> str:
    """Return the path of pandoc: that of pypandoc_binary, else the system's, else ""."""
    spec = find_spec("pypandoc")
    bundled = Path(spec.origin).parent / "files" / "pandoc" if spec and spec.origin else None
    return str(bundled) if bundled and bundled.exists() else shutil.which("pandoc") or ""
