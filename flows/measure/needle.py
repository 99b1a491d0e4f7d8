"""Needle in a haystack: plant sentences at several depths in texts of several lengths, then search for them.

The texts are assembled from the documents of the store, and ingested with its settings into a separate store.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from docmill.flows.config.from_settings import search_method_of
from docmill.flows.config.settings import Settings
from docmill.flows.config.store_settings import GateSettings
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.tasks.evaluate.prose_sentences import sentences_within

DEPTHS = (0, 25, 50, 75, 100)
LENGTHS = (2_000, 8_000, 32_000)
_PLACES = ("Arden", "Belmont", "Corinth", "Dover", "Epirus", "Florian", "Galway", "Harfleur")
_THINGS = ("locker", "cellar", "boathouse", "greenhouse", "archive", "workshop", "granary", "signal box")
_NEAREST = 5  # rank up to which a needle counts as found: the default number of hits of a search


@dataclass(frozen=True, slots=True)
class Needle:
    """A planted sentence and the question that it answers; `depth` is in percent of a text of `length` characters."""

    length: int
    depth: int
    sentence: str
    question: str

    @property
    def name(self) -> str:
        """Return the name of the file that contains the needle."""
        return f"hay-{self.length}-{self.depth}.txt"


def needles(lengths: Sequence[int] = LENGTHS, depths: Sequence[int] = DEPTHS) -> Iterator[Needle]:
    """Yield a different needle for each length and depth."""
    for number, (length, depth) in enumerate((length, depth) for length in lengths for depth in depths):
        place, thing = _PLACES[number % len(_PLACES)], _THINGS[(number // len(_PLACES) + number) % len(_THINGS)]
        # Two primes spread the codes, so that no two needles are alike.
        code = 1009 + 7919 * number % 8999
        subject = f"the {thing} at {place} number {number + 1}"
        yield Needle(length, depth, f"The code that opens {subject} is {code}.", f"What code opens {subject}?")


def plant(hay: str, needle: Needle) -> str:
    """Return the beginning of a text with the needle inserted between two sentences."""
    text = hay[: needle.length]
    wanted = len(text) * needle.depth // 100
    ends = [0, *(span.end for span in sentences_within(text, 0, len(text)) if span.end < len(text)), len(text)]
    # Between sentences: a needle within one would be found by its broken neighbours.
    at = min(ends, key=lambda end: abs(end - wanted))
    return f"{text[:at].rstrip()} {needle.sentence} {text[at:].lstrip()}".strip()


def hay_of(store: Store, length: int) -> str:
    """Return `length` characters of prose from the store's documents, or fewer if it has fewer."""
    found: list[str] = []
    for uri in store.sql("SELECT uri FROM documents ORDER BY characters DESC, uri").column(0).to_pylist():
        document = store.document(uri)
        found += [
            document.text[e.start_char : e.end_char] for e in document.elements if e.kind in ("paragraph", "text")
        ]
        if sum(map(len, found)) >= length:
            break
    return "\n\n".join(found)[:length]


def find_needles(settings: Settings, store: Store) -> dict[str, dict[str, float]]:
    """Return 1.0 or 0.0 for each length (in characters) and depth: whether the needle is among the first hits."""
    hay = hay_of(store, max(LENGTHS))
    chosen = list(needles([length for length in LENGTHS if length <= len(hay)]))
    with TemporaryDirectory(prefix="docmill-needle-") as folder:
        for needle in chosen:
            path = Path(folder) / "hay" / needle.name
            path.parent.mkdir(exist_ok=True)
            path.write_text(plant(hay, needle), encoding="utf-8")
        # Without the gate: its questions are about the documents of the other store.
        own = settings.model_copy(update={"store": Path(folder) / "store", "gate": GateSettings()})
        if not chosen:
            return {}
        with LocalEngine() as engine:
            ingest(own, [str(Path(folder) / "hay")], engine)
        trial = open_store(own.store)
        found = {(n.length, n.depth): _is_found(settings, trial, n) for n in chosen}
    return {
        **{
            f"needles found, {length:,} characters": _by(found, 0, length)
            for length in LENGTHS
            if _by(found, 0, length)
        },
        **{f"needles found at {depth} %": _by(found, 1, depth) for depth in DEPTHS},
    }


def _is_found(settings: Settings, store: Store, needle: Needle) -> float:
    hits = search_method_of(settings).ask(store, needle.question, _NEAREST)
    # A chunk may break the line within the needle.
    return float(any(hit.uri == needle.name and needle.sentence in " ".join(hit.text.split()) for hit in hits))


def _by(found: dict[tuple[int, int], float], part: int, value: int) -> dict[str, float]:
    return {f"{length}-{depth}": hit for (length, depth), hit in found.items() if (length, depth)[part] == value}
