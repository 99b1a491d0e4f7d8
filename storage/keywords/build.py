"""Texts to postings, as a stream: terms are numbered while reading, and sorted once for each segment."""

from array import array
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storage.analyser import Analyser, load_analyser, split_words
from storage.keywords.postings import Postings, make_postings

TOKENS_PER_SEGMENT = 1 << 24
_CACHED_WORDS = 1 << 19


class _TermNumbers(dict[bytes, tuple[int, ...]]):
    """The numbers of the terms of a word; terms are numbered as they come."""

    def __init__(self, analyser: Analyser) -> None:
        super().__init__()
        self._analyser = analyser
        self.terms: dict[str, int] = {}

    def __missing__(self, word: bytes) -> tuple[int, ...]:
        terms = self.terms
        numbers = tuple(terms.setdefault(term, len(terms)) for term in self._analyser[word])
        if len(self) < _CACHED_WORDS:
            self[word] = numbers
        return numbers


class _Draft:
    """Chunks on their way into one segment."""

    def __init__(self, analyser: Analyser) -> None:
        self._numbers = _TermNumbers(analyser)
        self.tokens = array("i")
        self.ends = array("q", [0])
        self.chunk_ids: list[str] = []

    def add(self, chunk_id: str, text: str) -> None:
        self.tokens.extend(chain.from_iterable(map(self._numbers.__getitem__, split_words(text))))
        self.ends.append(len(self.tokens))
        self.chunk_ids.append(chunk_id)

    def postings(self) -> Postings:
        from scipy.sparse import csr_array

        terms = pa.array(list(self._numbers.terms), pa.string())
        order = pc.array_sort_indices(terms).to_numpy()
        rank = np.empty(len(terms), np.int32)
        rank[order] = np.arange(len(terms), dtype=np.int32)
        columns = rank[np.frombuffer(self.tokens, np.int32)]
        ends = np.frombuffer(self.ends, np.int64)
        counts = csr_array((np.ones(len(columns), np.int32), columns, ends), (len(self.chunk_ids), len(terms))).tocsc()
        counts.sum_duplicates()
        return make_postings(
            terms.take(pa.array(order)),
            counts.indptr.astype(np.int64),
            counts.indices.astype(np.int32, copy=False),
            counts.data,
            pa.array(self.chunk_ids, pa.string()),
            np.diff(ends).astype(np.int32),
        )


def build(added: Iterable[tuple[str, str]], language: str) -> Iterator[Postings]:
    """Yield postings of (chunk id, text) pairs, each of a bounded number of tokens."""
    analyser = load_analyser(language)
    draft = _Draft(analyser)
    for chunk_id, text in added:
        draft.add(chunk_id, text)
        if len(draft.tokens) >= TOKENS_PER_SEGMENT:
            yield draft.postings()
            draft = _Draft(analyser)
    if draft.chunk_ids:
        yield draft.postings()
