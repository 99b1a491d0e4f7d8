"""Keyword writer: write the next state of the index to new files; snapshots keep the files that they name."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.files import settle
from docmill.storage.search.keywords.analysis.languages import languages_in, with_languages
from docmill.storage.search.keywords.document_frequencies import DocumentFrequencies, read_spectrum, write_spectrum
from docmill.storage.search.keywords.segments import merged_ahead
from docmill.storage.search.keywords.segments.build import build
from docmill.storage.search.keywords.segments.chunk_fields import ChunkFields
from docmill.storage.search.keywords.segments.merge_segments import FULL_POSTINGS, MOST_BEHIND, choose, merge
from docmill.storage.search.keywords.segments.merged_ahead import MergedAhead
from docmill.storage.search.keywords.segments.postings import Postings, check_distinct, read_postings, write_postings
from docmill.storage.search.keywords.segments.side_postings import Int32, Int64
from docmill.storage.search.keywords.segments.state import KeywordState, Segment, check_analyser
from docmill.storage.search.keywords.segments.tombstones import NONE, Tombstones, read_tombstones, write_tombstones


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """A segment in memory: postings, tombstones, and its entry in the state, which is None before it is written."""

    postings: Postings
    tombstones: Tombstones = NONE
    segment: Segment | None = None

    @property
    def alive(self) -> int:
        """The number of live chunks."""
        return len(self.postings.lengths) - len(self.tombstones.rows)

    def holders(self, field: int) -> int:
        """Return how many live chunks have a term in a field."""
        lengths = self.postings.lengths_of(field)
        return int(np.count_nonzero(lengths)) - int(np.count_nonzero(lengths[self.tombstones.rows]))

    def document_frequencies(self, terms: Int64) -> Int64:
        """Return how many live chunks contain each term; `terms` are positions in the dictionary, -1 if unknown."""
        if not len(self.postings.terms):
            return np.zeros(len(terms), np.int64)
        starts = self.postings.starts
        counts = starts[terms + 1] - starts[terms] - self.tombstones.dead_in(terms)
        return np.where(terms >= 0, counts, 0)


def open_segment(root: Path, segment: Segment) -> OpenSegment:
    """Return a segment, memory-mapped."""
    return OpenSegment(read_postings(root, segment.file), read_tombstones(root, segment.tombstones), segment)


def update(
    root: Path,
    state: KeywordState | None,
    removed: Collection[str],
    added: Iterable[tuple[str, str | ChunkFields]],
    language: str = "english",
) -> KeywordState:
    """Write and return the state without the chunks `removed` and with the (chunk id, fields) pairs `added`.

    An added id that exists replaces the fields of its chunk; a removed id that does not exist is no error. `language`
    is the default language of a new index; an existing index keeps its own. The languages of the chunks are added to
    it. Segments that `merge_ahead` has merged are taken over. This writes only the segment of the new chunks and
    tombstones; `merged` merges segments.
    """
    state = merged_ahead.taken(root, state) if state else KeywordState(language=language)
    check_analyser(state)
    old = [open_segment(root, segment) for segment in state.segments]
    fresh = []
    for postings, languages in build(root, added, state.language):
        fresh.append(_settle(root, postings))
        state = replace(state, language=with_languages(state.language, languages))
    check_distinct([part.postings for part in fresh])
    kept = [_bury(part, removed, fresh) for part in old]
    if not fresh and not _touched(old, kept):
        return state
    spectrum = read_spectrum(root, state.spectrum).change(*_frequencies(old, kept, fresh))
    # A segment with only dead chunks leaves the state; its file stays for the snapshots that name it.
    tokens = _tokens(state, _touched(old, kept), fresh)
    return _write_state(root, state, kept + fresh, spectrum, tokens)


def _touched(old: Sequence[OpenSegment], kept: Sequence[OpenSegment]) -> list[tuple[OpenSegment, OpenSegment]]:
    """Return the segments that lost chunks, each before and after the change."""
    return [(before, after) for before, after in zip(old, kept, strict=True) if after is not before]


def _write_state(
    root: Path, state: KeywordState, parts: Sequence[OpenSegment], spectrum: DocumentFrequencies, tokens: Sequence[int]
) -> KeywordState:
    """Write the files of the next state, with the `tokens` of each field, and return it."""
    return replace(
        state,
        segments=_written(root, parts),
        spectrum=write_spectrum(root, spectrum),
        rows=sum(part.alive for part in parts),
        tokens=tokens[0],
        side_tokens=tuple(tokens[1:]),
    )


def _tokens(
    state: KeywordState, touched: Sequence[tuple[OpenSegment, OpenSegment]], fresh: Sequence[OpenSegment]
) -> list[int]:
    """Return the number of terms of each field after a change, without reading the lengths of all chunks."""
    return [
        count
        + sum(_sum(part.postings.lengths_of(field)) for part in fresh)
        - sum(_sum(after.postings.lengths_of(field)[_newly_dead(was, after)]) for was, after in touched)
        for field, count in enumerate(state.field_tokens)
    ]


def _newly_dead(was: OpenSegment, after: OpenSegment) -> Int32:
    return np.setdiff1d(after.tombstones.rows, was.tombstones.rows)


def _sum(lengths: Int32) -> int:
    return int(lengths.sum(dtype=np.int64))


def rebuild(root: Path, added: Iterable[tuple[str, str | ChunkFields]], language: str = "english") -> KeywordState:
    """Write and return a state that consists of the given (chunk id, fields) pairs only."""
    return update(root, None, (), added, languages_in(language)[0])


def part_of(whole: Path, state: KeywordState, root: Path, ids: pa.StringArray) -> KeywordState:
    """Write and return the state for only some chunks of a state in the folder `whole`.

    Nothing of the other chunks is left: no term, no count, and no posting that would slow down a search.
    """
    check_analyser(state)
    parts = [_without_others(open_segment(whole, segment), ids) for segment in state.segments]
    kept = [part for part in parts if part.alive]
    fresh = [_settle(root, merge((part.postings, part.tombstones.rows) for part in group)) for group in _groups(kept)]
    own = KeywordState(language=state.language)
    if not fresh:
        return own
    spectrum = read_spectrum(root, None).change(*_frequencies([], [], fresh))
    return _write_state(root, own, fresh, spectrum, _tokens(own, [], fresh))


def _without_others(part: OpenSegment, ids: pa.StringArray) -> OpenSegment:
    """Return a segment in which only the chunks `ids` are live; its tombstones count no terms."""
    other = np.flatnonzero(~pc.is_in(part.postings.chunk_ids, value_set=ids).to_numpy(zero_copy_only=False))
    dead = np.union1d(part.tombstones.rows, other).astype(np.int32)
    return replace(part, tombstones=replace(NONE, rows=dead))


def overdue(state: KeywordState) -> bool:
    """Return whether so many segments wait for a merge that searches become slow."""
    return sum(segment.postings < FULL_POSTINGS for segment in state.segments) > MOST_BEHIND


def note(root: Path, committed: KeywordState) -> None:
    """Note that a state was committed from this folder, unless `merge_ahead` has noted it."""
    if not is_noted(root, committed):
        merged_ahead.write(root, MergedAhead(committed, committed))


def is_noted(root: Path, committed: KeywordState) -> bool:
    """Return whether a state was the last one committed from this folder."""
    return merged_ahead.is_noted(root, committed)


def merge_ahead(root: Path, committed: KeywordState) -> None:
    """Merge segments of a committed state that are due, for the next commit to use; the caller holds the lock.

    Readers of the state keep its files. If the process is killed, unfinished files are swept, and the merge is done
    after the next commit.
    """
    groups = choose(_sizes(committed), to_come=1)  # counts the segment of the next commit
    if committed.outdated or not groups:
        merged_ahead.clear(root)
    elif merged_ahead.taken(root, committed) == committed:
        made = _regrouped(root, committed, groups)
        settle()  # the next commit syncs only files of its own process, which may be another one
        merged_ahead.write(root, MergedAhead(committed, made))


def merged(root: Path, state: KeywordState) -> KeywordState:
    """Write and return a state of the same chunks in which segments that are due have been merged."""
    return _regrouped(root, state, choose(_sizes(state)))


def _sizes(state: KeywordState) -> list[tuple[int, int, int]]:
    return [(segment.rows, segment.dead, segment.postings) for segment in state.segments]


def _regrouped(root: Path, state: KeywordState, groups: Sequence[Sequence[int]]) -> KeywordState:
    """Write and return the state with each group of segments, given by number, merged into one."""
    gone = {i for group in groups for i in group}
    left = tuple(segment for i, segment in enumerate(state.segments) if i not in gone)
    made = [_merged([open_segment(root, state.segments[i]) for i in group]) for group in groups]
    return replace(state, segments=left + _written(root, made))


def _written(root: Path, parts: Sequence[OpenSegment]) -> tuple[Segment, ...]:
    """Write segments, leaving out those with only dead chunks."""
    return tuple(_write(root, part) for part in parts if part.alive)


def compact(root: Path, state: KeywordState) -> KeywordState:
    """Write and return a state of the same chunks with few segments and without dead rows."""
    check_analyser(state)
    parts = [open_segment(root, segment) for segment in state.segments]
    return replace(state, segments=_written(root, [_merged(group) for group in _groups(parts)]))


def _groups(parts: Iterable[OpenSegment]) -> list[list[OpenSegment]]:
    """Group segments so that each group has about as many postings as a full segment."""
    groups: list[list[OpenSegment]] = []
    size = 0
    for part in parts:
        if not groups or size + len(part.postings.rows) > FULL_POSTINGS:
            groups.append([])
            size = 0
        groups[-1].append(part)
        size += len(part.postings.rows)
    return groups


def _merged(group: Sequence[OpenSegment]) -> OpenSegment:
    """Merge the live chunks of a group into one segment; a single segment without dead chunks stays as it is."""
    if len(group) == 1 and not len(group[0].tombstones.rows):
        return group[0]
    return OpenSegment(merge([(part.postings, part.tombstones.rows) for part in group]))


def _settle(root: Path, postings: Postings) -> OpenSegment:
    """Return new postings as a segment; a full one, which never merges, is mapped from disk to save memory."""
    if len(postings.rows) < FULL_POSTINGS:
        return OpenSegment(postings)
    return open_segment(root, _write(root, OpenSegment(postings)))


def _bury(part: OpenSegment, removed: Collection[str], fresh: Sequence[OpenSegment]) -> OpenSegment:
    """Return the segment without removed and replaced chunks, or the same object if it contains none of them."""
    lookup = part.postings.chunk_lookup
    found = [lookup.find_all(ids) for ids in (list(removed), *(other.postings.chunk_ids for other in fresh))]
    places = np.concatenate(found)
    rows = np.setdiff1d(places[places >= 0], part.tombstones.rows).astype(np.int32)  # a chunk dies once
    return replace(part, tombstones=part.tombstones.bury(part.postings, rows)) if len(rows) else part


def _touched_terms(
    old: Sequence[OpenSegment], kept: Sequence[OpenSegment], fresh: Sequence[OpenSegment]
) -> pa.StringArray:
    terms = [part.postings.terms for part in fresh]
    for before, after in _touched(old, kept):
        stones = after.tombstones
        # A buried chunk has few of the segment's terms, and only their frequencies have changed.
        changed = stones.counts != before.tombstones.dead_in(stones.terms.astype(np.int64))
        terms.append(after.postings.terms.take(pa.array(stones.terms[changed])))
    return pc.unique(pa.concat_arrays(terms)).sort()  # sorted, so that each segment finds them fast


def _frequencies(
    old: Sequence[OpenSegment], kept: Sequence[OpenSegment], fresh: Sequence[OpenSegment]
) -> tuple[Int64, Int64]:
    """Return the document frequencies of the terms that a change touches, before and after it."""
    terms = _touched_terms(old, kept, fresh)
    before, after = np.zeros((2, len(terms)), np.int64)
    for was, now in zip([*old, *(None for _ in fresh)], [*kept, *fresh], strict=True):
        places = now.postings.term_lookup.find_all(terms)
        before += was.document_frequencies(places) if was else 0  # it has the same dictionary as `now`
        after += now.document_frequencies(places)
    return before, after


def _write(root: Path, part: OpenSegment) -> Segment:
    postings, tombstones = part.postings, part.tombstones
    segment = part.segment or Segment(write_postings(root, postings), len(postings.lengths), len(postings.rows))
    # Dead rows stay dead, so an equal number means the same rows, and their file can stay.
    if segment.dead == len(tombstones.rows):
        return segment
    return replace(segment, tombstones=write_tombstones(root, tombstones), dead=len(tombstones.rows))
