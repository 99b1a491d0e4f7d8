"""Markdown figures: where a file shows pictures; its text stays as it is, and each place is an element."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.markup.md.block_marks import MarkedFile
from docmill.tasks.parse.markup.md.inline_marks import Mark, said_of
from docmill.tasks.parse.passes.drawn_block import DrawnBlock
from docmill.tasks.parse.pictures.addresses import Loader
from docmill.tasks.parse.pictures.album import LEFT_OUT, Album
from docmill.tasks.parse.pictures.figure_block import figure_facts

_ALONE = ("paragraph", "text")  # blocks of which nothing is left where they hold a picture alone


def with_figures(parsed: Parsed, file: MarkedFile, places: Sequence[Mark], load: Loader) -> Parsed:
    """Return a document with a figure at each of some places that show a picture which `load` finds.

    A paragraph that is nothing but a picture becomes the figure; any other block holds it.
    """
    album = Album()
    drawn = {place: block for place in places for block in _block(file, place, album, load)}
    kept = {id(one) for one in album.without_decoration([*drawn.values()])}
    blocks = {place: block for place, block in drawn.items() if id(block) in kept}
    left_out = {LEFT_OUT: dict(album.left_out)} if album.left_out else {}
    return replace(
        parsed,
        elements=_with(parsed.elements, blocks, file),
        metadata=parsed.metadata | left_out,
        pictures=album.shown(blocks.values()),
    )


def _block(file: MarkedFile, place: Mark, album: Album, load: Loader) -> Iterator[DrawnBlock]:
    address, title, alt = said_of(file.text[slice(*place)], file.references)
    data = load(address) if address else None
    picture = None if data is None else album.add(data)
    if picture is not None:
        words, caption = (" ".join(said.split()) for said in (alt, title))
        yield DrawnBlock("figure", "", attributes=figure_facts(picture, words, caption))


def _with(elements: Sequence[Element], blocks: Mapping[Mark, DrawnBlock], file: MarkedFile) -> tuple[Element, ...]:
    """Return the elements with the figures that are drawn at some places."""
    alone = {(one.start_char, one.end_char) for one in elements if one.kind in _ALONE}
    whole = [_as_figure(one, blocks.get((one.start_char, one.end_char))) for one in elements]
    within = [
        Element("figure", *place, 0, 0, bisect_right(file.line_starts, place[0]), None, block.attributes)
        for place, block in blocks.items()
        if place not in alone
    ]
    return tuple(_nested(whole, within))


def _as_figure(element: Element, block: DrawnBlock | None) -> Element:
    if block is None or element.kind not in _ALONE:
        return element
    return replace(element, kind="figure", attributes=element.attributes | block.attributes)


def _nested(elements: Sequence[Element], figures: Sequence[Element]) -> Iterator[Element]:
    """Yield elements and figures in order; a figure that begins in one element and ends in another is left out."""
    ends = list[int]()
    for one in sorted([*elements, *figures], key=lambda own: (own.start_char, -own.end_char)):
        while ends and ends[-1] <= one.start_char:
            ends.pop()
        if not ends or one.end_char <= ends[-1]:
            ends.append(one.end_char)
            yield one
