"""What a run did, for machines and for people."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from docmill.tasks.model.client import Spent
from docmill.tasks.publishing.gate import GateVerdict

EXIT_DONE = 0
EXIT_PARTLY = 3  # 1 and 2 are what Python and typer end with for errors
EXIT_HELD = 4


@dataclass(slots=True)
class Documents:
    """How many documents of the run's sources became what."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    deleted: int = 0
    unchanged: int = 0
    rejected: int = 0
    stale: int = 0


@dataclass(slots=True)
class Chunks:
    """How many chunks of the snapshot came, stayed and went."""

    added: int = 0
    kept: int = 0
    removed: int = 0


@dataclass(slots=True)
class Report:
    """One run, done or planned. `seconds` is wall clock by step; `problems` are lines for a person.

    `rechunked` are the uris of documents that did not change and are split anew, from their stored text.
    `model` counts what a language model was asked, or would be: calls, tokens, money. `candidate` is the name under
    which the gate has held the snapshot back, `gate` what it found.
    """

    snapshot: int | None = None
    documents: Documents = field(default_factory=Documents)
    chunks: Chunks = field(default_factory=Chunks)
    parsed: int = 0
    embedded: int = 0
    tokens_embedded: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    engine: str = "local"
    dry_run: bool = False
    problems: list[str] = field(default_factory=list)
    rechunked: list[str] = field(default_factory=list)
    model: dict[str, float] = field(default_factory=dict)
    candidate: str = ""
    gate: GateVerdict | None = None

    @property
    def exit_status(self) -> int:
        """Return 0 when every document is in the store as it is now, 3 when some were rejected or are stale.

        That is so, too, when a language model should have been asked and was not, or did not answer. It is 4 when
        the gate has held the snapshot back.
        """
        if self.candidate:
            return EXIT_HELD
        unasked = not self.dry_run and (self.model.get("failed") or self.model.get("left"))
        return EXIT_PARTLY if self.documents.rejected or self.documents.stale or unasked else EXIT_DONE

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "snapshot": self.snapshot,
            "documents": asdict(self.documents),
            "chunks": asdict(self.chunks),
            "parsed": self.parsed,
            "embedded": self.embedded,
            "tokens_embedded": self.tokens_embedded,
            "rechunked": self.rechunked,
            "model": self.model,
            "candidate": self.candidate,
            "gate": asdict(self.gate) if self.gate else {},
            "seconds": {step: round(seconds, 3) for step, seconds in self.seconds.items()},
        }

    def as_text(self) -> str:
        """Return the summary that a person reads."""
        steps = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in self.seconds.items() if seconds >= 0.05)
        will = "would be " if self.dry_run else ""
        lines = [
            self._headline(),
            f"  documents  {_counts(asdict(self.documents))}",
            f"  chunks     {_counts(asdict(self.chunks))}",
            f"  work       {self.parsed} {will}parsed, {self.embedded} {will}embedded ({self.tokens_embedded} tokens)",
            f"  time       {steps or 'under 0.1 s'}",
            *(f"  ! {line}" for line in self.problems),
        ]
        if self.model:
            lines.insert(4, f"  model      {', '.join(f'{count:g} {name}' for name, count in self.model.items())}")
        if self.gate:
            lines.insert(1, f"  gate       {self.gate.spelled()}")
        if self.rechunked:
            lines.insert(3, f"  re-chunk   {self._some_rechunked()}")
        return "\n".join(lines)

    def _some_rechunked(self) -> str:
        """Return the documents that are split anew: all of them in a plan, else how many."""
        if self.dry_run:
            return ", ".join(self.rechunked)
        return f"{len(self.rechunked)} from their stored text"

    def as_markdown(self) -> str:
        """Return the summary as Markdown, for a page."""
        rows = [
            *(f"| documents {name} | {count} |" for name, count in asdict(self.documents).items()),
            *(f"| chunks {name} | {count} |" for name, count in asdict(self.chunks).items()),
            f"| parsed | {self.parsed} |",
            f"| embedded | {self.embedded} ({self.tokens_embedded} tokens) |",
            *([f"| gate | {self.gate.spelled()} |"] if self.gate else []),
            *(f"| seconds: {step} | {seconds:.2f} |" for step, seconds in self.seconds.items()),
        ]
        problems = [f"- {line}" for line in self.problems]
        return "\n".join([f"## {self._headline()}", "", "| | |", "|---|---|", *rows, "", *problems])

    def _headline(self) -> str:
        if self.dry_run:
            return "Plan: nothing to do" if not self._work else "Plan: this run would commit a snapshot"
        if self.candidate:
            return f"Held back as {self.candidate}, the snapshot before stays; docmill publish {self.candidate}"
        return f"Snapshot {self.snapshot} committed" if self.snapshot else "Nothing changed, nothing committed"

    @property
    def _work(self) -> int:
        documents = self.documents
        return documents.added + documents.changed + documents.moved + documents.deleted


def artifact_key(flow: str, store: Path) -> str:
    """Return the key of what a flow leaves about a store: lower case, digits and dashes, as Prefect wants it."""
    return f"{flow}-" + (re.sub(r"[^a-z0-9]+", "-", store.absolute().name.lower()).strip("-") or "store")


def spent(what: Spent, prices: Mapping[Any, float]) -> dict[str, float]:
    """Return calls, tokens and, where prices are set, money for a report; nothing where no call was due."""
    names = ("calls", "failed", "input", "cached", "output", *(["money"] if prices else []))
    found = {name: round(sum(getattr(row, name) for row in what.costs), 6) for name in names} if what.costs else {}
    return {**found, "left": what.left} if what.left else found


def unsaid(model: Mapping[str, float]) -> list[str]:
    """Return what is to be said of prompts that got no answer."""
    lines = []
    if model.get("failed"):
        lines.append(f"{model['failed']:g} calls of the language model had no answer; the next run makes them again")
    if model.get("left"):
        lines.append(f"{model['left']:g} calls are left to make: --max-calls or --max-cost was reached; run again")
    return lines


def _counts(values: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in values.items() if count) or "none"
