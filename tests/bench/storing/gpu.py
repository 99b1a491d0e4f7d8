"""Measure a full ingest where a GPU encodes: tokens a second, the ingest beside encoding alone, and what bounds it.

    python -m tests.bench.storing.gpu [--data FOLDER | --pages N] [--dtype bfloat16] [--texts N]

FOLDER holds documents; without it N pages are generated, of five chunks each. Without a GPU the CPU encodes.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from docmill.storage.search.encode.encoder import Encoder, load_encoder
from docmill.storage.snapshots.history.snapshots import read
from tests.bench.documents import write_tree
from tests.bench.storing.encode import MODEL, make_texts
from tests.bench.table import Figure, show
from tests.bench.tree import ingest

_DOCMILL = [sys.executable, "-m", "docmill.flows.cli.app"]
_TEXTS = 20_000
_TURNS = 3
_PAGES_A_PART = 2_000  # a part is written by one process, from its own seed


def rates(dtype: str, count: int) -> tuple[str, list[Figure]]:
    """Return the name of what encodes, and how many tokens a second each step takes of `count` texts."""
    import torch

    texts = make_texts(1_000)
    texts = [text[random.Random(n).randrange(20) :] for n, text in enumerate(texts * (count // len(texts)))]
    encoder = load_encoder(MODEL, dtype=dtype)
    assert isinstance(encoder, Encoder)
    encoder.encode(texts[:2_000])  # loads the model, and warms the GPU
    best: dict[str, float] = {}
    tokens = 0
    for _ in range(_TURNS):
        begun = time.perf_counter()
        rows = encoder._tokenized(texts, "")
        tokenized = time.perf_counter()
        encoder._embed(rows, documents=True)
        seconds = {"tokenize": tokenized - begun, "network": time.perf_counter() - tokenized}
        best = {name: min(best.get(name, taken), taken) for name, taken in seconds.items()}
        tokens = sum(map(len, rows))
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{os.cpu_count()} CPUs"
    return name, [
        *(Figure(f"{step}, tokens a second", tokens / taken, "") for step, taken in best.items()),
        Figure("encode, tokens a second", tokens / sum(best.values()), ""),
    ]


def full(source: Path, store: Path, dtype: str, rate: float) -> list[Figure]:
    """Ingest a folder into an empty store; return the time of the run and of its phases."""
    wall, report = ingest(_DOCMILL, source, store, "--set", f"embedding.dtype={dtype}")
    alone = report["tokens_embedded"] / rate
    phases = {name: seconds for name, seconds in report["seconds"].items() if name != "total"}
    longest = max(phases, key=lambda name: phases[name])
    return [
        Figure("documents", read(store).rows("documents"), ""),
        Figure("chunks", read(store).rows("chunks"), ""),
        Figure("texts embedded", report["embedded"], ""),
        Figure("tokens embedded", report["tokens_embedded"], ""),
        Figure("full ingest, wall", wall, "s"),
        Figure("tokens of the ingest a second", report["tokens_embedded"] / wall, ""),
        Figure("encoding the same tokens alone", alone, "s"),
        Figure("full ingest / encoding alone", wall / alone, ""),
        *(Figure(f"phase {name}", seconds, "s") for name, seconds in phases.items() if seconds >= 0.05),
        Figure(f"longest phase, {longest}, of the wall", 100 * phases[longest] / wall, "%"),
    ]


def write_pages(folder: Path, pages: int) -> None:
    """Write generated pages by all processors."""
    parts = range(0, pages, _PAGES_A_PART)
    with ProcessPoolExecutor() as processes:
        done = [
            processes.submit(write_tree, folder / f"part-{first}", min(_PAGES_A_PART, pages - first), first)
            for first in parts
        ]
        for one in done:
            one.result()


def main() -> None:
    """Parse the arguments and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of documents")
    parser.add_argument("--pages", type=int, default=1_000, help="pages to generate without --data")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--texts", type=int, default=_TEXTS, help="texts to encode alone")
    parser.add_argument("--report", type=Path, help="a file for the figures, as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        name, found = rates(arguments.dtype, arguments.texts)
        show(f"Encode in {arguments.dtype}: {name}", found)
        source = arguments.data or Path(folder, "pages")
        if not arguments.data:
            write_pages(source, arguments.pages)
        ingested = full(source, Path(folder, "store"), arguments.dtype, found[-1].value)
        show("Full ingest", ingested)
        if arguments.report:
            arguments.report.write_text(json.dumps({one.name: one.value for one in [*found, *ingested]}))


if __name__ == "__main__":
    main()
