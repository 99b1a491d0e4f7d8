"""Marks in ruled tables: whether each stands in its own row and column, however the page writes them."""

import random
from collections.abc import Callable, Iterator
from itertools import groupby, zip_longest

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.parsing.claims.claim import Claim
from tests.bench.parsing.furniture import by_chromium, by_weasyprint
from tests.kit.pdf_pages import page
from tests.kit.writers.pdf import text_width

_TABLES = 20
_MARK, _SHARE = "X", 0.4  # enough of them that two stand side by side in most rows
_ROLES = ("Guest", "Tenant", "Editor", "Owner", "Auditor", "Clerk", "Miller", "Warden", "Porter", "Buyer")
_LEFT, _TOP, _FIRST, _SIZE = 60, 740, 100, 10  # in points
_RULED = "table { border-collapse: collapse } td, th { border: 1px solid; padding: 2pt 3pt; text-align: left }"
_STYLE = f"<meta charset=utf-8><style>{_RULED} td + td {{ letter-spacing: %spt; width: %spt }}</style>"

Grid = list[list[str]]


def measure() -> Iterator[Claim]:
    """Yield a claim for each program that writes the tables, and one for cells that span rows."""
    for name, write in _WRITERS.items():
        claim = Claim(f"marks in their own cells, {name}")
        for seed in range(_TABLES):
            grid, width = _grid(random.Random(seed))
            data = write(grid, width)
            if data is not None:
                _compare(claim, grid, _cells(_read(data)), f"{name} {seed}")
        yield claim
    yield _spans()


def _grid(chance: random.Random) -> tuple[Grid, int]:
    columns = chance.randint(3, 7)
    rows = [[role, *(chance.choices((_MARK, ""), (_SHARE, 1 - _SHARE), k=columns))]
            for role in chance.sample(_ROLES, chance.randint(4, 10))]  # fmt: skip
    return [["May", *"abcdefg"[:columns]], *rows], chance.choice((16, 24, 40))


def _with_spacing(grid: Grid, width: int) -> bytes:
    """Write neighbouring marks as one word, whose letters the operator Tc moves to their columns."""
    pdf = page()
    empty = [[row[0], *[""] * (len(row) - 1)] for row in grid[1:]]
    pdf.table(_LEFT, _TOP, (_FIRST, *[width] * (len(grid[0]) - 1)), [grid[0], *empty])
    advance = text_width(_MARK, _SIZE)
    for number, row in enumerate(grid[1:], 1):
        for is_marked, run in groupby(enumerate(row[1:]), lambda cell: bool(cell[1])):
            places = [at for at, _ in run]
            if is_marked:
                x, y = _LEFT + _FIRST + 3 + width * places[0], _TOP - 16 * number - 11.5
                word = _MARK * len(places)
                pdf.pages[-1].append(f"BT /F0 {_SIZE} Tf {width - advance:.2f} Tc {x} {y} Td ({word}) Tj ET")
    return pdf.to_bytes()


def _page(grid: Grid, width: int) -> str:
    rows = "".join(f"<tr><td>{'<td>'.join(row)}</tr>" for row in grid)
    return f"{_STYLE % (3, width)}<p>Who may do what is listed here.<table>{rows}</table>"


_WRITERS: dict[str, Callable[[Grid, int], bytes | None]] = {
    "letters moved by Tc": _with_spacing,
    "Chromium": lambda grid, width: by_chromium(_page(grid, width)),
    "WeasyPrint": lambda grid, width: by_weasyprint(_page(grid, width)),
}


def _read(data: bytes) -> Parsed:
    return parse(data, FileType("pdf"), ParseOptions())


def _cells(parsed: Parsed) -> Grid:
    return next((one.attributes["cells"] for one in parsed.elements if one.kind == "table"), [])


def _compare(claim: Claim, grid: Grid, cells: Grid, name: str) -> None:
    nothing: list[str] = []
    for wrote, read in zip_longest(grid[1:], cells[1:], fillvalue=nothing):
        for at, (mark, found) in enumerate(zip_longest(wrote[1:], read[1:], fillvalue=""), 1):
            if mark:
                claim.judge(found == mark, f"{name}: {wrote[0]}, column {at}: {found!r}")
            elif found:
                claim.refute(f"{name}: {read[0]}, column {at}: {found!r}, where nothing is")


def _spans() -> Claim:
    claim = Claim("cells that span rows, which stand once")
    for seed in range(_TABLES):
        chance = random.Random(seed)
        height, text = chance.randint(2, 8), f"To be filled in by the office of the {chance.choice(_ROLES)}"
        lines = [f"<tr><td rowspan={height}>{text}<td>line 0<td>X"]
        lines += [f"<tr><td>line {at}<td>X" for at in range(1, height)]
        style = _STYLE % (0, 60)
        data = by_chromium(f"{style}<table><tr><td>Who<td>What<td>Mark{''.join(lines)}</table>")
        if data is not None:
            found = " ".join(_read(data).text.split()).count(text)
            claim.judge(found == 1, f"{seed}: {found} times")
    return claim
