"""Build: turn a stream of texts into postings. Arrow finds the distinct words of a batch; Python analyses each once."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.search.keywords.analysis.analyser import Analyser
from docmill.storage.search.keywords.analysis.languages import DETECTED, ballot, detect, detect_all, languages_in
from docmill.storage.search.keywords.analysis.separation import separate
from docmill.storage.search.keywords.segments.chunk_fields import FIELDS, ChunkFields, fields_of
from docmill.storage.search.keywords.segments.merge_segments import merge
from docmill.storage.search.keywords.segments.postings import Postings, make_postings, spill_postings
from docmill.storage.search.keywords.segments.side_postings import Counts, Int32, Int64, SideEntries

TOKENS_PER_SEGMENT = 1 << 23
"""Tokens after which a segment is closed, which bounds the memory of the build. With fewer, segments are small and are
rewritten when they merge."""
_TOKENS_AT_ONCE = 1 << 19  # counting takes 30 bytes for each; then the postings are spilled to disk and merged later
_BATCH_CHUNKS = 2048  # chunks in one batch, in which each distinct word is analysed once
_PATH = FIELDS.index("path")
_CACHED_WORDS = 1 << 18  # words whose terms are cached during a build; common words come first


class Built(NamedTuple):
    """Postings, and the languages of the texts in them."""

    postings: Postings
    languages: frozenset[str]


class _Numbers(dict[str, tuple[int, ...]]):
    """The numbers of the terms of a word; terms are numbered in the order of their first use."""

    def __init__(self, analyser: Analyser, terms: dict[str, int]) -> None:
        super().__init__()
        self._analyse = analyser.terms
        self.terms = terms

    def __missing__(self, word: str) -> tuple[int, ...]:
        terms = self.terms
        numbers = tuple(terms.setdefault(term, len(terms)) for term in self._analyse(word))
        if len(self) < _CACHED_WORDS:
            self[word] = numbers
        return numbers


class _WordNumbers(dict[str, _Numbers]):
    """The numbers of the terms of words, by language; all share `terms`. `default` is the default language."""

    def __init__(self, default: str) -> None:
        super().__init__()
        self.default = default
        self.terms: dict[str, int] = {}

    def __missing__(self, language: str) -> _Numbers:
        self[language] = found = _Numbers(Analyser(language), self.terms)
        return found


class _PostingsDraft:
    """Chunks that have not become postings yet: the numbers of their terms, and the count of terms of each field."""

    def __init__(self, vocabulary: _WordNumbers) -> None:
        self._vocabulary = vocabulary
        self._tokens: list[Int32] = []
        self._lengths: list[Int64] = []
        self.chunk_ids: list[str] = []
        self.languages = set[str]()
        self.size = 0

    def add(self, chunk_ids: Sequence[str], chunks: Sequence[str | ChunkFields]) -> None:
        texts = chain.from_iterable(map(fields_of, chunks))
        words = pc.ascii_split_whitespace(pa.array((text and separate(text) for text in texts), pa.large_string()))
        encoded = words.values.dictionary_encode()
        numbers, places = self._numbered(encoded, words.offsets.to_numpy())
        sizes = np.fromiter(map(len, numbers), np.int64, len(numbers))
        flat = np.fromiter(chain.from_iterable(numbers), np.int32, sizes.sum())
        counts = sizes[places]
        ends = np.concatenate([[0], np.cumsum(counts)])
        first = np.concatenate([[0], np.cumsum(sizes)])[places]
        self._tokens.append(flat[np.repeat(first - ends[:-1], counts) + np.arange(ends[-1])])
        self._lengths.append(np.diff(ends[words.offsets.to_numpy()]))
        self.chunk_ids += chunk_ids
        self.size += int(ends[-1])

    def _numbered(self, words: pa.DictionaryArray, offsets: Int64) -> tuple[list[tuple[int, ...]], Int64]:
        """Return the terms of the distinct words of a batch, in the languages of their chunks, and each word's place.

        `offsets` are the ends of the fields of all chunks. The path of a document does not affect a chunk's language.
        """
        known, at = words.dictionary.to_pylist(), words.indices.to_numpy()
        ballots = np.fromiter(map(ballot, known), np.int64, len(known))
        starts, ends = offsets[: -1 : len(FIELDS)], offsets[_PATH :: len(FIELDS)]
        found = detect_all(ballots[at], starts, ends, self._vocabulary.default)
        kinds = sorted(set(found))
        self.languages.update(kinds)
        if len(kinds) == 1:
            return [self._vocabulary[kinds[0]][word] for word in known], at
        kind_of = np.repeat([kinds.index(language) for language in found], np.diff(offsets[:: len(FIELDS)]))
        pairs = kind_of * len(known) + at
        used = np.zeros(len(kinds) * len(known), bool)
        used[pairs] = True
        one_of = zip(*(part.tolist() for part in np.divmod(np.flatnonzero(used), len(known))), strict=True)
        return [self._vocabulary[kinds[kind]][known[place]] for kind, place in one_of], (np.cumsum(used) - 1)[pairs]

    def postings(self) -> Postings:
        terms = pa.array(list(self._vocabulary.terms), pa.string())
        order = pc.array_sort_indices(terms)
        rank = np.empty(len(terms), np.int32)
        rank[order.to_numpy()] = np.arange(len(terms), dtype=np.int32)
        columns = np.concatenate([rank[tokens] for tokens in self._tokens])
        self._tokens.clear()
        lengths = np.concatenate(self._lengths)
        starts, places, counts = _counted(columns, lengths)
        used = np.zeros(len(terms), bool)
        used[columns] = True
        starts, rows, frequencies, side = _by_chunk(starts, places, counts)
        return make_postings(
            terms.take(order).filter(pa.array(used)),
            starts,
            rows,
            frequencies,
            pa.array(self.chunk_ids, pa.string()),
            np.ascontiguousarray(lengths.astype(np.int32).reshape(-1, len(FIELDS)).T),
            side,
        )


def _counted(terms: Int32, lengths: Int64) -> tuple[Int64, Int32, Counts]:
    """Return starts, places and counts: how often each term occurs at each place, by term and then by place.

    `terms` are the tokens of all places, one place after the other; `lengths` are the numbers of tokens of the places.
    """
    pairs = np.repeat(np.arange(len(lengths)), lengths)
    pairs += terms.astype(np.int64) * len(lengths)
    pairs.sort()
    firsts = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.diff(firsts, append=len(pairs)).astype(np.min_scalar_type(int(lengths.max())))
    found, places = np.divmod(pairs[firsts], len(lengths))
    return np.append(np.flatnonzero(np.diff(found, prepend=-1)), len(found)), places.astype(np.int32), counts


def _by_chunk(starts: Int64, places: Int32, counts: Counts) -> tuple[Int64, Int32, Counts, SideEntries]:
    """Return starts, rows and frequencies in the text for postings of single fields, and the entries of side fields.

    `places` number the fields of all chunks, chunk by chunk; they ascend for each term.
    """
    rows, fields = np.divmod(places, np.int32(len(FIELDS)))
    first = np.diff(rows, prepend=-1) != 0  # the first field of a term in a chunk
    first[starts[:-1]] = True
    ends, side = np.concatenate([[0], np.cumsum(first)]), fields > 0
    texts = np.where(fields[first] == 0, counts[first], 0).astype(counts.dtype)
    entries = SideEntries(ends[1:][side] - 1, fields[side].astype(np.uint8), counts[side])
    return ends[starts], rows[first], texts, entries


def language_of(chunk: ChunkFields, default: str) -> str:
    """Return the language in which a chunk is analysed; `default` if it is unclear."""
    return detect("\n".join(chunk[:_PATH]), (default, *DETECTED)) or default


def build(root: Path, added: Iterable[tuple[str, str | ChunkFields]], language: str) -> Iterator[Built]:
    """Yield postings of (chunk id, fields) pairs, each of a bounded number of tokens.

    A chunk is analysed in the language of its own words, so that its terms do not depend on the chunks around it; if
    that is unclear, in the first language of `language`.
    """
    default, stream = languages_in(language)[0], iter(added)
    vocabulary, done, languages, size = _WordNumbers(default), list[Postings](), set[str](), 0
    draft = _PostingsDraft(vocabulary)
    # Sorted by id, so that a commit of one batch and a repair write the same file, which older snapshots name.
    while batch := sorted(islice(stream, _BATCH_CHUNKS), key=itemgetter(0)):
        draft.add(*zip(*batch, strict=True))
        if draft.size >= _TOKENS_AT_ONCE:
            done.append(spill_postings(root, draft.postings()))
            languages |= draft.languages
            size += draft.size
            draft = _PostingsDraft(vocabulary)
        if size >= TOKENS_PER_SEGMENT:
            yield Built(_joined(done), frozenset(languages))
            vocabulary, done, languages, size = _WordNumbers(default), [], set(), 0
            draft = _PostingsDraft(vocabulary)
    if draft.chunk_ids:
        done.append(draft.postings())
        languages |= draft.languages
    if done:
        yield Built(_joined(done), frozenset(languages))


def _joined(done: list[Postings]) -> Postings:
    return done[0] if len(done) == 1 else merge((done.pop(0), np.zeros(0, np.int32)) for _ in range(len(done)))
