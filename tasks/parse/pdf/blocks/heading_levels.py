"""PDF heading levels: by the outline, by the numbers of headings, and by how they are set, in this order."""

from collections import defaultdict
from collections.abc import Iterable

from docmill.tasks.parse.pdf.blocks.heading_runs import HeadingRun, Look
from docmill.tasks.parse.pdf.blocks.heading_text import depth

_NEXT_LEVEL = 0.95  # smaller sizes are of another level; those between differ by the rounding of scaled fonts
_LEVELS = 6  # as Markdown has
_LEAST_NUMBERED = 2  # headings: the number of one alone may be part of its text


def set_levels(runs: list[HeadingRun]) -> None:
    """Set the level of each heading, from 1."""
    ranks = _ranks({run.look for run in runs})
    known = {id(run): run.level for run in runs if run.outlined} or _numbered(runs, ranks)
    of_look = _highest(runs, known)
    for run in runs:
        run.level = known.get(id(run)) or _level(run.look, of_look, ranks)


def _highest(runs: list[HeadingRun], known: dict[int, int]) -> dict[Look, int]:
    """Return the highest level of the headings of each look whose levels are known."""
    by_look: defaultdict[Look, list[int]] = defaultdict(list)
    for run in runs:
        if id(run) in known:
            by_look[run.look].append(known[id(run)])
    return {look: min(levels) for look, levels in by_look.items()}


def _ranks(looks: Iterable[Look]) -> dict[Look, int]:
    """Return 1 for the strongest look, the one with the largest letters, 2 for the next, and so on."""
    rank, size, strength = 0, float("inf"), 0
    ranks: dict[Look, int] = {}
    clusters: list[list[Look]] = []
    for look in sorted(looks, key=lambda look: look.size, reverse=True):
        if look.size < size * _NEXT_LEVEL:
            clusters.append([])
            size = look.size
        clusters[-1].append(look)
    for cluster in clusters:
        strength = -1
        for look in sorted(cluster, key=lambda look: look.rank):
            if look.rank != strength:
                rank, strength = rank + 1, look.rank
            ranks[look] = rank
    return ranks


def _numbered(runs: list[HeadingRun], ranks: dict[Look, int]) -> dict[int, int]:
    """Return the levels of headings with numbers, by their identity: each number more is one level more."""
    depths = {id(run): (depth(run.text), ranks[run.look]) for run in runs}
    numbered = {one: found for one, found in depths.items() if found[0]}
    if len(numbered) < _LEAST_NUMBERED:
        return {}
    least = min(deep for deep, _ in numbered.values())
    first = min(rank for deep, rank in numbered.values() if deep == least)
    return {one: min(first + deep - least, _LEVELS) for one, (deep, _) in numbered.items()}


def _level(look: Look, of_look: dict[Look, int], ranks: dict[Look, int]) -> int:
    """Return the level of a look: that of its numbered or outlined headings, else one by the looks around it."""
    if look in of_look:
        return of_look[look]
    if not of_look:
        return min(ranks[look], _LEVELS)
    stronger = [level for other, level in of_look.items() if ranks[other] < ranks[look]]
    if stronger:
        return min(max(stronger) + 1, _LEVELS)
    return max(min(min(of_look.values()) - 1, ranks[look]), 1)
