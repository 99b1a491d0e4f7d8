"""Print what a benchmark measured: one row a figure, with the bound that it is held against."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

FIGURES = "BENCH_FIGURES"
"""The variable with the file that `make bench` gathers the figures of all its commands in, one a line."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value. `bound` is the most it may be, None where it is only told.

    `judged` is for a count, or a ratio of CPU times that were measured in turn: what no load of the machine changes, so
    that it can be compared with the last release.
    """

    name: str
    value: float
    unit: str
    bound: float | None = None
    judged: bool = False

    @property
    def held(self) -> bool:
        """Say whether the value is within its bound."""
        return self.bound is None or self.value <= self.bound


def show(title: str, figures: list[Figure]) -> None:
    """Print figures as a Markdown table, and add them to the file of `make bench` if it runs."""
    print(f"\n## {title}\n\n| figure | measured | bound | |\n|---|---:|---:|---|")
    for f in figures:
        bound = "" if f.bound is None else f"≤ {f.bound:g} {f.unit}"
        verdict = "" if f.bound is None else ("holds" if f.held else "MISSED")
        print(f"| {f.name} | {f.value:.4g} {f.unit} | {bound} | {verdict} |", flush=True)
    if gathered := os.environ.get(FIGURES):
        with Path(gathered).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({"title": title, **asdict(f)}) + "\n" for f in figures)
