"""Output: results go to standard output, everything else to standard error."""

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import typer

from docmill.flows.cli.terminal.capabilities import colours, width_of_terminal
from docmill.flows.runs.terminal_safe_text import STEERING, one_line, visible
from docmill.flows.serving.json_text import escaped, json_text

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
"""The option of a command that prints its result with `print_json`."""
NARROWEST = 12
"""Minimal width of a cut cell: with fewer columns, cells of a wide table would look alike. A table that does not fit
even so has lines longer than the terminal."""
_GAP = "  "  # between two columns of a table
NAME = "docmill:"  # before each message on standard error
_EXCERPT = "\nLINE "
"""The beginning of the excerpt of a wrong statement, below the error message."""
plain = one_line


def note(message: str, name: str = NAME) -> None:
    """Print a message on standard error, after the name of the program.

    An excerpt of a statement below it keeps its lines and the position of its carets.
    """
    said, mark, excerpt = message.partition(_EXCERPT)
    lines = [f"{name} {plain(said)}"]
    if mark:
        lines.append(harmless(f"{_EXCERPT}{excerpt}".strip("\n")))
    print("\n".join(lines), file=sys.stderr, flush=True)  # not typer.echo, which would write into a progress bar


ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # a `Path` turns two slashes into one


def may_write(path: Path | None) -> Path | None:
    """Return the path of a file to write; raise an error if it cannot be written, before the work begins."""
    if path is None or ADDRESS.match(str(path)):  # for which the command has another error message
        return path
    if path.is_dir() or not (os.access(path, os.W_OK) if _stays(path) else _takes_files(path.absolute().parent)):
        raise typer.BadParameter(
            f"{path} cannot be written; name a file in a folder that exists and that you may write to"
        )
    return path


def _stays(path: Path) -> bool:
    """Return whether a path is written to rather than replaced: a link or a device, such as /dev/stdout."""
    return path.is_symlink() or (path.exists() and not path.is_file())


def _takes_files(folder: Path) -> bool:
    """Return whether files can be created in a folder. Its mode is not reliable, such as in /proc."""
    from tempfile import TemporaryFile  # few commands write files, and each takes 3 ms to import it

    from docmill.storage.files import FULL

    try:
        with TemporaryFile(dir=folder):
            return True
    except OSError as error:
        return error.errno in FULL  # which has another message


def write_output(path: Path, data: bytes) -> None:
    """Write a file that the user has named, whole and readable only by the user; keep a link or a device."""
    from docmill.storage.files import write_whole

    if _stays(path):
        with suppress(BrokenPipeError):  # /dev/stdout whose reader has left
            path.write_bytes(data)
    else:
        write_whole(path.absolute(), data, closed=True)


def print_text(text: str) -> None:
    """Print text for the terminal."""
    typer.echo(harmless(text))


def harmless(text: str) -> str:
    """Return a text without characters that control a terminal."""
    return "\n".join(visible(line.expandtabs(4)) for line in text.split("\n"))


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    text = as_json_text(value)
    typer.echo(for_terminal(text) if is_terminal() else text)


def as_json_text(value: Any) -> str:
    """Return JSON that is easy to read and to grep: a list of objects has one object per line."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[" + ",\n ".join(json_text(item) for item in value) + "]"
    return json_text(value)


def for_terminal(text: str) -> str:
    """Return JSON of the same value with characters escaped that could control a terminal."""
    return "\n".join(STEERING.sub(escaped, line) for line in text.split("\n"))


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] = ()) -> None:
    """Print rows as an aligned table with a header."""
    names = list(columns) or list(rows[0] if rows else ())
    table = aligned(names, [[row.get(name) for name in names] for row in rows], width_of_terminal())
    head, line, rest = table.partition("\n")
    typer.echo(f"{typer.style(head, bold=True) if colours() else head}{line}{rest}")


def minute(time: str) -> str:
    """Return a time in ISO 8601 to the minute."""
    return time[: len("2026-11-24T15:40")].replace("T", " ")


def print_found(rows: Sequence[Mapping[str, Any]], as_json: bool, nothing: str, columns: Iterable[str] = ()) -> None:
    """Print rows as JSON or as a table. Without rows, print the sentence `nothing` instead of the table."""
    if as_json:
        print_json(rows)
    elif rows:
        print_rows(rows, columns)
    else:
        typer.echo(nothing)


def aligned(names: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None = None) -> str:
    """Return an aligned table with one line per row and numbers aligned right.

    If lines are longer than `width` columns of a terminal, the cells of the widest columns are cut.
    """
    cells = [[*map(plain, names)], *([_cell(value) for value in row] for row in rows)]
    numeric = _numeric(rows, len(names))
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    if width is not None:
        widths = _fitted(widths, numeric, width - len(_GAP) * (len(widths) - 1))
    lines = [_line(map(_cut, row, widths), widths, numeric) for row in cells]
    return "\n".join([lines[0], _GAP.join("─" * width for width in widths), *lines[1:]])


def _numeric(rows: Sequence[Sequence[Any]], count: int) -> list[bool]:
    """Return for each column whether it contains only numbers."""
    return [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(count)]


def _fitted(widths: Sequence[int], numeric: Sequence[bool], room: int) -> list[int]:
    """Return widths whose sum fits into `room`. The widest columns become equally wide, and numbers are never cut."""
    texts = sorted(width for width, number in zip(widths, numeric, strict=True) if not number)
    widest = _common_width(texts, room - sum(widths) + sum(texts))
    return [width if number else min(width, widest) for width, number in zip(widths, numeric, strict=True)]


def _common_width(ascending: Sequence[int], room: int) -> int:
    """Return the width to which wider columns are cut so that all fit, with the space that narrower ones leave."""
    share = room
    for place, width in enumerate(ascending):
        share = room // (len(ascending) - place)
        if width > share:
            break
        room -= width
    else:
        return max(ascending, default=0)
    return max(NARROWEST, share)


def _cut(text: str, width: int) -> str:
    """Return a text of at most `width` columns of a terminal, with "…" if it was cut."""
    if _width(text) <= width:
        return text
    ends = accumulate(map(_width, text))
    return text[: sum(end < width for end in ends)] + "…"


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else plain(str(value))


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool))


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)


def _line(cells: Iterable[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = (
        " " * (width - _width(cell)) + cell if right else cell + " " * (width - _width(cell))
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return _GAP.join(padded).rstrip()


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()
