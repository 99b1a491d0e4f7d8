"""PDF flow: paragraphs and items that go on over the end of a column or a page made whole."""

import re

from docmill.tasks.parse.pdf.blocks.text_blocks import Block
from docmill.tasks.parse.pdf.text.letters import HYPHEN

_TEXT = ("paragraph", "list_item")
_CAPTION = re.compile(r"(?:table|fig(?:ure|\.)|tab\.|abb(?:ildung|\.))\s*\d", re.IGNORECASE)
_OPEN = (",", ";", "-", "\u2010", "(", HYPHEN)


def connect(blocks: list[Block]) -> list[Block]:
    """Return the blocks of a document, with text that goes on in a later column or page put to where it begins.

    Furniture, footnotes, tables and captions between the two come after it; no other text may stand between.
    """
    out: list[Block] = []
    open_text: Block | None = None
    for block in blocks:
        if block.kind in ("furniture", "table") or block.note or _is_caption(block):
            out.append(block)
            continue
        if open_text is not None and (_goes_on(open_text, block) or _is_more_code(open_text, block)):
            open_text.lines += block.lines
            continue
        out.append(block)
        open_text = block if block.kind in _TEXT or block.kind == "code" else None
    return out


def _is_caption(block: Block) -> bool:
    return block.kind == "paragraph" and _CAPTION.match(block.lines[0].text) is not None


def _is_more_code(before: Block, after: Block) -> bool:
    """Return whether code is that with which the column or page before ended: set alike, and nothing between."""
    if before.kind != "code" or after.kind != "code":
        return False
    last, first = before.lines[-1], after.lines[0]
    elsewhere = first.page == last.page + 1 or (first.page == last.page and first.box[1] < last.box[1])
    return elsewhere and abs(last.size - first.size) < 0.05 * last.size


def _goes_on(before: Block, after: Block) -> bool:
    """Return whether a text plainly goes on: it stops within a sentence, and the next begins with a small letter."""
    if after.kind != "paragraph" or before.kind not in _TEXT or not before.lines:
        return False
    last, first = before.lines[-1], after.lines[0]
    text, following = last.text.rstrip(), first.text
    if abs(last.size - first.size) > 0.1 * last.size or last.font.mono != first.font.mono:
        return False
    elsewhere = first.page == last.page + 1 or (first.page == last.page and first.box[1] < last.box[1])
    if not elsewhere or not following[:1].islower() or len(text) < 2:
        return False
    return text[-1].isalnum() or text.endswith(_OPEN)
