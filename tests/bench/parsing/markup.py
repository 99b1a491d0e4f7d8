"""Measure reading Markdown and HTML in one thread: seconds of processor a megabyte, and against the library alone.

    python -m tests.bench.parsing.markup [--data FOLDER]

FOLDER is a tree of Markdown and HTML files; without it the test corpus is taken. The large documents are generated.
A tree of less than 0.1 MB is held against no bound: there it is the documents that cost, not their length.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from lxml import etree
from markdown_it import MarkdownIt

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.table import Figure, show

CORPUS = Path(__file__).parents[2] / "corpus"
REPEATS = 3
BOUNDS = {"markdown": 1 / 1.5, "html": 1 / 5}  # seconds a megabyte
HOSTILE = 2.0  # for documents of nothing but structure
ENOUGH = 0.1  # megabytes
LARGE = {
    "Markdown, a table of 100,000 rows": b"| a | b | c |\n|---|---|---|\n" + b"| one word | two | three |\n" * 100_000,
    "Markdown, a list of 100,000 items": b"- an item of some words\n" * 100_000,
    "Markdown, 30,000 paragraphs": (b"Words of a sentence that goes on for a line or two.\n" * 3 + b"\n") * 30_000,
    "HTML, 10,000 sections": (
        b"<h2>A section</h2>\n<p>" + b"Words of <b>a</b> sentence that goes on for a line or two. " * 5
    )
    * 10_000,
}


def measure(work: Callable[[bytes], object], documents: list[bytes]) -> float:
    """Return the processor seconds a megabyte of the best of three runs."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        for data in documents:
            work(data)
        best = min(best, time.process_time() - start)
    return best / (sum(map(len, documents)) / 1e6)


def reader(form: str) -> Callable[[bytes], object]:
    """Return a function that reads a document of a format, or nothing where it is rejected."""

    def read(data: bytes) -> object:
        try:
            return parse(data, FileType(form), ParseOptions())
        except Rejected:
            return None

    return read


def bare_markdown(data: bytes) -> object:
    """Parse blocks alone."""
    parser = MarkdownIt("commonmark").enable("table").disable(["inline", "reference"])
    return parser.parse(data.decode("utf-8", "replace"))


def bare_html(data: bytes) -> object:
    """Parse into a tree alone."""
    return etree.fromstring(data, etree.HTMLParser(huge_tree=True, no_network=True)) if data.strip() else None


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=CORPUS)
    folder = arguments.parse_args().data
    figures: list[Figure] = []
    for form, suffixes, bare in (("markdown", "md mdx", bare_markdown), ("html", "html htm", bare_html)):
        paths = sorted(path for suffix in suffixes.split() for path in folder.rglob(f"*.{suffix}") if path.is_file())
        documents = [path.read_bytes() for path in paths]
        if documents:
            seconds = measure(reader(form), documents)
            size = sum(map(len, documents)) / 1e6
            bound = BOUNDS[form] if size >= ENOUGH else None
            figures.append(Figure(f"{form}, {len(documents)} files, {size:.2f} MB", seconds, "s/MB", bound))
            figures.append(Figure(f"{form} / the library alone", seconds / measure(bare, documents), ""))
    for name, data in LARGE.items():
        form = name.split(",")[0].lower()
        bound = HOSTILE if form == "markdown" else BOUNDS[form]
        figures.append(Figure(f"{name}, {len(data) / 1e6:.1f} MB", measure(reader(form), [data]), "s/MB", bound))
    show("Reading Markdown and HTML", figures)


if __name__ == "__main__":
    main()
