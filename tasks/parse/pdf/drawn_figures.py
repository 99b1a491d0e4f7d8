"""Drawn figures: the vector drawings of a PDF that a caption names, as pictures that pdfium draws."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from io import BytesIO
from itertools import islice, product
from math import sqrt
from typing import Any, NamedTuple

from docmill.storage.keys import hash_bytes, key_of
from docmill.tasks.parse.passes.drawn_block import Box, DrawnBlock
from docmill.tasks.parse.pdf.page_content import transform
from docmill.tasks.parse.pdf.text.pdfium_calls import address, placed, tenths
from docmill.tasks.parse.pictures.album import Album
from docmill.tasks.parse.pictures.figure_block import figure_block
from docmill.tasks.parse.titles.labels import is_caption, names_table

_PATH, _SHADING, _FORM = 2, 4, 5  # FPDF_PAGEOBJ_PATH and so on
_MOST_OBJECTS = 20_000  # of a page that are looked at: a map has more, and its first ones show its extent
_MOST_PAGES = 300  # of a document on which captions are looked at: each is opened once more
_LEAST_PATHS = 3  # of a drawing: two boxes and an arrow; fewer are a rule or a frame
_LEAST_SIDE = 40.0  # points of a drawing: lower ones are rules, with or without ticks
_CELL = 7.0
"""Points of the cells by which parts of a drawing are joined: those with less than two cells between them are one, as
an axis and its legend are. With larger ones drawings of two columns join, with smaller ones a drawing is torn."""
_MOST_CELLS = 200  # along a side of the page; those of larger pages are larger
_FAR = 60.0  # points from a drawing to its caption: three lines of labels between them
_WHOLE = 0.9  # share of the page: a background, or a frame around it
_LABEL = 60  # characters: a longer block beside a drawing is text and no label of it
_PROSE = 500  # characters in a drawing: with more it is a box of text or a table
_MARGIN = 2.0  # points around a drawing: half of a thick line is outside of its path
_SCALE = 2.0  # pixels a point, as of a page that is shown
_MOST_PIXELS = 4_000_000


class _DrawnPage(NamedTuple):
    """A page of a PDF with its size in points and the blocks that were read on it."""

    opened: Any
    width: float
    height: float
    blocks: Sequence[DrawnBlock]


def with_drawings(document: Any, blocks: Sequence[DrawnBlock], album: Album) -> list[DrawnBlock]:
    """Return the blocks of a PDF with a figure beside each caption that names a drawing and has no picture beside it.

    The words in a drawing stay text of the page, too. Pages that are turned are left as they are.
    """
    captions = defaultdict[int, list[DrawnBlock]](list)
    pages = defaultdict[int, list[DrawnBlock]](list)
    for one in blocks:
        pages[one.page].append(one)
        if one.kind in ("paragraph", "text") and one.box and is_caption(one.text) and not names_table(one.text):
            captions[one.page].append(one)
    found = dict[int, tuple[DrawnBlock, bool]]()
    for number, named in islice(captions.items(), _MOST_PAGES):
        for caption, figure in _on_page(document, number, pages[number], named, album):
            found[id(caption)] = figure, _is_above(figure.box, caption.box)
    if not found:
        return list(blocks)
    return [one for block in blocks for one in _placed(block, found.get(id(block)))]


def _placed(block: DrawnBlock, found: tuple[DrawnBlock, bool] | None) -> tuple[DrawnBlock, ...]:
    if found is None:
        return (block,)
    figure, above = found
    return (figure, block) if above else (block, figure)


def _is_above(figure: Box | None, caption: Box | None) -> bool:
    return figure is not None and caption is not None and figure[1] < caption[1]


def _on_page(
    document: Any, number: int, blocks: Sequence[DrawnBlock], captions: Sequence[DrawnBlock], album: Album
) -> Iterator[tuple[DrawnBlock, DrawnBlock]]:
    """Yield captions of a page, each with the figure of the drawing that it names."""
    pictures = _boxes_of_figures(blocks)
    waiting = [one for one in captions if _nearest(pictures, one) is None]
    if not waiting:
        return
    with closing(document[number - 1]) as opened:
        if opened.get_rotation():
            return
        width, height = opened.get_size()
        page = _DrawnPage(opened, width, height, blocks)
        drawings = [one for one in _drawings(page) if all(_distance(one, box) > 0 for box in pictures)]
        yield from _named(page, number, drawings, waiting, album)


def _boxes_of_figures(blocks: Sequence[DrawnBlock]) -> list[Box]:
    return [one.box for one in blocks if one.kind == "figure" and one.box]


def _named(
    page: _DrawnPage, number: int, drawings: list[Box], captions: Sequence[DrawnBlock], album: Album
) -> Iterator[tuple[DrawnBlock, DrawnBlock]]:
    """Yield captions, each with the figure of the nearest drawing that no caption before it names."""
    for caption in captions:
        nearest = _nearest(drawings, caption)
        if nearest is not None:
            drawings.remove(nearest)
            figure = _figure(page, number, nearest, caption, album)
            if figure is not None:
                yield caption, figure


def _nearest(boxes: Sequence[Box], caption: DrawnBlock) -> Box | None:
    """Return the box nearest to a caption, or None if all are far from it."""
    nearest = min(boxes, key=lambda box: _distance(box, caption.box), default=None)
    return nearest if nearest is not None and _distance(nearest, caption.box) <= _FAR else None


def _distance(box: Box, other: Box | None) -> float:
    """Return the points between two boxes, one above the other; infinity if they are side by side."""
    if other is None or box[0] >= other[2] or box[2] <= other[0]:
        return float("inf")
    return max(other[1] - box[3], box[1] - other[3], 0.0)


def _drawings(page: _DrawnPage) -> Iterator[Box]:
    """Yield the boxes of what is drawn together."""
    paths, weights = _paths(page)
    groups = defaultdict[int, list[int]](list)
    for at, group in enumerate(_grouped(paths, page)):
        groups[group].append(at)
    for members in groups.values():
        box = _around([paths[at] for at in members])
        low = min(box[2] - box[0], box[3] - box[1]) < _LEAST_SIDE
        if not low and sum(weights[at] for at in members) >= _LEAST_PATHS and not _holds_text(page, box):
            yield box


def _around(boxes: Sequence[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _holds_text(page: _DrawnPage, box: Box) -> bool:
    """Return whether a box is that of a table, or of a text."""
    placed_blocks = [(one, one.box) for one in page.blocks if one.box]
    if any(one.kind == "table" and (_is_within(own, box) or _is_within(box, own)) for one, own in placed_blocks):
        return True
    return sum(len(one.text) for one, own in placed_blocks if _is_within(own, box)) > _PROSE


def _is_within(inner: Box, outer: Box) -> bool:
    """Return whether the middle of a box is within another one."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def _paths(page: _DrawnPage) -> tuple[list[Box], list[int]]:
    """Return the boxes on a page of its paths and forms, and for how many paths each counts."""
    place = transform(address(page.opened), page.width, page.height)
    boxes, weights = list[Box](), list[int]()
    for one in islice(page.opened.get_objects(filter=[_PATH, _SHADING, _FORM], max_depth=1), _MOST_OBJECTS):
        ((left, top, right, bottom),) = placed([one.get_bounds()], place)
        box = (max(left, 0.0), max(top, 0.0), min(right, page.width), min(bottom, page.height))
        wide, high = box[2] - box[0], box[3] - box[1]
        if wide >= 0 and high >= 0 and wide * high < _WHOLE * page.width * page.height:
            boxes.append(box)
            weights.append(_LEAST_PATHS if one.type == _FORM else 1)
    return boxes, weights


def _grouped(boxes: Sequence[Box], page: _DrawnPage) -> Iterator[int]:
    """Yield the number of the group of each box: those with less than two cells of the page between them are one."""
    cell = max(_CELL, page.width / _MOST_CELLS, page.height / _MOST_CELLS)
    filled = set[tuple[int, int]]()
    for left, top, right, bottom in boxes:
        rows, columns = range(int(top / cell), int(bottom / cell) + 2), range(int(left / cell), int(right / cell) + 2)
        filled.update(product(rows, columns))
    groups = dict[tuple[int, int], int]()
    for left, top, _, _ in boxes:
        _spread((int(top / cell), int(left / cell)), filled, groups)
    for left, top, _, _ in boxes:
        yield groups[int(top / cell), int(left / cell)]


def _spread(start: tuple[int, int], filled: set[tuple[int, int]], groups: dict[tuple[int, int], int]) -> None:
    """Give all filled cells that lead to a cell the number of a new group, unless it has one."""
    number, waiting = len(groups), [start]
    while waiting:
        row, column = waiting.pop()
        if (row, column) in filled and (row, column) not in groups:
            groups[row, column] = number
            waiting += [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]


def _figure(page: _DrawnPage, number: int, drawing: Box, caption: DrawnBlock, album: Album) -> DrawnBlock | None:
    """Return the figure of a drawing with its labels, or None if it is none that is kept."""
    reach = 2 * _CELL
    around = (drawing[0] - reach, drawing[1] - reach, drawing[2] + reach, drawing[3] + reach)
    labels = [one.box for one in page.blocks if one.box and one is not caption and _is_label(one, around)]
    box = _beside(_around([drawing, *labels]), caption.box, page)
    picture = album.add(*_picture(page, box))
    return None if picture is None else figure_block(picture, "", "", number, box)


def _is_label(block: DrawnBlock, around: Box) -> bool:
    """Return whether a block is a short text that reaches into a box."""
    left, top, right, bottom = block.box or around
    short = len(block.text) <= _LABEL and block.kind not in ("figure", "furniture", "table")
    return short and left <= around[2] and right >= around[0] and top <= around[3] and bottom >= around[1]


def _beside(box: Box, caption: Box | None, page: _DrawnPage) -> Box:
    """Return a box with a margin, which neither leaves the page nor reaches into the caption."""
    left, top, right, bottom = box
    top, bottom = max(top - _MARGIN, 0.0), min(bottom + _MARGIN, page.height)
    if caption is not None:
        if box[1] < caption[1]:
            bottom = min(bottom, caption[1])
        else:
            top = max(top, caption[3])
    sides = max(left - _MARGIN, 0.0), top, min(right + _MARGIN, page.width), bottom
    return (tenths(sides[0]), tenths(sides[1]), tenths(sides[2]), tenths(sides[3]))


def _picture(page: _DrawnPage, box: Box) -> tuple[bytes, str]:
    """Return a part of a page as a PNG file, and the key of its pixels, which a PNG library does not decide."""
    left, top, right, bottom = box
    scale = min(_SCALE, sqrt(_MOST_PIXELS / max((right - left) * (bottom - top), 1.0)))
    crop = (left, page.height - bottom, page.width - right, top)
    with closing(page.opened.render(scale=scale, crop=crop, may_draw_forms=False)) as bitmap:
        picture = bitmap.to_pil().convert("RGB")
    picture.save(sink := BytesIO(), "PNG")
    return sink.getvalue(), key_of("drawing", *picture.size, hash_bytes(picture.tobytes()))
