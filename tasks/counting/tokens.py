"""Tokens: the tokens of a document, computed once, so that the length of a span is a look-up.

If the tokenizer separates words, the units are words, and only very long ones are tokenized in place; otherwise the
units are the tokens of the whole text.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from docmill.storage.search.encode.token_counts import load_tokenizer
from docmill.tasks.counting.character_kinds import FALSE_SPACE, RUN, SPACE, SPACES, STOP, WIDE, Kinds, kinds_and_runs
from docmill.tasks.counting.counter import counter_of

__all__ = ["Tokens", "load_tokenizer"]

_LONG_WORD = 64
"""Characters above which a word is tokenized in place so that it can be cut; a shorter one fits a chunk."""
_SLICE = 1 << 18
"""Characters to tokenize at once: tokens take many times the memory of the text. Fewer need more calls."""
_FEW = 16
"""Positions below which searching for each is faster than passing the array to numpy."""
CHARACTER_WIDTH = 4
"""The width of a character; each blank after another one, and each character of markup, has a width of 1.

So the padding of a table counts a quarter; if it counted nothing, a text of blanks could be endless.
"""
_SAFE_CUT = re.compile(r"[ \n,;:.!?/\u4e00-\u9fff\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]")
_WIDE_SPACE = np.array(sorted(ord(c) for c in SPACES if ord(c) > 0x7F), np.uint32)

Positions = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Long = tuple[int, int, int]


class Tokens:
    """The tokens of one document; positions and spans are in code points of its text.

    `read` is the text whose tokens are counted, if it is not the document's own. It has the same length, with blanks
    for the omitted text (see `docmill.tasks.split.spans.reading_map`).
    """

    def __init__(self, text: str, tokenizer: Tokenizer, read: str = "") -> None:
        self.text = text
        self.read = read or text
        self.counter = counter_of(tokenizer)
        self._opaque: list[tuple[int, int]] = []  # words cut into tokens that change when the word is cut
        self._sliced: list[int] = []  # where the text was cut before tokenizing, although that may change tokens
        slices = list(self._slices())
        found = [self._by_word(*span) if self.counter.local else self._by_token(*span) for span in slices]
        starts, counts = (np.concatenate([np.zeros(0, np.int64), *part]) for part in zip(*found, strict=True))
        self._starts = array("q", starts.tobytes())
        self._inked = array("q", _inked(self.read, slices, starts).tobytes())  # before each unit, and in total
        self._before = array("q", np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).tobytes())

    def at(self, positions: Sequence[int]) -> list[int]:
        """Return how many tokens begin before each position; those of a word all begin at the word's start."""
        if len(positions) < _FEW:
            return [self._before[bisect_left(self._starts, position)] for position in positions]
        starts, before = np.frombuffer(self._starts, np.int64), np.frombuffer(self._before, np.int64)
        found: list[int] = before[np.searchsorted(starts, positions)].tolist()
        return found

    def widths(self, positions: Sequence[int]) -> list[int]:
        """Return the width of the text before each position; a character's width is `CHARACTER_WIDTH`."""
        starts, inked = np.frombuffer(self._starts, np.int64), np.frombuffer(self._inked, np.int64)
        places = np.asarray(positions, np.int64)
        unit = np.searchsorted(starts, places, "right") - 1
        within = np.minimum(places - starts[unit], inked[unit + 1] - inked[unit]) if len(starts) else 0
        # Text before the first unit, such as a control character, begins no unit.
        ink = np.where(unit < 0, np.minimum(places, inked[0]), inked[unit] + within)
        found: list[int] = (places + (CHARACTER_WIDTH - 1) * ink).tolist()
        return found

    def within(self, start: int, end: int, width: int) -> int:
        """Return the last position up to `end` such that a span from `start` has at most this width."""
        most = self.widths((start,))[0] + width
        if CHARACTER_WIDTH * (end - start) <= width:
            return end
        return bisect_right(range(end + 1), most, start, key=lambda position: self.widths((position,))[0]) - 1

    def count(self, start: int, end: int) -> int:
        """Return the number of tokens that begin in a span; this is exact unless the span cuts words."""
        first = bisect_left(self._starts, start)
        return self._before[bisect_left(self._starts, end, first)] - self._before[first]

    def reach(self, start: int, tokens: int) -> int:
        """Return the last position such that a span from `start` has at most `tokens` tokens."""
        first = bisect_left(self._starts, start)
        stop = bisect_right(self._before, self._before[first] + tokens, first) - 1
        return self._before_marks(self._starts[stop], start) if stop < len(self._starts) else len(self.text)

    def retreat(self, end: int, tokens: int) -> int:
        """Return the first position such that a span up to `end` has at most `tokens` tokens."""
        stop = bisect_left(self._starts, end)
        first = bisect_left(self._before, self._before[stop] - tokens, 0, stop + 1)
        return self._before_marks(self._starts[first], 0) if first < stop else end

    def exact(self, spans: Sequence[tuple[int, int]]) -> list[int]:
        """Return the number of tokens read in each span, tokenized by itself."""
        counts = [self.count(*span) if self._adds_up(*span) else -1 for span in spans]
        unsure = [self.read[slice(*span)] for span, count in zip(spans, counts, strict=True) if count < 0]
        found = iter(self.counter.counts(unsure) if unsure else ())
        return [next(found) if count < 0 else count for count in counts]

    def _before_marks(self, position: int, least: int) -> int:
        """Return the start of the markup directly before a word, such as the bracket of a link."""
        while position > least and self.read[position - 1] == " " and self.text[position - 1] not in SPACES:
            position -= 1
        return position

    def _adds_up(self, start: int, end: int) -> bool:
        if not self.counter.local or bisect_right(self._sliced, start) < bisect_right(self._sliced, end):
            return False
        return self._parts(start) and self._parts(end)

    def _parts(self, position: int) -> bool:
        """Return whether cutting the text here leaves the tokens on both sides unchanged."""
        text = self.read
        if not 0 < position < len(text) or text[position - 1] in SPACES or text[position] in SPACES:
            return True
        unit = bisect_left(self._starts, position)
        if unit == len(self._starts) or self._starts[unit] != position:
            return False
        around = bisect_right(self._opaque, (position, 0)) - 1
        return around < 0 or self._opaque[around][1] <= position

    def _slices(self) -> Iterator[tuple[int, int]]:
        """Yield the text in slices that need little memory, cut where tokens do not change if possible."""
        start, size = 0, len(self.text)
        while size - start > 2 * _SLICE:
            place = _SAFE_CUT.search(self.read, start + _SLICE, start + 2 * _SLICE)
            end = place.end() if place else start + _SLICE
            if not place:
                self._sliced.append(end)
            yield start, end
            start = end
        yield start, size

    def _by_word(self, start: int, end: int) -> tuple[Positions, Positions]:
        text = self.read[start:end]
        kinds, runs = kinds_and_runs(text, self.counter.folds)
        parts, is_run, first, long = _units(kinds, text)
        starts = parts[first]
        counts = np.ones(len(parts), np.int64)
        short = [run if len(run) <= _LONG_WORD else "" for run in runs] if long else runs
        counts[is_run] = self.counter.runs(short, text.isascii())
        units = np.add.reduceat(counts, first) if len(first) else counts
        self._count_added(text, starts, units)
        return self._in_tokens(starts + start, units, [(i, start + a, start + b) for i, a, b in long])

    def _count_added(self, text: str, starts: Positions, counts: Positions) -> None:
        """Count units that contain added tokens as a whole."""
        for added in self.counter.added:
            at = text.find(added)
            while at >= 0:
                unit = int(np.searchsorted(starts, at, "right")) - 1
                end = int(starts[unit + 1]) if unit + 1 < len(starts) else len(text)
                counts[unit] = self.counter.counts([text[starts[unit] : end]])[0]
                at = text.find(added, max(end, at + 1))

    def _in_tokens(self, starts: Positions, counts: Positions, long: list[Long]) -> tuple[Positions, Positions]:
        """Return units and their token counts, with long units cut into their tokens."""
        all_starts, all_counts, done = list[Positions](), list[Positions](), 0
        for i, start, end in long:
            signs = counts[i] == end - start and self.read[start:end].isascii()  # a rule, such as a table's
            inner = np.arange(start, end) if signs else self._by_token(start, end)[0]
            if not signs:
                self._opaque.append((start, end))
            all_starts += [starts[done:i], inner]
            all_counts += [counts[done:i], np.ones(len(inner), np.int64)]
            done = i + 1
        return np.concatenate([*all_starts, starts[done:]]), np.concatenate([*all_counts, counts[done:]])

    def _by_token(self, start: int, end: int) -> tuple[Positions, Positions]:
        offsets = self.counter.tokenizer.encode(self.read[start:end], add_special_tokens=False).offsets
        starts: Positions = np.maximum.accumulate(np.array([first for first, _ in offsets], np.int64)) + start
        return starts, np.ones(len(starts), np.int64)


def _units(kinds: Kinds, text: str) -> tuple[Positions, Flags, Positions, list[Long]]:
    """Return the starts of runs and signs, which are runs, the indexes that begin a unit, and the long units.

    A unit is a word or, within a long or wide one, the text between stops.
    """
    before = np.concatenate([np.zeros(1, np.uint8), kinds[:-1]]) if len(kinds) else kinds
    parts = np.flatnonzero(kinds > (before == RUN).view(np.uint8))
    kind, preceding = kinds[parts], before[parts]
    begins = preceding == SPACE
    units = np.flatnonzero(begins)
    long = _longer(text, parts[units])
    cut = np.zeros(len(units), bool)
    cut[[i for i, *_ in long]] = True
    if len(units) and not text.isascii():
        cut |= np.maximum.reduceat(kind, units) == WIDE
    if cut.any():
        begins |= cut[np.cumsum(begins) - 1] & ((kind >= STOP) | (preceding >= STOP))
        units = np.flatnonzero(begins)
        long = _longer(text, parts[units])
    return parts, kind == RUN, units, long


def _inked(text: str, slices: Sequence[tuple[int, int]], starts: Positions) -> Positions:
    """Return how many characters precede each unit, and the total; of adjacent blanks, only one counts."""
    found, before = list[Positions](), 0
    for start, end in slices:
        codes = np.frombuffer(text[start:end].encode("utf-32-le", "surrogatepass"), np.uint32)
        ink = codes > ord(" ")
        ink[1:] |= ink[:-1].copy()
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(ink)]) + before
        found.append(total[starts[(starts >= start) & (starts < end)] - start])
        before = int(total[-1])
    return np.concatenate([*found, np.array([before], np.int64)])


def _longer(text: str, starts: Positions) -> list[Long]:
    """Return index, start and end of each long unit."""
    ends = np.append(starts[1:], len(text))
    spans = ((i, int(starts[i]), int(ends[i])) for i in np.flatnonzero(ends - starts > _LONG_WORD).tolist())
    found = [(i, a, a + len(FALSE_SPACE.sub("\x01", text[a:b]).rstrip())) for i, a, b in spans]
    return [(i, a, b) for i, a, b in found if b - a > _LONG_WORD]


def word_bounds(text: str) -> tuple[Positions, Positions]:
    """Return the starts and ends of the words of `text.split()`."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    blank = (codes == ord(" ")) | (codes == ord("\x85"))  # separate tests: faster than a search in a set of ten
    blank |= (codes >= ord("\t")) & (codes <= ord("\r"))
    blank |= (codes >= ord("\x1c")) & (codes <= ord("\x1f"))
    if not text.isascii():
        blank |= np.isin(codes, _WIDE_SPACE)
    word = np.concatenate([[False], ~blank, [False]])
    edges = np.flatnonzero(word[1:] != word[:-1])
    return edges[::2], edges[1::2]
