"""What an attack is held against, and the table of what came out."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from docmill.storage.schema import ChunkRow
from docmill.storage.snapshots.clean.compact import vacuum
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history.retention import Retention
from tests.kit.workbench import Workbench

_HEAD = ("attack", "store", "runs", "faults met", "rows lost", "compared", "different", "seconds")

Rows = Sequence[ChunkRow]
Show = Callable[["Tally"], None]


@dataclass
class Tally:
    """The result of one attack.

    `faults` are the runs in which the fault met its target: a kill that met a live process, a request that failed.
    `compared` counts the comparisons of a store with a clean build of the same source, `different` those that failed.
    """

    attack: str
    place: str
    runs: int = 0
    faults: int = 0
    lost: int = 0
    compared: int = 0
    different: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def held(self) -> bool:
        """Whether nothing was lost, nothing differed, and the fault was met at all."""
        return not self.lost and not self.different and bool(self.faults and self.compared)

    def count_lost(self, now: Rows, states: Sequence[Rows]) -> None:
        """Count the rows that are in none of the states that the store may be in: 0 if it is in one of them."""
        if now in states:
            return
        self.lost += min(max(1, len(set(_keys(state)) - set(_keys(now)))) for state in states)
        self.notes.append(f"run {self.runs}: {len(now)} rows where {[len(state) for state in states]} were due")

    def compare(self, bench: Workbench, wanted: Rows) -> None:
        """Compare a store with the rows of a clean build, and look for damage in every file of it."""
        self.compared += 1
        found = verify(bench.root, deep=True)
        if {finding.kind for finding in found} == {"past"}:  # only older snapshots need what is gone
            vacuum(bench.root, Retention(keep_snapshots=1, grace_hours=0.0))
            found = verify(bench.root, deep=True)
        findings = [str(finding) for finding in found]
        same = bench.chunks() == wanted
        if findings or not same:
            self.different += 1
            self.notes.append(f"run {self.runs}: rows {'equal' if same else 'differ'}; {'; '.join(findings[:3])}")

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        numbers = (self.runs, self.faults, self.lost, self.compared, self.different)
        return (self.attack, self.place, *map(str, numbers), f"{self.seconds:.0f}")


def _keys(rows: Rows) -> list[tuple[str, str]]:
    return [(row.chunk_id, row.text) for row in rows]


@contextmanager
def tally(attack: str, place: str, show: Callable[[Tally], None]) -> Iterator[Tally]:
    """Yield an empty tally, and show it with its time once the attack is over."""
    own, began = Tally(attack, place), time.monotonic()
    yield own
    own.seconds = time.monotonic() - began
    show(own)


def print_row(own: Tally) -> None:
    """Print a row as soon as it is known, and what went wrong on standard error."""
    print("| " + " | ".join(own.cells()) + " |", flush=True)
    for note in own.notes:
        print(f"{own.attack}, {own.place}: {note}", file=sys.stderr, flush=True)


def print_head() -> None:
    """Print the head of the table."""
    print("| " + " | ".join(_HEAD) + " |")
    print("|" + "---|" * len(_HEAD), flush=True)


def print_sum(tallies: Sequence[Tally]) -> None:
    """Print the last row: the sums."""
    whole = Tally("**all**", "")
    for own in tallies:
        whole.runs += own.runs
        whole.faults += own.faults
        whole.lost += own.lost
        whole.compared += own.compared
        whole.different += own.different
        whole.seconds += own.seconds
    print_row(whole)
