"""PDF heading levels: from the outline, else the numbers of headings, else their look."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from statistics import mode
from string import digits

from docmill.tasks.parse.pdf.heading_runs import (
    BodyText,
    HeadingRun,
    Look,
    depth,
    is_formula,
    is_release,
    is_sentence,
    reads_as_heading,
    runs_of,
    says_no_heading,
)
from docmill.tasks.parse.pdf.text.characters import squeeze
from docmill.tasks.parse.pdf.text.line import Font, TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import grouped

_NEXT_LEVEL = 0.95  # of the size: smaller sizes are another level; smaller differences come from rounding scaled fonts
_LEVELS = 6  # as Markdown has
_LEAST_NUMBERED = 2  # headings: a single number may be part of its heading's text


def set_levels(runs: list[HeadingRun]) -> None:
    """Set the level of each heading, from 1."""
    ranks = _ranks({run.look for run in runs})
    nested = _nested([run.look for run in runs], ranks)
    known = {id(run): run.level for run in runs if run.outlined} or _numbered(runs, nested)
    of_look = _highest(runs, known)
    for run in runs:
        run.level = known.get(id(run)) or _level(run.look, of_look, ranks, nested)


def _nested(looks: list[Look], ranks: dict[Look, int]) -> dict[Look, int]:
    """Return the level of each look, from 1: one below the look that it most often comes under.

    A look comes under the nearest stronger look before it. So the looks of a cover, which have nothing under them, take
    no levels from the text.
    """
    above: list[Look] = []
    parents: defaultdict[Look, Counter[Look | None]] = defaultdict(Counter)
    for look in looks:
        while above and ranks[above[-1]] >= ranks[look]:
            above.pop()
        parents[look][above[-1] if above else None] += 1
        above.append(look)
    levels: dict[Look | None, int] = {None: 0}
    for look in sorted(parents, key=lambda look: ranks[look]):
        levels[look] = levels[max(parents[look], key=lambda one: (parents[look][one], levels[one]))] + 1
    return {look: level for look, level in levels.items() if look is not None}


def _highest(runs: list[HeadingRun], known: dict[int, int]) -> dict[Look, int]:
    """Return for each look the highest known level of its headings."""
    by_look: defaultdict[Look, list[int]] = defaultdict(list)
    for run in runs:
        if id(run) in known:
            by_look[run.look].append(known[id(run)])
    return {look: min(levels) for look, levels in by_look.items()}


def _ranks(looks: Iterable[Look]) -> dict[Look, int]:
    """Return 1 for the strongest look, the one with the largest letters, 2 for the next, and so on."""
    rank, size, strength = 0, float("inf"), 0
    ranks: dict[Look, int] = {}
    clusters: list[list[Look]] = []
    for look in sorted(looks, key=lambda look: look.size, reverse=True):
        if look.size < size * _NEXT_LEVEL:
            clusters.append([])
            size = look.size
        clusters[-1].append(look)
    for cluster in clusters:
        strength = -1
        for look in sorted(cluster, key=lambda look: look.rank):
            if look.rank != strength:
                rank, strength = rank + 1, look.rank
            ranks[look] = rank
    return ranks


def _numbered(runs: list[HeadingRun], nested: dict[Look, int]) -> dict[int, int]:
    """Return the levels of numbered headings, by their identity: each further number is one level deeper."""
    depths = {id(run): (depth(run.text), nested[run.look]) for run in runs}
    numbered = {one: found for one, found in depths.items() if found[0]}
    if len(numbered) < _LEAST_NUMBERED:
        return {}
    least = min(deep for deep, _ in numbered.values())
    first = mode(sorted(level for deep, level in numbered.values() if deep == least))
    return {one: min(first + deep - least, _LEVELS) for one, (deep, _) in numbered.items()}


def _level(look: Look, of_look: dict[Look, int], ranks: dict[Look, int], nested: dict[Look, int]) -> int:
    """Return the level of a look: that of its numbered or outlined headings, else one derived from other looks."""
    if look in of_look:
        return of_look[look]
    if not of_look:
        return min(nested[look], _LEVELS)
    stronger = [level for other, level in of_look.items() if ranks[other] < ranks[look]]
    if stronger:
        return min(max(stronger) + 1, _LEVELS)
    return max(min(min(of_look.values()) - 1, nested[look]), 1)


_NEARLY = 0.85  # of the size of headings: a smaller first one is a letterhead or the name of a picture
_FIRST_PAGES = 2  # the cover, and the first page of text
_BELOW_BYLINE = re.compile(
    r"abstract|summary|contents|table of contents|zusammenfassung|inhalt(?:sverzeichnis)?|résumé|sommaire|resumen"
    r"|índice|riassunto|indice|samenvatting|sammanfattning",
    re.IGNORECASE,
)
"""Headings directly below the authors and the date of a paper."""
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_DATE_WORDS = 4  # "Zurich, 3 May 2024"
_LEAST_LETTERS = 6  # of a title to find within a heading, or the reverse: fewer match by chance


def mark_title(runs: list[HeadingRun], stated: str) -> list[TextLine]:
    """Return the lines of a document's title, if any; its authors and its date stop being headings.

    The title is the heading of the first pages that the title `stated` in the file names, else one by its look.
    """
    kept = [run for run in runs if run.kept]
    first = [run for run in kept if run.page < kept[0].page + _FIRST_PAGES]
    if not first:
        return []
    named = (run for run in first if _agrees(stated, run.text))
    title = next(named, None) or _outstanding(first, Counter(run.look for run in kept))
    for run in _byline(title, runs):
        run.kept = False
    return title.lines


def _outstanding(first: list[HeadingRun], looks: Counter[Look]) -> HeadingRun:
    """Return the largest of the first headings; but if several headings look like it, the very first one.

    No other heading looks like that one then, and it is nearly as large.
    """
    largest = max(first, key=lambda run: run.look.size)
    is_alone = looks[first[0].look] == 1 < looks[largest.look]
    return first[0] if is_alone and first[0].look.size >= _NEARLY * largest.look.size else largest


def _byline(title: HeadingRun, runs: list[HeadingRun]) -> list[HeadingRun]:
    """Return the authors and the date below a title: they look like no heading of the text and nothing is between them.

    They end with a date, or above a larger heading or one that names an abstract or a table of contents.
    """
    found: list[HeadingRun] = []
    certain = 0
    for run in _directly_below(title, runs):
        if found and (run.look.size > max(one.look.size for one in found) or _BELOW_BYLINE.fullmatch(run.text)):
            return found
        if run.outlined or run.look.bold or depth(run.text) or not _is_first(run, title, runs):
            break
        found.append(run)
        if _is_date(run.lines[-1].text):
            certain = len(found)
    return found[:certain]


def _directly_below(title: HeadingRun, runs: list[HeadingRun]) -> Iterator[HeadingRun]:
    """Yield the consecutive runs below a title with no text between them."""
    place = runs.index(title)
    for before, run in pairwise(runs[place:]):
        if before.after is not run.lines[0]:
            return
        yield run


def _is_first(run: HeadingRun, title: HeadingRun, runs: list[HeadingRun]) -> bool:
    """Return whether a run is on the title's page, is smaller, and no heading on a later page has its look.

    A version and its date begin a text.
    """
    if is_release(run.text):
        return False
    later = (one for one in runs if one.kept and one.look == run.look and one.page > title.page)
    return run.page == title.page and run.look.size < title.look.size and next(later, None) is None


def _is_date(text: str) -> bool:
    return len(text.split()) <= _DATE_WORDS and _YEAR.search(text) is not None


def _agrees(stated: str, text: str) -> bool:
    """Return whether a stated title and a heading are equal, or one contains the other."""
    one, other = sorted((squeeze(stated), squeeze(text)), key=len)
    return len(one) >= _LEAST_LETTERS and one in other


Pages = list[list[TextLine]]
Outline = Mapping[tuple[int, str], int]

_MAX_HEADING = 200  # letters: longer large text is a paragraph, such as an introduction or a quotation
_MOST_LINES = 3  # of a heading as large as the text: more are a bold or italic paragraph
_MOST_BOLD, _MOST_ITALIC = 0.4, 0.3  # of a document's letters: with more, its text itself is bold or italic
_SELDOM = 0.15  # of the letters in the body's font: captions and notes may be in a font of their own with more
_STRONG = Font(bold=True)
_APART = 0.25  # font sizes between a bold heading and other bold text
_LABEL_SIZE = 1.5  # of the body's size: smaller large letters may be labels of a drawing
_MAX_TITLES = 200  # of one page: each is compared with all of the page's lines
_MAX_LINES = 3  # of a title: a line that may begin one is compared alone and joined with the next two
_TABLE = 3.0
"""Font sizes between two headings: a table of a header and a row takes more room, an empty gap takes less."""
_IN_A_ROW = 3  # runs with one look and no text between them are names, labels or a list; two if both are numbered


def mark_headings(pages: Pages, outline: Outline, body: float, stated: str) -> list[TextLine]:
    """Set the levels of headings, and return the lines of the heading that is the document's title, if any.

    `stated` is the title in the file's metadata.
    """
    _mark_outlined(pages, outline)
    _embolden(pages)
    text = BodyText(body, *_marks_headings(pages))
    runs = [run for page in pages for run in runs_of(page, text)]
    for run in runs:
        run.kept = run.outlined or _may_be_heading(run, text)
    _drop_rows(runs)
    title = mark_title(runs, stated)
    set_levels([run for run in runs if run.kept])
    for run in runs:
        _set_level(run.lines, run.level if run.kept else 0)
    return title


def _mark_outlined(pages: Pages, outline: Outline) -> None:
    """Mark the lines that outline entries name; a title may span three lines."""
    titles: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for (page, title), level in outline.items():
        if len(titles[page]) < _MAX_TITLES:
            titles[page][title] = min(level, _LEVELS)
    for lines in pages:
        wanted = titles.get(lines[0].page) if lines else None
        if wanted:
            _mark_titles(lines, wanted)


def _mark_titles(page: list[TextLine], wanted: dict[str, int]) -> None:
    """Mark the lines of titles; of a title repeated on a page, only the occurrences that look like the first."""
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
    """Yield the text of a line, alone and with the next lines, while a title may begin with it, and its end.

    Its number is left out if no title begins with it: many outlines have "Results" for "4.1 Results".
    """
    text = squeeze(page[index].text)
    if not text or len(text) > _MAX_HEADING:
        return
    if text[0].isdigit() and not any(title.startswith(text) for title in titles):
        text = text.lstrip(digits) or text
    for end in range(index + 1, min(index + _MAX_LINES, len(page)) + 1):
        yield text, end
        if end == len(page) or not any(title.startswith(text) for title in titles):
            return
        text += squeeze(page[end].text)


def _set_level(lines: list[TextLine], level: int) -> None:
    for line in lines:
        line.level = level


def _embolden(pages: Pages) -> None:
    """Treat fonts of unknown style that are seldom used as bold, if the most used font is of unknown style, too."""
    letters = Counter[str]()
    for line in chain.from_iterable(pages):
        letters[line.font.code] += len(line.text)
    body = letters.most_common(1)[0][0] if letters else ""
    for line in chain.from_iterable(pages) if body else ():
        if line.font.code and letters[line.font.code] < _SELDOM * letters[body]:
            line.font = _STRONG


def _marks_headings(pages: Pages) -> tuple[bool, bool]:
    """Return whether bold letters, and whether italic letters, are rare enough to indicate headings."""
    letters = bold = italic = 0
    for page in pages:
        for line in page:
            count = len(line.text)
            letters += count
            bold += count * line.font.bold
            italic += count * line.font.italic
    return bold <= _MOST_BOLD * letters, italic <= _MOST_ITALIC * letters


def _may_be_heading(run: HeadingRun, body: BodyText) -> bool:
    """Return whether lines that stand out are a heading."""
    text = run.text
    if run.is_spread() or run.goes_on_item() or says_no_heading(text) or _is_within_code(run, body):
        return False
    if body.is_large(run.look):
        return _is_large_heading(run, text, body)
    return _is_weak_heading(run, text, body)


def _is_large_heading(run: HeadingRun, text: str, body: BodyText) -> bool:
    if run.lines[0].font.mono and not run.look.bold:
        return False
    is_worded = sum(map(str.isalpha, text)) > 1 or is_release(text)
    if len(text) > _MAX_HEADING or not is_worded or is_sentence(text) or is_formula(text):
        return False
    return run.look.size >= _LABEL_SIZE * body.size or run.is_placed()


def _is_weak_heading(run: HeadingRun, text: str, body: BodyText) -> bool:
    """Return whether lines about as large as the text are a heading: short, separate, and above text."""
    font = run.lines[0].font
    if not reads_as_heading(text, font.mono) or not (body.bold if run.look.bold else body.italic):
        return False
    if len(run.lines) > _MOST_LINES or not run.is_wrapped() or not run.is_placed():
        return False
    return _is_above_text(run, body) and (_is_alone(run) if font.bold else _is_apart(run, body))


def _is_within_code(run: HeadingRun, body: BodyText) -> bool:
    """Return whether monospaced text that is small or italic is above more of its size, as comments in code are."""
    after = run.after
    if after is None or after.size != run.look.size or not (run.lines[0].font.mono and after.font.mono):
        return False
    return after.size < body.size or (run.look.italic and not body.is_apart(run.gap_below()))


def _is_above_text(run: HeadingRun, body: BodyText) -> bool:
    """Return whether the next line begins a text, and does not continue a sentence."""
    if run.after is None:
        return True
    return body.is_apart(run.gap_below()) or not run.after.text[:1].islower()


def _is_apart(run: HeadingRun, body: BodyText) -> bool:
    """Return whether italic or capital letters, which occur in text, too, are a separate paragraph."""
    return body.is_apart(run.gap_above()) and run.after is not None


def _is_alone(run: HeadingRun) -> bool:
    """Return whether bold lines are separate from bold lines above and below them."""
    before, after = run.before, run.after
    ends = after is None or not after.font.bold or run.gap_below() > _APART
    if before is None or before.level or not ends:
        return ends
    return not before.font.bold or run.gap_above() > _APART


def _drop_rows(runs: list[HeadingRun]) -> None:
    """Drop consecutive runs of one look without text between them, except the largest, as on a cover."""
    largest = max((run.look.size for run in runs if run.kept), default=0.0)
    for row in grouped(runs, _is_next_in_row):
        numbered = len(row) > 1 and 0 < depth(row[0].text) == depth(row[1].text)
        if (len(row) >= _IN_A_ROW or numbered) and row[0].look.size < largest:
            for run in row:
                run.kept = run.outlined


def _is_next_in_row(row: list[HeadingRun], run: HeadingRun) -> bool:
    """Return whether a run directly follows others of its look, without text between them."""
    before = row[-1]
    return before.after is run.lines[0] and before.look == run.look and not _TABLE < run.gap_above() < float("inf")
