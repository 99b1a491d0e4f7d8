"""Measure keywords alone on sets in many languages: each paragraph of their documents is a chunk with the title.

    python -m tests.bench.finding.languages.paragraphs --data FOLDER [--save FILE] [--against FILE] SET ...

It takes seconds where an ingest takes minutes, and tells what a change of the analyser does. `--against` compares
question by question with what `--save` kept, with the 95 % interval of the change.
"""

import argparse
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from docmill.storage.search.keywords.keyword_search import KeywordIndex
from docmill.storage.search.keywords.keyword_writer import rebuild
from docmill.storage.search.keywords.scoring import Scoring
from docmill.storage.search.keywords.segments.chunk_fields import ChunkFields
from docmill.tasks.evaluate.overlap import Passage
from tests.bench.sets.collection import Collection
from tests.bench.sets.public import read_answers

DEPTHS = (1, 5)
_PARAGRAPH = re.compile(r"[^\n]+(?:\n[^\n]+)*")
_DRAWS = 1000  # of the bootstrap
Values = dict[str, list[float]]


def chunks_of(collection: Collection) -> dict[str, tuple[Passage, ChunkFields]]:
    """Return each paragraph of the documents with its place, by an id."""
    found = {}
    for uri, text in collection.documents.items():
        title = text.partition("\n")[0][2:] if text.startswith("# ") else ""
        for match in _PARAGRAPH.finditer(text):
            if match.start() or not title:
                place = Passage(uri, *match.span())
                found[f"{uri}:{match.start()}"] = place, ChunkFields(match[0], title=title)
    return found


def measure(collection: Collection, folder: Path) -> tuple[Values, int]:
    """Return hit@1 and hit@5 of each question, and the bytes of the index."""
    chunks, values = chunks_of(collection), {}
    state = rebuild(folder, ((key, fields) for key, (_, fields) in chunks.items()))
    index = KeywordIndex(folder, state, Scoring(idf="positive"))
    for question in collection.questions:
        places = [chunks[hit.chunk_id][0] for hit in index.search(question.text, max(DEPTHS))]
        right = [any(_overlap(place, one) for one in question.references) for place in places]
        values[question.key] = [float(any(right[:depth])) for depth in DEPTHS]
    return values, sum(file.bytes for file in state.files())


def _overlap(place: Passage, one: Passage) -> bool:
    return place.document == one.document and place.start < one.end and one.start < place.end


def change(values: Values, before: Values) -> str:
    """Return the mean change of each measure in %, with its interval."""
    keys = [key for key in values if key in before]
    gains = 100 * (np.array([values[key] for key in keys]) - np.array([before[key] for key in keys]))
    draws = np.random.default_rng(7).integers(0, len(keys), (_DRAWS, len(keys)))
    low, high = np.percentile(gains[draws].mean(axis=1), (2.5, 97.5), axis=0)
    shown = zip(gains.mean(axis=0), low, high, strict=True)
    return "; ".join(f"{mean:+.1f} [{least:+.1f}, {most:+.1f}]" for mean, least, most in shown)


def main() -> None:
    """Print one row for each set."""
    parser = argparse.ArgumentParser(description="Measure keywords alone, paragraph by paragraph.")
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    known = json.loads(given.against.read_text()) if given.against else {}
    found = {}
    print("| set | questions | hit@1; hit@5 | change | KiB of the index, before |\n|---|---:|---:|---:|---:|")
    for name in given.sets:
        with TemporaryDirectory() as folder:
            values, size = measure(read_answers(given.data / name), Path(folder))
        found[name] = {"values": values, "bytes": size}
        means = "; ".join(f"{100 * mean:.1f}" for mean in np.mean(list(values.values()), axis=0))
        before = known.get(name)
        cells = (change(values, before["values"]), f", {before['bytes'] >> 10:,}") if before else ("", "")
        print(f"| {name} | {len(values)} | {means} | {cells[0]} | {size >> 10:,}{cells[1]} |", flush=True)
    if given.save:
        given.save.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
