"""PDF title page: which of the first headings is the title of the document, and which are names and dates around it."""

import re
from collections.abc import Iterator
from itertools import pairwise

from docmill.tasks.parse.pdf.blocks.heading_runs import HeadingRun
from docmill.tasks.parse.pdf.blocks.heading_text import depth

_FIRST_PAGES = 2  # the cover, and the page that the text begins on
_BRAND_WORDS, _TITLE_WORDS = 2, range(3, 15)  # of a maker's name at most, and of a title that is read instead of one
_NEAR = 3  # headings after a maker's name, one of which may be the title
_BRAND_RATIO = 1.5  # how much larger than the title a maker's name is set
_BELOW_BYLINE = re.compile(
    r"abstract|summary|contents|table of contents|zusammenfassung|inhalt(?:sverzeichnis)?|résumé|sommaire|resumen"
    r"|índice|riassunto|indice|samenvatting|sammanfattning",
    re.IGNORECASE,
)
"""What comes directly below the authors and the date of a paper."""
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_DATE_WORDS = 4  # "Zurich, 3 May 2024"
_LEAST_LETTERS = 6  # of a title that is looked for within a heading, or the reverse: fewer are there by chance


def mark_title(runs: list[HeadingRun], stated: str) -> str:
    """Return the title of a document, "" if none can be told; what is only a name above it is kept no longer.

    The title that the file states holds; without one it is the largest of the first headings that is no maker's name.
    """
    first = _front(runs)
    if not first:
        return stated
    largest = max(first, key=lambda run: run.look.size)
    title = _agreed(first, stated) or (largest if _letters(stated) else _below_brand(largest, first, runs))
    if title is not largest and _is_brand(largest, title):
        largest.kept = False
    for run in _byline(title, runs):
        run.kept = False
    return stated or title.text


def _byline(title: HeadingRun, runs: list[HeadingRun]) -> list[HeadingRun]:
    """Return the authors and the date below a title: set as no heading of the text, with nothing between them.

    They end with a date, or above a heading that is set larger or names an abstract or a list of contents.
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
    """Yield the runs below a title that follow one another with no text between them."""
    place = runs.index(title)
    for before, run in pairwise(runs[place:]):
        if before.after is not run.lines[0]:
            return
        yield run


def _is_first(run: HeadingRun, title: HeadingRun, runs: list[HeadingRun]) -> bool:
    """Return whether a run is smaller than the title, and no heading on another page is set as it is."""
    later = (one for one in runs if one.kept and one.look == run.look and one.page > title.page)
    return run.page == title.page and run.look.size < title.look.size and next(later, None) is None


def _is_date(text: str) -> bool:
    return len(text.split()) <= _DATE_WORDS and _YEAR.search(text) is not None


def _front(runs: list[HeadingRun]) -> list[HeadingRun]:
    """Return the headings of the page with the first ones, and of the page after it."""
    kept = [run for run in runs if run.kept]
    return [run for run in kept if run.page < kept[0].page + _FIRST_PAGES]


def _agreed(first: list[HeadingRun], stated: str) -> HeadingRun | None:
    return next((run for run in first if _agrees(stated, run.text)), None)


def _agrees(stated: str, text: str) -> bool:
    """Return whether a stated title and a heading say the same, or one says all of the other."""
    one, other = sorted((_letters(stated), _letters(text)), key=len)
    return len(one) >= _LEAST_LETTERS and one in other


def _below_brand(brand: HeadingRun, first: list[HeadingRun], runs: list[HeadingRun]) -> HeadingRun:
    """Return the heading below a maker's name that is set as no other one, if there is one; else the name."""
    if len(brand.text.split()) > _BRAND_WORDS:
        return brand
    place = first.index(brand) + 1
    for run in first[place : place + _NEAR]:
        worded = not depth(run.text) and len(run.text.split()) in _TITLE_WORDS
        if worded and _is_single(run, runs) and run.look.size * _BRAND_RATIO <= brand.look.size:
            return run
    return brand


def _is_single(run: HeadingRun, runs: list[HeadingRun]) -> bool:
    """Return whether no other heading is set as this one."""
    return sum(one.kept and one.look == run.look for one in runs) == 1


def _is_brand(brand: HeadingRun, title: HeadingRun) -> bool:
    few = len(brand.text.split()) <= _BRAND_WORDS and not depth(brand.text)
    return few and not brand.outlined and brand.look.size > title.look.size


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))
