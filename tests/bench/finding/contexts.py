"""Measure what a context finds: each contextualizer at each size, by vectors, by keywords and by both.

    python -m tests.bench.finding.contexts --data FOLDER [--data FOLDER] [--cache DIR] [--sizes 200c,500c,1000c,200,400]
        [--contexts none,structural,window] [--documents 200] [--rows 600] [--apart | --keywords]

FOLDER is one of Chroma's chunking evaluation, a BEIR folder, or one with a CSV of the columns `Question` and `Answer`.
Sizes are tokens of `recursive`, of `qa` in an FAQ, or with a `c` characters of `fixed` within stretches of 2,666.
Of a BEIR folder all judged documents are taken and `--documents` others, of an FAQ `--rows` rows, all in one file.
A value is the mean over the questions of what the first 3, 5 and 10 chunks hold, in %: of the characters of the
excerpts; of the right documents; whether they hold any of the question's row, or of one with the same question,
and how much of its answer. Of a chunk beyond the model's 256 tokens the first 256 are embedded, keywords see all of it.
The context `late` is that of late vectors: keywords see the structural one. With `--apart` vectors and keywords of
different contexts are fused, too; with `--keywords` nothing is embedded.
"""

import argparse
import csv
import io
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from docmill.storage.schema import Draft, Parsed, indexed_text
from docmill.storage.search.encode.encoder import Window, load_encoder
from docmill.storage.search.encode.model_spaces import describe_model
from docmill.storage.search.keywords.keyword_search import KeywordIndex
from docmill.storage.search.keywords.keyword_writer import rebuild
from docmill.storage.search.rank.candidates.fusion import fuse
from docmill.storage.search.rank.candidates.search_options import Mode, SearchOptions
from docmill.storage.snapshots.artifacts.late_vectors import encode_windows, keys_of
from docmill.storage.snapshots.artifacts.packs import Packs, pack_embeddings, write_pack
from docmill.tasks.chunking.chunk import chunk_regions, windows
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route, Routed
from docmill.tasks.counting.tokens import Tokens
from docmill.tasks.detect.regions import Region
from docmill.tasks.detect.type_scores import Verdict
from docmill.tasks.evaluate.bootstrap import difference
from docmill.tasks.evaluate.overlap import Passage, length, overlap, shared
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.split.spans.span import Span
from tests.bench.finding.quality import LIMIT, LONGEST, MODEL, TOKENIZER, Store, truncated
from tests.bench.sets.public import read_beir, read_excerpts

TOP = (3, 5, 10)
STRETCH = 2666
LATE = "late"
MODES: tuple[Mode, ...] = ("vector", "keyword", "hybrid")
_CONTEXT_TOKENS = 48
_CELL = re.compile(r"(?<!\\)\|")
_CANDIDATES = 100
_SEARCH = SearchOptions()
Ranked = dict[str, list[Passage]]
Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]


@dataclass(frozen=True)
class Asked:
    """A question and the passages that answer it."""

    id: str
    text: str
    references: tuple[Passage, ...]
    answers: tuple[Passage, ...] = ()


Measure = Callable[[Sequence[Passage], Asked], float]


@dataclass(frozen=True)
class Collection:
    """Parsed documents, questions about them, and what is measured of what is found."""

    name: str
    documents: Mapping[str, Parsed]
    questions: Sequence[Asked]
    measures: Mapping[str, Measure]
    strategy: str = "recursive"


def excerpts_held(found: Sequence[Passage], asked: Asked) -> float:
    """Return the share of the references' characters that were found."""
    return overlap(found, asked.references).recall


def documents_held(found: Sequence[Passage], asked: Asked) -> float:
    """Return the share of the right documents of which something was found."""
    return mean(any(one.document == other.document for one in found) for other in asked.references)


def row_held(found: Sequence[Passage], asked: Asked) -> float:
    """Return 1 where something of a right row was found, else 0."""
    return float(bool(shared(found, asked.references)))


def answer_held(found: Sequence[Passage], asked: Asked) -> float:
    """Return the greatest share of a right answer that was found."""
    return max(length(shared(found, [one])) / (one.end - one.start) for one in asked.answers)


def read(folder: Path, documents: int, rows: int) -> Collection:
    """Return what a folder holds."""
    if (folder / "questions.csv").is_file():
        return _excerpts(folder)
    if (folder / "corpus.jsonl").is_file():
        return _judged(folder, documents)
    return _faq(next(folder.glob("*.csv")), rows)


def _parsed(name: str, text: str) -> Parsed:
    data = text.encode()
    return parse(data, detect_file_type(name, data), ParseOptions())


def _excerpts(folder: Path) -> Collection:
    kept = read_excerpts(folder)
    documents = {uri: _parsed(uri, text) for uri, text in kept.documents.items()}
    questions = [Asked(one.id, one.text, one.references) for one in kept.questions]
    return Collection("excerpts", documents, questions, {"excerpts": excerpts_held})


def _judged(folder: Path, others: int) -> Collection:
    kept = read_beir(folder)
    judged = {uri for question in kept.questions for uri in question.grades}
    spare = sorted(set(kept.documents) - judged)
    chosen = judged | set(random.Random(7).sample(spare, min(others, len(spare))))
    documents = {uri: _parsed(uri, kept.documents[uri]) for uri in sorted(chosen)}
    questions = [Asked(q.id, q.text, tuple(Passage(uri, 0, 1) for uri in sorted(q.grades))) for q in kept.questions]
    return Collection("documents", documents, questions, {"documents": documents_held})


def _faq(path: Path, count: int) -> Collection:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    kept = [rows[i] for i in sorted(random.Random(7).sample(range(len(rows)), min(count, len(rows))))]
    written = io.StringIO()
    csv.writer(written).writerows([header, *kept])
    parsed = _parsed(path.name, written.getvalue())
    spans, start = list[tuple[int, int]](), 0
    for line in parsed.text.splitlines(keepends=True):
        spans.append((start, start + len(line.rstrip("\n"))))
        start += len(line)
    spans = spans[2 : 2 + len(kept)]
    asking, answering = header.index("Question"), header.index("Answer")
    same: defaultdict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(kept):
        same[" ".join(row[asking].split())].append(number)
    questions = [
        Asked(
            str(numbers[0]),
            text,
            tuple(Passage(path.name, *spans[i]) for i in numbers),
            tuple(Passage(path.name, *_cell(parsed.text, spans[i], answering)) for i in numbers),
        )
        for text, numbers in same.items()
    ]
    return Collection("rows", {path.name: parsed}, questions, {"rows": row_held, "answers": answer_held}, "qa")


def _cell(text: str, row: tuple[int, int], column: int) -> tuple[int, int]:
    bars = [match.start() for match in _CELL.finditer(text, *row)]
    return bars[column] + 2, max(bars[column] + 3, bars[column + 1] - 1)


def split(kept: Collection, size: str, context: str) -> dict[str, list[Draft]]:
    """Return the chunks of every document."""
    values: dict[str, Any] = {"size": int(size.rstrip("c"))}
    route = Route(kept.strategy, values)
    if size.endswith("c"):
        route = Route("fixed", {**values, "unit": "characters", "max_doc_size": STRETCH})
    options = ChunkOptions(LONGEST, context, 0 if context == "none" else _CONTEXT_TOKENS)
    return {
        uri: chunk_regions(
            parsed, [Routed(Region(0, len(parsed.text), Verdict("", 1.0, "", 0.0, ())), route, "")], TOKENIZER, options
        )
        for uri, parsed in kept.documents.items()
    }


@dataclass
class Indexed:
    """The chunks of one context, and for each question the candidates of each index, best first."""

    chunks: list[Passage]
    vector: dict[str, list[tuple[str, float]]]
    keyword: dict[str, list[tuple[str, float]]]
    tokens: float


def index(kept: Collection, size: str, context: str, store: Store | None) -> Indexed:
    """Return the candidates of every question, by keywords alone without a store."""
    documents = split(kept, size, "structural" if context == LATE else context)
    drafts = [(uri, draft) for uri, found in documents.items() for draft in found]
    texts = [indexed_text(draft.context, draft.text, draft.unread) for _, draft in drafts]
    name = f"{kept.name}-{size}-{context}"
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    if store is not None:
        late = context == LATE
        found = by_late_vector(kept, documents, store, name) if late else by_vector(kept, texts, store, name)
    return Indexed(
        [Passage(uri, draft.start_char, draft.end_char) for uri, draft in drafts],
        found,
        by_keyword(kept, texts),
        mean(draft.tokens for _, draft in drafts),
    )


def by_vector(kept: Collection, texts: Sequence[str], store: Store, name: str) -> dict[str, list[tuple[str, float]]]:
    """Return the nearest chunks of every question."""
    read = [truncated(text, LIMIT) for text in texts]
    known = store.vectors(read, name)
    return nearest(kept, np.stack([known[text] for text in read]), store)


def by_late_vector(
    kept: Collection, documents: Mapping[str, list[Draft]], store: Store, name: str
) -> dict[str, list[tuple[str, float]]]:
    """Return the same by late vectors."""
    read = [window for uri, drafts in documents.items() for window in _windows(kept.documents[uri].text, drafts)]
    keys = keys_of(read, describe_model(MODEL).id)
    packs = sorted(store.folder.glob("late-*.parquet"))
    missing = Packs(packs).missing(keys)
    fresh = {key: window for key, window in zip(keys, read, strict=True) if key in missing}
    if fresh:
        packs.append(store.folder / f"late-{name}-{keys_of(read[:1], keys[-1])[0][:8]}.parquet")
        table = pack_embeddings(list(fresh), encode_windows(list(fresh.values()), load_encoder(MODEL)))
        write_pack(packs[-1], table, "embeddings")
    flat = Packs(packs).take(keys).column("vector").combine_chunks().flatten()
    return nearest(kept, np.asarray(flat, np.float32).reshape(len(keys), -1), store)


def _windows(text: str, drafts: Sequence[Draft]) -> Iterator[Window]:
    tokens, room = Tokens(text, TOKENIZER), LIMIT - 2
    spans = [Span(draft.start_char, draft.start_char + len(truncated(draft.text, LIMIT))) for draft in drafts]
    for span, window in zip(spans, windows(tokens, spans, room), strict=True):
        yield Window(text[slice(*window)], ((span.start - window.start, span.end - window.start),))


def nearest(kept: Collection, vectors: Vectors, store: Store) -> dict[str, list[tuple[str, float]]]:
    """Return for every question the numbers of the nearest rows."""
    asked = store.vectors([one.text for one in kept.questions], f"{kept.name}-questions")
    found = {}
    for one in kept.questions:
        scores = vectors @ asked[one.text]
        best = np.argsort(-scores, kind="stable")[:_CANDIDATES]
        found[one.id] = [(str(i), float(scores[i])) for i in best]
    return found


def by_keyword(kept: Collection, texts: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
    """Return the best chunks of every question by BM25."""
    with TemporaryDirectory() as folder:
        state = rebuild(Path(folder), ((str(i), text) for i, text in enumerate(texts)))
        postings = KeywordIndex(Path(folder), state)
        return {
            one.id: [(key, score) for key, score, *_ in postings.search(one.text, _CANDIDATES)]
            for one in kept.questions
        }


def found_by(kept: Collection, own: Indexed, other: Indexed, mode: Mode) -> Ranked:
    """Return the passages of each question, by the vectors of one context and the keywords of the other."""
    kept_of = other if mode == "keyword" else own
    found: Ranked = {}
    for one in kept.questions:
        vector = own.vector[one.id][:_CANDIDATES] if mode != "keyword" else []
        keyword = other.keyword[one.id][:_CANDIDATES] if mode != "vector" else []
        scores = fuse(vector, keyword, _SEARCH.fusion, _SEARCH.weight)
        best = sorted(scores, key=lambda key: (-sum(scores[key]), key))[: TOP[-1]]
        found[one.id] = [kept_of.chunks[int(key)] for key in best]
    return found


def cells(kept: Collection, ranked: Ranked, measure: Measure) -> list[dict[str, float]]:
    """Return for each length of a ranking the value of each question."""
    return [{one.id: measure(ranked[one.id][:top], one) for one in kept.questions} for top in TOP]


def rows(kept: Collection, size: str, contexts: Sequence[str], store: Store | None, apart: bool) -> Iterator[str]:
    """Yield a row for each context, or for each pair of them, and measure."""
    indexes = {context: index(kept, size, context, store) for context in contexts}
    pairs = list(product(contexts, contexts)) if apart else [(one, one) for one in contexts]
    before: dict[tuple[str, Mode], dict[str, float]] = {}
    for (of_vectors, of_keywords), (name, measure) in product(pairs, kept.measures.items()):
        own, other = indexes[of_vectors], indexes[of_keywords]
        said = of_vectors if of_vectors == of_keywords else f"{of_vectors} + {of_keywords}"
        line = [name, size, str(len(own.chunks)), f"{own.tokens:.0f}", said]
        for mode in modes_of(store):
            values = cells(kept, found_by(kept, own, other, mode), measure)
            line.append(" ".join(f"{100 * mean(one.values()):.1f}" for one in values))
            base = before.setdefault((name, mode), values[1])
            change = difference(values[1], base)
            line.append(f"{100 * change.low:+.1f} {100 * change.high:+.1f}" if base is not values[1] else "")
        yield " | ".join(line)


def modes_of(store: Store | None) -> tuple[Mode, ...]:
    """Return the modes of search that are measured."""
    return MODES if store is not None else ("keyword",)


def main() -> None:
    """Print the table, row by row."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, action="append", required=True)
    arguments.add_argument("--cache", type=Path)
    arguments.add_argument("--sizes", default="200c,500c,1000c,200,400")
    arguments.add_argument("--contexts", default="none,structural,window")
    arguments.add_argument("--documents", type=int, default=200)
    arguments.add_argument("--rows", type=int, default=600)
    arguments.add_argument("--apart", action="store_true")
    arguments.add_argument("--keywords", action="store_true")
    given = arguments.parse_args()
    with TemporaryDirectory() as temporary:
        store = None if given.keywords else Store(given.cache or Path(temporary))
        if store is not None:
            store.folder.mkdir(parents=True, exist_ok=True)
        head = [f"{mode} 3 5 10 | at 5 against the first, 95 %" for mode in modes_of(store)]
        print(f"| held | size | chunks | tokens | context | {' | '.join(head)} |")
        print(f"|---|---|---:|---:|---|{'---|' * 2 * len(head)}", flush=True)
        for folder in given.data:
            kept = read(folder, given.documents, given.rows)
            for size in given.sizes.split(","):
                for line in rows(kept, size, given.contexts.split(","), store, given.apart):
                    print(f"| {line} |", flush=True)


if __name__ == "__main__":
    main()
