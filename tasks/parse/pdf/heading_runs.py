"""PDF heading runs: successive lines of one look that may be a heading, with their text and surroundings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from docmill.tasks.parse.pdf.layout.rows import span_of
from docmill.tasks.parse.pdf.list_marks import BULLET, CAPTION
from docmill.tasks.parse.pdf.text.line import TextLine
from docmill.tasks.parse.titles.inferred_headings import in_capitals

LEADERS = re.compile(r"\.{5}|(?: \.){4}|\u2026{2}|(?: ?\u00b7){5}|_{5}")
"""Leaders of a table of contents, or of a form to fill in."""
_THREE_LETTERS = re.compile(r"[^\W\d_]{3}")
_OPERATORS = frozenset({"max", "min", "lim", "log", "exp", "sup", "inf", "arg", "det"})  # words of formulas
_SHORT_WORD = 3  # letters of "of", "the", "und", which no heading ends with
_NO_ENDS = ".,;:"
_RUN_IN_WORDS = 5  # maximum words of a heading that ends with a full stop, such as "Governing law."
_SENTENCE_WORDS = 8  # minimum words of large text with a stop at its end that is a sentence: a quotation, a lead
_MAX_BOLD = 120  # letters of a heading as large as the text, which has fewer other signs of being one
_LEAST_WORD = 3  # letters of a word: signs and initials are not a heading
_NAMED = r"(?:chapter|section|article|part|appendix|annex|clause|kapitel|abschnitt|artikel|chapitre|titre|teil)\s+"
_NUMBER = re.compile(
    rf"(?:(?P<named>{_NAMED})(?P<which>\d{{1,3}}|[A-Z]|[IVXLC]{{1,6}})(?![\w.]*\w)"
    r"|(?P<decimal>(?:\d{1,2}|[A-Z](?=\.\d))(?:\.\d{1,2}){0,4})(?![\w)])\.?\s+(?=\S)"
    r"|§+\s*(?P<paragraph>\d{1,3}))",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\(?(?:[a-z]|[ivx]{1,4}|\d{1,2})\)\s|[A-Za-z]\.\s+[a-z]")
_QUOTES = "\"'\u2018\u2019\u201c\u201d\u00ab\u00bb(\u00bf\u00a1"
_ADDRESS = re.compile(r"\w@\w|https?://|\bwww\.|\w\.[a-z]{2,3}/\w")
_FORMULA = re.compile(r"[<>={}\\∑∫∈≤≥]")
_MARKED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[A-Z]\.|[IVX]{1,5}\.|§+\s*\d+)\s+\S")
_RELEASE = re.compile(r"\[?v?\d+(?:\.\d+)+\]?\s+\W{0,2}\d{4}-\d\d-\d\d\W?")  # "3.4.1 (2025-01-27)"


def is_release(text: str) -> bool:
    """Return whether a text is a version and its date, which in lists of changes is a heading without a word."""
    return _RELEASE.fullmatch(text.strip()) is not None


def depth(text: str) -> int:
    """Return the number of parts in the number of a heading: 3 for "1.3.1 Wear", 1 for "Section 4", 0 for none."""
    match = None if is_release(text) else _NUMBER.match(text)
    return match["decimal"].count(".") + 1 if match and match["decimal"] else int(match is not None)


def says_no_heading(text: str) -> bool:
    """Return whether a line of any size is a list item, a caption, an address or an entry of a table of contents."""
    begins = BULLET.match(text) or CAPTION.match(text) or _ITEM.match(text)
    return bool(begins or LEADERS.search(text) or _ADDRESS.search(text))


def is_formula(text: str) -> bool:
    """Return whether text is a formula: math signs and at most one word, or an operator and letters.

    Its large brackets and sums look like large text.
    """
    words = _THREE_LETTERS.findall(text)
    return len(words) < 2 and (_FORMULA.search(text) is not None or not _OPERATORS.isdisjoint(words))


def is_unfinished(upper: str, lower: str) -> bool:
    """Return whether a heading continues below: a line ends with a short word, or the next begins in lower case."""
    last = upper.rsplit(maxsplit=1)[-1]
    return lower[:1].islower() or (last.islower() and last.isalpha() and len(last) <= _SHORT_WORD)


def is_sentence(text: str) -> bool:
    """Return whether large text is a sentence or its end, so not a heading: it ends with a stop and is long."""
    if text[-1] not in _NO_ENDS:
        return False
    # Several dots are an ellipsis, which headings may end with.
    is_end = text[0].islower() and text[-2:-1].isalpha() and text[-1] == "."
    return is_end or len(text.split()) >= _SENTENCE_WORDS


def is_capital(text: str) -> bool:
    """Return whether a text has a word and is set in capital letters."""
    return in_capitals(text) and _has_word(text, False)


def reads_as_heading(text: str, mono: bool) -> bool:
    """Return whether a line is short, begins and ends like a heading, and contains a word."""
    text = text.rstrip()
    if is_release(text):
        return True
    if len(text) >= _MAX_BOLD or not _ends_heading(text) or (not mono and _FORMULA.search(text)):
        return False
    return _begins_heading(text, mono) and _has_word(text, mono)


def _ends_heading(text: str) -> bool:
    if text[-1] not in _NO_ENDS:
        return True
    return text[-1] == "." and len(text.split()) <= _RUN_IN_WORDS and text[-2:-1].isalpha()


def _begins_heading(text: str, mono: bool) -> bool:
    first = next((sign for sign in text if sign not in _QUOTES), " ")
    return mono or first.isupper() or _MARKED.match(text) is not None or _is_uncased(first)


def _is_uncased(sign: str) -> bool:
    return sign.isalpha() and sign.lower() == sign.upper()


def _has_word(text: str, mono: bool) -> bool:
    """Return whether a text has a word of letters only; in monospaced text, three letters in a row are enough."""
    if mono:
        return _THREE_LETTERS.search(text) is not None
    words = (word.strip(_QUOTES + ").,:;?!") for word in text.split())
    return any(
        (len(word) >= _LEAST_WORD and word.replace("-", "").isalpha()) or _is_uncased(word[:1]) for word in words
    )


LARGE = 1.12  # of the body's size: minimum of a large line. Less takes slightly larger text, more loses low levels
_STRONG_SIZE = 0.95  # minimum of bold or italic headings: smaller text labels a table or a drawing
_CAPITAL_SIZE = 0.8  # minimum of capital letters, which look larger: small capitals are four fifths
_MONO_SMALLER = 0.2  # monospaced fonts are set smaller than the fonts around them
_SAME_SIZE = 0.03  # of the size: programs round sizes and scale fonts to fit

# Gaps, in font sizes.
_LARGE_GAP = 0.8  # between the lines of one large heading; two headings are further apart
DOUBLE_GAP = 1.5  # the same if the heading clearly continues: its lines may be double-spaced
_APART = 0.45  # lines with larger gaps are separate; within paragraphs it is about 0.2
_WIDE = 2.5  # within a line: two pieces further apart are a row of a table, or labels of a drawing
_FULL = 0.4  # of the width of the text around: a line that continues below ends no further from the right edge
_ALIGNED = 2.0  # font sizes by which a heading may be indented against the text around it
_INDENT = 0.5  # minimum font sizes by which the text of an item begins right of its mark
_AROUND = 6  # lines above and below that show how wide the text is


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a run: its font size in points, and whether it is bold, italic and in capital letters."""

    size: float
    bold: bool
    italic: bool
    capital: bool

    @property
    def rank(self) -> int:
        """Return the rank of a look among looks of its size: 0 is the strongest."""
        if self.bold:
            return 0 if self.capital else 2 if self.italic else 1
        return 2 if self.capital else 4 if self.italic else 3


@dataclass(slots=True)
class HeadingRun:
    """Lines of one look that stand out; `before` and `after` are the lines around them on the page.

    `above` and `below` are nearby lines of their column, which show its left and right edges; `sides` are the edges of
    all lines of the page. `kept` says whether the run counts as a heading, `outlined` whether the outline names it, at
    `level`.
    """

    lines: list[TextLine]
    look: Look
    before: TextLine | None
    after: TextLine | None
    above: list[TextLine]
    below: list[TextLine]
    sides: tuple[float, float]
    kept: bool = False
    outlined: bool = False
    level: int = 0

    @property
    def text(self) -> str:
        """Return its lines as one text."""
        return " ".join(line.text for line in self.lines)

    @property
    def page(self) -> int:
        """Return the number of its page."""
        return self.lines[0].page

    def gap_above(self) -> float:
        """Return the gap to the line above in font sizes; infinite at the top of a column."""
        return _gap(self.before, self.lines[0])

    def gap_below(self) -> float:
        """Return the gap to the line below in font sizes; infinite at the end of a column."""
        return _gap(self.lines[-1], self.after)

    def goes_on_item(self) -> bool:
        """Return whether it continues the text of a list item above, whose mark may be in another font."""
        first, before = self.lines[0], self.before
        if before is None or not BULLET.match(before.text) or abs(before.size - first.size) > _SAME_SIZE * first.size:
            return False
        return before.left + _INDENT * first.size < first.left < before.right and self.gap_above() < _LARGE_GAP

    def is_spread(self) -> bool:
        """Return whether an unnumbered line has a wide gap inside."""
        return any(line.gap > _WIDE and not depth(line.text) for line in self.lines)

    def is_placed(self) -> bool:
        """Return whether it begins about where the text around it begins, or is centred on that text or the page."""
        return self._fits(self.below) or self._fits(self.above) or self._is_centred(*self.sides)

    def _fits(self, around: list[TextLine]) -> bool:
        if not around:
            return not self.below
        left, right = span_of(around)
        first, _ = span_of(self.lines)
        return first - left <= _ALIGNED * self.look.size or self._is_centred(left, right)

    def _is_centred(self, left: float, right: float) -> bool:
        first, last = span_of(self.lines)
        return abs((first + last) - (left + right)) < 2 * _ALIGNED * self.look.size

    def is_wrapped(self) -> bool:
        """Return whether all lines but the last reach about as far as the text around, or all are centred."""
        left, right = span_of([*self.above, *self.below, *self.lines])
        full = all(line.box[2] > right - _FULL * (right - left) for line in self.lines[:-1])
        middles = [line.box[0] + line.box[2] for line in self.lines]
        return full or max(middles) - min(middles) < self.look.size


def _gap(upper: TextLine | None, lower: TextLine | None) -> float:
    if upper is None or lower is None or lower.page != upper.page or lower.box[1] < upper.box[1]:
        return float("inf")
    return (lower.box[1] - upper.box[3]) / min(upper.size, lower.size)


@dataclass(frozen=True, slots=True)
class BodyText:
    """The font size of the body, and whether bold and italic letters are rare enough to stand out."""

    size: float
    bold: bool = True
    italic: bool = True

    def stands_out(self, line: TextLine) -> bool:
        """Return whether a line is larger, bold, italic or in capital letters, or is named by the outline."""
        if line.contents:
            return False
        if line.level or line.size >= LARGE * self.size:
            return True
        font = line.font
        if (font.bold or font.italic) and line.size >= (_STRONG_SIZE - _MONO_SMALLER * font.mono) * self.size:
            return True
        return line.size >= _CAPITAL_SIZE * self.size and is_capital(line.text)

    def is_large(self, look: Look) -> bool:
        """Return whether a look is larger than the body."""
        return look.size >= LARGE * self.size

    def is_apart(self, gap: float) -> bool:
        """Return whether a gap is larger than within paragraphs."""
        return gap > _APART


def runs_of(page: list[TextLine], body: BodyText) -> Iterator[HeadingRun]:
    """Yield the runs of a page's lines that stand out."""
    start, count = 0, len(page)
    sides: tuple[float, float] | None = None
    while start < count:
        if not body.stands_out(page[start]):
            start += 1
            continue
        end = start + 1
        while end < count and _goes_on(page[end - 1], page[end], body):
            end += 1
        sides = sides or span_of(page)
        yield _run(page, start, end, sides)
        start = end


def _run(page: list[TextLine], start: int, end: int, sides: tuple[float, float]) -> HeadingRun:
    lines = page[start:end]
    first, last = span_of(lines)
    near = page[max(start - _AROUND, 0) : start], page[end : end + _AROUND]
    above, below = ([line for line in some if line.box[0] < last and first < line.box[2]] for some in near)
    before, after = page[start - 1] if start else None, page[end] if end < len(page) else None
    run = HeadingRun(lines, _look(lines), before, after, above, below, sides)
    run.level = lines[0].level
    run.outlined = run.kept = run.level > 0
    return run


def _look(lines: list[TextLine]) -> Look:
    font = lines[0].font
    capital = all(in_capitals(line.text) for line in lines)
    return Look(max(line.size for line in lines), font.bold, font.italic, capital)


def _goes_on(upper: TextLine, lower: TextLine, body: BodyText) -> bool:
    """Return whether a line continues the heading above it."""
    large = lower.size >= LARGE * body.size
    if lower.box[1] <= upper.box[1] or not body.stands_out(lower) or not _are_alike(upper, lower, large):
        return False
    gap = (lower.box[1] - upper.box[3]) / lower.size
    if lower.level or large:
        return gap < (DOUBLE_GAP if is_unfinished(upper.text, lower.text) else _LARGE_GAP)
    return not body.is_apart(gap)


def _are_alike(upper: TextLine, lower: TextLine, large: bool) -> bool:
    """Return whether two lines look alike. A `large` heading may contain italics, such as the name of a work.

    Lines of one outline entry may be in two fonts.
    """
    if upper.level != lower.level or abs(upper.size - lower.size) > _SAME_SIZE * upper.size:
        return False
    if upper.level or (large and upper.font.bold == lower.font.bold):
        return True
    return upper.font == lower.font and (upper.font.bold or is_capital(upper.text) == is_capital(lower.text))
