"""PDF blocks: group the lines of a flow into headings, paragraphs, items, code and tables.

Text that continues in another column or on another page is rejoined, and run-in headings are split off.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from statistics import median
from typing import Any

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.passes.run_in_headings import LedParagraph, headed
from docmill.tasks.parse.pdf.heading_runs import is_unfinished
from docmill.tasks.parse.pdf.layout.rows import Item, PageTable, append_table, lines_in, span_of, tables_in
from docmill.tasks.parse.pdf.list_marks import BULLET, CAPTION, NUMBER, marker_of
from docmill.tasks.parse.pdf.text.characters import HYPHEN, LEVEL, RAISED
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import around_all, grouped

_FULL = 0.75  # of the flow's width, which a line that continues below reaches
_ENOUGH = 3  # gaps: with fewer, the usual gap is unknown
_WIDEST = 2.5  # font sizes: with larger gaps, the lines are not double-spaced text but rows of something else
SHORT = 0.2  # of the width, by which the last line of a paragraph is shorter than others


class FlowMeasure:
    """The typical measures of a flow's lines; computed on demand, since few flows need them.

    `usual_step` returns the step of the whole document, for a flow that has too few lines to show its own.
    """

    def __init__(self, flow: list[Item], usual_step: Callable[[], float] = float) -> None:
        self._flow = flow
        self._usual_step = usual_step

    @cached_property
    def lines(self) -> list[TextLine]:
        """Return the lines of the flow without furniture."""
        return [line for line in lines_in(self._flow) if not line.furniture]

    @cached_property
    def sides(self) -> tuple[float, float]:
        """Return the leftmost and rightmost edges of the lines."""
        return span_of(self.lines)

    @cached_property
    def within(self) -> list[tuple[TextLine, TextLine]]:
        """Return pairs of lines of which the lower continues the upper's sentence."""
        return [pair for pair in pairwise(self.lines) if self.is_full(pair[0]) and may_go_on(*pair)]

    @cached_property
    def gap(self) -> float:
        """Return the usual gap between lines of one sentence, in font sizes; 0 if unknown."""
        pairs = self.within if len(self.within) >= _ENOUGH else []
        usual = median([(lower.box[1] - upper.box[3]) / upper.size for upper, lower in pairs] or [0.0])
        return usual if 0 < usual < _WIDEST else 0.0

    @cached_property
    def step(self) -> float:
        """Return the usual distance between the bottoms of such lines, in font sizes; 0 if unknown."""
        return _step(self.within) or self._usual_step()

    def is_full(self, line: TextLine) -> bool:
        """Return whether a line reaches as far as lines that continue below."""
        left, right = self.sides
        return line.box[2] - left > _FULL * (right - left)

    def is_short(self, line: TextLine) -> bool:
        """Return whether a line ends far left of where others end."""
        left, right = self.sides
        return right - line.box[2] > SHORT * max(right - left, 1)


def step_of_all(flows: Iterable[list[Item]]) -> float:
    """Return the usual step of all flows of a document, in font sizes; 0 if unknown."""
    return _step([pair for flow in flows for pair in FlowMeasure(flow).within])


def _step(pairs: list[tuple[TextLine, TextLine]]) -> float:
    """Return the usual distance between the bottoms of two lines of a sentence; 0 if they are too few to tell."""
    if len(pairs) < _ENOUGH:
        return 0.0
    return median((lower.box[3] - upper.box[3]) / upper.size for upper, lower in pairs)


def may_go_on(upper: TextLine, lower: TextLine) -> bool:
    """Return whether a line may continue the sentence above it; a command in code font below a text does not."""
    return lower.text[:1].islower() and upper.size == lower.size and upper.font.mono == lower.font.mono


_FIRST = re.compile(r"\(?[1aiA][.)]")
_NOTE = re.compile(rf"(?:{RAISED}(\d{{1,3}}){LEVEL}|(\d{{1,3}})(?=\s))\s*(?=\S)")
_ADDRESS = re.compile(r"(?:\d{1,3} )?(?:(?:\{[^{}@]+\}|[\w.+, -]+)@\w[\w.-]*\w|(?:https?://|www\.)\S+)")
_CLAUSE = re.compile(r"\d{1,3}(?:\.\d{1,3})+\.?|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]")  # "1.1", "12.", "(a)"
_SENTENCE_SIGNS = "-–—→⇒›»"
_ENDS = (".", "!", "?", ":", "”", '"')

# Lengths below are in font sizes unless stated otherwise.
_SMALL = 0.93  # of the body's font size: footnotes are smaller; a higher limit takes numbered text for notes
_SAME_SIZE = 0.15  # of the font size, by which lines of one block may differ: signs in them may be smaller or larger

# Gaps. Too small a limit cuts a paragraph at a line with a high sign; too large a limit joins two paragraphs.
_TIGHT_GAP = 0.6  # lines with a smaller gap always belong together
_WIDE_GAP = 1.5  # the same if a sentence clearly continues: its two lines may be the only sign of wide spacing
_MORE_GAP = 0.35  # by which a gap may be larger than usual: between paragraphs it is larger by about half a line
_NEXT_STEP = 1.3  # minimum distance between the bottoms of the last line of a paragraph and the next paragraph's first
_BLANK_LINES = 3.4  # the height of two blank lines, which code may have; a larger gap begins another listing
_RECENT_GAPS = 4  # lines at the end of a block, of which the smallest gap is the usual one


_RECENT = 8  # lines at the end of a block that show its width, which changes next to a picture

_FURTHER = 0.5  # further right for a list within an item, or further left for the text after a list
_SAME_INDENT, _NEXT_INDENT = 3.0, 6.0
"""Points. An item further left than the first ends a level of its list; one further right than the second begins one.

Items in between are on the same level, slightly misaligned, as right-aligned numbers are.
"""


@dataclass(slots=True)
class PageBlock:
    """The lines or the table of one element; `note` is the number of a footnote.

    `lines` are the lines among its items, then lines that continue its text in another column or on another page.
    """

    kind: str
    items: list[Item]
    page: int
    level: int = 0
    marker: str = ""
    note: str = ""
    lines: list[TextLine] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def box(self) -> Box:
        """Return the box around the items, where the block begins."""
        return around_all([item.box for item in self.items])


def blocks(flow: list[Item], body: float, code: bool, usual_step: Callable[[], float]) -> list[PageBlock]:
    """Return the blocks of a flow; monospaced lines are code if `code`.

    `body` is the font size of most of the document's text, `usual_step` returns its step from line to line.
    """
    indents: list[float] = []  # of the items that may contain the next one
    found: list[PageBlock] = []
    for group in _groups(flow, FlowMeasure(flow, usual_step), code):
        block = _block(group, code) if isinstance(group, list) else PageBlock(group.kind, [group], group.page)
        if block.kind == "title":
            indents = []
        elif block.kind == "list_item":
            indents = _indents(indents, block.lines[0].box[0])
            block.level = len(indents)
        elif block.kind == "paragraph":
            block.note = _note(block.lines[0], body)
        if found and _is_number_of(found[-1], block):
            block.items, block.lines = found[-1].items + block.items, found.pop().lines + block.lines
        found.append(block)
    return found


def _is_number_of(above: PageBlock, block: PageBlock) -> bool:
    """Return whether a paragraph is only the number of the clause that follows it, indented."""
    if above.kind != "paragraph" or block.kind != "paragraph" or len(above.lines) > 1:
        return False
    number, first = above.lines[0], block.lines[0]
    if _CLAUSE.fullmatch(number.text) is None or first.left < number.left + number.size:
        return False
    return -number.size < first.box[1] - number.box[3] < _WIDE_GAP * number.size


def _groups(flow: list[Item], measure: FlowMeasure, code: bool) -> Iterator[list[TextLine] | PageTable]:
    for _, some in groupby(flow, key=type):
        items = [*some]
        yield from tables_in(items)
        yield from grouped(lines_in(items), lambda block, line: _continues(block, line, measure, code))


def _block(group: list[TextLine], code: bool) -> PageBlock:
    first = group[0]
    kind, marker = _kind(first, code)
    return PageBlock(kind, [*group], first.page, first.level if kind == "title" else 0, marker, lines=group)


def _kind(first: TextLine, code: bool) -> tuple[str, str]:
    """Return the kind of the block that a line begins, and the number or "-" of a list item."""
    if first.furniture:
        return "furniture", ""
    if first.contents:
        return "toc", ""
    if first.level:
        return "title", ""
    if code and _is_code(first):
        return "code", ""
    mark = marker_of(first.text)
    if mark is None:
        return "paragraph", ""
    return "list_item", mark[1] if mark.re is NUMBER else "-"


def _indents(indents: list[float], left: float) -> list[float]:
    """Return the indents of the items around an item that begins at `left`, and its own."""
    around = [*indents]
    while around and around[-1] > left + _SAME_INDENT:
        around.pop()
    return [*around, left] if not around or around[-1] < left - _NEXT_INDENT else around


def _is_bullet(mark: re.Match[str], before: TextLine) -> bool:
    """Return whether a sign begins an item, rather than being part of the sentence of the previous line."""
    if mark[1] == "·":
        return " · " not in before.text
    if mark[1] not in _SENTENCE_SIGNS:
        return True
    return before.text.endswith(_ENDS) or not mark.string[mark.end()].islower() or marker_of(before.text) is not None


def _is_number(mark: re.Match[str], line: TextLine, block: list[TextLine]) -> bool:
    """Return whether a number begins an item: as far left as its block, or indented as the first item of a list."""
    first, last = block[0], block[-1]
    further_in = line.box[0] > last.box[0] + _FURTHER * line.size or last.text.endswith(":")
    inner = _FIRST.fullmatch(mark[1]) is not None and further_in
    return inner or line.box[0] <= first.box[0] + line.size


def _note(first: TextLine, body: float) -> str:
    """Return the number of a possible footnote: small text that begins with a number; "" for other text."""
    match = _NOTE.match(first.text) if first.size < body * _SMALL else None
    if match is None or not any(map(str.isalpha, first.text)):  # only figures: part of a chart
        return ""
    return match[1] or match[2]


def _continues(block: list[TextLine], line: TextLine, measure: FlowMeasure, code: bool) -> bool:
    """Return whether a line continues a block."""
    last = block[-1]
    if _is_other_kind(last, line):
        return False
    if line.contents:
        return True
    if code and not line.level and any(map(_is_code, (last, line))):
        return _is_more_code(last, line)
    if not _is_set_below(last, line) or _is_far_below(block, line, measure):
        return False
    return line.level > 0 or not _begins(block, line, measure)


def _is_other_kind(last: TextLine, line: TextLine) -> bool:
    return line.furniture or last.furniture or line.level != last.level or line.contents != last.contents


def _is_more_code(last: TextLine, line: TextLine) -> bool:
    if not _is_code(line) or not _is_code(last):
        return False
    return -last.size < line.box[1] - last.box[3] < _BLANK_LINES * last.size


def _is_set_below(last: TextLine, line: TextLine) -> bool:
    """Return whether a line begins below another, not right of its end, in about the same font size."""
    if abs(line.size - last.size) > _SAME_SIZE * last.size:
        return False
    return line.box[1] > last.box[1] and line.box[0] <= last.box[2]


def _is_far_below(block: list[TextLine], line: TextLine, measure: FlowMeasure) -> bool:
    """Return whether the gap between a line and a block is larger than within a paragraph."""
    last = block[-1]
    gap = line.box[1] - last.box[3]
    if gap <= _TIGHT_GAP * last.size or (gap < _WIDE_GAP * last.size and _clearly_continues(last, line, measure)):
        return False
    gaps = (lower.box[1] - upper.box[3] for upper, lower in pairwise(block[-_RECENT_GAPS:]))
    return gap > (min(gaps, default=0.0) or measure.gap * last.size) + _MORE_GAP * last.size


def _clearly_continues(last: TextLine, line: TextLine, measure: FlowMeasure) -> bool:
    if line.level:
        return is_unfinished(last.text, line.text)
    return _is_within_sentence(last, line, measure)


def _is_within_sentence(last: TextLine, line: TextLine, measure: FlowMeasure) -> bool:
    """Return whether a line clearly continues the sentence of the full line above it."""
    if abs(line.box[0] - last.box[0]) > _SAME_INDENT or not may_go_on(last, line) or last.text.endswith(_ENDS):
        return False
    return measure.is_full(last)


def _is_code(line: TextLine) -> bool:
    """Return whether a line is code: monospaced, and not an address, which is often monospaced, too."""
    return line.font.mono and _ADDRESS.fullmatch(line.text) is None


def _begins(block: list[TextLine], line: TextLine, measure: FlowMeasure) -> bool:
    """Return whether a line begins an item, a footnote or, by indent or after a short line, a paragraph."""
    is_below_bold = len(block) == 1 and block[0].font.bold and not line.font.bold  # below a heading or a name
    if is_below_bold or _begins_item(block, line) or line.text.startswith(RAISED):
        return True
    if marker_of(block[0].text):
        return line.box[0] < block[0].box[0] - _FURTHER * line.size
    return block[-1].text.endswith(_ENDS) and _begins_paragraph(block, line, measure)


def _is_stepped(block: list[TextLine], line: TextLine, measure: FlowMeasure) -> bool:
    """Return whether a line's bottom is further below the last line's than usual; boxes of some fonts hide the gap."""
    step = line.box[3] - block[-1].box[3]
    if step < _NEXT_STEP * line.size:
        return False
    steps = (lower.box[3] - upper.box[3] for upper, lower in pairwise(block[-_RECENT_GAPS:]))
    return 0 < min(steps, default=measure.step * line.size) < step - _MORE_GAP * line.size


def _begins_item(block: list[TextLine], line: TextLine) -> bool:
    mark = marker_of(line.text)
    if mark is None:
        return False
    return _is_bullet(mark, block[-1]) if mark.re is BULLET else _is_number(mark, line, block)


def _begins_paragraph(block: list[TextLine], line: TextLine, measure: FlowMeasure) -> bool:
    """Return whether a line is indented or follows a short line; after a block of one line, it needs both signs."""
    last = block[-1]
    if _is_stepped(block, line, measure):
        return True
    if len(block) < 2:
        is_indented = abs(line.left - last.left) > line.size or line.left - measure.sides[0] > line.size
        return is_indented and measure.is_short(last)
    left, right = span_of(block[-_RECENT:])
    return line.box[0] - last.box[0] > line.size or right - last.box[2] > SHORT * max(right - left, 1)


_TEXT = ("paragraph", "list_item")
_GOES_ON = (*_TEXT, "code")
_OPEN = (",", ";", "-", "\u2010", "(", HYPHEN)
_ROW_LINES = 2  # of a separate row, such as the name of a group: more are a paragraph between two tables
_JUSTIFIED = 2  # lines above that must end at the same place: in ragged text, two lines may do so by chance
_RAGGED = 0.3  # of the font size, by which justified lines may differ: TeX hangs punctuation into the margin
_SMALL_PRINT = 0.9  # of the font size: notices and notes are set in at most nine tenths of the text's size


def connect(blocks: list[PageBlock]) -> list[PageBlock]:
    """Return the blocks of a document, with continuations joined to the text that they continue.

    Only furniture, footnotes, tables, captions and small print may come between; they follow the text.
    """
    out: list[PageBlock] = []
    open_text: PageBlock | None = None
    for block in _with_whole_tables(blocks):
        if _may_interrupt(block):
            out.append(block)
        elif open_text is not None and (_goes_on(open_text, block) or _is_code_on(open_text, block)):
            open_text.lines += block.lines
        else:
            out.append(block)
            if open_text is None or not _is_small_print(open_text, block):
                open_text = block if block.kind in _GOES_ON else None
    return out


def _with_whole_tables(blocks: list[PageBlock]) -> Iterator[PageBlock]:
    """Yield blocks, with continued tables joined; only furniture, or a row of one cell, may come between."""
    before: PageTable | None = None
    held: list[PageBlock] = []  # a possible row, until the next block shows whether the table continues
    for block in blocks:
        table = block.items[0] if isinstance(block.items[0], PageTable) else None
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


def _may_be_row(block: PageBlock) -> bool:
    """Return whether a block may be a table row with only one filled cell."""
    return block.kind == "paragraph" and not block.note and 0 < len(block.lines) <= _ROW_LINES


def _may_interrupt(block: PageBlock) -> bool:
    """Return whether a block may interrupt a text at the end of a column or page."""
    is_caption = block.kind == "paragraph" and CAPTION.match(block.lines[0].text) is not None
    return block.kind in ("furniture", "table") or bool(block.note) or is_caption


def _is_small_print(open_text: PageBlock, block: PageBlock) -> bool:
    """Return whether a block, such as a copyright notice, is smaller than the open text, which stops mid-sentence."""
    if block.kind != "paragraph" or open_text.kind not in _TEXT or not open_text.lines:
        return False
    last = open_text.lines[-1]
    return block.lines[0].size < _SMALL_PRINT * last.size and _is_open(last.text.rstrip())


def _is_code_on(before: PageBlock, after: PageBlock) -> bool:
    """Return whether code continues the code at the end of the previous column or page in the same font size."""
    if before.kind != "code" or after.kind != "code":
        return False
    return _is_elsewhere(before.lines[-1], after.lines[0]) and _is_set_alike(before.lines[-1], after.lines[0])


def _is_elsewhere(last: TextLine, first: TextLine) -> bool:
    """Return whether a line is on the next page, or higher on the same page, so in another column."""
    return first.page == last.page + 1 or (first.page == last.page and first.box[1] < last.box[1])


def _goes_on(before: PageBlock, after: PageBlock) -> bool:
    """Return whether a text clearly continues: it stops mid-sentence, and the next begins with a lower-case letter.

    One of these is enough if its last line is as long as the lines above it.
    """
    if after.kind != "paragraph" or before.kind not in _TEXT or not before.lines:
        return False
    last, first = before.lines[-1], after.lines[0]
    if not _is_set_alike(last, first) or not _is_elsewhere(last, first):
        return False
    signs = first.text[:1].islower() + _is_open(last.text.rstrip())
    return signs == 2 or (signs == 1 and _is_full(before.lines))


def _is_full(lines: list[TextLine]) -> bool:
    """Return whether the last line ends where the lines above it end, as within a justified paragraph."""
    last = lines[-1]
    above = [line.box[2] for line in lines[-1 - _JUSTIFIED : -1] if line.page == last.page]
    return len(above) == _JUSTIFIED and max(above) - min(*above, last.box[2]) < _RAGGED * last.size


def _is_set_alike(last: TextLine, first: TextLine) -> bool:
    return abs(last.size - first.size) <= _SAME_SIZE * last.size and last.font.mono == first.font.mono


def _is_open(text: str) -> bool:
    """Return whether a text stops mid-sentence; a single letter is a label of a figure."""
    return len(text) > 1 and (text[-1].isalnum() or text.endswith(_OPEN))


def with_run_in_headings(blocks: list[PageBlock]) -> Sequence[PageBlock]:
    """Return blocks; if the document's leads are headings, blocks with a lead are split into heading and text."""
    led = {at: found for at, block in enumerate(blocks) if (found := _led(block)).rest}
    return headed(blocks, led, _parted)


def _parted(block: PageBlock, led: LedParagraph, level: int) -> Iterator[PageBlock]:
    first = block.lines[0]
    heading = replace(first, text=led.heading)
    yield PageBlock("title", [heading], block.page, level, lines=[heading])
    block.lines = [replace(first, text=first.text[first.lead :].lstrip()), *block.lines[1:]]
    yield block


def _led(block: PageBlock) -> LedParagraph:
    """Return the lead of a paragraph and the text after it; both empty if it has no lead."""
    if block.kind != "paragraph" or block.note or not block.lines or not block.lines[0].lead:
        return LedParagraph("", "")
    first, *others = block.lines
    rest = (first.text[first.lead :].strip(), *(line.text.strip() for line in others))
    return LedParagraph(first.text[: first.lead], " ".join(filter(None, rest)))
