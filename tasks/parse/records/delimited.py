"""Delimited values: one pipe table, one row per line, whatever delimiter the file uses."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.decode import decode
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.markup.html.hypertext import plain_words

DELIMITERS = ",;\t|"
_SAMPLE_CHARACTERS = 20_000
"""Characters from which the delimiter is found. Fewer may all be lines above the table; more are read four times."""
_FIELD_LIMIT = 10_000_000
"""Maximum characters of a field; Python allows 131,072. A field with a whole document is larger than Python's limit;
with no limit, an unclosed quote makes one field of a file of any size."""
_MAX_ABOVE = 100
"""Rows within which the table must begin. Reports have fewer lines above it; with more, a short table below a long text
of one field per row would be cut in two."""
_MAX_SINGLE = 1 / 4
"""Maximum share of rows with one field in a table. With more, the rows are text with an occasional delimiter."""
_LEAST_EVEN = 0.5
"""Minimum share of rows with equal width for a delimiter. With less, the file is text with commas; a higher minimum
would reject tables with notes above and below."""
_COLUMNS_PER_SHARE = 100
"""Number of columns that weigh as much as all rows: of two delimiters that split the rows equally well, the one that
gives more columns is right, and the other occurs within fields. With fewer, width outweighs evenness, and commas in
sentences win; with many more, width has no effect."""
_COUNTED_COLUMNS = 10  # so that width adds at most a tenth, and the rows of wide tables count, too
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_SAMPLE_LINES = 500
"""Lines from which the usual number of fields is found. Fewer may all be above the table; more make no difference."""
_READ_AGAIN = 10
"""How often the lines of a file may be read again because of unclosed quotation marks. With fewer, a list of sizes in
inches loses rows; with no limit, a file designed for it takes quadratic time."""
_LEAST_QUOTED = 3  # fields between single quotation marks; one or two may be quotations
_STATED = re.compile(r"\ufeff?sep=([,;\t|])\r?\n", re.IGNORECASE)  # written by Excel


def parse_delimited(data: bytes, _: ParseOptions) -> Parsed:
    """Return a table of the file's rows; its first row is the header unless it has a number other than a year.

    Lines of one field above a wider table, as in exports, are paragraphs; of HTML fields, only the words are read.
    """
    found = decode(data)
    text = found.text.replace("\0", "")
    stated = _STATED.match(text)
    text = text[stated.end() :] if stated else text
    delimiter = stated[1] if stated else find_delimiter(text)
    csv.field_size_limit(_FIELD_LIMIT)
    try:
        rows = list(_rows(text, delimiter or ","))
    except csv.Error as error:
        raise Rejected("corrupt", f"not a table of delimited values: {error}") from error
    if "<" in text:
        rows = [[plain_words(field) for field in row] for row in rows]
    canvas = Canvas()
    above = _above(rows)
    for row in rows[:above]:
        canvas.paragraph(" ".join(filter(str.strip, row)).lstrip("# "))
    canvas.table(rows[above:], header_rows=None, captioned=above == 1)
    return canvas.parsed(metadata=found.metadata | {"delimiter": delimiter, "rows": len(rows)})


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the fields of each row; an unclosed quotation mark at the beginning of a field is part of its text.

    It is recognised by a row that swallows further lines: its first line alone has as many fields as most lines have,
    and either the row has a different number of fields, or each of its lines has this usual number.
    """
    text, quote = _with_doubled_quotes(text, delimiter), _quote_of(text, delimiter)
    lines = _LINE.findall(text)
    width, at, budget = _usual_width(lines, delimiter), 0, _READ_AGAIN * len(lines)
    while at < len(lines):
        reader = _reader(map(lines.__getitem__, range(at, len(lines))), delimiter, quote)
        begun = 0
        for row in reader:
            taken, begun = reader.line_num - begun, reader.line_num
            if taken > 1 and budget > 0 and _is_torn(row, lines[at : at + taken], width, delimiter):
                budget -= taken
                yield _literal(lines[at], delimiter)
                at += 1
                break
            yield row
            at += taken
        else:
            return


def _quote_of(text: str, delimiter: str) -> str:
    """Return the quotation mark of fields: single if fields have single marks and none begins with a double one."""
    sample, sign = text[:_SAMPLE_CHARACTERS], re.escape(delimiter)
    if re.search(rf'(?:^|{sign}) *"', sample, re.MULTILINE):
        return '"'
    fields = re.findall(rf"(?:^|{sign}) *'(?:[^'\n]|'')*'(?={sign}|\r?$)", sample, re.MULTILINE)
    return "'" if len(fields) >= _LEAST_QUOTED else '"'


def _reader(lines: Iterable[str], delimiter: str, quote: str = '"') -> Any:
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, skipinitialspace=delimiter != "\t")


def _is_torn(row: list[str], lines: list[str], width: int, delimiter: str) -> bool:
    """Return whether several lines that were read as one row are separate rows, or at least the first one is."""
    widths = [len(_literal(line, delimiter)) for line in lines]
    return width > 1 and widths[0] == width and (len(row) != width or set(widths) == {width})


def _literal(line: str, delimiter: str) -> list[str]:
    return line.rstrip("\r\n").split(delimiter)


def _usual_width(lines: list[str], delimiter: str) -> int:
    """Return the number of fields that most lines have when read alone."""
    widths = Counter(len(row) for line in lines[:_SAMPLE_LINES] for row in rows_of(line, delimiter) if row)
    return max(widths, key=widths.__getitem__, default=0)


def _with_doubled_quotes(text: str, delimiter: str) -> str:
    """Return a text with doubled quotation marks within fields, if most of them have a backslash instead."""
    if '\\"' not in text:
        return text
    end = rf"(?![{re.escape(delimiter)}\r\n]|\Z)"
    escaped = len(re.findall(rf'(?<!\\)\\"{end}', text))
    doubled = len(re.findall(rf'[^{re.escape(delimiter)}\r\n"\\]""{end}', text))
    return re.sub(r'(?<!\\)((?:\\\\)*)\\"', r'\1""', text) if escaped > doubled else text


def _above(rows: list[list[str]]) -> int:
    """Return the number of rows above the table: rows of one field before the first row that fills all columns.

    Rows of several fields are above it, too, if all are narrower and a blank row separates them from the table.
    """
    filled = [sum(map(bool, map(str.strip, row))) for row in rows[:_MAX_ABOVE]]
    first = next((number for number, count in enumerate(filled) if count > 1), 0)
    table = [count for count in filled[first:] if count]
    is_table = len(table) > 1 and filled[first] == max(table) and table.count(1) <= len(table) * _MAX_SINGLE
    return first if is_table else _above_blank(rows)


def _above_blank(rows: list[list[str]]) -> int:
    """Return the number of rows up to a blank one that separates narrower rows from a table, or 0."""
    widths = [max((at for at, field in enumerate(row, 1) if field.strip()), default=0) for row in rows]
    for at, width in enumerate(widths[:_MAX_ABOVE]):
        below = widths[at + 1 : at + 2]
        if not width and at and below and below[0] == max(widths[at + 1 :]) > max(widths[:at]):
            return at + 1
    return 0


def find_delimiter(text: str) -> str:
    """Return the delimiter that splits most rows into the same number of fields, at least two; otherwise ""."""
    sample = text[:_SAMPLE_CHARACTERS]
    if len(text) > _SAMPLE_CHARACTERS and "\n" in sample:
        sample = sample[: sample.rindex("\n") + 1]
    scores = {delimiter: _evenness(sample, delimiter) for delimiter in DELIMITERS if delimiter in sample}
    best = max(scores, key=scores.__getitem__, default="")
    return best if best and scores[best] > _LEAST_EVEN else ""


def _evenness(sample: str, delimiter: str) -> float:
    """Return the share of rows split into the same number of fields, plus a bonus for each field."""
    widths = Counter(len(row) for row in rows_of(sample, delimiter) if row)
    if not widths:
        return 0
    width, rows = max(widths.items(), key=itemgetter(1))
    return rows / widths.total() + min(width, _COUNTED_COLUMNS) / _COLUMNS_PER_SHARE if width > 1 else 0


def rows_of(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the fields of each row, up to the first row that cannot be read."""
    try:
        yield from _reader(io.StringIO(text, newline=""), delimiter)
    except csv.Error:
        return
