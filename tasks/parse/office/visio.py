"""Visio: each page of a drawing becomes a section with its shapes' texts from top to bottom, then its connections."""

import zipfile
from collections.abc import Iterator
from typing import Any

from docmill.storage.errors import Rejected
from docmill.storage.schema import Parsed
from docmill.tasks.parse.canvas import Canvas
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.office.open_xml import check_container, core_properties, links_of, read_part, reference

_PAGES = "visio/pages/pages.xml"
_ROW = 0.3  # inches: shapes whose centres differ by less are in one row, which is read from left to right


def parse_vsdx(data: bytes, options: ParseOptions) -> Parsed:
    """Return the pages of a drawing as sections; a connection is an item that names both of its ends."""
    with check_container(data, options.max_unpacked_bytes) as container:
        metadata = core_properties(container)
        if _PAGES not in container.NameToInfo:
            raise Rejected("corrupt", f"the drawing has no part {_PAGES}")
        canvas = Canvas()
        for number, (name, root) in enumerate(_pages(container), 1):
            canvas.page = number
            _draw(canvas, name, root)
    return canvas.parsed(metadata.pop("title", ""), metadata)


def _pages(container: zipfile.ZipFile) -> Iterator[tuple[str, Any]]:
    links = links_of(container, _PAGES)
    for page in read_part(container, _PAGES).iter("{*}Page"):
        for relation in page.iterchildren("{*}Rel"):
            target = links.get(reference(relation), ("", ""))[1]
            if target:
                yield page.get("Name") or "", read_part(container, target)


def _draw(canvas: Canvas, name: str, root: Any) -> None:
    shapes = [*root.iter("{*}Shape")]
    said = {shape.get("ID"): text for shape in shapes if (text := _text(shape))}
    ends = _connections(root)
    if said:
        canvas.heading(name or "Page", 2)
    for shape in sorted(shapes, key=_place):
        if shape.get("ID") not in ends:
            canvas.paragraph(said.get(shape.get("ID"), ""))
    for line, both in ends.items():
        _draw_line(canvas, said.get(line, ""), [_single(said.get(end, "")) for end in both])


def _draw_line(canvas: Canvas, label: str, ends: list[str]) -> None:
    """Draw a line as its two ends with its label; if an end has no name, draw only the label."""
    if not all(ends):
        canvas.paragraph(label)
        return
    canvas.item(" → ".join(ends) + (f" ({_single(label)})" if label else ""), 1, role="connection")


def _connections(root: Any) -> dict[str, tuple[str, str]]:
    """Return the ids of the shapes at the beginning and end of each line, by the line's id."""
    found: dict[str, dict[str, str]] = {}
    for connect in root.iter("{*}Connect"):
        found.setdefault(connect.get("FromSheet") or "", {})[connect.get("FromCell") or ""] = (
            connect.get("ToSheet") or ""
        )
    return {line: (ends.get("BeginX", ""), ends.get("EndX", "")) for line, ends in found.items()}


def _text(shape: Any) -> str:
    """Return a shape's own text; nested shapes have their own."""
    node = shape.find("{*}Text")
    return "" if node is None else "".join(node.itertext()).strip()


def _single(text: str) -> str:
    return " ".join(text.split())


def _place(shape: Any) -> tuple[int, float]:
    """Return a shape's row from the top and its distance from the left; Visio's y axis points up."""
    cells = {cell.get("N"): cell.get("V") for cell in shape.iterchildren("{*}Cell")}
    try:
        x, y = float(cells.get("PinX") or 0), float(cells.get("PinY") or 0)
    except ValueError:
        x, y = 0.0, 0.0
    return -int(y / _ROW), x
