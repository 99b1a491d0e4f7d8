"""The text of a slide's shape: its paragraphs, and which of them are list items by their style, layout or master."""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from docmill.tasks.parse.canvas import struck
from docmill.tasks.parse.formula_tex import FORMULA
from docmill.tasks.parse.office.open_xml import reference
from docmill.tasks.parse.passes.numbering import LevelNumbers
from docmill.tasks.parse.passes.table_rows import REPEATED, spanned_rows, spread
from docmill.tasks.parse.superscripts import lowered, raised, with_fractions
from docmill.tasks.parse.xml_trees import whole

_BASELINE = re.compile(r"-?\d{1,6}%?")

_BULLETS = ("buChar", "buAutoNum", "buBlip", "buNone")
_MAX_LEVEL = 9  # DrawingML has list styles for this many levels, lvl1pPr to lvl9pPr
_MAX_TITLE = 100
"""Maximum characters of a title. A longer first text is prose and would become a heading of several lines; with a lower
limit, slides that begin with a whole sentence would be titled "Slide 3"."""


class SlideLine(NamedTuple):
    """A paragraph and its node; list items have a depth from 1 and a marker such as "-" or "2."."""

    text: str
    node: Any
    depth: int = 0
    marker: str = "-"


class Placed(Protocol):
    """Anything with a position on a slide."""

    @property
    def top(self) -> float: ...
    @property
    def left(self) -> float: ...


_Placed = TypeVar("_Placed", bound=Placed)


def by_rows(shapes: list[_Placed], band: float) -> list[_Placed]:
    """Return shapes in rows, top to bottom and left to right; a row's shapes are less than `band` below its first."""
    rows: list[list[_Placed]] = []
    for shape in sorted(shapes, key=lambda one: one.top):
        if rows and shape.top - rows[-1][0].top < band:
            rows[-1].append(shape)
        else:
            rows.append([shape])
    return [shape for row in rows for shape in sorted(row, key=lambda one: one.left)]


def may_be_title(text: str) -> bool:
    """Return whether a slide's first text may be its title, i.e. is one short line."""
    return 0 < len(text) <= _MAX_TITLE and "\n" not in text


def lines_of(body: Any, styles: list[Any]) -> Iterator[SlideLine]:
    """Yield a text body's paragraphs; `styles` has the list styles that apply to it, nearest first."""
    own = body.find("{*}lstStyle")
    chain = [style for style in (own, *styles) if style is not None]
    counts = LevelNumbers()
    for paragraph in body.iterchildren("{*}p"):
        text = text_of(paragraph)
        if text.strip() and not _is_slide_number(paragraph):
            depth, marker = _mark(paragraph.find("{*}pPr"), chain, counts)
            yield SlideLine(text, paragraph, depth, marker)


def _is_slide_number(paragraph: Any) -> bool:
    """Return whether a paragraph shows only the number of its slide."""
    own = paragraph.find("{*}fld[@type='slidenum']")
    return own is not None and text_of(own) == text_of(paragraph)


def _mark(properties: Any, chain: list[Any], counts: LevelNumbers) -> tuple[int, str]:
    """Return a paragraph's depth and marker; a paragraph without a number ends the list at its level."""
    level = min(whole(None if properties is None else properties.get("lvl"), 0), _MAX_LEVEL - 1)
    bullet = _bullet(properties, level, chain)
    if bullet is not None and bullet.tag.endswith("}buAutoNum"):
        return level + 1, f"{counts.count(level, max(1, whole(bullet.get('startAt'), 1)))}."
    counts.count(level)
    del counts[level]
    return (0, "-") if bullet is None or bullet.tag.endswith("}buNone") else (level + 1, "-")


def text_of(paragraph: Any) -> str:
    """Return a paragraph's text with line breaks; sub- and superscripts are marked, and each formula is one line."""
    text = ""
    # Editors split superscripts, subscripts and struck text into several runs.
    parts = ((_level(node), _is_struck(node), _shown(node)) for node in paragraph.iter("{*}t", "{*}br", FORMULA))
    for (level, strikes), group in groupby(parts, key=itemgetter(0, 1)):
        said = "".join(shown for *_, shown in group)
        said = struck(said) if strikes else said
        text += raised(said, text) if level > 0 else lowered(said) if level < 0 else said
    return with_fractions(text.replace("\v", "\n"))


def _stated(node: Any, name: str) -> str:
    """Return an attribute of the formatting of a text's run."""
    properties = node.getparent().find("{*}rPr") if _local(node) == "t" else None  # a break has no format of its own
    return "" if properties is None else properties.get(name) or ""


def _is_struck(node: Any) -> bool:
    return _stated(node, "strike") in ("sngStrike", "dblStrike")


def _level(node: Any) -> int:
    """Return how far a text's run is raised above the line; a subscript is below 0."""
    stated = _stated(node, "baseline")
    return int(stated.rstrip("%")) if _BASELINE.fullmatch(stated) else 0


def _shown(node: Any) -> str:
    return "\n" if _local(node) == "br" else node.text or ""


def links_in(node: Any, addresses: dict[str, str]) -> list[dict[str, str]]:
    """Return the links of the runs in a node."""
    links: list[dict[str, str]] = []
    before = None  # the previous run if it is a link
    for run in node.iter("{*}r"):
        url, text = _link(run, addresses)
        # Editors split a link into runs wherever its formatting changes.
        if _goes_on(run, before, url, links):
            links[-1]["text"] += text
        elif url and text.strip():
            links.append({"text": text, "url": url})
        before = run if url else None
    return [link | {"text": " ".join(link["text"].split())} for link in links]


def _link(run: Any, addresses: dict[str, str]) -> tuple[str, str]:
    """Return the URL of a run's link, or "" if it has none, and the run's text."""
    click = run.find("{*}rPr/{*}hlinkClick")
    url = "" if click is None else addresses.get(reference(click), "")
    return url, "".join(run.itertext("{*}t"))


def _goes_on(run: Any, before: Any, url: str, links: list[dict[str, str]]) -> bool:
    """Return whether a run continues the last link, i.e. it follows a link's run and has the same address."""
    beside = before is not None and before is run.getprevious()
    return bool(url and beside and links and links[-1]["url"] == url)


def _bullet(properties: Any, level: int, chain: list[Any]) -> Any:
    """Return the nearest element that determines a paragraph's marker."""
    styles = (style.find(f"{{*}}lvl{level + 1}pPr") for style in chain)
    for stated in (properties, *styles):
        found = None if stated is None else next((one for one in stated if _local(one) in _BULLETS), None)
        if found is not None:
            return found
    return None


def _local(node: Any) -> str:
    return str(node.tag).rpartition("}")[2]


def table_of(frame: Any) -> tuple[list[list[str]], int | None] | None:
    """Return the cells of a frame's table and its number of header rows, or None if it has no table."""
    table = next(frame.iter("{*}tbl"), None)
    if table is None:
        return None
    drawn = [[*map(_sized, filter(_stands_alone, row.iterchildren("{*}tc")))] for row in table.iter("{*}tr")]
    sizes = [(rows, columns) for _, rows, columns in drawn[0]] if drawn else []
    deep = spanned_rows(sizes, len(drawn))
    properties = table.find("{*}tblPr")
    first = properties is not None and properties.get("firstRow") in ("1", "true")
    rows = spread(drawn, deep, "", lambda text: text if len(text) <= REPEATED else "")
    return rows, deep or (1 if first else None)


def _sized(cell: Any) -> tuple[str, int, int]:
    """Return a cell's text and the number of rows and columns that it spans."""
    text = "\n".join(text_of(line) for line in cell.iter("{*}p"))
    return text, max(whole(cell.get("rowSpan"), 1), 1), max(whole(cell.get("gridSpan"), 1), 1)


def _stands_alone(cell: Any) -> bool:
    """Return whether a cell is not covered by a cell to its left or above it."""
    return {cell.get("hMerge"), cell.get("vMerge")}.isdisjoint(("1", "true"))


def diagram_of(data: Any) -> list[str]:
    """Return the texts of a diagram's points in order."""
    points = ("\n".join(text_of(line) for line in point.iter("{*}p")) for point in data.iter("{*}pt"))
    return [text for text in points if text.strip()]
