"""Data table: draw a table of a file of data as its columns with their types, then its first rows."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.markup.html.hypertext import plain_words

MAX_ROWS = 10_000
"""Rows of a table that are read. With fewer, small tables are cut; with many more, each row of a warehouse would be
chunks that nobody searches for by their words. The schema says how many there are."""
_MAX_CELL = 2_000  # characters of a value: longer ones are documents, and each would be a row of its own


def draw_table(canvas: Canvas, name: str, columns: Sequence[tuple[str, str]], rows: Iterable[Any], total: int) -> None:
    """Draw one table: a heading, its columns and types as items, and its first rows.

    `rows` are sequences of values; `total` is how many there are, -1 where it is unknown.
    """
    canvas.heading(name, 2)
    for column, kind in columns:
        canvas.item(f"{column}: {kind}" if kind else column, 1)
    shown = [[as_text(value) for value in row] for row in islice(rows, MAX_ROWS)]
    if total > len(shown):
        canvas.paragraph(f"The first {len(shown)} of {total} rows.")
    canvas.table([[column for column, _ in columns], *shown], 1)


def as_text(value: Any) -> str:
    """Return a value as text, of HTML its words; binary values are told by their length."""
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        return f"({len(value)} bytes)"
    if isinstance(value, float):
        return f"{value:.15g}"  # as many digits as a double surely has
    text = plain_words(str(value))
    return text if len(text) <= _MAX_CELL else text[:_MAX_CELL] + "…"
