"""Results by question: kept in a file, compared question by question, and printed as a table."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from docmill.tasks.evaluate.bootstrap import Interval, difference, interval

DEFAULT = "default"
_RESAMPLES, _SEED = 10_000, 20_070_906
Values = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Costs:
    """What a store took: CPU s of its ingest without the encoding of texts; None where that was not measured."""

    chunks: int
    embedded: int | None
    tokens: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class WayResult:
    """The value of each question, by measure, and the medians of a search in ms, by the clock and of all cores."""

    values: Values
    ms: float
    cpu_ms: float


@dataclass(slots=True)
class SetResult:
    """What a set took, and the results of each way to search it."""

    costs: Costs
    ways: dict[str, WayResult] = field(default_factory=dict)


@dataclass(slots=True)
class Results:
    """The results of one half of the questions, by set."""

    half: str
    sets: dict[str, SetResult] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write the results to a file."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


def load_results(path: Path) -> Results:
    """Return the results that an earlier run saved."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    sets = {
        name: SetResult(Costs(**one["costs"]), {way: WayResult(**found) for way, found in one["ways"].items()})
        for name, one in kept["sets"].items()
    }
    return Results(kept["half"], sets)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of a way to another one in a measure, by question."""

    mine: Mapping[str, float]
    other: Mapping[str, float]

    def __post_init__(self) -> None:
        if self.mine.keys() != self.other.keys():
            raise ValueError("the two results are of other questions; measure the baseline with the same sets and half")

    def interval(self) -> Interval:
        """Return the mean difference with its 95 % interval."""
        return difference(self.mine, self.other)


def compared(results: Results, base: Results | None, name: str, way: str, measure: str) -> Comparison | None:
    """Return a way beside the same way of a baseline, or its default; without one beside the default of this run."""
    mine = results.sets[name].ways[way].values[measure]
    others = (base or results).sets.get(name, SetResult(results.sets[name].costs)).ways
    other = others.get(way) if base else None
    other = other or others.get(DEFAULT)
    if other is None or measure not in other.values or (base is None and way == DEFAULT):
        return None
    return Comparison(mine, other.values[measure])


def rows(results: Results, base: Results | None, name: str) -> Iterator[str]:
    """Yield a line of the table for each measure and way of a set."""
    ways = results.sets[name].ways
    for measure in next(iter(ways.values())).values:
        for way, result in ways.items():
            value = interval(result.values[measure])
            against = compared(results, base, name, way, measure)
            change = spelled(against.interval()) if against else ""
            said = f"{100 * value.mean:.1f} [{100 * value.low:.1f}, {100 * value.high:.1f}]"
            yield " | ".join([name, measure, way, said, change, f"{result.ms:.0f}", f"{result.cpu_ms:.0f}"])


def spelled(one: Interval) -> str:
    """Return a difference in points of a percent, marked where it is beyond chance."""
    mark = {"better": " **+**", "worse": " **-**"}.get(one.verdict, "")
    return f"{100 * one.mean:+.1f} [{100 * one.low:+.1f}, {100 * one.high:+.1f}]{mark}"


def over_all(results: Results, base: Results | None) -> Iterator[str]:
    """Yield a line for each way that all sets were asked in: the mean of the sets' first measures, and its change."""
    ways = dict.fromkeys(way for one in results.sets.values() for way in one.ways)
    for way in ways:
        if not all(way in one.ways for one in results.sets.values()):
            continue
        firsts = {name: next(iter(one.ways[way].values)) for name, one in results.sets.items()}
        pairs = [compared(results, base, name, way, measure) for name, measure in firsts.items()]
        mean = np.mean([np.mean([*results.sets[name].ways[way].values[one].values()]) for name, one in firsts.items()])
        found = [pair for pair in pairs if pair]
        change = spelled(mean_difference(found)) if len(found) == len(pairs) else ""
        yield " | ".join(["mean of the sets", "first measures", way, f"{100 * mean:.1f}", change, "", ""])


def mean_difference(pairs: Sequence[Comparison]) -> Interval:
    """Return the mean over sets of their mean differences: each set counts once, its questions are drawn within it."""
    rng = np.random.default_rng(_SEED)
    means, totals = list[float](), np.zeros(_RESAMPLES)
    for pair in pairs:
        values = np.array([pair.mine[key] - pair.other[key] for key in sorted(pair.mine)])
        means.append(float(values.mean()))
        totals += values[rng.integers(0, len(values), (_RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(totals / len(pairs), (0.025, 0.975))
    return Interval(float(np.mean(means)), float(low), float(high))


def cost_row(name: str, one: Costs, base: Costs | None) -> str:
    """Return a line of the table of costs, with its change against a baseline."""
    cells = [name, f"{one.chunks:,}", f"{one.tokens:,}"]
    cells.append("" if one.embedded is None else f"{one.embedded:,}")
    cells.append("" if one.embedded is None else f"{one.embedded / one.tokens:.2f}")
    cells.append("" if one.seconds is None else f"{one.seconds:.1f}")
    cells.append(f"{one.chunks / base.chunks - 1:+.1%}" if base else "")
    cells.append(f"{one.embedded / base.embedded - 1:+.1%}" if base and base.embedded and one.embedded else "")
    return " | ".join(cells)
