"""Merge segments: decide which segments to merge, and write the merged segment without dead rows."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from docmill.storage.search.keywords.segments.chunk_fields import FIELDS
from docmill.storage.search.keywords.segments.postings import Postings, make_postings
from docmill.storage.search.keywords.segments.side_postings import Int32, Int64, SideEntries, join_entries

MOST_SEGMENTS = 8
"""The most small segments of an index. A query reads every one of them; with a smaller number, postings are rewritten
more often."""
MOST_BEHIND = 2 * MOST_SEGMENTS
"""With more small segments than this, a commit merges them itself instead of leaving it until after the commit. There
are so many only if several writers in a row die between their commit and the merge that follows it."""
MOST_DEAD = 0.2
"""Share of dead rows above which a segment is rewritten. Searches read the postings of dead rows and drop them; with a
smaller share, a large segment is rewritten after few deletions."""
FULL_POSTINGS = 1 << 22
"""Postings of a full segment, which no longer merges; this bounds the memory and the time of one merge."""
_GROWTH = 3
"""A segment merges with all smaller ones if it is at most this many times as large as they are together. A smaller
factor leaves more segments; with a larger one, a big segment is rewritten to merge a few small ones."""

_NUMBERS = range(len(FIELDS))


def choose(sizes: Sequence[tuple[int, int, int]], to_come: int = 0) -> list[list[int]]:
    """Return the groups of segments to merge, or to rewrite alone, from (rows, dead rows, postings) of each.

    If there are more than MOST_SEGMENTS small segments, counting `to_come` more, they are merged from the smallest on.
    A merge stops before a segment that is more than _GROWTH times as large as the smaller ones together, so a posting
    is rewritten a logarithmic number of times, but not before there are few enough segments. A full segment is
    rewritten only when more than MOST_DEAD of its rows are dead.
    """
    postings = [size[2] for size in sizes]
    group = _small_ones(postings, to_come)
    worn = [[i] for i, (rows, dead, _) in enumerate(sizes) if dead > MOST_DEAD * rows and i not in group]
    # A worn segment in the group loses its dead rows there, so it is not written twice.
    return [group, *worn] if group else worn


def _small_ones(postings: Sequence[int], to_come: int) -> list[int]:
    """Return the small segments to merge into one, or none if there are few enough."""
    small = sorted((i for i, size in enumerate(postings) if size < FULL_POSTINGS), key=postings.__getitem__)
    if len(small) + to_come <= MOST_SEGMENTS:
        return []
    group: list[int] = []
    total = 0
    for i in small:
        few = len(small) - len(group) + 1 + to_come <= MOST_SEGMENTS
        if len(group) > 1 and not _fits(postings[i], total, few):
            break
        group.append(i)
        total += postings[i]
    return sorted(group)


def _fits(size: int, total: int, few: bool) -> bool:
    """Return whether a segment may join others of `total` postings; `few` says that there are few enough already."""
    return (size <= _GROWTH * total or not few) and total + size <= 2 * FULL_POSTINGS


def merge(parts: Iterable[tuple[Postings, Int32]]) -> Postings:
    """Return one segment with the live chunks of (postings, dead rows) pairs, in order.

    Pass a lazy iterable to free each input as soon as it is copied.
    """
    trimmed = [_trim(postings, dead) for postings, dead in parts]
    terms = _join_terms([terms for terms, *_ in trimmed])
    places = [_places(part_terms, terms) for part_terms, *_ in trimmed]
    counts = np.zeros(len(terms), np.int64)
    for place, (_, starts, *_) in zip(places, trimmed, strict=True):
        counts[place] += np.diff(starts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = np.empty(starts[-1], np.int32)
    frequencies = np.empty(starts[-1], np.result_type(*(part[3] for part in trimmed)))
    ids = pa.concat_arrays([part[4] for part in trimmed])
    lengths, sides = np.concatenate([part[5] for part in trimmed], axis=1), list[SideEntries]()
    # free[t] is the next free place among the postings of term t, which the parts fill one after the other.
    free, base = starts[:-1].copy(), 0
    while trimmed:
        # Removed from the list, so that each part's memory is freed as soon as it is copied.
        place, (_, own, own_rows, own_frequencies, _, own_lengths, side) = places.pop(0), trimmed.pop(0)
        goal = np.repeat(free[place] - own[:-1], np.diff(own)) + np.arange(len(own_rows))
        rows[goal] = own_rows + np.int32(base)
        frequencies[goal] = own_frequencies
        free[place] += np.diff(own)
        sides.append(side._replace(places=goal[side.places]))
        base += own_lengths.shape[1]
    return make_postings(terms, starts, rows, frequencies, ids, lengths, join_entries(sides))


_Trimmed = tuple[pa.StringArray, Int64, Int32, "npt.NDArray[np.unsignedinteger]", pa.StringArray, Int32, SideEntries]


def _trim(postings: Postings, dead: Int32) -> _Trimmed:
    """Return terms, starts, rows, frequencies, chunk ids, lengths (fields, rows) and side entries of live rows."""
    side, lengths = postings.side.entries(0, len(postings.rows)), np.stack([*map(postings.lengths_of, _NUMBERS)])
    if not len(dead):
        return (
            postings.terms,
            postings.starts,
            postings.rows,
            postings.frequencies,
            postings.chunk_ids,
            lengths,
            side,
        )
    alive = np.ones(len(postings.lengths), bool)
    alive[dead] = False
    kept = alive[postings.rows]
    moved = np.concatenate([[0], np.cumsum(kept)])
    starts = moved[postings.starts]
    used = np.diff(starts) > 0  # terms that only dead rows have leave the dictionary
    numbers = (np.cumsum(alive) - 1).astype(np.int32)
    return (
        postings.terms.filter(pa.array(used)),
        np.append(starts[:-1][used], starts[-1]),
        numbers[postings.rows[kept]],
        postings.frequencies[kept],
        postings.chunk_ids.filter(pa.array(alive)),
        lengths[:, alive],
        SideEntries(*(array[kept[side.places]] for array in side._replace(places=moved[side.places]))),
    )


def _join_terms(dictionaries: Sequence[pa.StringArray]) -> pa.StringArray:
    if len(dictionaries) == 1:  # it is sorted already
        return dictionaries[0]
    return pc.unique(pa.concat_arrays(dictionaries)).sort()


def _places(own: pa.StringArray, terms: pa.StringArray) -> Int64:
    places: Int64 = pc.index_in(own, value_set=terms).to_numpy().astype(np.int64)
    return places
