"""Print what a benchmark measured: one row a figure, with the bound that it is held against."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value. `bound` is the most it may be, None where it is only told."""

    name: str
    value: float
    unit: str
    bound: float | None = None

    @property
    def held(self) -> bool:
        """Say whether the value is within its bound."""
        return self.bound is None or self.value <= self.bound


def show(title: str, figures: list[Figure]) -> None:
    """Print figures as a Markdown table."""
    print(f"\n## {title}\n\n| figure | measured | bound | |\n|---|---:|---:|---|")
    for f in figures:
        bound = "" if f.bound is None else f"≤ {f.bound:g} {f.unit}"
        verdict = "" if f.bound is None else ("holds" if f.held else "MISSED")
        print(f"| {f.name} | {f.value:.4g} {f.unit} | {bound} | {verdict} |", flush=True)
