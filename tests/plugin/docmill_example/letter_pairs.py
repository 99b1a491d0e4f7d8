"""An encoder: counts of pairs of letters, which needs no model."""

from collections.abc import Sequence
from itertools import pairwise
from zlib import crc32


class LetterPairs:
    """The embedding model `letter_pairs`."""

    version = 1
    revision = "pairs in 64 buckets"
    dimension = 64
    token_limit = 512
    tokenizer = ""

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """Return how often each pair of neighbouring letters occurs in a text."""
        return [self._counts(text.casefold()) for text in texts]

    def encode_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the same for queries."""
        return self.encode(texts)

    def _counts(self, text: str) -> list[float]:
        counts = [0.0] * self.dimension
        for pair in pairwise(text):
            counts[crc32("".join(pair).encode()) % self.dimension] += 1
        return counts
