"""Windows of one size: `fixed` chunks with an overlap, and a `sliding_window` with a stride.

These are the fixed-size chunks with overlap of LangChain's CharacterTextSplitter and TokenTextSplitter and of chonkie's
TokenChunker, in any of three units. Adding a word before plain windows moves all of them. With `anchored`, the text
itself decides where they end, as in content-defined chunking (Muthitacharoen, Chen and Mazieres, SOSP 2001), so that
windows soon after an edit are where they were before.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

from docmill.storage.errors import ConfigError
from docmill.tasks.counting.tokens import Tokens, word_bounds
from docmill.tasks.split.parts.blocks import runs, stretches
from docmill.tasks.split.parts.part import Part
from docmill.tasks.split.parts.strategy_options import MIN_SIZE, Options, check_whole, option
from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.pieces import SENTENCE, best_cut
from docmill.tasks.split.spans.sizing import CHARACTERS_PER_TOKEN, Room
from docmill.tasks.split.spans.span import Span, cluster_end

Unit = Literal["tokens", "words", "characters"]


@dataclass(frozen=True, slots=True)
class CharacterRuler:
    """Code points; a cut is moved to the end of the grapheme cluster."""

    text: str

    def reach(self, start: int, amount: int) -> int:
        """Return the position `amount` characters further on."""
        return cluster_end(self.text, min(len(self.text), start + amount))

    def retreat(self, end: int, amount: int) -> int:
        """Return the position `amount` characters before."""
        return cluster_end(self.text, max(0, end - amount))


@dataclass(frozen=True, slots=True)
class WordRuler:
    """Runs of non-space characters, given by their starts."""

    starts: Sequence[int]
    end: int

    def reach(self, start: int, amount: int) -> int:
        """Return the start of the first word beyond `amount` words."""
        stop = bisect_left(self.starts, start) + amount
        return self.starts[stop] if stop < len(self.starts) else self.end

    def retreat(self, end: int, amount: int) -> int:
        """Return the start of the last `amount` words before `end`."""
        stop = bisect_left(self.starts, end)
        return self.starts[max(0, stop - amount)] if amount and stop else end


@dataclass(frozen=True, slots=True)
class TokenRuler:
    """Tokens of the embedding model; the tokens of a word stay together."""

    tokens: Tokens

    def reach(self, start: int, amount: int) -> int:
        """Return the start of the first word that no longer fits."""
        reached = Room(self.tokens, amount).reach(start)
        return reached if reached > start else cluster_end(self.tokens.text, start + 1)

    def retreat(self, end: int, amount: int) -> int:
        """Return the start of the last words before `end` that fit."""
        return max(self.tokens.retreat(end, amount), end - Room(self.tokens, amount).characters)


Ruler = CharacterRuler | WordRuler | TokenRuler
"""Measures text in one unit; positions must be within the text that it was made for.

`reach` returns the last position at which a span has at most `amount` units, but at least one.
"""


def ruler_of(part: Part, unit: Unit) -> Ruler:
    """Return the ruler of a unit for a part."""
    if unit == "tokens":
        return TokenRuler(part.tokens)
    if unit == "characters":
        return CharacterRuler(part.text)
    starts = (word_bounds(part.text[part.start : part.end])[0] + part.start).tolist()
    return WordRuler(starts, part.end)


def last_at_most(places: Sequence[int], low: int, high: int) -> int:
    """Return the last of the positions in (low, high], or `high` without any."""
    found = bisect_right(places, high) - 1
    return places[found] if found >= 0 and places[found] > low else high


def first_at_least(places: Sequence[int], low: int, span: Span) -> int:
    """Return the first of the positions in [low, span.end) after the span's start, or `span.end`."""
    found = bisect_left(places, max(low, span.start + 1))
    return places[found] if found < len(places) and places[found] < span.end else span.end


_WORD = re.compile(r"\s(?=\S)")
_SHARES = 16  # a position is in at most about this many windows; more would fill the store with near-duplicates
_MOST_DOCUMENTS = 64  # `max_doc_size` is at most this many times the maximum size; a larger one cuts nothing
_PER_CENT = 100  # of a whole
_MOST = 8192
"""The default of `most`, which is in the keys of chunks: a change would make stores split these documents again."""
_MAX_CHARACTERS = _MOST * CHARACTERS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class Windowed(Options):
    """The options of windows of one size."""

    unit: Unit = option(
        "tokens", "What `size` counts: `tokens`, `words` or `characters`; up to 8192, or 131072 characters."
    )
    most: int = option(_MOST, "The maximum tokens of a chunk, whatever the unit.", "tokens", MIN_SIZE, _MOST)
    anchored: bool = option(
        False,
        "Let the text decide where windows end, between half of `size` and `size`, so that windows soon after an"
        " edit are the same as before.",
    )

    def __post_init__(self) -> None:
        if self.unit not in get_args(Unit):
            raise ConfigError(f"unit must be one of {', '.join(get_args(Unit))}, got {self.unit!r}")
        Options.__post_init__(self)

    @property
    def longest(self) -> int:
        """Return the maximum size in the unit."""
        return _MAX_CHARACTERS if self.unit == "characters" else _MOST

    def within(self, tokens: int) -> Self:
        """Return the options for a model with room for this many tokens of a chunk's text."""
        # Only in tokens; in other units, `most` alone keeps a window within the model's limit.
        if self.unit == "tokens" and self.size > tokens:
            return self.shrunk(tokens)
        return self if self.most <= tokens else replace(self, most=tokens)

    def shrunk(self, size: int) -> Self:
        """Return the options for a smaller size."""
        return replace(self, size=size, most=min(size, self.most))


@dataclass(frozen=True, slots=True)
class Fixed(Windowed):
    """Makes chunks of one size, in tokens, words or characters, with an optional overlap."""

    overlap: int | str = option(
        0,
        "How much of the previous chunk is repeated: a number of units, up to 15/16 of `size`, or a percentage such as"
        ' "10%".',
        "units",
    )
    respect_sentences: bool = option(False, "End a chunk after a sentence if possible, and begin an overlap with one.")
    max_doc_size: int = option(
        0,
        "First cut the text at line ends into documents of this size, which no chunk crosses: at least `size`, or 0 for"
        " none.",
        "units",
        0,
        _MOST_DOCUMENTS * _MAX_CHARACTERS,
    )

    def __post_init__(self) -> None:
        Windowed.__post_init__(self)
        if 0 < self.max_doc_size < self.size:
            raise ConfigError(f"max_doc_size must be 0 or at least size={self.size}, got {self.max_doc_size}")
        most = self.size - max(1, self.size // _SHARES)
        if not 0 <= self.shared <= most:
            raise ConfigError(f"overlap must be in [0, {most}] where size is {self.size}, got {self.overlap!r}")

    def shrunk(self, size: int) -> Self:
        """Return the options for a smaller size, with the overlap in proportion."""
        return replace(self, size=size, most=min(size, self.most), overlap=self.shared * size // self.size)

    @property
    def shared(self) -> int:
        """Return the overlap in units."""
        if isinstance(self.overlap, int) and not isinstance(self.overlap, bool):
            return self.overlap
        number = str(self.overlap).removesuffix("%").strip()
        if not str(self.overlap).endswith("%") or not number.replace(".", "", 1).isdecimal():
            raise ConfigError(f'overlap must be a number of units or a percentage such as "10%", got {self.overlap!r}')
        return int(self.size * float(number) / _PER_CENT)


@dataclass(frozen=True, slots=True)
class Sliding(Windowed):
    """Makes windows of one size that begin a stride apart."""

    stride: int = option(
        0, "How far apart windows begin: from a 16th of `size` to all of it; 0 is half of it.", "units"
    )

    def __post_init__(self) -> None:
        Windowed.__post_init__(self)
        if self.stride != 0:
            check_whole("stride", self.stride, max(1, self.size // _SHARES), self.size)

    def shrunk(self, size: int) -> Self:
        """Return the options for a smaller size, with the stride in proportion."""
        stride = self.stride and max(1, self.stride * size // self.size)
        return replace(self, size=size, most=min(size, self.most), stride=stride)


@dataclass(frozen=True, slots=True)
class _Windows:
    """Computes the end of a window and the start of the next, within one run of text."""

    part: Part
    ruler: Ruler
    options: Windowed

    def end(self, start: int, limit: int) -> int:
        """Return the end of a window at `start`, at most `limit`."""
        by_tokens = TokenRuler(self.part.tokens).reach(start, self.options.most)
        return min(limit, max(start + 1, min(by_tokens, self.ruler.reach(start, self.options.size))))

    def again(self, span: Span, shared: int) -> int:
        """Return the start of the next window; if the overlap would reach back too far, move on by a word."""
        least = span.start + max(1, (span.end - span.start) // _SHARES)
        again = self.ruler.retreat(span.end, shared) if shared else span.end
        if again >= least:
            return again
        # An overlap back to the start of its window would never reach the end of the text.
        word = _WORD.search(self.part.text, least, span.end)
        return word.end() if word else least

    def anchor(self, low: int, high: int) -> int:
        """Return the position in the second half of a stretch that the text itself selects."""
        return best_cut(self.part.text, (low + high) // 2, high) or high


def split_fixed(part: Part, options: Fixed) -> list[Span]:
    """Return overlapping spans of `options.size` units; the last one of a run may be shorter."""
    windows = _Windows(part, ruler_of(part, options.unit), options)
    found: list[Span] = []
    for run in runs(part):
        sentences = _sentences(part, run) if options.respect_sentences else []
        for parent in _parents(part.text, run, windows.ruler, options.max_doc_size):
            found += _fixed(windows, parent, options, sentences)
    return _not_furniture(part, found)


def _fixed(windows: _Windows, run: Span, options: Fixed, sentences: list[int]) -> Iterator[Span]:
    start = run.start
    while (end := windows.end(start, run.end)) < run.end:
        if sentences:
            end = last_at_most(sentences, start, end)
        elif options.anchored:
            end = windows.anchor(start, end)
        yield Span(start, end)
        again = windows.again(Span(start, end), options.shared)
        start = first_at_least(sentences, again, Span(start, end)) if sentences else min(again, end)
    yield Span(start, run.end)


def split_sliding(part: Part, options: Sliding) -> list[Span]:
    """Return spans of `options.size` units that begin `options.stride` units apart."""
    windows = _Windows(part, ruler_of(part, options.unit), options)
    return _not_furniture(part, [span for run in runs(part) for span in _sliding(windows, run, options)])


def _sliding(windows: _Windows, run: Span, options: Sliding) -> Iterator[Span]:
    start, stride = run.start, options.stride or max(1, options.size // 2)
    while (end := windows.end(start, run.end)) < run.end:
        yield Span(start, end)
        following = min(end, max(start + 1, windows.ruler.reach(start, stride)))
        start = windows.anchor(start, following) if options.anchored else following
    yield Span(start, run.end)


def _parents(text: str, run: Span, ruler: Ruler, size: int) -> Iterator[Span]:
    """Yield documents of at most `size` units, each ending at a line end if there is one in its second half."""
    start = run.start
    while size and (end := ruler.reach(start, size)) < run.end:
        # Not before the middle, or many short lines would make many short documents.
        line = text.rfind("\n", (start + end) // 2, end) + 1
        end = line or end
        yield Span(start, end)
        start = end
    yield Span(start, run.end)


def _sentences(part: Part, run: Span) -> list[int]:
    return [place for place, seam in prose_cuts(part.text, run) if seam >= SENTENCE]


def _not_furniture(part: Part, spans: list[Span]) -> list[Span]:
    """Return the spans that contain more than furniture and front matter."""
    kept = [(start, end) for start, end, _ in stretches(part)]
    ends = [end for _, end in kept]

    def holds(span: Span) -> bool:
        first = bisect_right(ends, span.start)
        return first < len(kept) and kept[first][0] < span.end

    return [span for span in spans if holds(span)]
