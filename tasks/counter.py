"""Counter: exact token counts of texts; a tokenizer that keeps words apart is asked about each word once."""

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from tokenizers import Tokenizer

_MAX_KNOWN_WORDS = 200_000
_LONG_TEXT = 1 << 16
_WORDS_AT_ONCE = 10_000
SPACES = frozenset(
    " \t\n\r\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What every tokenizer here takes for white space."""
FALSE_SPACE = re.compile(r"[\x0b\x0c\x1c-\x1f\x85]")
"""What Python takes for white space, too, but BERT drops, joining what stands on its sides."""
# BERT's pre-tokenizer parts a word at each of these signs. "[" begins the tokens that stand for themselves: "[SEP]".
_SIGNS = frozenset("!\"#$%&'()*+,-./:;<=>?@\\]^_`{|}~")
_PLAIN = re.compile(r"[A-Za-z0-9!-/:-@\\-`{-~]+")
_PARTS = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]")


class Counter:
    """Exact token counts by one tokenizer, which must not be changed afterwards.

    `local` says that white space parts tokens: a text has as many as its words. `special` is how many
    tokens the model adds to a text; no other figure here includes them.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.local = _is_local(tokenizer)
        self.special: int = tokenizer.num_special_tokens_to_add(False)
        self._known: dict[str, int] = {}
        self._fold = _fold_of(tokenizer)
        self._whole = _whole_words(tokenizer) if self.local else frozenset()

    def count(self, text: str) -> int:
        """Return the number of tokens of a short text, such as a heading."""
        if self.local and len(text) < _LONG_TEXT and not FALSE_SPACE.search(text):
            return sum(self.words(text.split()))
        return self.counts([text])[0]

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, tokenized whole."""
        return [len(found) for found in self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def words(self, words: Sequence[str]) -> list[int]:
        """Return the number of tokens of each word, from memory where it was seen before."""
        if len(self._known) > _MAX_KNOWN_WORDS:
            self._known.clear()
        missing = set(words).difference(self._known)
        if missing:
            (self._learn if self.local else self._tokenize)(missing)
        return list(map(self._known.__getitem__, words))

    def _learn(self, words: set[str]) -> None:
        """Count words: what the vocabulary has is one token, and so is a sign; only the rest is tokenized."""
        compound: dict[str, list[str]] = {}
        strange: set[str] = set()
        for word in words:
            if self._fold(word) in self._whole:
                self._known[word] = 1
            elif _PLAIN.fullmatch(word):
                compound[word] = _PARTS.findall(word)
            else:
                strange.add(word)
        parts = set(chain.from_iterable(compound.values())).difference(self._known)
        single = {part for part in parts if part in _SIGNS or self._fold(part) in self._whole}
        self._known.update(dict.fromkeys(single, 1))
        self._tokenize(strange | (parts - single))
        known = self._known.__getitem__
        self._known.update({word: sum(map(known, its)) for word, its in compound.items()})

    def _tokenize(self, words: set[str]) -> None:
        ordered = sorted(words)
        for first in range(0, len(ordered), _WORDS_AT_ONCE):
            some = ordered[first : first + _WORDS_AT_ONCE]
            self._known.update(zip(some, self._count_together(some), strict=True))

    def _count_together(self, words: Sequence[str]) -> list[int]:
        """Return the number of tokens of each word from one tokenization, half as dear as one each."""
        starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
        found = self.tokenizer.encode(" ".join(words), add_special_tokens=False)
        owners = np.searchsorted(starts, [start for start, _ in found.offsets], "right") - 1
        counts: list[int] = np.bincount(owners, minlength=len(words)).tolist()
        return counts


@lru_cache(maxsize=4)
def counter_of(tokenizer: Tokenizer) -> Counter:
    """Return the counter of a tokenizer, one per process."""
    return Counter(tokenizer)


def _is_local(tokenizer: Tokenizer) -> bool:
    parts = _parts(tokenizer)
    kinds = [(parts.get(name) or {}).get("type") for name in ("normalizer", "pre_tokenizer", "model")]
    added = parts.get("added_tokens") or []
    plain = not any(token["lstrip"] or token["rstrip"] or set(token["content"]) & SPACES for token in added)
    return plain and kinds == ["BertNormalizer", "BertPreTokenizer", "WordPiece"]


def _fold_of(tokenizer: Tokenizer) -> Callable[[str], str]:
    """Return what the tokenizer does to the case of plain letters."""
    return str.lower if (_parts(tokenizer).get("normalizer") or {}).get("lowercase") else str


@lru_cache(maxsize=4)
def _parts(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return what a tokenizer consists of, without its vocabulary."""
    parts: dict[str, Any] = json.loads(tokenizer.to_str())
    return {**parts, "model": {"type": (parts.get("model") or {}).get("type")}}


@lru_cache(maxsize=4)
def _whole_words(tokenizer: Tokenizer) -> frozenset[str]:
    """Return the words of plain letters and digits that are one token each."""
    return frozenset(word for word in tokenizer.get_vocab() if word.isascii() and word.isalnum())
