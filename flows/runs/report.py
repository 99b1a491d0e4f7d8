"""Report: the result of a run, for programs and for people."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docmill.flows.runs.phases import counted, sized
from docmill.flows.runs.terminal_safe_text import one_line
from docmill.storage.schema import RejectRow
from docmill.storage.snapshots.history.source_log import SourceCounts
from docmill.tasks.model.client import Spent

if TYPE_CHECKING:
    from docmill.tasks.publishing.gate import GateVerdict

EXIT_DONE = 0
EXIT_PARTLY = 3  # Python and typer use 1 and 2 for errors
EXIT_HELD = 4
EXIT_UNREACHED = 5
EARLIER = " (in an earlier run)"
"""The suffix of a problem that an earlier run already reported."""
MOST_TOLD = 100
"""The most problems that a report lists: two screens. In Prefect each is a row on the server, and a source may have
thousands of unreadable files, which each run would list again."""
MOST_RECHUNKED = 20  # documents that a plan names, in one line
CALLS = ("calls", "failed", "refused", "input", "cached", "output")
"""The counts of language model calls that a report has."""
REQUESTS = ("calls", "input")
"""The counts of embedding requests that a report has."""
_MOVES = ("added", "changed", "moved", "deleted", "rejected", "stale")
"""The counts of documents that `as_line` names."""


@dataclass(slots=True)
class Documents:
    """Numbers of documents in the sources, by outcome."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    deleted: int = 0
    unchanged: int = 0
    rejected: int = 0
    stale: int = 0


@dataclass(slots=True)
class Chunks:
    """Numbers of chunks added to, kept in and removed from the snapshot."""

    added: int = 0
    kept: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class UnreachedSource:
    """A source that a run of several could not reach: its name and why. Its documents are kept."""

    source: str
    message: str

    def __str__(self) -> str:
        return f"{self.source}: not ingested, its documents are kept as they were: {self.message}"


@dataclass(slots=True)
class OcrWork:
    """How many pages and figures OCR has read, and how many minutes of one process their documents took."""

    pages: int = 0
    minutes: float = 0.0
    figures: int = 0

    def __str__(self) -> str:
        took = f"about {self.minutes:.0f} min" if self.minutes >= 1 else "under 1 min"
        pages = [f"{counted(self.pages, 'pages')} ({took} of one process)"] if self.pages else []
        return " and ".join(pages + ([counted(self.figures, "figures")] if self.figures else []))


@dataclass(frozen=True, slots=True)
class PictureWork:
    """How many pictures got vectors from which model; for an API model, tokens and cost (upper bounds in a plan)."""

    embedded: int = 0
    model: str = ""
    input: int = 0
    money: float = 0.0

    def __str__(self) -> str:
        paid = f", {self.money:g} money" if self.money else ""
        return f"{one_line(self.model)}" + (f" ({self.input:g} input{paid})" if self.input else "")


@dataclass(slots=True)
class Report:
    """The result of an ingest or of a plan.

    Attributes:
        snapshot: The number of the committed snapshot, None if nothing was committed.
        documents: Numbers of documents by outcome: `added`, `changed`, `moved`, `deleted`, `unchanged`, `rejected`,
            `stale`.
        chunks: Numbers of chunks `added` to, `kept` in and `removed` from the snapshot.
        parsed: How many documents were parsed.
        embedded: How many texts were embedded.
        tokens_embedded: How many tokens these have.
        seconds: Wall-clock time by step, in seconds.
        engine: What ran the steps: `local` or `prefect`.
        dry_run: Whether this is the report of a plan.
        problems: Messages for a person.
        rechunked: Uris of unchanged documents that are split again from their stored text.
        model: Calls, tokens and cost of the language model, made or planned; of the calls, `failed` ones got no answer,
            and `refused` ones none that can be used.
        candidate: The name of a snapshot that the gate held back, else "".
        gate: The result of the gate's test, None without a gate.
        pending: How many chunks of the newest snapshot have no vectors yet; the next run embeds them.
        rejects: The documents that this run rejected.
        rejected_before: The documents that an earlier run rejected and that have not changed since.
        lost_text: How many documents of this run have text that could not be read.
        unreached: The sources that the run could not reach, each with `source`, its name, and `message`, the reason.
            Their documents are kept.
        model_reason: Why calls failed or were refused, in words.
        sources: What the run listed and fetched of each source that it reached: `listed` and `fetched` items, with
            `listed_bytes` and `fetched_bytes`; `far` says whether its items have to be fetched. A plan fetches what is
            new or changed as well, to count its chunks, and keeps none of it.
        embedding: Requests, tokens and cost of an embedding model by API, made or planned; `left` are the chunks that
            have no vectors because of the limit.
        ocr: How many `pages` OCR has read, and the `minutes` of one process for their documents; those of a plan are
            what a run will take again. `figures` are the pictures that it read, or would.
        pictures: How many pictures of figures were `embedded`, by which `model`; by API, the tokens of their `input`
            and the `money` for these, at most in a plan.
        due: Whether an index or keys of [metadata] need a snapshot, although no document has changed.
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
    gate: "GateVerdict | None" = None
    pending: int = 0
    rejects: list[RejectRow] = field(default_factory=list)
    rejected_before: list[RejectRow] = field(default_factory=list)
    lost_text: int = 0
    unreached: list[UnreachedSource] = field(default_factory=list)
    model_reason: str = ""
    sources: list[SourceCounts] = field(default_factory=list)
    embedding: dict[str, float] = field(default_factory=dict)
    ocr: OcrWork = field(default_factory=OcrWork)
    pictures: PictureWork = PictureWork()
    due: bool = False

    def rejections(self) -> Iterator[str]:
        """Yield messages about documents that are rejected or stale: first those of this run, then earlier ones."""
        for row in self.rejects:
            yield f"{row.uri}: {row.reason}: {row.message}"
        for row in self.rejected_before:
            yield f"{row.uri}: {row.reason}: {row.message}{EARLIER}"

    def told(self) -> list[str]:
        """Return the problems that a report lists, those of this run first, and a line about any that are left out."""
        first = sorted(self.problems, key=lambda problem: problem.endswith(EARLIER))
        left = len(first) - MOST_TOLD
        more = f"and {left:,} more; `docmill rejects` and the view `warnings` of `docmill sql` list them"
        return [*first[:MOST_TOLD], more] if left > 0 else first

    @property
    def exit_status(self) -> int:
        """Return 0 if every document in the store is up to date, 3 if some were rejected or are stale, 4 if gated.

        3 also means that text of a document was lost, or that a model did not answer, refused to, or was not asked
        because of a limit. 4 means that the gate held the snapshot back, 5 that a source could not be reached
        and the others were ingested. Of several, the one that is named first in this order is returned: 4, 5, 3.
        """
        if self.candidate:
            return EXIT_HELD
        if self.unreached:
            return EXIT_UNREACHED
        unasked = any(self.model.get(name) for name in ("failed", "refused", "left")) or self.embedding.get("left")
        partly = self.documents.rejected or self.documents.stale or self.lost_text or (unasked and not self.dry_run)
        return EXIT_PARTLY if partly else EXIT_DONE

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
            "model_reason": self.model_reason,
            "embedding": self.embedding,
            "ocr": {"pages": self.ocr.pages, "minutes": round(self.ocr.minutes, 1), "figures": self.ocr.figures},
            "pictures": asdict(self.pictures),
            "candidate": self.candidate,
            "gate": asdict(self.gate) if self.gate else {},
            "pending": self.pending,
            "lost_text": self.lost_text,
            "unreached": [asdict(one) for one in self.unreached],
            "sources": [asdict(one) for one in self.sources],
            "seconds": {step: round(seconds, 3) for step, seconds in self.seconds.items()},
        }

    def as_text(self) -> str:
        """Return a summary for a person."""
        far = [f"  source     {one_line(self._seen(one))}" for one in self.sources if one.far]
        told = [f"  {name:<9}  {said}" for name, said in self._facts().items() if said]
        return "\n".join([self.headline, *far, *told, *(f"  ! {one_line(problem)}" for problem in self.told())])

    def _facts(self) -> dict[str, str]:
        """Return the lines of the summary by name; "" for a line that is left out."""
        steps = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in self.seconds.items() if seconds >= 0.05)
        will = "would be " if self.dry_run else ""
        return {
            "gate": self.gate.spelled() if self.gate else "",
            "documents": _counts(asdict(self.documents)),
            "chunks": _counts(asdict(self.chunks)),
            "re-chunk": self._some_rechunked() if self.rechunked else "",
            "work": f"{self.parsed} {will}parsed, {self.embedded} {will}embedded ({self.tokens_embedded} tokens)",
            "OCR": f"{self.ocr} {will}read" if str(self.ocr) else "",
            "pictures": f"{self.pictures.embedded} {will}embedded by {self.pictures}" if self.pictures.embedded else "",
            "embedding": _calls(self.embedding),
            "model": _calls(self.model),
            "pending": self._some_pending() if self.pending else "",
            "time": steps or "under 0.1 s",
        }

    def as_line(self) -> str:
        """Return a summary of one line, for a log."""
        documents = _counts({name: getattr(self.documents, name) for name in _MOVES})
        chunks = _counts({"added": self.chunks.added, "removed": self.chunks.removed})
        return f"{self.headline}; documents: {documents}; chunks: {chunks}"

    def _seen(self, one: SourceCounts) -> str:
        """Return a text about what was listed and fetched of a source."""
        listed = f"{one.source} {one.listed:,} listed{_bytes(one.listed_bytes)}"
        return f"{listed}, {one.fetched:,} {'to fetch' if self.dry_run else 'fetched'}{_bytes(one.fetched_bytes)}"

    def _some_pending(self) -> str:
        have = "has" if self.pending == 1 else "have"
        return f"{counted(self.pending, 'chunks')} of the store {have} no vectors yet"

    def _some_rechunked(self) -> str:
        """Return the uris of the rechunked documents in a plan, else their number."""
        if self.dry_run:
            left = len(self.rechunked) - MOST_RECHUNKED
            more = [f"and {left:,} more"] if left > 0 else []
            return ", ".join([*map(one_line, self.rechunked[:MOST_RECHUNKED]), *more])
        return f"{len(self.rechunked)} from their stored text"

    def as_markdown(self) -> str:
        """Return the summary as Markdown."""
        rows = [
            *(f"| documents {name} | {count} |" for name, count in asdict(self.documents).items()),
            *(f"| chunks {name} | {count} |" for name, count in asdict(self.chunks).items()),
            f"| parsed | {self.parsed} |",
            f"| embedded | {self.embedded} ({self.tokens_embedded} tokens) |",
            *(f"| source | {one_line(self._seen(one))} |" for one in self.sources),
            *([f"| gate | {self.gate.spelled()} |"] if self.gate else []),
            *(f"| seconds: {step} | {seconds:.2f} |" for step, seconds in self.seconds.items()),
        ]
        problems = [f"- {one_line(problem)}" for problem in self.told()]
        return "\n".join([f"## {self.headline}", "", "| | |", "|---|---|", *rows, "", *problems])

    @property
    def headline(self) -> str:
        """The outcome in one line."""
        if self.dry_run:
            work = self._work or self.pending or self.due
            return "Plan: this run would commit a snapshot" if work else "Plan: nothing to do"
        if self.candidate:
            return f"Held back as {self.candidate}; to publish it: docmill publish {self.candidate}"
        return f"Snapshot {self.snapshot} committed" if self.snapshot else "Nothing changed, nothing committed"

    @property
    def _work(self) -> int:
        documents = self.documents
        return documents.added + documents.changed + documents.moved + documents.deleted


def artifact_key(flow: str, store: Path) -> str:
    """Return the key of a flow's artifact about a store, in lower-case letters, digits and dashes for Prefect."""
    return f"{flow}-" + (re.sub(r"[^a-z0-9]+", "-", store.absolute().name.lower()).strip("-") or "store")


def spent(what: Spent, priced: bool, names: Sequence[str] = CALLS) -> dict[str, float]:
    """Return calls, tokens and, if prices are known, the cost for a report; empty if no calls were due."""
    names = (*names, *(["money"] if priced else []))
    found = {name: round(sum(getattr(row, name) for row in what.costs), 6) for name in names} if what.costs else {}
    return {**found, "left": what.left} if what.left else found


def reason_of(what: Spent) -> str:
    """Return why calls failed or were refused, in words."""
    return "; ".join(dict.fromkeys(row.reason for row in what.costs if row.reason))


def unsaid(model: Mapping[str, float], reason: str) -> list[str]:
    """Return messages about prompts without a usable answer."""
    lines = []
    because = f" ({reason})" if reason else ""
    if model.get("failed"):
        failed = counted(int(model["failed"]), "calls")
        lines.append(f"{failed} to the language model failed{because}; the next run tries again")
    if model.get("refused"):
        refused = counted(int(model["refused"]), "calls")
        again = "docmill ingest --refresh-contexts asks again"
        lines.append(f"{refused} to the language model gave no usable answer{because}; {again}")
    if model.get("left"):
        left = f"{counted(int(model['left']), 'calls')} {'was' if model['left'] == 1 else 'were'} not made"
        lines.append(f"{left} because --max-calls or --max-cost was reached; run again")
    return lines


def _calls(values: Mapping[str, float]) -> str:
    return ", ".join(f"{count:g} {name}" for name, count in values.items())


def _counts(values: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in values.items() if count) or "none"


def _bytes(count: int) -> str:
    return f" ({sized(count)})" if count else ""
