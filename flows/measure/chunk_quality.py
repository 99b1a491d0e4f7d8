"""Chunk quality: measures of a snapshot's chunks that need no questions.

The needle test plants sentences at several depths in texts of several lengths, and searches for them. The texts are
assembled from the documents of the store, and ingested with its settings into a separate store.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from docmill.flows.config.from_settings import model_access_of, search_method_of
from docmill.flows.config.settings import Settings
from docmill.flows.config.store_settings import GateSettings
from docmill.flows.measure.evaluation import EvaluationSubject, keep_values
from docmill.flows.runs.engine import LocalEngine
from docmill.flows.runs.pipeline import ingest
from docmill.storage.arrow_schema import CHUNKS, from_table, to_table
from docmill.storage.errors import ConfigError
from docmill.storage.schema import ChunkRow, Parsed
from docmill.storage.snapshots.read.store import Store, open_store
from docmill.storage.snapshots.tables.tables import read_table
from docmill.storage.snapshots.write.pending_vectors import with_vectors
from docmill.storage.snapshots.write.vector_rows import vector_rows
from docmill.tasks.evaluate import chunk_measures as measures
from docmill.tasks.evaluate.chunk_measures import Written
from docmill.tasks.evaluate.model_judgements import context_precision, context_relevance
from docmill.tasks.evaluate.prose_sentences import sentences_within
from docmill.tasks.evaluate.questions import Question
from docmill.tasks.model.client import ModelClient
from docmill.tasks.work.batch.resolve_lookups import LookupSources, vectors_of

DEPTHS = (0, 25, 50, 75, 100)
LENGTHS = (2_000, 8_000, 32_000)
_PLACES = ("Arden", "Belmont", "Corinth", "Dover", "Epirus", "Florian", "Galway", "Harfleur")
_THINGS = ("locker", "cellar", "boathouse", "greenhouse", "archive", "workshop", "granary", "signal box")
_NEAREST = 5  # a needle up to this rank counts as found; the default number of hits of a search


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
    # Between sentences, because a needle in the middle of one would be found by its broken neighbours.
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
        # Without the gate, whose questions are about the documents of the other store.
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
    # A chunk may contain a line break within the needle.
    return float(any(hit.uri == needle.name and needle.sentence in " ".join(hit.text.split()) for hit in hits))


def _by(found: dict[tuple[int, int], float], part: int, value: int) -> dict[str, float]:
    return {f"{length}-{depth}": hit for (length, depth), hit in found.items() if (length, depth)[part] == value}


LEAST_TOKENS = 50
"""Chunks with fewer tokens count as small by default.

A smaller number would miss isolated headings; with a larger one, short but complete paragraphs would count, too.
"""
_COHERENT = 60
"""Chunks whose sentences are compared. Embedding the sentences is the whole cost of the measure."""
_TOPIC_CHUNKS = 5_000
"""Chunks to find topics in. The time grows with their number, and a sample is representative."""

Values = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Looking:
    """How much to measure: number of documents, coherence of sentences (embeds them), planted needles."""

    documents: int = 100
    least: int = LEAST_TOKENS
    coherence: bool = True
    needles: bool = True


def chunk_quality(settings: Settings, store: Store, looking: Looking) -> Values:
    """Return each measure by item: the chunks or documents of a deterministic sample, or "all"."""
    table = read_table(store.stored, "chunks")
    # A parent contains the text of its children, so everything would count twice.
    rows = [row for row in from_table(table, ChunkRow) if not row.children]
    if not rows:
        return {}
    documents = _sample(store, rows, looking.documents)
    found = _of_all(store, rows, documents, looking.least)
    _add_items(found, documents)
    if looking.coherence:
        _add(found, _coherence(settings, store, documents))
    return found | (find_needles(settings, store) if looking.needles else {})


def _of_all(store: Store, rows: list[ChunkRow], documents: list[Written], least: int) -> Values:
    """Return the measures that have one value for the whole snapshot or the whole sample."""
    whole = measures.sizes(rows, least, store.snapshot.space.token_limit) | measures.duplicates(rows)
    whole |= measures.near_duplicates(_vectors(store, _chunks(documents))) | measures.boilerplate(documents)
    whole |= measures.topics([chunk.text for chunk in rows[:_TOPIC_CHUNKS]])
    return {name: {"all": value} for name, value in whole.items()}


def _add_items(found: Values, documents: list[Written]) -> None:
    """Add the measures of each document or chunk of the sample."""
    _add(found, ((one.uri, measures.spread(one)) for one in documents))
    _add(found, chain.from_iterable(map(measures.boundaries, documents)))
    _add(found, ((chunk.chunk_id, measures.dependence(chunk)) for chunk in _chunks(documents)))


def _chunks(documents: list[Written]) -> list[ChunkRow]:
    return [chunk for one in documents for chunk in one.chunks]


def _add(found: Values, values: Iterator[tuple[str, Mapping[str, float]]]) -> None:
    for item, own in values:
        for name, value in own.items():
            found.setdefault(name, {})[item] = value


def _sample(store: Store, rows: list[ChunkRow], most: int) -> list[Written]:
    """Return a sample of documents with their chunks: those with the lowest ids, which are hashes."""
    own: dict[str, list[ChunkRow]] = {}
    for row in sorted(rows, key=lambda row: (row.document_id, row.ordinal)):
        own.setdefault(row.uri, []).append(row)
    found = ((uri, tuple(chunks), store.document(uri)) for uri, chunks in islice(own.items(), most))
    return [Written(uri, Parsed(one.text, one.elements, one.title), chunks) for uri, chunks, one in found]


def _vectors(store: Store, rows: list[ChunkRow]) -> npt.NDArray[np.float32]:
    """Return the vectors of chunks, float32 (n, dim), without chunks that wait for theirs."""
    packs = store.stored.ensure_packs("embeddings")
    batches = list(vector_rows(packs, with_vectors(store.stored, to_table(rows, CHUNKS))))
    if not batches:
        return np.zeros((0, store.snapshot.space.dimension), np.float32)
    flat = pa.Table.from_batches(batches).column("vector").combine_chunks().flatten()
    return np.asarray(flat, np.float32).reshape(-1, store.snapshot.space.dimension)


def _coherence(settings: Settings, store: Store, documents: list[Written]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the similarity of the sentences within a chunk, for some chunks."""
    # By id, a hash, so that the sample is the same each time and prefers no document.
    pairs = sorted(pair for one in documents for pair in measures.inner_sentences(one))[:_COHERENT]
    packs = tuple(store.stored.ensure_packs("embeddings"))
    # Saved, so that a second measurement of the same store embeds nothing.
    target = store.root / "cache" / "quality" / "embeddings-sentences.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    task = LookupSources(packs, target, *settings.embedding.where())
    texts = [text for _, held in pairs for text in held]
    vectors = vectors_of(texts, task) if texts else {}
    for chunk_id, held in pairs:
        yield chunk_id, {"coherence": measures.coherence(np.stack([vectors[text] for text in held]))}


def keep(store: Store, of: str, found: Values, looking: Looking) -> None:
    """Save a row for each measure."""
    settings = {"documents": looking.documents, "least": looking.least}
    keep_values(store, of, EvaluationSubject("chunks", settings=settings), found, values=False)


def judge(settings: Settings, store: Store, questions: Sequence[Question], k: int) -> dict[str, dict[str, float]]:
    """Return the ratings of the first `k` hits by measure and question; the model's answers are kept in the store.

    Questions without a readable rating are left out.
    """
    asking = model_access_of(settings)
    if asking is None:
        raise ConfigError("no language model is set; set provider and model in [model]")
    way = search_method_of(settings)
    found = {question.id: way.ask(store, question.text, k) for question in questions}
    with ModelClient(asking) as model_client:
        return {
            "context precision": context_precision(found, questions, model_client.ask),
            "context relevance": context_relevance(found, questions, model_client.ask),
        }
