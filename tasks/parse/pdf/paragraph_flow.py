"""PDF paragraph flow: rejoin what continues in another column or on another page, and find names of paragraphs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from docmill.tasks.parse.passes.run_in_headings import LedParagraph, headed, is_lead
from docmill.tasks.parse.pdf.layout.cell_columns import append_table
from docmill.tasks.parse.pdf.layout.rows import PageTable
from docmill.tasks.parse.pdf.list_marks import CAPTION
from docmill.tasks.parse.pdf.text.characters import HYPHEN, clean
from docmill.tasks.parse.pdf.text.line import Font, TextLine
from docmill.tasks.parse.pdf.text.right_to_left import may_be_right_to_left
from docmill.tasks.parse.pdf.text.text_layer import TextLayer
from docmill.tasks.parse.pdf.text_blocks import PageBlock

_TEXT = ("paragraph", "list_item")
_GOES_ON = (*_TEXT, "code")
_OPEN = (",", ";", "-", "\u2010", "(", HYPHEN)
# Of the font size: text on in another column is set alike but for a sign in its line; code has only one size.
_SAME_SIZE, _SAME_CODE_SIZE = 0.1, 0.05
_JUSTIFIED = 2  # lines above that end alike: by chance, two do so in ragged text
_RAGGED = 0.3  # of the font size, by which justified lines may differ: TeX hangs punctuation into the margin
_ROW_LINES = 2  # of a row that stands apart, such as the name of a group: more are a paragraph between two tables
_SMALL_PRINT = 0.9  # of it: notices and notes are set in nine tenths of the text's size and less


def connect(blocks: list[PageBlock]) -> list[PageBlock]:
    """Return the blocks of a document, with continuations moved to the beginning of their text.

    Only furniture, footnotes, tables, captions and small print may come between; they follow the text.
    """
    out: list[PageBlock] = []
    open_text: PageBlock | None = None
    for block in _with_whole_tables(blocks):
        if _may_interrupt(block):
            out.append(block)
        elif open_text is not None and (_goes_on(open_text, block) or _is_more_code(open_text, block)):
            open_text.lines += block.lines
        else:
            out.append(block)
            if open_text is None or not _is_small_print(open_text, block):
                open_text = block if block.kind in _GOES_ON else None
    return out


def _with_whole_tables(blocks: list[PageBlock]) -> Iterator[PageBlock]:
    """Yield blocks, with the rest of a table appended to it; only furniture, or a row of one cell, may come between."""
    before: PageTable | None = None
    held: list[PageBlock] = []  # what may be a row, until the next block shows whether the table goes on
    for block in blocks:
        table = _table_of(block)
        if before is not None and table is not None and append_table(before, table, held[0].lines if held else ()):
            held = []
            continue
        yield from held
        before, held = None if held else before, []
        if before is not None and _may_be_row(block):
            held = [block]
        else:
            before = before if block.kind == "furniture" else table
            yield block
    yield from held


def _table_of(block: PageBlock) -> PageTable | None:
    first = block.items[0]
    return first if isinstance(first, PageTable) else None


def _may_be_row(block: PageBlock) -> bool:
    """Return whether a block may be a row of a table, of which only one cell is filled."""
    return block.kind == "paragraph" and not block.note and 0 < len(block.lines) <= _ROW_LINES


def _may_interrupt(block: PageBlock) -> bool:
    """Return whether a block may interrupt a text at the end of a column or page."""
    return block.kind in ("furniture", "table") or bool(block.note) or _is_caption(block)


def _is_small_print(open_text: PageBlock, block: PageBlock) -> bool:
    """Return whether a block is set smaller than a text that stops within a sentence, as a copyright notice is."""
    if block.kind != "paragraph" or open_text.kind not in _TEXT or not open_text.lines:
        return False
    last = open_text.lines[-1]
    return block.lines[0].size < _SMALL_PRINT * last.size and _is_open(last.text.rstrip())


def _is_caption(block: PageBlock) -> bool:
    return block.kind == "paragraph" and CAPTION.match(block.lines[0].text) is not None


def _is_more_code(before: PageBlock, after: PageBlock) -> bool:
    """Return whether code continues the code that ended the column or page before: both are set alike."""
    if before.kind != "code" or after.kind != "code":
        return False
    last, first = before.lines[-1], after.lines[0]
    return _is_elsewhere(last, first) and abs(last.size - first.size) < _SAME_CODE_SIZE * last.size


def _is_elsewhere(last: TextLine, first: TextLine) -> bool:
    """Return whether a line stands on the next page, or higher on the same one, in another column."""
    return first.page == last.page + 1 or (first.page == last.page and first.box[1] < last.box[1])


def _goes_on(before: PageBlock, after: PageBlock) -> bool:
    """Return whether a text plainly goes on: it stops within a sentence, and the next begins with a small letter.

    One of both is enough where its last line is as long as those above it.
    """
    if after.kind != "paragraph" or before.kind not in _TEXT or not before.lines:
        return False
    last, first = before.lines[-1], after.lines[0]
    if not _is_set_alike(last, first) or not _is_elsewhere(last, first):
        return False
    signs = first.text[:1].islower() + _is_open(last.text.rstrip())
    return signs == 2 or (signs == 1 and _is_full(before.lines))


def _is_full(lines: list[TextLine]) -> bool:
    """Return whether the last of some lines ends where those above it end, as within a justified paragraph."""
    last = lines[-1]
    above = [line.box[2] for line in lines[-1 - _JUSTIFIED : -1] if line.page == last.page]
    return len(above) == _JUSTIFIED and max(above) - min(*above, last.box[2]) < _RAGGED * last.size


def _is_set_alike(last: TextLine, first: TextLine) -> bool:
    return abs(last.size - first.size) <= _SAME_SIZE * last.size and last.font.mono == first.font.mono


def _is_open(text: str) -> bool:
    """Return whether a text stops within a sentence; one letter is a label of a figure."""
    return len(text) > 1 and (text[-1].isalnum() or text.endswith(_OPEN))


_SIGN = re.compile(r"[.:](?=\s)|\s?[\u2013\u2014]")
_FAR = 120  # characters of a line in which its lead ends: nine words


def mark_leads(lines: Iterable[TextLine], layer: TextLayer) -> None:
    """Note of each line how many of its letters stand out at its beginning and may name its paragraph."""
    for line in lines:
        text = line.text
        # Hot: fonts are asked for where a sign says that there may be a lead, which few lines have.
        if text[:1].isupper() and not line.font.bold and line.first >= 0 and _has_sign(text):
            lead = _lead(line, layer)
            line.lead = len(lead) if lead and text.startswith(lead) else 0


def _has_sign(text: str) -> bool:
    may_have = ". " in text or ": " in text or not text.isascii()  # quicker than the pattern
    return may_have and _SIGN.search(text, 1, _FAR) is not None


def _lead(line: TextLine, layer: TextLayer) -> str:
    """Return the words of a line that stand out from those behind them, with the sign that ends them, or ""."""
    raw = layer.text[line.first : line.last + 1]
    strong = layer.font_at(line.first)
    if not (strong.bold or strong.italic) or may_be_right_to_left(raw):
        return ""
    for sign in _SIGN.finditer(raw, 1, _FAR):
        if not _is_alike(strong, layer.font_at(line.first + sign.start() - 1)):
            return ""
        rest = raw[sign.end() :]
        behind = sign.end() + len(rest) - len(rest.lstrip())
        if behind < len(raw) and not _is_alike(strong, layer.font_at(line.first + behind)):
            lead = clean(raw[: sign.end()])
            return lead if is_lead(lead) else ""
    return ""


def _is_alike(strong: Font, font: Font) -> bool:
    """Return whether a font is as bold, or as slanted, as that of a lead."""
    return font.bold if strong.bold else font.italic


def with_run_in_headings(blocks: list[PageBlock]) -> Sequence[PageBlock]:
    """Return blocks, those with a lead in two if the leads of the document are headings."""
    led = {at: found for at, block in enumerate(blocks) if (found := _led(block)).rest}
    return headed(blocks, led, _parted)


def _parted(block: PageBlock, led: LedParagraph, level: int) -> Iterator[PageBlock]:
    first = block.lines[0]
    heading = replace(first, text=led.heading)
    yield PageBlock("title", [heading], block.page, level, lines=[heading])
    block.lines = [replace(first, text=first.text[first.lead :].lstrip()), *block.lines[1:]]
    yield block


def _led(block: PageBlock) -> LedParagraph:
    """Return the lead of a paragraph, and what follows it; nothing of what has none."""
    if block.kind != "paragraph" or block.note or not block.lines or not block.lines[0].lead:
        return LedParagraph("", "")
    first, *others = block.lines
    rest = (first.text[first.lead :].strip(), *(line.text.strip() for line in others))
    return LedParagraph(first.text[: first.lead], " ".join(filter(None, rest)))
