"""RTF tables: cells of several rows or columns, each of which pandoc reads as a single cell.

A row states where its cells end, and which of them go on the cell above or at their left. A mark in each cell takes its
size through pandoc. Source: Rich Text Format specification 1.9.1, "Table Definitions".
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any, NamedTuple

from docmill.tasks.parse.pandoc.inlines import Node
from docmill.tasks.parse.pandoc.process.program import read_tree

_ROW_END = re.compile(rb"(\\row(?![a-z]))")
_ROW_START = re.compile(rb"\\trowd(?![a-z])")
_BETWEEN = re.compile(rb"(?:\\(?!par\b)[a-z]+-?\d*|[{}\s])*+")  # what parts two rows of one table: no text
_INNER_ROW = re.compile(rb"\{\\\*\\nesttableprops(?:[^{}]|\{[^{}]*\})*\}\s*(?:\{\\nonesttables[^{}]*\})?")
_INNER_CELL = re.compile(rb"\\nestcell(?![a-z]) ?(\s*;)?")
_INNER_END = re.compile(rb";((?:\s|\\(?:pard|plain|intbl|itap|ql|ltrpar)-?\d*(?![a-z]))*\\cell(?![a-z]))")
_CELL = re.compile(rb"(\\cell(?![a-z]))")
_STATED = re.compile(rb"\\(?:(clmrg|clvmrg)|cellx(-?\d{1,6}))(?![a-z0-9])")
_LEFT, _ABOVE = b"clmrg", b"clvmrg"  # of a cell that goes on the one at its left, or above
_NEAR = 60  # twips, three points: programs round the ends of cells of one column; columns are further apart
_SIGN, _END = "\ue014", "\ue015"  # around the size of a cell
_MARK = re.compile(f"{_SIGN}(\\d+),(\\d+){_END}")
_COVERED = (0, 0)  # the size of a cell that goes on another

Size = tuple[int, int]  # rows and columns


class _Row(NamedTuple):
    """A row: its part of the document, where its cells end in twips, and what is stated of each."""

    part: int
    ends: list[int]
    stated: list[set[bytes]]


def with_inner_rows(data: bytes) -> bytes:
    """Return rich text whose tables within cells are words with signs between them, since pandoc drops those tables."""
    if b"\\nestcell" not in data:
        return data
    rows = _INNER_ROW.sub(b"; ", data)
    return _INNER_END.sub(rb"\1", _INNER_CELL.sub(lambda one: one[1] or b", ", rows))


def with_sizes(data: bytes) -> bytes:
    """Return rich text with the size of each cell in the tables that have cells of several rows or columns."""
    if b"\\cellx" not in data:
        return data
    parts = _ROW_END.split(data)
    for rows in _tables(parts):
        sizes = _sizes(rows)
        if {*chain.from_iterable(sizes)} != {(1, 1)}:
            for row, some in zip(rows, sizes, strict=True):
                parts[row.part] = _marked(parts[row.part], some)
    return b"".join(parts)


def _tables(parts: list[bytes]) -> Iterator[list[_Row]]:
    """Yield the rows of each table; `parts` are those of a document between the ends of its rows."""
    table: list[_Row] = []
    for at in range(0, len(parts) - 1, 2):
        start = _ROW_START.search(parts[at])
        if table and (start is None or not _BETWEEN.fullmatch(parts[at], 0, start.start())):
            yield table
            table = []
        row = _row(at, parts[at][start.start() :]) if start else None
        if row is not None:
            table.append(row)
    if table:
        yield table


def _row(part: int, said: bytes) -> _Row | None:
    """Return a row, None if it does not state where each of its cells ends."""
    definition, *cells = _CELL.split(said)
    row = _Row(part, [], [])
    flags = set[bytes]()
    for flag, end in _STATED.findall(definition):
        if flag:
            flags.add(flag)
        else:
            row.ends.append(int(end))
            row.stated.append(flags)
            flags = set()
    whole = 0 < len(row.ends) == len(cells) // 2
    return row if whole else None


def _sizes(rows: list[_Row]) -> list[list[Size]]:
    """Return the size of each cell of a table, by row."""
    columns = _columns(rows)
    sizes: list[list[Size]] = []
    above: dict[int, tuple[int, int]] = {}  # the row and the place of a cell, by the column where it begins
    for number, row in enumerate(rows):
        starts = [0, *(bisect_right(columns, end) for end in row.ends)]
        sizes.append(_joined([max(end - start, 1) for start, end in pairwise(starts)], row.stated))
        own = {start: (number, place) for place, start in enumerate(starts[:-1])}
        for start, (_, place) in [*own.items()]:
            if _ABOVE in row.stated[place] and start in above:
                at, upper = own[start] = above[start]
                sizes[at][upper] = (sizes[at][upper][0] + 1, sizes[at][upper][1])
                sizes[number][place] = _COVERED
        above |= own
    return sizes


def _columns(rows: list[_Row]) -> list[int]:
    """Return where the columns of a table end."""
    ends = sorted({end for row in rows for end in row.ends})
    return [ends[0], *(end for before, end in pairwise(ends) if end - before > _NEAR)]


def _joined(widths: list[int], stated: list[set[bytes]]) -> list[Size]:
    """Return the sizes of a row's cells, by how many columns they are wide; some go on the one at their left."""
    joined: list[Size] = []
    first = 0
    for at, (width, flags) in enumerate(zip(widths, stated, strict=True)):
        if _LEFT in flags and at:
            joined[first] = (1, joined[first][1] + width)
            joined.append(_COVERED)
        else:
            first = at
            joined.append((1, width))
    return joined


def _marked(part: bytes, sizes: list[Size]) -> bytes:
    """Return the part of a document that ends with a row, with a mark at the end of each of its cells."""
    cells = _CELL.split(part)
    for at, (rows, columns) in enumerate(sizes):
        cells[2 * at] += f" {_SIGN}{rows},{columns}{_END}".encode()
    return b"".join(cells)


def read_sized(data: bytes) -> dict[str, Any]:
    """Return pandoc's tree of rich text, with the sizes of cells that `with_sizes` has marked."""
    tree = read_tree(data, "rtf")
    if _SIGN.encode() not in data:
        return tree
    for block in tree["blocks"]:
        if block["t"] == "Table":
            for row in chain.from_iterable(body[3] for body in block["c"][4]):
                row[1] = _of_sizes(row[1])
    return tree | {"blocks": [*_unmarked(tree["blocks"], [])]}


def _of_sizes(cells: list[Any]) -> list[Any]:
    """Return the cells of a row with their sizes, without those that go on others and those that pandoc adds."""
    sized, marked = [], False
    for attributes, side, *_, blocks in cells:
        marks: list[Size] = []
        plain = [*_unmarked(blocks, marks)]
        marked |= bool(marks)
        size = marks[0] if marks else _COVERED
        if plain or size != _COVERED:
            sized.append([attributes, side, *map(max, size, (1, 1)), plain])
    return sized if marked else cells


def _unmarked(nodes: list[Node], marks: list[Size]) -> Iterator[Node]:
    """Yield nodes without marks, whose sizes are added to `marks`, and without what held nothing else."""
    for node in nodes:
        known = len(marks)
        content = _plain(node.get("c"), marks)
        if len(marks) == known:
            yield node
        elif content:
            yield node | {"c": content}


def _plain(content: Any, marks: list[Size]) -> Any:
    """Return what a node holds, without marks."""
    if isinstance(content, str):
        marks += [(int(rows), int(columns)) for rows, columns in _MARK.findall(content)]
        return _MARK.sub("", content)
    if not isinstance(content, list):
        return content
    are_nodes = bool(content) and isinstance(content[0], dict)
    return _without_space(content, marks) if are_nodes else [_plain(one, marks) for one in content]


def _without_space(nodes: list[Node], marks: list[Size]) -> list[Node]:
    """Return nodes without marks, and without the space before one at their end."""
    known = len(marks)
    plain = [*_unmarked(nodes, marks)]
    return plain[:-1] if len(marks) > known and plain and plain[-1]["t"] == "Space" else plain
