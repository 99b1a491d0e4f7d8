"""PDF layout: which lines are headings, which repeat as furniture, and which belong to one paragraph."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from tasks.parse.pdf_page import HYPHEN, Line, union

Pages = list[list[Line]]

_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b", re.I)
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[A-Z]\.|[IVX]{1,5}\.)\s+\S")
BULLET = re.compile(r"([•●▪■◦○‣∙·*–—-]|[\u2043\uf0a7\uf0b7]|o(?=\s))\s+(?=\S)")
NUMBER = re.compile(r"(\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s+(?=\S)")
_MARGIN = 0.16
_NARROW_MARGIN = 0.08
_HEADING_RATIO = 1.12
_MAX_HEADING = 200
_MAX_BOLD = 100
_LEVELS = 6


def mark_furniture(pages: Pages, heights: list[float]) -> None:
    """Mark what runs up a margin, and the margins' lines whose text, but for numbers, is on most pages."""
    places: defaultdict[tuple[bool, str], set[int]] = defaultdict(set)
    found: list[tuple[tuple[bool, str], Line]] = []
    written = sum(1 for lines in pages if lines)
    body = _body_size(line for lines in pages for line in lines)
    margin = _MARGIN if written > 2 else _NARROW_MARGIN
    for lines, height in zip(pages, heights, strict=True):
        for line in lines:
            line.furniture = not line.upright
            top = line.box[3] < height * margin
            if top or line.box[1] > height * (1 - margin):
                # Headings in the margin, "Chapter 2", differ by their number and are no furniture.
                text = line.text if line.size >= body * _HEADING_RATIO else _DIGITS.sub("#", line.text)
                key = (top, text.lower())
                places[key].add(line.page)
                found.append((key, line))
    for key, line in found:
        seen = places[key]
        # Books print left and right pages differently, so most pages of one parity are enough.
        parity = max(sum(page % 2 == odd for page in seen) for odd in (0, 1))
        line.furniture |= written > 1 and (len(seen) > 0.5 * written or (parity > 2 and parity > 0.6 * written / 2))


def mark_headings(pages: Pages, outline: Mapping[tuple[int, str], int]) -> None:
    """Set the levels of headings: the outline's, else by font size, else bold lines that stand alone."""
    lines = [line for page in pages for line in page if not line.furniture]
    body = _body_size(lines)
    matched: defaultdict[float, Counter[int]] = defaultdict(Counter)
    for line in lines:
        line.level = min(outline.get((line.page, squeeze(line.text)), 0), _LEVELS)
        if line.level:
            matched[line.size][line.level] += 1
    large = [line for line in lines if not line.level and _is_large(line, body)]
    known = {size: levels.most_common(1)[0][0] for size, levels in matched.items() if size >= body * _HEADING_RATIO}
    by_size = _levels_by_size(known, {line.size for line in large})
    for line in large:
        line.level = by_size[line.size]
    for page in pages:
        _unmark_text(page)
    if not outline:
        _mark_bold(pages, body, min(max(by_size.values(), default=0) + 1, _LEVELS))


def _unmark_text(page: list[Line]) -> None:
    """Take the level from large lines that are a paragraph: more than a heading's length on end."""
    run: list[Line] = []
    for line in [*page, None]:
        if line is not None and run and line.level == run[-1].level and line.box[1] - run[-1].box[3] < line.size:
            run.append(line)
            continue
        if sum(len(one.text) for one in run) > _MAX_HEADING:
            for one in run:
                one.level = 0
        run = [line] if line is not None and line.level else []


def _body_size(lines: Iterable[Line]) -> float:
    weights: Counter[float] = Counter()
    for line in lines:
        weights[line.size] += len(line.text)
    return max(weights, key=lambda size: (weights[size], size), default=0.0)


def _is_large(line: Line, body: float) -> bool:
    letters = sum(map(str.isalpha, line.text))
    return line.size >= body * _HEADING_RATIO and letters > 1 and len(line.text) <= _MAX_HEADING


def _levels_by_size(known: dict[float, int], sizes: set[float]) -> dict[float, int]:
    """Return a level for each font size: that of the outline's headings of it or of the next larger."""
    ranks = _ranks(sizes)
    if not known:
        return ranks
    return {size: max((level for other, level in known.items() if other >= size * 0.98), default=1) for size in sizes}


def _ranks(sizes: set[float]) -> dict[float, int]:
    """Return 1 for the largest size, 2 for the next that differs by 5 % ..., 6 at most."""
    ranks: dict[float, int] = {}
    rank, last = 0, float("inf")
    for size in sorted(sizes, reverse=True):
        if size < last * 0.95:
            rank, last = rank + 1, size
        ranks[size] = min(rank, _LEVELS)
    return ranks


def _mark_bold(pages: Pages, body: float, level: int) -> None:
    share = [line.bold for page in pages for line in page if len(line.text) < _MAX_BOLD]
    if sum(share) > 0.4 * len(share):
        return
    for page in pages:
        text = [line for line in page if not line.furniture]
        for before, line, after in zip([None, *text], text, [*text[1:], None], strict=False):
            alone = before is None or before.level or line.box[1] - before.box[3] > 0.25 * line.size or not before.bold
            ends = after is None or not after.bold or after.box[1] - line.box[3] > 0.25 * line.size
            if line.bold and not line.level and line.size >= 0.95 * body and alone and ends and _reads_as_heading(line):
                line.level = level


def _reads_as_heading(line: Line) -> bool:
    text = line.text.rstrip()
    words = text.split()
    starts = text[0].isupper() or _NUMBERED.match(text) is not None
    return (
        len(text) < _MAX_BOLD and starts and text[-1] not in ".,;:" and any(len(w) > 2 and w.isalpha() for w in words)
    )


def blocks(lines: list[Line]) -> Iterator[list[Line]]:
    """Yield runs of a page's lines that make one heading, list item or paragraph."""
    block: list[Line] = []
    for line in lines:
        if block and not _continues(block, line):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _continues(block: list[Line], line: Line) -> bool:
    last, first = block[-1], block[0]
    if line.furniture or last.furniture or line.level != last.level or abs(line.size - last.size) > 0.15 * last.size:
        return False
    gap = line.box[1] - last.box[3]
    usual = _usual_gap(block)
    if line.box[1] <= last.box[1] or gap > max(0.6 * last.size, usual + 0.35 * last.size):
        return False
    if min(line.box[2], last.box[2]) <= max(line.box[0], last.box[0]) and line.box[0] > last.box[2]:
        return False
    if line.level:
        return gap < 0.8 * line.size and len(line.text) + sum(len(one.text) for one in block) < _MAX_HEADING
    if line.bold != last.bold and len(block) == 1 and last.bold:
        return False
    return not _begins(block, line, first, last)


def _usual_gap(block: list[Line]) -> float:
    gaps = [lower.box[1] - upper.box[3] for upper, lower in pairwise(block)]
    return min(gaps) if gaps else 0.0


def _begins(block: list[Line], line: Line, first: Line, last: Line) -> bool:
    """Return whether a line begins an item or, by indent or after a short line, a paragraph."""
    if BULLET.match(line.text) or (NUMBER.match(line.text) and line.box[0] <= first.box[0] + line.size):
        return True
    if BULLET.match(first.text) or NUMBER.match(first.text):
        return line.box[0] < first.box[0] - 0.5 * line.size
    right = max(one.box[2] for one in block)
    width = max(right - min(one.box[0] for one in block), 1)
    indented = (
        line.box[0] - last.box[0] > line.size and len(block) > 1 and last.text.endswith((".", "!", "?", ":", "”"))
    )
    short = len(block) > 1 and right - last.box[2] > 0.2 * width and last.text.endswith((".", "!", "?", ":"))
    return indented or short


def text_of(block: list[Line]) -> str:
    """Return a block's lines as one; words that were cut at a line's end are whole again."""
    text = ""
    for line in block:
        following = line.text
        if text.endswith((HYPHEN, "-")) and text[-2:-1].isalpha():
            text = text[: -1 if following[:1].islower() else None].replace(HYPHEN, "-") + following
        else:
            text = f"{text} {following}" if text else following
    return text.replace(HYPHEN, "-")


def squeeze(text: str) -> str:
    """Return only the letters and digits of a text, in small letters: what a heading is compared by."""
    return "".join(filter(str.isalnum, text.lower()))


def box_of(block: list[Line]) -> tuple[float, float, float, float]:
    """Return the box around a block's lines, to a tenth of a point."""
    box = block[0].box
    for line in block[1:]:
        box = union(box, line.box)
    return (round(box[0], 1), round(box[1], 1), round(box[2], 1), round(box[3], 1))
