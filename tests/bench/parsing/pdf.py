"""How much longer it takes to read PDFs as elements than to have pypdfium2 extract their bare text.

    python -m tests.bench.parsing.pdf --data FOLDER

Every file is done both ways in turn, several times, and the best of each counts: ratios of one run, in
processor seconds, so that what else the machine does matters less.
Files that pypdfium2 cannot open, or that hold no text, are left out of the figures and counted.
"""

import argparse
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pypdfium2

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.table import Figure, show

BOUND = 2.2


def bare(data: bytes) -> int:
    """Return how many characters pypdfium2 extracts."""
    document = pypdfium2.PdfDocument(data)
    characters = 0
    for page in document:
        text = page.get_textpage()
        characters += len(text.get_text_range(errors="replace"))
        text.close()
        page.close()
    document.close()
    return characters


def ours(data: bytes) -> int:
    """Return how many characters the canonical text has."""
    return len(parse(data, FileType("pdf"), ParseOptions()).text)


def seconds(read: Callable[[bytes], int], data: bytes) -> float:
    """Return how long one reading takes."""
    start = processor_seconds()
    read(data)
    return processor_seconds() - start


def processor_seconds() -> float:
    """Return what this process has used so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(files: list[Path], rounds: int) -> tuple[list[tuple[Path, float, float]], int, int]:
    """Return for each file the best seconds of both ways; how many had none; the characters of all."""
    found, left_out, characters = [], 0, 0
    for path in files:
        data = path.read_bytes()
        try:
            bare(data)
            characters += ours(data)
        except (pypdfium2.PdfiumError, Rejected):
            left_out += 1
            continue
        pairs = [(seconds(bare, data), seconds(ours, data)) for _ in range(rounds)]
        found.append((path, min(one for one, _ in pairs), min(two for _, two in pairs)))
    return found, left_out, characters


def main() -> int:
    """Print the figures; return 1 where the ratio is above its bound."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, required=True, help="folder with PDFs, at any depth")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--files", action="store_true", help="print every file, too")
    chosen = arguments.parse_args()
    found, left_out, characters = measure(sorted(chosen.data.rglob("*.pdf")), chosen.rounds)
    plain, read = sum(one for _, one, _ in found), sum(two for _, _, two in found)
    megabytes = sum(path.stat().st_size for path, _, _ in found) / 1e6
    ratios = sorted(two / one for _, one, two in found)
    if chosen.files:
        for path, one, two in sorted(found, key=lambda row: row[2] - row[1]):
            print(f"{1000 * one:8.1f} ms {1000 * two:8.1f} ms {two / one:6.2f} {path.name}")
    figures = [
        Figure("ratio to bare extraction, all files", read / plain, "×", BOUND),
        Figure("ratio of a file, p50", ratios[len(ratios) // 2], "×"),
        Figure("ratio of a file, p95", ratios[int(0.95 * (len(ratios) - 1))], "×"),
        Figure("PDF read", megabytes / read, "MB/s"),
        Figure("text read", characters / 1e6 / read, "million characters/s"),
        Figure("files read", len(found), "files"),
        Figure("files without text, or that cannot be opened", left_out, "files"),
    ]
    show("PDF", figures)
    return 0 if figures[0].held else 1


if __name__ == "__main__":
    sys.exit(main())
