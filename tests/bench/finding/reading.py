"""Measure what is read of documents: the tokens that would be embedded against those of the documents, and the chunks.

    python -m tests.bench.finding.reading FOLDER [--suffix .md]

FOLDER is a tree of documents. They are parsed, routed and split as `docmill ingest` would by default, and nothing is
embedded.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docmill.flows.config.from_settings import recipe_of, space_of
from docmill.flows.config.settings import Settings
from docmill.storage.errors import Rejected
from docmill.storage.schema import Draft, Parsed
from docmill.tasks.chunking.chunk import chunk_regions
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.detect.regions import find_regions
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.work.document.recipe import Recipe
from tests.bench.table import Figure, show


@dataclass(frozen=True, slots=True)
class _Split:
    """One document, its chunks, and the seconds of the processor that parsing and splitting took."""

    format: str
    parsed: Parsed
    drafts: list[Draft]
    seconds: float


def split(folder: Path, suffix: str, recipe: Recipe) -> Iterator[_Split]:
    """Yield the documents of a tree, each with its chunks."""
    tokenizer = load_tokenizer(recipe.tokenizer_dir)
    for path in sorted(folder.rglob(f"*{suffix}")):
        if not path.is_file():
            continue
        start = time.process_time()
        try:
            data = path.read_bytes()
            file_type = detect_file_type(path.name, data)
            parsed = parse(data, file_type, ParseOptions())
        except Rejected:
            continue
        routed = recipe.routes.route_regions(path.name, find_regions(parsed, file_type), parsed.metadata)
        drafts = chunk_regions(parsed, routed, tokenizer, recipe.chunk)
        yield _Split(file_type.format, parsed, drafts, time.process_time() - start)


def figures(documents: list[_Split], recipe: Recipe) -> Iterator[Figure]:
    """Yield the figures of some documents."""
    tokenizer = load_tokenizer(recipe.tokenizer_dir)
    texts = [one.parsed.text for one in documents]
    whole = sum(len(tokenizer.encode(text, add_special_tokens=False)) for text in texts)
    chunks = [draft for one in documents for draft in one.drafts]
    embedded = sum(draft.tokens for draft in chunks)
    yield Figure("tokens of the documents", whole, "tokens")
    yield Figure("tokens embedded", embedded, "tokens")
    yield Figure("tokens embedded / tokens of the documents", embedded / whole, "times")
    yield Figure("chunks", len(chunks), "chunks")
    yield Figure("parsing and splitting", sum(one.seconds for one in documents), "CPU s")


def main() -> None:
    """Print the figures, of each format and of all."""
    arguments = argparse.ArgumentParser(description="Measure what is read of documents.")
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--suffix", default="")
    given = arguments.parse_args()
    settings = Settings()
    recipe = recipe_of(settings, space_of(settings))
    documents = list(split(given.folder, given.suffix, recipe))
    for name in sorted({one.format for one in documents}):
        some = [one for one in documents if one.format == name]
        show(f"{name}: {len(some)} documents", list(figures(some, recipe)))
    show(f"all: {len(documents)} documents", list(figures(documents, recipe)))


if __name__ == "__main__":
    main()
