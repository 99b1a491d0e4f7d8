"""WordPiece: how many tokens a vocabulary makes of a run of characters, found once for each run.

Plain letters and digits are cut here, the longest piece that the vocabulary has first (Wu et al., "Google's Neural
Machine Translation System", 2016); whatever a tokenizer would normalize first is given to it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from tokenizers import Tokenizer

_AT_ONCE = 10_000


class Runs(dict[str, int]):
    """The number of tokens of each run that was asked for, and of the words that are one token."""

    def __init__(self, tokenizer: Tokenizer, model: Mapping[str, Any], folds: bool) -> None:
        super().__init__()
        prefix = str(model["continuing_subword_prefix"])
        plain = [word for word in tokenizer.get_vocab() if word.isascii()]
        self._tokenizer, self._folds = tokenizer, folds
        self._words = frozenset(word for word in plain if word.isalnum())
        self._rest = frozenset(word.removeprefix(prefix) for word in plain if word.startswith(prefix))
        self._longest = max(map(len, self._words | self._rest), default=0)
        self._most = int(model["max_input_chars_per_word"])
        self.forget()

    def forget(self) -> None:
        """Forget all but the words of the vocabulary."""
        self.clear()
        self.update(dict.fromkeys(self._words, 1), **{"": 0})

    def __missing__(self, run: str) -> int:
        """Return the number of tokens of a run that was not asked for before."""
        if run.isascii() and run.isalnum():
            found = self[run] = self._pieces(run.lower() if self._folds else run)
            return found
        self._tokenize([run])
        return self[run]

    def learn(self, runs: Collection[str]) -> None:
        """Count those of runs that are not ASCII by one tokenization, half as dear as one each."""
        self._tokenize(sorted({run for run in runs if not run.isascii() and run not in self}))

    def _tokenize(self, runs: Sequence[str]) -> None:
        for first in range(0, len(runs), _AT_ONCE):
            some = runs[first : first + _AT_ONCE]
            starts = np.cumsum([0, *(len(run) + 1 for run in some[:-1])])
            offsets = self._tokenizer.encode(" ".join(some), add_special_tokens=False).offsets
            owners = np.searchsorted(starts, [start for start, _ in offsets], "right") - 1
            self.update(zip(some, np.bincount(owners, minlength=len(some)).tolist(), strict=True))

    def _pieces(self, word: str) -> int:
        """Return in how many pieces of the vocabulary a word falls; one, the unknown token, where it does not."""
        start, size, found = 0, len(word), 0
        if word in self._words or size > self._most:
            return 1
        having = self._words
        while start < size:
            end = min(size, start + self._longest)
            while word[start:end] not in having:
                end -= 1
                if end == start:
                    return 1
            start, having = end, self._rest
            found += 1
        return found
