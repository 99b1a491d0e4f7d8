"""Delimited values: one pipe table, one row a line, whatever delimiter the file uses."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.format import ParseOptions
from docmill.tasks.parse.office.sheets.sheet import has_header

DELIMITERS = ",;\t|"
_SAMPLE_CHARACTERS = 20_000
_FIELD_LIMIT = 10_000_000
_MAX_ABOVE = 100
_STATED = re.compile(r"\ufeff?sep=([,;\t|])\r?\n", re.IGNORECASE)  # as Excel has it


def parse_delimited(data: bytes, _: ParseOptions) -> Parsed:
    """Return a table of the file's rows; its first row is the header unless it holds a number that is no year.

    Lines of one field above a table of several, as exports have them, are paragraphs.
    """
    found = decode(data)
    text = found.text.replace("\0", "")
    stated = _STATED.match(text)
    text = text[stated.end() :] if stated else text
    delimiter = stated[1] if stated else find_delimiter(text)
    csv.field_size_limit(_FIELD_LIMIT)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or ","))
    except csv.Error as error:
        raise Rejected("corrupt", f"not a table of delimited values: {error}") from error
    canvas = Canvas()
    above = _above(rows)
    for row in rows[:above]:
        canvas.paragraph(" ".join(row).lstrip("# "))
    canvas.table(rows[above:], header_rows=int(_has_header(rows[above:])))
    return canvas.parsed(metadata=found.metadata | {"delimiter": delimiter, "rows": len(rows)})


def _above(rows: list[list[str]]) -> int:
    """Return how many rows stand above the table: those of one field before the first that fills all its columns."""
    filled = [sum(map(bool, map(str.strip, row))) for row in rows[:_MAX_ABOVE]]
    first = next((number for number, count in enumerate(filled) if count > 1), 0)
    table = [count for count in filled[first:] if count]
    return first if len(table) > 1 and filled[first] == max(table) and table.count(1) <= len(table) / 4 else 0


def find_delimiter(text: str) -> str:
    """Return the delimiter that cuts most rows into the same number of fields, two or more; else none."""
    sample = text[:_SAMPLE_CHARACTERS]
    if len(text) > _SAMPLE_CHARACTERS and "\n" in sample:
        sample = sample[: sample.rindex("\n") + 1]
    best, best_score = "", 0.5
    for delimiter in DELIMITERS:
        if delimiter in sample:
            widths = Counter(len(row) for row in _rows(sample, delimiter) if row)
            width, rows = max(widths.items(), key=lambda item: item[1]) if widths else (1, 0)
            score = (rows / widths.total() + min(width, 10) / 100) if width > 1 else 0
            if score > best_score:
                best, best_score = delimiter, score
    return best


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    except csv.Error:
        return


def _has_header(rows: list[list[str]]) -> bool:
    filled = (row for row in rows if any(row))
    first = next(filled, [])
    return not any(map(_is_number, first)) or has_header([first, *islice(filled, 1)])


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().strip("%$€£").replace(",", ""))
    except ValueError:
        return False
    return True
