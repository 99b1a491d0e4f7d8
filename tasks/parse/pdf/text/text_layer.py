"""PDF text layer: text in lines, in the order of the content stream, with font, size and box.

A line with a wide gap is split into pieces: columns of a table or of a page that share a baseline.
"""

import ctypes
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cache, cached_property, partial, reduce
from itertools import chain, islice, pairwise, repeat, starmap
from math import hypot
from operator import methodcaller

from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.characters import (
    HYPHEN,
    RAISED,
    RIGHT_TO_LEFT_WORD,
    SOFT,
    Setting,
    clean,
    clean_marked,
    lost_ligatures,
    may_lack_ligatures,
    scripts_in,
    sides_of_pieces,
    texts_of,
    with_marks,
)
from docmill.tasks.parse.pdf.text.gaps import (
    GAP,
    Gap,
    Words,
    gapped,
    groups_of_words,
    holds_two,
    runs_of_letters,
    size_of_each,
    tall_lines,
)
from docmill.tasks.parse.pdf.text.line import (
    LEAST_SIZE,
    NOWHERE,
    PLAIN,
    Font,
    TextLine,
    after_initial,
    cuts_within_words,
    fits,
    from_the_left,
    is_flat,
    is_usual,
    line_box,
    line_size,
    read_font,
)
from docmill.tasks.parse.pdf.text.pdfium_calls import (
    Place,
    Span,
    around_all,
    around_pairs,
    boxes_from,
    calls,
    is_upright,
    numbers_from,
    page_text,
    placed,
    reference,
    tenths,
)
from docmill.tasks.parse.pdf.text.right_to_left import (
    RIGHT_TO_LEFT,
    in_reading_order,
    is_right_to_left,
    marked,
    may_be_right_to_left,
    set_apart,
    without_cuts,
    without_strokes,
    word_in_reading_order,
)

DRAWN_BULLET = "\u2022 "
"""What a line gets for a dot before it, which is not in the text of the page."""

_WORDS = re.compile(r"[^\s\x02\ufffe]+")
_SIGN_FIRST = re.compile(r"\x02(?<![^\n]\x02)(?= )")  # from a font without letters; elsewhere it marks a cut word
_SPAN = methodcaller("span")
_LAST_LETTERS = re.compile("(?<!f)(?:[ilt]|f(?![filt]))|(?<!T)h")  # of ligatures; others are read letter by letter
_MATRIX = 6  # numbers of a matrix of pdfium: (a, b, c, d, e, f)
_SLOPE = 0.05  # the greatest slope of a level line: scans are askew by less
_STEPS = 20
"""Steps a point to which heights are rounded: more would need more calls for sizes, fewer would merge sizes."""
_LEAST_GAPS = 3  # of a line: with fewer, a space that is not drawn may be the only one
_SPACES, _DRAWN = 50, 0.8  # spaces of a page to examine, and the share that it draws; some programs draw none
_RISE = 0.5  # points by which a superscript is raised; baselines of one line differ by less
_SMALLER = 0.9  # of its neighbour's size: superscripts have about two thirds of it, ordinary digits all


class TextLayer:
    """The text of one page that is open in pdfium; fonts and their scale on the page are cached."""

    def __init__(self, text_page: int, place: Place, number: int) -> None:
        self._calls = calls()
        self._reference = reference(text_page)
        self._place = place
        self._number = number
        self._font = cache(read_font)
        self._is_flat = cache(is_flat)
        self._scaled: dict[tuple[int | None, float, int], float] = {}
        self._settings: dict[int | None, Setting] = {}
        self._words_of: dict[Span, Words] = {}
        self._gaps: dict[Span, list[Gap]] = {}
        self._undrawn: dict[tuple[int, int, bool], set[Gap]] = {}
        self._origin = (ctypes.c_double * 2)()  # where pdfium writes a position
        self._origin_at = ctypes.byref(self._origin), ctypes.byref(self._origin, ctypes.sizeof(ctypes.c_double))
        self._matrix = (ctypes.c_float * _MATRIX)()  # where pdfium writes the matrix of a character
        self._matrix_at = ctypes.byref(self._matrix)
        self.text = self._with_ligatures(_SIGN_FIRST.sub("\x01", without_cuts(page_text(text_page))))
        self._cuts = cuts_within_words(self.text)
        self._is_leftward = may_be_right_to_left(self.text)  # few pages, so only their lines are tested
        self._pieces = sides_of_pieces(self.text, self._reference)
        self._scripts = scripts_in(self._pieces, self.text, self._reference, place, cache(self._setting))
        self._firsts = [script.first for script in self._scripts]

    def _with_ligatures(self, text: str) -> str:
        """Return a page's text with the ligatures that its fonts name by their last letter."""
        if not may_lack_ligatures(text):
            return text
        places = [found.start() for found in _LAST_LETTERS.finditer(text)]
        widths = [(box[2] - box[0]) / ((box[3] - box[1]) or 1.0) for box in self._boxes_of_each(places)]
        letters = zip(places, map(text.__getitem__, places), self._pointers(places), widths, strict=True)
        signs = [*text]
        for index, sign in lost_ligatures(letters).items():
            if self._is_level(index):
                signs[index] = sign
        return "".join(signs)

    def _setting(self, index: int) -> Setting:
        """Return the size and baseline of a character; all characters of its text object share them."""
        drawn = self._calls["FPDFText_GetTextObject"](self._reference, index).value
        known = self._settings.get(drawn)
        if known is None:
            self._calls["FPDFText_GetMatrix"](self._reference, index, self._matrix_at)
            size = hypot(*self._matrix[2:4]) * self._calls["FPDFText_GetFontSize"](self._reference, index)
            known = self._settings[drawn] = (size, self._baseline(index))
        return known

    def lines(self) -> list[TextLine]:
        """Return the page's lines in content order; lines with wide gaps are split into pieces."""
        return self._in_pieces(self._made(*texts_of(self.text)))

    def _made(self, texts: list[str], spans: list[Span]) -> list[TextLine]:
        """Return a line for each non-blank text; each span holds the characters of one."""
        middles = self._middles(spans)
        pointers = [*self._pointers(middles)]
        boxes = self._boxes(spans)
        if self._is_leftward:
            boxes = [self._box_of(one) if self._may_turn(one) else box for one, box in zip(spans, boxes, strict=True)]
        sizes = self._of_ends(
            self._sizes_of(middles, pointers, boxes), spans, [*zip(pointers, map(_height, boxes), strict=True)]
        )
        if any(map(self._is_flat, {*pointers})):
            boxes = [*map(self._whole_box, boxes, sizes, middles, pointers)]
        lines = []
        said = self._cleaned(texts, spans)
        for text, plain, span, box, size, pointer, middle in zip(
            texts, said, spans, boxes, sizes, pointers, middles, strict=True
        ):
            if not plain or plain == HYPHEN:
                continue
            font = self._font(pointer)
            if font is not PLAIN:
                font, size = self._styled(font, size, span)
            first, last = span
            if is_usual(text, size, box):
                size = max(tenths(size), LEAST_SIZE)
            else:
                box = self._beside_initial(text, size, box, span)
                size = line_size(text, size, self._letter(box, size, middle), first, self._real_sizes)
            lines.append(TextLine(plain, size, font, box, self._number, first, last, cut=last in self._cuts))
        return lines

    def _letter(self, box: Box, size: float, middle: int) -> Box:
        """Return a box as high as the letters of a line; for a sloping line, the box of its middle letter."""
        left, top, right, bottom = box
        if fits(size, bottom - top) or bottom - top > right - left or self._is_level(middle):
            return box
        return self._boxes([(middle, middle)])[0]

    def _beside_initial(self, text: str, size: float, box: Box, span: Span) -> Box:
        """Return the box of a line that may begin with an initial: as high as the text next to it, as wide as both."""
        initial = after_initial(text, size, box, span[0], self._real_sizes)
        if not initial:
            return box
        (beside,) = self._boxes([(span[0] + initial, span[1])])
        return (box[0], *beside[1:])

    def _whole_box(self, box: Box, size: float, middle: int, pointer: int | None) -> Box:
        """Return the box of a line; in a font that states no depth, as high as in fonts that state it."""
        if not self._is_flat(pointer) or not is_upright(self._place):
            return box
        return line_box(box, size, self._baseline(middle) + self._place[5])

    def _middles(self, spans: list[Span]) -> list[int]:
        """Return the middle character of each span, or the one after a space: pdfium adds spaces without a font."""
        middles = [(first + last) // 2 for first, last in spans]
        return [middle + (self.text[middle] == " ") for middle in middles]

    def _cleaned(self, texts: list[str], spans: list[Span]) -> Iterator[str]:
        """Return the texts of spans as people write them, with marks around scripts."""
        if self._firsts or self._is_leftward:
            return (self._clean(text, first) for text, (first, _) in zip(texts, spans, strict=True))
        return map(clean, texts)  # most pages

    def _clean(self, text: str, first: int) -> str:
        if self._is_leftward and may_be_right_to_left(text):
            text = self._logical(text, first)
            return clean_marked(text) if RAISED in text else clean(text)
        return self._said(text, first)

    def _said(self, text: str, first: int) -> str:
        """Return a part of the page's text as people write it, with marks around its scripts."""
        if not self._firsts:  # most pages
            return clean(text)
        at = bisect_left(self._firsts, first)
        end = bisect_left(self._firsts, first + len(text), at)
        if at < end:
            return clean_marked(with_marks(text, self._scripts[at:end], first))
        return clean(text)

    def _logical(self, text: str, first: int) -> str:
        """Return right-to-left text in reading order; pdfium returns some words in visual order."""
        written = text.rstrip(SOFT)
        boxes = self._boxes_of_each(range(first, first + len(written)))
        letters = [*zip(written, boxes, strict=True)]
        if is_right_to_left(written):
            plain = without_strokes(written, first, self._reference, self._place)
            letters = [*zip(set_apart(plain, self._raised_in(plain, first)), boxes, strict=True)]
            return marked(in_reading_order(letters)) + text[len(written) :]
        for run in RIGHT_TO_LEFT_WORD.finditer(written):
            word = word_in_reading_order(letters[slice(*run.span())])
            text = text[: run.start()] + word + text[run.end() :]
        return text

    def _styled(self, font: Font, size: float, span: Span) -> tuple[Font, float]:
        """Return the font that a line's middle and ends share (and its quarters if the font is for code), and its size.

        If one of them is not code, the code is a name within text and often smaller, so the text's size is used.
        """
        places = [*span]
        if font.mono:  # its quarters, without signs that the font may lack
            half = sum(span) // 2
            places += [at for at in self._middles([(span[0], half), (half, span[1])]) if self.text[at].isascii()]
        fonts = [*map(self._font, self._pointers(places))]
        plain = [at for at, one in zip(places, fonts, strict=True) if font.mono and not one.mono]
        return reduce(Font.both, fonts, font), self._real_sizes(plain[:1])[0] if plain else size

    def _sizes_of(self, indexes: list[int], pointers: list[int | None], boxes: list[Box]) -> list[float]:
        """Return the font sizes of characters in points, cached by font, nominal size and height."""
        nominal = map(self._calls["FPDFText_GetFontSize"], repeat(self._reference), indexes)
        keys = [(pointer, size, _height(box)) for pointer, size, box in zip(pointers, nominal, boxes, strict=True)]
        known = self._scaled
        new = {key: index for key, index in zip(keys, indexes, strict=True) if key not in known}
        known.update(zip(new, self._real_sizes([*new.values()]), strict=True))
        return [known[key] for key in keys]

    def _of_ends(self, sizes: list[float], spans: list[Span], looks: list[tuple[int | None, int]]) -> list[float]:
        """Return the sizes of lines; the middle of one may be a small capital, or a name in smaller letters.

        `looks` are the fonts and heights of the lines. Lines of one look have one size. If one seems to have another,
        its size is that of its ends if these are alike.
        """
        several = Counter(look for look, _ in {*zip(looks, sizes, strict=True)})
        for at, look in enumerate(looks):
            if several[look] > 1:
                first, last = self._real_sizes([*spans[at]])
                sizes[at] = first if first == last else sizes[at]
        return sizes

    def _real_sizes(self, indexes: list[int]) -> list[float]:
        """Return the font sizes of characters in points, as scaled on the page."""
        nominal = map(self._calls["FPDFText_GetFontSize"], repeat(self._reference), indexes)
        matrices = numbers_from("FPDFText_GetMatrix", indexes, self._reference)
        return [
            size * (hypot(c, d) if c else abs(d))
            for size, c, d in zip(nominal, matrices[2::_MATRIX], matrices[3::_MATRIX], strict=True)
        ]

    def font_at(self, index: int) -> Font:
        """Return the font of a character."""
        return self._font(next(self._pointers([index])))

    def _pointers(self, indexes: Iterable[int]) -> Iterator[int | None]:
        """Return the addresses of the fonts of characters."""
        objects = map(self._calls["FPDFText_GetTextObject"], repeat(self._reference), indexes)
        return map(self._calls["FPDFTextObj_GetFont"], objects)

    def _boxes(self, spans: list[Span]) -> list[Box]:
        """Return the boxes around the first and the last character of each span."""
        sides = numbers_from("FPDFText_GetLooseCharBox", [*chain.from_iterable(spans)], self._reference)
        return around_pairs(sides, self._place)

    def _boxes_of_each(self, indexes: Sequence[int]) -> list[Box]:
        """Return the boxes of characters."""
        return placed(boxes_from("FPDFText_GetLooseCharBox", indexes, self._reference), self._place)

    def _in_pieces(self, lines: list[TextLine]) -> list[TextLine]:
        """Return lines, split at gaps wider than a letter."""
        tall = tall_lines(lines)
        wide = gapped(lines, tall, self._pieces, self._place)
        if not wide:
            return lines
        some = [lines[index] for index in wide]
        groups = []
        for index, line, words in zip(wide, some, self._words(some), strict=True):
            two = index in tall and holds_two(line, words) and self._is_level(line.first)
            letters = [*self._apart(line, words)] if two else words
            size = size_of_each(line, words) if two else line.size
            groups.append(groups_of_words(letters, GAP * size, is_right_to_left(line.text)))
        cut = self._cut(some, groups)
        parts = {index: from_the_left(each) for index, each in zip(wide, cut, strict=True)}
        return [*chain.from_iterable(parts.get(index, (line,)) for index, line in enumerate(lines))]

    def _is_level(self, index: int) -> bool:
        """Return whether a character is upright, not on a slope or along the side of the page."""
        along, up, *_ = numbers_from("FPDFText_GetMatrix", [index], self._reference)
        return abs(self._place[1] * along + self._place[3] * up) < _SLOPE * hypot(along, up)

    def _cut(self, lines: list[TextLine], groups: list[list[Span]]) -> list[list[TextLine]]:
        """Return each line as pieces, one for each group of words; a line with one group is unchanged."""
        several = [(line, spans) for line, spans in zip(lines, groups, strict=True) if len(spans) > 1]
        texts = [*chain.from_iterable(starmap(self._texts, several))]
        made = iter(self._made(texts, [*chain.from_iterable(spans for _, spans in several)]))
        return [
            [*islice(made, len(spans))] if len(spans) > 1 else [line] for line, spans in zip(lines, groups, strict=True)
        ]

    def _texts(self, line: TextLine, groups: list[Span]) -> list[str]:
        """Return the texts of a line's groups of words; the last keeps the hyphen that ends the line."""
        texts = [self.text[first : last + 1] for first, last in groups]
        texts[-1] += HYPHEN if line.text.endswith(HYPHEN) else ""
        return texts

    def _words(self, lines: list[TextLine]) -> list[Words]:
        """Return the words of lines, each with its box; the boxes are read from pdfium once."""
        places = [(line.first, line.last) for line in lines]
        new = {*places}.difference(self._words_of)
        if new:
            self._words_of.update(zip(new, self._words_in(new), strict=True))
        return [*map(self._words_of.__getitem__, places)]

    def _words_in(self, places: Iterable[Span]) -> Iterator[Words]:
        found = [[(at, end - 1) for at, end in map(_SPAN, _WORDS.finditer(self.text, a, b + 1))] for a, b in places]
        boxes = iter(self._boxes([*chain.from_iterable(found)]))
        for place, spans in zip(places, found, strict=True):
            own = [*islice(boxes, len(spans))]
            yield [*zip(spans, map(self._box_of, spans) if self._may_turn(place) else own, strict=True)]

    def _may_turn(self, span: Span) -> bool:
        """Return whether a span may hold right-to-left text."""
        return self._is_leftward and may_be_right_to_left(self.text[span[0] : span[1] + 1])

    def _box_of(self, word: Span) -> Box:
        """Return the box around all letters of a word; the first and the last need not be at its ends."""
        return around_all(self._boxes_of_each(range(word[0], word[1] + 1)))

    def parted(self, line: TextLine, places: Sequence[float]) -> list[TextLine]:
        """Return a line in pieces from the left, cut between words at each of the given x positions."""
        groups: dict[int, Span] = {}
        for side, (first, last) in self._sides(line, partial(bisect_right, places)):
            groups[side] = (groups.get(side, (first, last))[0], last)
        if len(groups) < 2:
            return [line]
        spans = [*groups.values()]
        made = self._made(self._texts(line, spans), spans)
        for piece in made[:-1]:
            piece.ruled = True
        if line.text.startswith(DRAWN_BULLET) and made[0].text[0] != DRAWN_BULLET[0]:
            made[0].text = DRAWN_BULLET + made[0].text
            made[0].box = (line.left, *made[0].box[1:])
        return made

    def ask_for_words(self, lines: Iterable[TextLine]) -> None:
        """Read the words of lines in one batch, which is faster than line by line in `gaps`."""
        self._words([line for line in lines if line.first != NOWHERE and " " in line.text])

    def gaps(self, line: TextLine) -> list[Gap]:
        """Return the gaps between a line's words; words read from the right have none."""
        place = (line.first, line.last)
        if place not in self._gaps:  # most lines are asked for two or three times
            words = self._words([line])[0] if line.first != NOWHERE else ()
            pairs = [(before[2], after[0]) for (_, before), (_, after) in pairwise(words)]
            self._gaps[place] = [gap for gap in pairs if gap[0] < gap[1]]
        return self._gaps[place]

    def undrawn_gaps(self, line: TextLine) -> set[Gap]:
        """Return the gaps of a line where pdfium adds a space, on a page that draws most of its spaces.

        Cells close to each other have such a gap, because each is drawn alone. So does the text after the sign of an
        item, whose gap is left out.
        """
        if not self.gaps(line) or not self._draws_most_spaces:
            return set()
        is_item = line.text[1:2] == " " and not line.text[0].isalnum()
        place = (line.first, line.last, is_item)
        if place not in self._undrawn:  # rows are asked for once for their neighbours, and once for their own cuts
            self._undrawn[place] = self._find_undrawn(line, is_item)
        return self._undrawn[place]

    def _find_undrawn(self, line: TextLine, is_item: bool) -> set[Gap]:
        gaps, words = self.gaps(line), self._words([line])[0]
        pairs = [((before[2], after[0]), last + 1) for ((_, last), before), (_, after) in pairwise(words)]
        found = {gap for gap, place in pairs[is_item:] if gap[0] < gap[1] and self._is_added(place)}
        # The spaces of some fonts are not drawn.
        return set() if len(gaps) > _LEAST_GAPS and 2 * len(found) > len(gaps) else found

    def _is_added(self, place: int) -> bool:
        return bool(self._calls["FPDFText_IsGenerated"](self._reference, place))

    @cached_property
    def _draws_most_spaces(self) -> bool:
        places = [space.start() for space in re.finditer(" ", self.text)]
        some = places[:: len(places) // _SPACES + 1]
        return sum(map(self._is_added, some)) <= (1 - _DRAWN) * len(some)

    def placed_in(self, line: TextLine, cell: Callable[[float], int]) -> list[tuple[int, str]]:
        """Return the cells that a line spans, from the left, each with its part of the text.

        `cell` returns the cell at an x position. A line outside the page's content is in one cell.
        """
        if line.first == NOWHERE:
            return [(cell((line.box[0] + line.box[2]) / 2), line.text)]
        runs: list[tuple[int, Span]] = []
        for now, (first, last) in self._sides(line, cell):
            if runs and runs[-1][0] == now:
                first = runs.pop()[1][0]
            runs.append((now, (first, last)))
        return [(now, self._said(self.text[first : last + 1], first)) for now, (first, last) in runs]

    def _sides(self, line: TextLine, side: Callable[[float], int]) -> Iterator[tuple[int, Span]]:
        """Yield each word of a line with the side of its middle; words that span several sides are split."""
        words = self._words([line])[0]
        whole = {span for span, box in words if side(box[0]) == side(box[2])}
        return ((side((box[0] + box[2]) / 2), span) for span, box in self._apart(line, words, whole))

    def _apart(self, line: TextLine, words: Words, whole: Container[Span] = ()) -> Iterator[tuple[Span, Box]]:
        """Yield the words of a line with their boxes; words not in `whole` are split where letters are far apart."""
        for span, box in words:
            if span[0] == span[1] or span in whole:
                yield span, box
            else:
                yield from runs_of_letters(span, self._boxes_of_each(range(span[0], span[1] + 1)), line.size)

    def runs_up(self, line: TextLine) -> bool:
        """Return whether a line runs upwards: its end is above its beginning."""
        ends = boxes_from("FPDFText_GetLooseCharBox", [line.first, line.last], self._reference)
        first, last = placed(ends, self._place)
        return last[1] < first[1]

    def _raised_in(self, written: str, first: int) -> set[int]:
        """Return the indexes of raised digits in a right-to-left text."""
        body = first + next(at for at, sign in enumerate(written) if RIGHT_TO_LEFT.match(sign))
        figures = [at for at, sign in enumerate(written) if sign.isdigit()]
        return {at for at in figures if self._is_raised(first + at, body)}

    def _is_raised(self, index: int, other: int) -> bool:
        """Return whether a character is smaller than its neighbour and raised."""
        (size, baseline), (beside, level) = self._setting(index), self._setting(other)
        return baseline < level - _RISE and size < _SMALLER * beside

    def _baseline(self, index: int) -> float:
        self._calls["FPDFText_GetCharOrigin"](self._reference, index, *self._origin_at)
        x, y = self._origin
        return self._place[1] * x + self._place[3] * y


def _height(box: Box) -> int:
    """Return the height of a box in steps."""
    return int(_STEPS * (box[3] - box[1]))
