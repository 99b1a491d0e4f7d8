"""PDF furniture: headers, footers and page numbers, recognised because they repeat at one position on most pages.

A line's text, its position and the way its numbers change make it furniture. Clause numbers at the tops of pages are
alike in form and position, too, but they do not count with the pages.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise

from docmill.tasks.parse.pdf.page_content import PageContent
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import grouped

# Digits, or \b[ivxlc]+\b. This form is twice as fast, because the search skips to one set of first characters.
_NUMBER = re.compile(r"[\divxlc](?:(?<=\d)\d*|(?<=[ivxlc])(?<!\w[ivxlc])[ivxlc]*\b)")
_SHARP = "\u266f"  # replaces a "#" of the text itself, which is not a number
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_CLAUSE = re.compile(r"\W*#(?:[.)]|\.#)+\W*")  # "4.", "2.2", "(3)", "18.13"
_DOTTED = re.compile(r"#(?:\.#)*")
# "12", "- 8 -", "Page 4 of 18", "A-3", "3/7"
_LONE = re.compile(r"\W*(?:\w{1,6}[. -]\s*)?#(?:\s*(?:/|\w{1,4})\s*#)?\W*")
# A number that a space separates from other text. A dot before or after it makes it the number of a clause.
_EDGE = re.compile(r"\W*(\d{1,4})(?=\s|$)|.*?(?:\s|\w-|^)(\d{1,4})$")


# "Page 4 of 18", "Página 12", "3 of 9": page numbers by their wording, even if they do not count with the pages.
_TOLD = re.compile(
    r"\W*(?:(?:page|p[aá]gina|pag\.?|seite|blatt|side|sida|strona|стр\.?|страница)\W{0,2}#(?:\s*(?:/|\w{1,4})\s*#)?"
    r"|#\s+(?:of|von|de|di|sur|van|av|из)\s+#)[^\w.]*"
)


def form(text: str) -> str:
    """Return the text of a line in lower case with "#" for each number, including Roman ones."""
    return _NUMBER.sub("#", text.lower().replace("#", _SHARP))


def numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a line in their order, including Roman ones."""
    return tuple(map(_value, _NUMBER.findall(text.lower())))


def _value(number: str) -> int:
    if number.isdigit():
        return int(number)
    values = [_ROMAN[letter] for letter in number]
    return sum(-one if one < after else one for one, after in pairwise([*values, 0]))


def is_clause(form: str) -> bool:
    """Return whether a form is only the number of a clause: "#.", "#.#" or "(#)"."""
    return _CLAUSE.fullmatch(form) is not None


def _clause_numbers(form: str) -> set[int]:
    """Return the indexes, from 0, of the numbers in a form that are parts of a dotted number, as in "section #.#"."""
    found, at = set(), 0
    for match in _DOTTED.finditer(form):
        more = match[0].count("#")
        found |= set(range(at, at + more)) if more > 1 else set()
        at += more
    return found


def is_lone(form: str) -> bool:
    """Return whether a form is a page number with at most one word before it, such as "page # of #"."""
    return _LONE.fullmatch(form) is not None and not is_clause(form)


def edge_number(text: str) -> int | None:
    """Return the number at the start or end of a line if a space or an annex letter separates it from other text."""
    match = _EDGE.match(text)
    return int(match[1] or match[2]) if match else None


def repeat(form: str, lines: Sequence[tuple[int, tuple[int, ...]]]) -> bool:
    """Return whether lines of one form, each given as a page and its numbers, repeat as furniture does.

    Their numbers must stay the same or count with the pages; without a word next to them, one must count.
    """
    columns = list(zip(*(values for _, values in lines), strict=True))
    counted = _counted_columns([page for page, _ in lines], columns, _clause_numbers(form))
    if any(at not in counted and len(set(column)) > 1 for at, column in enumerate(columns)):
        return False
    return not columns or _has_words(form) or (bool(counted) and not is_clause(form))


def _has_words(form: str) -> bool:
    return any(map(str.isalpha, form))


def _counted_columns(pages: Sequence[int], columns: Sequence[Sequence[int]], clause: set[int]) -> set[int]:
    return {at for at, column in enumerate(columns) if at not in clause and counts(pages, column)}


def counts(pages: Sequence[int], values: Sequence[int]) -> bool:
    """Return whether numbers increase with their pages at most steps; parts of a file may restart at 1."""
    both = zip(pairwise(pages), pairwise(values), strict=True)
    steps = [after - before == up - low for (low, up), (before, after) in both]
    return 2 * sum(steps) > len(steps)


def pages_in_a_row(pages: Sequence[int], step: int, least: int) -> set[int]:
    """Return the pages in sequences of at least `least`, each page at most `step` after the previous one."""
    rows = grouped(sorted(set(pages)), lambda row, page: page - row[-1] <= step)
    return {page for row in rows if len(row) >= least for page in row}


# Of the page's height. A wider margin contains body text; with few pages, it looks like repeated text.
_MARGIN, _NARROW_MARGIN = 0.16, 0.08
_FARTHEST = 0.3  # margin around a short text: its first or last line may be the page number, which has to count
_OFF_CENTRE = 0.03  # of the page's width, by which a centred page number may be off the middle
_LARGE = 1.12  # of the body's font size: text this large in a margin may be a heading
_FEW = 6  # letters: shorter vertical text is a label of a drawing
_UPRIGHT = 2  # times as high as wide: vertical text
_SAME_PLACE = 4.0
"""Points between the heights of lines at one position on their pages. Programs place heads and feet to a fraction of a
point; scans are off by more, and lines of the body may be at any height."""

# Text on most pages is furniture. Lower shares also take text that only a few pages share; higher shares lose headers
# that are missing on the first pages of chapters.
_MOST = 0.5  # of the pages with text
_MOST_OF_PARITY, _LEAST_OF_PARITY = 0.6, 3  # share of the left or the right pages, and minimum number of them
_NEARLY_ALL = 0.8  # of the pages with text: a line on this many is furniture even if the pages are all alike
_SENTENCE, _NEXT = 8, 1.0  # words in the first line of a sentence, and font sizes of the gap to its next line
_LEAST_COUNTED = 3  # pages on which a number counts: on two it may do so by chance
_APART = 1.0  # font sizes between a running head and the text of the page: the name of a table is nearer
_FAR = 2.5  # font sizes between the text of a page and its number: a sum is nearer to its table
_MOST_PAGES = 9_999  # of a book: larger numbers belong to forms and orders
_STEP = 2  # pages from one page number to the next: some books number only left pages, or skip first pages of chapters


@dataclass(slots=True)
class _Marginal:
    """A line in a margin: whether in the top one, its distance from the page's edge in points, and its form."""

    line: TextLine
    top: bool
    distance: float
    form: str

    @property
    def page(self) -> int:
        return self.line.page


@dataclass(slots=True)
class _Sheets:
    """Facts about all pages: the numbers of those with text, the pages by number, and the font size of the body.

    `inner` computes the texts and positions of the lines outside the margins, by page; few documents need it.
    """

    texts: set[int]
    sheets: dict[int, PageContent]
    body: float
    inner: Callable[[], dict[int, set[tuple[str, int]]]]

    @property
    def written(self) -> int:
        return len(self.texts)

    def is_large(self, line: TextLine) -> bool:
        return line.size >= self.body * _LARGE

    def on_most(self, pages: set[int]) -> bool:
        """Return whether pages are most of the pages with text, or most of the left or right ones."""
        if len(pages) > _MOST * self.written:
            return True
        # Books print left and right pages differently, so most pages of one parity are enough.
        parity = max(sum(page % 2 == odd for page in pages) for odd in (0, 1))
        if parity >= _LEAST_OF_PARITY and parity > _MOST_OF_PARITY * self.written / 2:
            return True
        return parity > 1 and parity >= self.written / 2

    def is_apart(self, one: _Marginal) -> bool:
        """Return whether a line, alone or level with one other, is at the edge of the page's text and apart from it."""
        line = one.line
        others = [item.box for item in self.sheets[one.page].items if not item.furniture and item is not line]
        apart = [box for box in others if not box[1] < line.middle < box[3]]
        gaps = (box[1] - line.box[3] if one.top else line.box[1] - box[3] for box in apart)
        return len(others) <= len(apart) + 1 and min(gaps, default=line.size) >= _APART * line.size

    def are_of_text(self, group: list[_Marginal]) -> bool:
        """Return whether repeated lines at the tops of pages belong to the text, as in a letter to many people.

        Most of them are part of a sentence over two lines.
        """
        return group[0].top and 2 * sum(map(self._is_of_sentence, group)) > len(group)

    def _is_of_sentence(self, one: _Marginal) -> bool:
        lines = self.sheets[one.page].lines
        level = [line for line in lines if line.box[0] < one.line.box[2] and one.line.box[0] < line.box[2]]
        level.sort(key=lambda line: line.box[1])
        at = level.index(one.line)
        return any(map(_is_sentence, level[max(at - 1, 0) : at + 1], level[at : at + 2] if at else level[1:2]))

    def are_alike(self, pages: set[int]) -> bool:
        """Return whether pages have mostly the same text between their margins, as forms to sign do."""
        inner = self.inner()
        said = Counter(one for page in pages for one in inner[page])
        return 2 * sum(times for times in said.values() if times > 1) >= said.total()


def mark_furniture(sheets: list[PageContent], body: float) -> None:
    """Mark vertical text, and lines in a margin that repeat or count on most pages.

    Lines repeat if they have the same text at the same position; numbers in them stay the same or count with the
    pages. Text level with a page number, such as a running chapter title, is furniture, too.
    """
    texts = {sheet.number for sheet in sheets if sheet.items}
    written = len(texts)
    margin = _MARGIN if written > 2 else _NARROW_MARGIN
    found = [one for sheet in sheets for one in _in_margins(sheet, margin)]
    if written > 1:
        by_number = {sheet.number: sheet for sheet in sheets}
        pages = _Sheets(texts, by_number, body, cache(partial(_inner, sheets, margin)))
        _mark_repeated(found, pages)
        _mark_counted(found, pages)
        _mark_running(found, pages)
    _mark_told(found, body)
    if written <= 2:
        _mark_lowest(sheets)


def _is_sentence(upper: TextLine, lower: TextLine) -> bool:
    """Return whether a line clearly continues the sentence of the line above."""
    near = lower.box[1] - upper.box[3] < _NEXT * upper.size == _NEXT * lower.size
    return near and len(upper.text.split()) >= _SENTENCE and lower.text[:1].islower()


def _mark_told(found: list[_Marginal], body: float) -> None:
    """Mark page numbers by their wording, text level with them, and, at the foot, text below them.

    Large text at the head may be a title. At the foot size does not count: a page may have less text than its foot.
    """
    told = [one for one in found if _tells_number(one)]
    _mark_beside(told, [one for one in found if not one.top or one.line.size < body * _LARGE])
    _mark_below({one.page: one.distance for one in told if not one.top}, found)


def _mark_below(feet: dict[int, float], found: list[_Marginal]) -> None:
    """Mark text below page numbers; `feet` has the numbers' distances from the edge."""
    for one in found:
        one.line.furniture |= not one.top and one.distance < feet.get(one.page, one.distance)


def _tells_number(one: _Marginal) -> bool:
    """Return whether a line is a page number by its wording; "page 30" in lower case may end a sentence."""
    return _TOLD.fullmatch(one.form) is not None and (not one.line.text[0].islower() or one.form.count("#") > 1)


def _mark_lowest(sheets: list[PageContent]) -> None:
    """Mark the page numbers of documents of one or two pages, too few to see numbers count.

    Two of three signs make a number the page number: it is low on the page, it is centred or equals the number of its
    page, and it is far below the text.
    """
    for sheet in sheets:
        lowest = _lone_number(sheet.lines, sheet.height, top=False)
        if lowest is not None:
            off = abs(lowest.box[0] + lowest.box[2] - sheet.width) / 2
            named = off < _OFF_CENTRE * sheet.width or lowest.text == str(sheet.number)
            low = lowest.box[1] > (1 - _MARGIN) * sheet.height
            lowest.furniture |= low + named + _is_far_below(lowest, sheet) > 1


def _is_far_below(lowest: TextLine, sheet: PageContent) -> bool:
    gaps = (lowest.box[1] - item.box[3] for item in sheet.items if item is not lowest and not item.furniture)
    return min(gaps, default=0.0) > _FAR * lowest.size and max(numbers(lowest.text)) <= _MOST_PAGES


def _lone_number(lines: list[TextLine], height: float, top: bool) -> TextLine | None:
    """Return the first or the last line of a page if it is only a number and no other line is level with it."""
    lines = [line for line in lines if not line.furniture]
    outer = (min if top else max)(lines, key=lambda line: line.box[1], default=None)
    if outer is None or not is_lone(form(outer.text)) or not _is_alone(outer, lines):
        return None
    return outer if (outer.box[3] if top else height - outer.box[1]) < _FARTHEST * height else None


def _is_alone(line: TextLine, lines: list[TextLine]) -> bool:
    _, top, _, bottom = line.box
    return sum(one.box[1] <= bottom and one.box[3] >= top for one in lines) == 1


def _in_margins(sheet: PageContent, margin: float) -> list[_Marginal]:
    """Mark vertical text; return the other lines at the top and the bottom of the page."""
    found = []
    lines = sheet.lines
    numbers = [_lone_number(lines, sheet.height, top) for top in (True, False)]
    for line in lines:
        left, top, right, bottom = line.box
        if bottom - top > _UPRIGHT * (right - left) and len(line.text) >= _FEW:
            line.furniture = True
        elif bottom < sheet.height * margin or line is numbers[0]:
            found.append(_Marginal(line, True, bottom, form(line.text)))
        elif top > sheet.height * (1 - margin) or line is numbers[1]:
            found.append(_Marginal(line, False, sheet.height - bottom, form(line.text)))
    return found


def _inner(sheets: list[PageContent], margin: float) -> dict[int, set[tuple[str, int]]]:
    return {
        sheet.number: {
            (line.text, round(line.box[3] / _SAME_PLACE))
            for line in sheet.lines
            if line.box[3] >= sheet.height * margin and line.box[1] <= sheet.height * (1 - margin)
        }
        for sheet in sheets
    }


def _mark_repeated(found: list[_Marginal], pages: _Sheets) -> None:
    """Mark lines that repeat on most pages with text, and text level with them."""
    kept = [one for group in _repetitions(found, pages) if _repeats(group, pages) for one in group]
    _mark_beside(kept, [*kept, *(one for one in found if not pages.is_large(one.line))])


def _repeats(group: list[_Marginal], pages: _Sheets) -> bool:
    on = {one.page for one in group}
    if not pages.on_most(on) or not _is_said_again(group, pages):
        return False
    if pages.are_of_text(group):
        return False
    return len(on) >= _NEARLY_ALL * pages.written or not pages.are_alike(on)


def _repetitions(found: list[_Marginal], pages: _Sheets) -> Iterator[list[_Marginal]]:
    """Yield the lines of each form at one position, in page order."""
    groups: defaultdict[tuple[bool, str], list[_Marginal]] = defaultdict(list)
    for one in found:
        # Headings in the margin, "Chapter 2", differ by their number and are not furniture.
        text = one.line.text.lower() if pages.is_large(one.line) else one.form
        groups[one.top, text].append(one)
    for group in groups.values():
        if len(group) > 1:  # true of few: most lines occur once
            yield from _at_one_place(group)


def _at_one_place(group: list[_Marginal]) -> Iterator[list[_Marginal]]:
    """Yield the lines at each position, in page order."""
    outward = sorted(group, key=lambda one: one.distance)
    for some in grouped(outward, lambda some, one: one.distance - some[-1].distance <= _SAME_PLACE):
        yield sorted(some, key=lambda one: one.page)


def _is_said_again(group: list[_Marginal], pages: _Sheets) -> bool:
    """Return whether the numbers in lines of one form change as those of furniture."""
    first = group[0]
    return pages.is_large(first.line) or repeat(first.form, [(one.page, numbers(one.line.text)) for one in group])


def _mark_counted(found: list[_Marginal], pages: _Sheets) -> None:
    """Mark lines with a page number, and text level with them; large text is a heading, except a lone number."""
    found = [one for one in found if _may_count(one, pages)]
    counting: defaultdict[tuple[bool, int], list[_Marginal]] = defaultdict(list)
    for one in found:
        number = _page_number(one)
        if number is not None:
            counting[one.top, number - one.page].append(one)
    counted = [one for group in counting.values() for at in _at_one_place(group) for one in _counted(at, pages)]
    _mark_beside(counted, found)


def _may_count(one: _Marginal, pages: _Sheets) -> bool:
    return not pages.is_large(one.line) or (is_lone(one.form) and not one.top)


def _mark_running(found: list[_Marginal], pages: _Sheets) -> None:
    """Mark running heads and feet of a part: lines that repeat on several pages in a row, apart from their text."""
    groups: defaultdict[tuple[bool, str], list[_Marginal]] = defaultdict(list)
    for one in found:
        if _may_run(one, pages):
            groups[one.top, one.line.text].append(one)
    repeated = [group for group in groups.values() if len(group) >= _LEAST_COUNTED]
    _mark_beside([one for group in repeated for at in _at_one_place(group) for one in _in_a_row(at, pages)], found)


def _may_run(one: _Marginal, pages: _Sheets) -> bool:
    return not one.line.furniture and not pages.is_large(one.line) and _has_words(one.form)


def _in_a_row(some: list[_Marginal], pages: _Sheets) -> list[_Marginal]:
    """Return the lines that are apart from the text on pages in a row, unless these pages are all alike."""
    some = [one for one in some if pages.is_apart(one)]
    on = pages_in_a_row([one.page for one in some], _STEP, _LEAST_COUNTED)
    return [one for one in some if one.page in on] if on and not pages.are_alike(on) else []


def _mark_beside(kept: list[_Marginal], found: list[_Marginal]) -> None:
    """Mark furniture and text level with it, such as a chapter title or a date next to a page number."""
    levels = {(one.page, round(one.line.box[3])) for one in kept}
    for one in found:
        one.line.furniture |= any((one.page, round(one.line.box[3]) + near) in levels for near in (-1, 0, 1))


def _page_number(one: _Marginal) -> int | None:
    if "#" not in one.form:  # no number, as in most lines
        return None
    if is_lone(one.form):
        return numbers(one.line.text)[0]
    return None if is_clause(one.form) else edge_number(one.line.text)


def _counted(group: Sequence[_Marginal], pages: _Sheets) -> list[_Marginal]:
    """Return lines whose numbers count: on most pages, or, for lines that are only a number, on some in a row."""
    on = {one.page for one in group}
    if len(on) >= _LEAST_COUNTED and pages.on_most(on):
        return list(group)
    alone = [one for one in group if is_lone(one.form)]
    kept = pages_in_a_row([one.page for one in alone], _STEP, _LEAST_COUNTED)
    return [one for one in alone if one.page in kept]


def body_size(sheets: list[PageContent], code: bool) -> float:
    """Return the font size of most letters of a document; monospaced letters do not count if they are `code`."""
    weights: defaultdict[float, int] = defaultdict(int)
    for sheet in sheets:
        for line in sheet.lines:
            if not (code and line.font.mono):
                weights[line.size] += len(line.text)
    return max(weights, key=lambda size: (weights[size], size), default=0.0)
