"""PDF headings: lines named in the outline, lines larger than the text, and isolated bold lines."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from docmill.tasks.parse.pdf.text.fonts import Font
from docmill.tasks.parse.pdf.text.line import TextLine

Pages = list[list[TextLine]]
Outline = Mapping[tuple[int, str], int]

_LEADERS = re.compile(r"\.{5}|(?: \.){4}")  # of a list of contents
_THREE_LETTERS = re.compile(r"[^\W\d_]{3}")
_NO_ENDS = ".,;:"
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[A-Z]\.|[IVX]{1,5}\.)\s+\S")

# Font sizes, as shares of the body's or of one another.
_HEADING_RATIO = 1.12  # from which on a line is a heading: less takes text set a little larger, more loses low levels
_ONE_SIZE = 0.98  # of a size that headings of the outline have: within rounding it is the same
_NEXT_LEVEL = 0.95  # smaller sizes are of another level; those between differ by the rounding of scaled fonts
_BOLD_SIZE = 0.95  # from which on bold text may be a heading: smaller is a label of a table or a drawing
_MONO_SMALLER = 0.2  # fonts of one width are set smaller than those beside them

# Letters.
MAX_HEADING = 200  # from which on large text is a paragraph: an introduction or a quotation
_MAX_BOLD = 100  # of a bold line, which has less else to tell it from text
_LEAST_WORD = 3  # of a word: signs and initials are no heading

_MOST_BOLD = 0.4  # of a document's letters: with more, bold is how its text is set
_APART = 0.25  # font sizes between a bold heading and other bold text
_LEVELS = 6  # as Markdown has
_MAX_TITLES = 200  # of one page: each is compared with all of its lines
_MAX_LINES = 3  # over which a title may run: each line that may begin one is compared with so many after it


def mark_headings(pages: Pages, outline: Outline, body: float) -> None:
    """Set the levels of headings: the outline's, else by font size, else of isolated bold lines."""
    _mark_outlined(pages, outline)
    lowest = _mark_large([line for page in pages for line in page], body * _HEADING_RATIO)
    for page in pages:
        _unmark_text(page)
    if not outline:
        _mark_bold(pages, body, min(lowest + 1, _LEVELS))


def _mark_outlined(pages: Pages, outline: Outline) -> None:
    """Mark the lines named by an entry of the outline; a title may span three lines."""
    titles: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for (page, title), level in outline.items():
        if len(titles[page]) < _MAX_TITLES:
            titles[page][title] = min(level, _LEVELS)
    for lines in pages:
        wanted = titles.get(lines[0].page) if lines else None
        if wanted:
            _mark_titles(lines, wanted)


def _mark_titles(page: list[TextLine], wanted: dict[str, int]) -> None:
    """Mark the lines of titles; where a title stands on a page several times, only those set as the first one."""
    seen: dict[str, tuple[Font, float]] = {}
    for index, line in enumerate(page):
        if line.level:
            continue
        look = line.font, line.size
        for text, end in _readings(page, index, wanted):
            if text in wanted and seen.setdefault(text, look) == look:
                _set_level(page[index:end], wanted[text])
                break


def _readings(page: list[TextLine], index: int, titles: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the text of a line, alone and with those after it, while a title may begin so, and where each ends."""
    text = squeeze(page[index].text)
    if not text or len(text) > MAX_HEADING:
        return
    for end in range(index + 1, min(index + _MAX_LINES, len(page)) + 1):
        yield text, end
        if end == len(page) or not any(title.startswith(text) for title in titles):
            return
        text += squeeze(page[end].text)


def _set_level(lines: list[TextLine], level: int) -> None:
    for line in lines:
        line.level = level


def _mark_large(lines: list[TextLine], least: float) -> int:
    """Set the levels of short lines of at least a size; return the lowest of these levels, 0 if there are none."""
    large = [line for line in lines if not line.level and line.size >= least and _is_short(line)]
    by_size = _levels_by_size(_known_levels(lines, least), {line.size for line in large})
    for line in large:
        line.level = by_size[line.size]
    return max(by_size.values(), default=0)


def _known_levels(lines: list[TextLine], least: float) -> dict[float, int]:
    """Return the usual level of the outline's headings of each size, from the least on."""
    matched: defaultdict[float, Counter[int]] = defaultdict(Counter)
    for line in lines:
        if line.level:
            matched[line.size][line.level] += 1
    return {size: levels.most_common(1)[0][0] for size, levels in matched.items() if size >= least}


def _unmark_text(page: list[TextLine]) -> None:
    """Remove the level from lines that are a paragraph: longer than a heading, without a break."""
    for run in _heading_runs(page):
        if sum(len(line.text) for line in run) > MAX_HEADING:
            _set_level(run, 0)


def _heading_runs(page: list[TextLine]) -> Iterator[list[TextLine]]:
    """Yield the lines of headings, with consecutive close ones of one level together."""
    run: list[TextLine] = []
    for line in page:
        if run and line.level == run[-1].level and line.box[1] - run[-1].box[3] < line.size:
            run.append(line)
            continue
        if run:
            yield run
        run = [line] if line.level else []
    if run:
        yield run


def _is_short(line: TextLine) -> bool:
    """Return whether a large line is as short as a heading: no code, and no line of a list of contents."""
    if line.font.mono and not line.font.bold:
        return False
    return len(line.text) <= MAX_HEADING and sum(map(str.isalpha, line.text)) > 1 and not _LEADERS.search(line.text)


def _levels_by_size(known: dict[float, int], sizes: set[float]) -> dict[float, int]:
    """Return a level for each font size: the lowest of the outline's headings that are as large or larger."""
    if not known:
        return _ranks(sizes)
    return {size: _lowest(known, size * _ONE_SIZE) for size in sizes}


def _lowest(known: dict[float, int], least: float) -> int:
    return max((level for size, level in known.items() if size >= least), default=1)


def _ranks(sizes: Iterable[float]) -> dict[float, int]:
    """Return 1 for the largest size, 2 for the next that is clearly smaller, and so on up to the last level."""
    ranks: dict[float, int] = {}
    rank, last = 0, float("inf")
    for size in sorted(sizes, reverse=True):
        if size < last * _NEXT_LEVEL:
            rank, last = rank + 1, size
        ranks[size] = min(rank, _LEVELS)
    return ranks


def _mark_bold(pages: Pages, body: float, level: int) -> None:
    """Set the level of isolated bold lines, unless much of the document is bold."""
    if _is_mostly_bold([line for page in pages for line in page]):
        return
    for page in pages:
        _mark_bold_lines(page, body, level)


def _mark_bold_lines(page: list[TextLine], body: float, level: int) -> None:
    # From the top, since a line below one that is marked stands alone.
    for before, line, after in zip([None, *page], page, [*page[1:], None], strict=False):
        if _may_be_heading(line, body) and _is_alone(before, line, after) and _reads_as_heading(line):
            line.level = level


def _is_mostly_bold(lines: list[TextLine]) -> bool:
    bold = sum(len(line.text) for line in lines if line.font.bold)
    return bold > _MOST_BOLD * sum(len(line.text) for line in lines)


def _may_be_heading(line: TextLine, body: float) -> bool:
    """Return whether a line is bold and about as large as the text, without being marked already."""
    if not line.font.bold or line.level:
        return False
    return line.size >= (_BOLD_SIZE - _MONO_SMALLER * line.font.mono) * body


def _is_alone(before: TextLine | None, line: TextLine, after: TextLine | None) -> bool:
    """Return whether a bold line is separate from the bold lines above and below it."""
    ends = after is None or not after.font.bold or _is_apart(line, after)
    return ends and (before is None or bool(before.level) or _is_parted(before, line))


def _is_parted(before: TextLine, line: TextLine) -> bool:
    """Return whether a bold line does not continue the text above; in a monospaced font, it may continue code."""
    if line.font.mono and before.font.mono:
        return line.box[1] - before.box[3] > line.size
    return not before.font.bold or _is_apart(before, line)


def _is_apart(upper: TextLine, lower: TextLine) -> bool:
    return lower.box[1] - upper.box[3] > _APART * lower.size


def _reads_as_heading(line: TextLine) -> bool:
    """Return whether a bold line is short, begins and ends as headings do, and has a word in it."""
    text = line.text.rstrip()
    if len(text) >= _MAX_BOLD or text[-1] in _NO_ENDS or _LEADERS.search(text):
        return False
    return _begins_heading(text, line.font.mono) and _has_word(text, line.font.mono)


def _begins_heading(text: str, mono: bool) -> bool:
    return mono or text[0].isupper() or _NUMBERED.match(text) is not None


def _has_word(text: str, mono: bool) -> bool:
    """Return whether a text has a word of letters alone; set as code, letters within a name are enough."""
    if mono:
        return _THREE_LETTERS.search(text) is not None
    return any(len(word) >= _LEAST_WORD and word.isalpha() for word in text.split())


def squeeze(text: str) -> str:
    """Return only the letters and digits of a text, in small letters, as headings are compared."""
    return "".join(filter(str.isalnum, text.lower()))
