"""WordPiece: the number of tokens of a run of characters in a vocabulary, computed once for each run.

Plain letters and digits are passed to the tokenizer's model alone (Wu et al., "Google's Neural Machine Translation
System", 2016), in a quarter of the time of the whole tokenizer, which counts text that it would normalize first.
"""

from collections.abc import Callable, Collection, Sequence

import numpy as np
from tokenizers import Tokenizer

_AT_ONCE = 10_000
"""Runs that are tokenized as one text, so that its tokens need little memory."""


class Runs(dict[str, int]):
    """The number of tokens of each run counted so far, and of the words that are one token."""

    def __init__(self, tokenizer: Tokenizer, folds: bool) -> None:
        super().__init__()
        self._tokenizer, self._folds = tokenizer, folds
        self._pieces: Callable[[str], Sequence[object]] = tokenizer.model.tokenize
        self._words = [word for word in tokenizer.get_vocab() if word.isascii() and word.isalnum()]
        self.forget()

    def forget(self) -> None:
        """Forget all but the words of the vocabulary."""
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
        """Count the runs that are not ASCII in one tokenization, which is twice as fast as one each."""
        self._tokenize(sorted({run for run in runs if not run.isascii() and run not in self}))

    def _tokenize(self, runs: Sequence[str]) -> None:
        for first in range(0, len(runs), _AT_ONCE):
            some = runs[first : first + _AT_ONCE]
            starts = np.cumsum([0, *(len(run) + 1 for run in some[:-1])])
            offsets = self._tokenizer.encode(" ".join(some), add_special_tokens=False).offsets
            owners = np.searchsorted(starts, [start for start, _ in offsets], "right") - 1
            self.update(zip(some, np.bincount(owners, minlength=len(some)).tolist(), strict=True))
