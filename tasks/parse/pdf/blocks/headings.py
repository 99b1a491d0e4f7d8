"""PDF headings: lines that the outline names, that are set larger than the text, or bold and alone."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from docmill.tasks.parse.pdf.text.fonts import Font
from docmill.tasks.parse.pdf.text.line import TextLine

Pages = list[list[TextLine]]
Outline = Mapping[tuple[int, str], int]

_LEADERS = re.compile(r"\.{5}|(?: \.){4}")  # of a list of contents
_THREE_LETTERS = re.compile(r"[^\W\d_]{3}")
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[A-Z]\.|[IVX]{1,5}\.)\s+\S")
_HEADING_RATIO = 1.12
MAX_HEADING = 200
_MAX_BOLD = 100
_MOST_BOLD = 0.4
_MONO_SMALLER = 0.2  # fonts of one width are set smaller than those beside them
_LEVELS = 6
_MAX_TITLES = 200  # of one page


def mark_headings(pages: Pages, outline: Outline, body: float) -> None:
    """Set the levels of headings: the outline's, else by font size, else bold lines that stand alone."""
    lines = [line for page in pages for line in page]
    _mark_outlined(pages, outline)
    matched: defaultdict[float, Counter[int]] = defaultdict(Counter)
    for line in lines:
        if line.level:
            matched[line.size][line.level] += 1
    large = [line for line in lines if not line.level and line.size >= body * _HEADING_RATIO and _is_short(line)]
    known = {size: levels.most_common(1)[0][0] for size, levels in matched.items() if size >= body * _HEADING_RATIO}
    by_size = _levels_by_size(known, {line.size for line in large})
    for line in large:
        line.level = by_size[line.size]
    for page in pages:
        _unmark_text(page)
    if not outline:
        _mark_bold(pages, body, min(max(by_size.values(), default=0) + 1, _LEVELS))


def _mark_outlined(pages: Pages, outline: Outline) -> None:
    """Mark the lines that an entry of the outline names; a title may run over three lines."""
    titles: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for (page, title), level in outline.items():
        if len(titles[page]) < _MAX_TITLES:
            titles[page][title] = min(level, _LEVELS)
    for lines in pages:
        wanted = titles.get(lines[0].page) if lines else None
        if wanted:
            _mark_titles(lines, wanted)


def _mark_titles(page: list[TextLine], wanted: dict[str, int]) -> None:
    starts = tuple(wanted)
    seen: dict[str, tuple[Font, float]] = {}
    for index, line in enumerate(page):
        text = squeeze(line.text)
        if line.level or not text or len(text) > MAX_HEADING:
            continue
        for end in range(index + 1, min(index + 4, len(page) + 1)):
            if text in wanted and seen.setdefault(text, (line.font, line.size)) == (line.font, line.size):
                for one in page[index:end]:
                    one.level = wanted[text]
                break
            if not any(title.startswith(text) for title in starts) or end == len(page):
                break
            text += squeeze(page[end].text)


def _unmark_text(page: list[TextLine]) -> None:
    """Take the level from large lines that are a paragraph: more than a heading's length on end."""
    run: list[TextLine] = []
    for line in [*page, None]:
        if line is not None and run and line.level == run[-1].level and line.box[1] - run[-1].box[3] < line.size:
            run.append(line)
            continue
        if run and sum(len(one.text) for one in run) > MAX_HEADING:
            for one in run:
                one.level = 0
        run = [line] if line is not None and line.level else []


def _is_short(line: TextLine) -> bool:
    if line.font.mono and not line.font.bold:
        return False
    return len(line.text) <= MAX_HEADING and sum(map(str.isalpha, line.text)) > 1 and not _LEADERS.search(line.text)


def _levels_by_size(known: dict[float, int], sizes: set[float]) -> dict[float, int]:
    """Return a level for each font size: that of the outline's headings of it or of the next larger."""
    if not known:
        return _ranks(sizes)
    return {size: max((level for other, level in known.items() if other >= size * 0.98), default=1) for size in sizes}


def _ranks(sizes: Iterable[float]) -> dict[float, int]:
    """Return 1 for the largest size, 2 for the next that differs by 5 % ..., 6 at most."""
    ranks: dict[float, int] = {}
    rank, last = 0, float("inf")
    for size in sorted(sizes, reverse=True):
        if size < last * 0.95:
            rank, last = rank + 1, size
        ranks[size] = min(rank, _LEVELS)
    return ranks


def _mark_bold(pages: Pages, body: float, level: int) -> None:
    lines = [line for page in pages for line in page]
    if sum(len(line.text) for line in lines if line.font.bold) > _MOST_BOLD * sum(len(line.text) for line in lines):
        return
    for text in pages:
        for before, line, after in zip([None, *text], text, [*text[1:], None], strict=False):
            if not line.font.bold or line.level or line.size < (0.95 - _MONO_SMALLER * line.font.mono) * body:
                continue
            alone = before is None or before.level or not before.font.bold or _is_apart(before, line)
            if line.font.mono and before is not None and before.font.mono and not before.level:
                alone = alone and line.box[1] - before.box[3] > line.size  # else a line of code
            ends = after is None or not after.font.bold or _is_apart(line, after)
            if alone and ends and _reads_as_heading(line):
                line.level = level


def _is_apart(upper: TextLine, lower: TextLine) -> bool:
    return lower.box[1] - upper.box[3] > 0.25 * lower.size


def _reads_as_heading(line: TextLine) -> bool:
    text = line.text.rstrip()
    starts = text[0].isupper() or line.font.mono or _NUMBERED.match(text) is not None
    if line.font.mono:
        words = _THREE_LETTERS.search(text) is not None
    else:
        words = any(len(word) > 2 and word.isalpha() for word in text.split())
    return len(text) < _MAX_BOLD and starts and words and text[-1] not in ".,;:" and not _LEADERS.search(text)


def squeeze(text: str) -> str:
    """Return only the letters and digits of a text, in small letters: what a heading is compared by."""
    return "".join(filter(str.isalnum, text.lower()))
