"""Counter: exact token counts of texts; if the tokenizer separates words, each distinct run is counted once.

Plain letters and digits go only to the tokenizer's model (Wu et al., "Google's Neural Machine Translation System",
2016). That takes a quarter of the time of the whole tokenizer, which counts text that it would normalize first.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from docmill.tasks.counting.character_kinds import DROPPED, SPACES, STOPS

_AT_ONCE = 10_000
"""Runs that are tokenized as one text, so that their tokens need little memory."""


class Runs(dict[str, int]):
    """The number of tokens of each run counted so far, and of the words that are one token."""

    def __init__(self, tokenizer: Tokenizer, folds: bool) -> None:
        super().__init__()
        self._tokenizer, self._folds = tokenizer, folds
        self._pieces: Callable[[str], Sequence[object]] = tokenizer.model.tokenize
        self._words = [word for word in tokenizer.get_vocab() if word.isascii() and word.isalnum()]
        self.forget()

    def forget(self) -> None:
        """Forget everything except the words of the vocabulary."""
        self.clear()
        self.update(dict.fromkeys(self._words, 1), **{"": 0})

    def __missing__(self, run: str) -> int:
        """Return the number of tokens of a run that was not counted before."""
        if run.isascii() and run.isalnum():
            found = self[run] = len(self._pieces(run.lower() if self._folds else run))
            return found
        self._tokenize([run])
        return self[run]

    def learn(self, runs: Collection[str]) -> None:
        """Count the runs that are not ASCII in one tokenization, twice as fast as one by one."""
        self._tokenize(sorted({run for run in runs if not run.isascii() and run not in self}))

    def _tokenize(self, runs: Sequence[str]) -> None:
        for first in range(0, len(runs), _AT_ONCE):
            some = runs[first : first + _AT_ONCE]
            starts = np.cumsum([0, *(len(run) + 1 for run in some[:-1])])
            offsets = self._tokenizer.encode(" ".join(some), add_special_tokens=False).offsets
            owners = np.searchsorted(starts, [start for start, _ in offsets], "right") - 1
            self.update(zip(some, np.bincount(owners, minlength=len(some)).tolist(), strict=True))


_LONG_TEXT = 1 << 16
"""Characters from which a text is tokenized whole: its runs would fill the cache with words used only once."""
_MAX_KNOWN = 200_000
"""Runs to cache before all are forgotten: some tens of megabytes. With fewer, common words are counted again."""
_TOKENIZERS = 4
"""Counters that a process keeps: the embedding model's, one to measure sizes, and the same for another store."""
_PARTS = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9\s]")

Counts = np.ndarray[Any, np.dtype[np.int64]]


class Counter:
    """Exact token counts by one tokenizer, which must not be changed afterwards.

    `local` says that white space and signs separate tokens: the count of a text is then the sum over its runs and
    signs, unless it contains one of `added`, such as "[SEP]". `folds` says that case does not matter. `special` is how
    many tokens the model adds to a text; no other count here includes them.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        parts = _parts(tokenizer)
        self.tokenizer = tokenizer
        self.local = _is_local(parts)
        self.folds = bool((parts.get("normalizer") or {}).get("lowercase"))
        self.added: tuple[str, ...] = tuple(token["content"] for token in parts.get("added_tokens") or ())
        self.special: int = tokenizer.num_special_tokens_to_add(False)
        self._known = Runs(tokenizer, self.folds) if self.local else None

    def count(self, text: str) -> int:
        """Return the number of tokens of a short text, such as a heading."""
        if not text:
            return 0
        plain = text.isascii() and len(text) < _LONG_TEXT and not DROPPED.search(text)
        if self._known is not None and plain and not any(added in text for added in self.added):
            return sum(map(self._known.__getitem__, _PARTS.findall(text)))
        return self.counts([text])[0]

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, tokenized whole."""
        return [len(found) for found in self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def runs(self, runs: Sequence[str], plain: bool) -> Counts:
        """Return the number of tokens of each run, those of an ASCII text if `plain`; only for a `local` tokenizer."""
        if self._known is None:
            raise ValueError("the tokens of this tokenizer depend on the text around them")
        if len(self._known) > _MAX_KNOWN:
            self._known.forget()
        if not plain:
            self._known.learn(runs)
        return np.fromiter(map(self._known.__getitem__, runs), np.int64, len(runs))


@lru_cache(maxsize=_TOKENIZERS)
def counter_of(tokenizer: Tokenizer) -> Counter:
    """Return the counter of a tokenizer, one per process."""
    return Counter(tokenizer)


def _is_local(parts: Mapping[str, Any]) -> bool:
    """Return whether a tokenizer separates words as BERT's does, and no added token extends beyond its word."""
    kinds = [(parts.get(name) or {}).get("type") for name in ("normalizer", "pre_tokenizer", "model")]
    if kinds != ["BertNormalizer", "BertPreTokenizer", "WordPiece"]:
        return False
    plain = all(map(_is_plain, parts.get("added_tokens") or []))
    return plain and bool(parts["normalizer"]["handle_chinese_chars"])


def _is_plain(added: Mapping[str, Any]) -> bool:
    takes_more = added["lstrip"] or added["rstrip"] or added["normalized"]
    return not takes_more and not set(added["content"]) & _APART


_APART = SPACES | STOPS


def _parts(tokenizer: Tokenizer) -> dict[str, Any]:
    parts: dict[str, Any] = json.loads(tokenizer.to_str())
    return parts
