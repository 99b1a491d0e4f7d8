"""What the words in figures take: `python -m tests.bench.parsing.ocr.figure_words FOLDER [--most 60]`.

It reads the figures of PDFs, Word documents and slides below a folder by rapidocr, and prints CPU seconds a picture and
how many hold words.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, quantiles
from time import process_time

from docmill.storage.errors import Rejected
from docmill.storage.schema import KeptPicture
from docmill.tasks.parse.dispatch.file_type import detect_file_type
from docmill.tasks.parse.dispatch.readers import engine_for
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import ParseOptions
from docmill.tasks.parse.pdf.reader import FigureScan, words_in

_SUFFIXES = (".pdf", ".docx", ".pptx")
_MOST_BYTES = 3_000_000  # of a document: longer ones would give most of the figures


def main() -> None:
    """Print one row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=60, help="figures from which on no other document is opened")
    asked = parser.parse_args()
    pictures, engine = _pictures(asked.folder, asked.most), engine_for("rapidocr", "eng")
    words_in(FigureScan(pictures[0].data, engine, ""))  # which loads the models
    seconds, words = [], []
    for one in pictures:
        began = process_time()
        words.append(len(words_in(FigureScan(one.data, engine, "")).split()))
        seconds.append(process_time() - began)
    tenths = quantiles(seconds, n=10)
    print(f"{len(pictures)} figures, {sum(map(bool, words))} with words, {mean(words):.0f} words each")
    print(f"CPU seconds a figure: {mean(seconds):.2f}, half {tenths[4]:.2f}, a tenth {tenths[8]:.2f} and more")


def _pictures(folder: Path, most: int) -> list[KeptPicture]:
    found: dict[str, KeptPicture] = {}
    for path in _files(folder):
        data = path.read_bytes()
        try:
            parsed = parse(data, detect_file_type(path.name, data), ParseOptions())
        except Rejected:
            continue
        found |= {one.key: one for one in parsed.pictures}
        if len(found) >= most:
            break
    return [*found.values()]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in _SUFFIXES and path.stat().st_size <= _MOST_BYTES:
            yield path


if __name__ == "__main__":
    main()
