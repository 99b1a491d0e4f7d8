"""PDF run-in headings: bold or slanted words at the beginning of a line, which name the paragraph that it begins."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from docmill.tasks.parse.pdf.blocks.text_blocks import PageBlock
from docmill.tasks.parse.pdf.letters.right_to_left import may_be_right_to_left
from docmill.tasks.parse.pdf.letters.special_characters import clean
from docmill.tasks.parse.pdf.text.fonts import Font
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.text_layer import TextLayer
from docmill.tasks.parse.titles.run_in import DEEPEST, LedParagraph, heading_of, is_lead, name_paragraphs

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


def with_run_in_headings(blocks: list[PageBlock]) -> Iterator[PageBlock]:
    """Yield blocks, those with a lead in two, if the leads of the document are headings: one below that above."""
    led = [LedParagraph(lead, words) for lead, words in map(_led, blocks) if words]
    apart, level = name_paragraphs(led), 0
    for block in blocks:
        level = block.level if block.kind == "title" else level
        if apart and _led(block)[1]:
            first = block.lines[0]
            heading = replace(first, text=heading_of(first.text[: first.lead]))
            yield PageBlock("title", [heading], block.page, min(level + 1, DEEPEST), lines=[heading])
            block.lines = [replace(first, text=first.text[first.lead :].lstrip()), *block.lines[1:]]
        yield block


def _led(block: PageBlock) -> tuple[str, int]:
    """Return the lead of a paragraph, and how many words follow it; "" and 0 for what has none."""
    if block.kind != "paragraph" or block.note or not block.lines or not block.lines[0].lead:
        return "", 0
    first = block.lines[0]
    words = len(first.text[first.lead :].split()) + sum(len(line.text.split()) for line in block.lines[1:])
    return first.text[: first.lead], words
