"""Phases: what a run is at, how far it is, and how fast: documents parsed, tokens embedded, the commit."""

from dataclasses import dataclass

PLAN, PARSE, EMBED, COMMIT = "plan", "parse", "embed", "commit"

_SHARES = {PARSE: (0.0, 10.0), EMBED: (10.0, 89.0), COMMIT: (99.0, 1.0)}
"""Percent of a run before each phase, and in it: to parse takes minutes where to embed takes hours."""


@dataclass(frozen=True, slots=True)
class Phase:
    """How far a run is in one of its phases.

    Attributes:
        name: `"parse"`, `"embed"` or `"commit"`, in this order; a run that commits in steps comes back to them.
        done: How many units are done.
        total: How many units there are, as far as is known now.
        unit: `"documents"`, `"tokens"`, or `""` for a commit, which is done or not.
        rate: Units per second in the last minute, 0 if unknown.
    """

    name: str
    done: int
    total: int
    unit: str = ""
    rate: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """Return how long the rest takes at this rate, None if the rate is unknown."""
        return (self.total - self.done) / self.rate if self.rate else None

    @property
    def percent(self) -> float:
        """Return the share of the whole run that is done when the phase is this far, in percent."""
        before, share = _SHARES[self.name]
        return before + share * self.done / max(self.total, 1)


def counted(count: int, units: str) -> str:
    """Return a count with its unit, which is given in the plural: `1 document`, `2,000 documents`."""
    return f"{count:,} {units.removesuffix('s') if count == 1 else units}"
