"""Tokens: what the embedder's tokenizer makes of a document, found once, so that a span's length is a look-up.

Where words are apart for the tokenizer, the units counted are words, and only very long ones are
tokenized in place; else they are the tokens of the whole text.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from storage.errors import ConfigError
from tasks.counter import FALSE_SPACE, SPACES, counter_of

_LONG_WORD = 64
_SLICE = 1 << 15
# BERT's tokenizer sets ideographs and punctuation apart, so a long word may be taken in these pieces.
_APART = r"\u4e00-\u9fff\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f"
_PIECE = re.compile(f"[{_APART},;:.!?/]|[^{_APART},;:.!?/]+")
_WIDE_PIECE = re.compile(f"[{_APART}]")
_WIDE_SPACE = np.array(sorted(ord(c) for c in SPACES if ord(c) > 0x7F), np.uint32)

Positions = np.ndarray[Any, np.dtype[np.int64]]


@lru_cache(maxsize=4)
def load_tokenizer(model_dir: str) -> Tokenizer:
    """Return the tokenizer of a model's folder, without truncation and padding; raise ConfigError without one."""
    path = Path(model_dir) / "tokenizer.json"
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; a model needs a fast tokenizer, saved as tokenizer.json")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class Tokens:
    """The tokens of one document; positions and spans are in code points of its text."""

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self.text = text
        self.counter = counter_of(tokenizer)
        self._opaque: list[tuple[int, int]] = []  # words cut into tokens that change when the word is cut
        self._sliced: list[int] = []  # where such a word was cut before tokenizing
        starts, counts = self._by_word() if self.counter.local else self._by_token(0, len(text))
        self._starts = array("q", starts.tobytes())
        self._before = array("q", np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64).tobytes())

    def at(self, positions: Sequence[int]) -> list[int]:
        """Return how many tokens begin before each position; those of a word all begin where it does."""
        starts, before = np.frombuffer(self._starts, np.int64), np.frombuffer(self._before, np.int64)
        found: list[int] = before[np.searchsorted(starts, positions)].tolist()
        return found

    def count(self, start: int, end: int) -> int:
        """Return the number of tokens that begin in a span: `exact`, unless the span cuts words."""
        first = bisect_left(self._starts, start)
        return self._before[bisect_left(self._starts, end, first)] - self._before[first]

    def reach(self, start: int, tokens: int) -> int:
        """Return the last position up to which a span from `start` has at most `tokens` tokens."""
        first = bisect_left(self._starts, start)
        stop = bisect_right(self._before, self._before[first] + tokens, first) - 1
        return self._starts[stop] if stop < len(self._starts) else len(self.text)

    def exact(self, spans: Sequence[tuple[int, int]]) -> list[int]:
        """Return the number of tokens that each span's text has for itself."""
        counts = [self.count(*span) if self._adds_up(*span) else -1 for span in spans]
        unsure = [self.text[slice(*span)] for span, count in zip(spans, counts, strict=True) if count < 0]
        found = iter(self.counter.counts(unsure) if unsure else ())
        return [next(found) if count < 0 else count for count in counts]

    def _adds_up(self, start: int, end: int) -> bool:
        if not self.counter.local or bisect_right(self._sliced, start) < bisect_right(self._sliced, end):
            return False
        return self._parts(start) and self._parts(end)

    def _parts(self, position: int) -> bool:
        """Return whether the tokens on both sides are the same, whether the text is cut here or not."""
        text = self.text
        if not 0 < position < len(text) or text[position - 1] in SPACES or text[position] in SPACES:
            return True
        unit = bisect_left(self._starts, position)
        if unit == len(self._starts) or self._starts[unit] != position:
            return False
        around = bisect_right(self._opaque, (position, 0)) - 1
        return around < 0 or self._opaque[around][1] <= position

    def _by_word(self) -> tuple[Positions, list[int]]:
        starts, words = _words(self.text)
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        all_starts, all_counts, done = list[Positions](), list[int](), 0
        for i in np.flatnonzero(lengths > _LONG_WORD).tolist():
            span = int(starts[i]), int(starts[i] + lengths[i])
            inner, counts = self._by_token(*span)
            self._opaque.append(span)
            all_starts += [starts[done:i], inner]
            all_counts += self.counter.words(words[done:i]) + counts
            done = i + 1
        return np.concatenate([*all_starts, starts[done:]]), all_counts + self.counter.words(words[done:])

    def _by_token(self, start: int, end: int) -> tuple[Positions, list[int]]:
        cuts = list(_slices(self.text, start, end))
        self._sliced += cuts[1:]
        parts = [self.text[a:b] for a, b in zip(cuts, [*cuts[1:], end], strict=True)]
        encoded = self.counter.tokenizer.encode_batch(parts, add_special_tokens=False)
        found = [np.array([a for a, _ in e.offsets], np.int64) + cut for e, cut in zip(encoded, cuts, strict=True)]
        starts: Positions = np.maximum.accumulate(np.concatenate(found))
        return starts, [1] * len(starts)


def _words(text: str) -> tuple[Positions, list[str]]:
    """Return the words of a text and where they begin, long and ideographic ones in pieces."""
    text = FALSE_SPACE.sub("\x01", text)
    starts, ends = word_bounds(text)
    words = text.split()
    cut = np.flatnonzero(ends - starts > _LONG_WORD)
    if not text.isascii():
        wide = [match.start() for match in _WIDE_PIECE.finditer(text)]
        cut = np.union1d(cut, np.searchsorted(starts, wide, "right") - 1)
    all_starts, all_words, done = list[Positions](), list[str](), 0
    for i in cut.tolist():
        pieces = _PIECE.findall(words[i])
        begins = np.cumsum([starts[i], *map(len, pieces)])[:-1]
        all_starts += [starts[done:i], begins]
        all_words += words[done:i] + pieces
        done = i + 1
    return np.concatenate([*all_starts, starts[done:]]), all_words + words[done:]


def word_bounds(text: str) -> tuple[Positions, Positions]:
    """Return where the words of `text.split()` begin and end."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    blank = (codes == 32) | ((codes >= 9) & (codes <= 13)) | ((codes >= 28) & (codes <= 31)) | (codes == 0x85)
    if not text.isascii():
        blank |= np.isin(codes, _WIDE_SPACE)
    word = np.concatenate([[False], ~blank, [False]])
    edges = np.flatnonzero(word[1:] != word[:-1])
    return edges[::2], edges[1::2]


def _slices(text: str, start: int, end: int) -> Iterable[int]:
    """Yield where the slices of a stretch begin, at a line's begin where there is one near."""
    yield start
    while end - start > 2 * _SLICE:
        line = text.find("\n", start + _SLICE, start + 2 * _SLICE)
        start = line + 1 if line >= 0 else start + _SLICE
        yield start
