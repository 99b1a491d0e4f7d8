"""How well OCR reads printed pages: word F1 and CPU seconds a page, by engine, resolution, noise and rotation.

    python -m tests.bench.parsing.ocr.scans --printed FOLDER [--pages 12] [--engine rapidocr ...] [--per-inch 150 ...]

FOLDER is a tree of PDFs, as `tests.bench.parsing.printing` writes one. Their pages become pictures, which are read as
image files; the truth is the text layer of the page. Words are compared as a bag, in lower case. CPU seconds count the
engine's processes, and not the half second in which rapidocr loads its models.
"""

import argparse
import re
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from PIL import Image

from docmill.storage.errors import Rejected
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions

_LEAST = 100  # words of a page: with fewer, one word decides
_NOISE = 16.0  # of 255: standard deviation of a grey that makes paper look photocopied
_SPECKS = 0.001  # share of pixels that are black or white whatever is printed there


@dataclass(frozen=True, slots=True)
class Look:
    """How a page is scanned: dots an inch, degrees of rotation, and whether with noise."""

    per_inch: int
    degrees: float = 0.0
    noise: bool = False

    def __str__(self) -> str:
        """Return the row's name."""
        more = f", noise and {self.degrees:g}°" if self.noise else f", {self.degrees:g}°" if self.degrees else ""
        return f"{self.per_inch} dpi{more}"


LOOKS = (Look(100), Look(150), Look(300), Look(150, 90), Look(100, 3, True), Look(150, 3, True), Look(300, 3, True))


def words(text: str) -> Counter[str]:
    """Return the words of a text, in lower case."""
    return Counter(re.findall(r"\w+", text.lower()))


def word_f1(told: Counter[str], read: Counter[str]) -> float:
    """Return the harmonic mean of the share of words that are found and of those that are right."""
    return 2 * (told & read).total() / max(told.total() + read.total(), 1)


def pages(folder: Path, most: int) -> Iterator[tuple[Any, str]]:
    """Yield pages with text from evenly chosen PDFs, one each, as picture of 300 dots an inch would show them."""
    import pypdfium2

    paths = sorted(folder.rglob("*.pdf"))
    for path in [paths[at * len(paths) // most] for at in range(min(most, len(paths)))]:
        document = pypdfium2.PdfDocument(path)
        page = document[len(document) // 2]
        with closing(page.get_textpage()) as layer:
            text = layer.get_text_range()
        if words(text).total() >= _LEAST:
            yield page, text


def scan(page: Any, look: Look) -> bytes:
    """Return a page as the PNG file of a scanner."""
    picture = page.render(scale=look.per_inch / 72, grayscale=True).to_pil()
    picture = picture.rotate(look.degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    if look.noise:
        chance = np.random.default_rng(7)
        grey = np.asarray(picture, np.float32) + chance.normal(0, _NOISE, (picture.height, picture.width))
        specks = chance.random(grey.shape)
        grey[specks < _SPECKS / 2], grey[specks > 1 - _SPECKS / 2] = 0, 255
        picture = Image.fromarray(grey.clip(0, 255).astype(np.uint8))
    out = BytesIO()
    picture.save(out, "PNG", dpi=(look.per_inch, look.per_inch))
    return out.getvalue()


def _spent() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def read(data: bytes, engine: str) -> tuple[str, float]:
    """Return the text that an engine reads in an image, and the CPU seconds that it took."""
    began = _spent()
    try:
        parsed = parse(data, FileType("image"), ParseOptions(ocr=True, ocr_engine=engine))
        said = (one for one in parsed.elements if one.kind != "figure")  # the address of the picture is no word
        text = "\n".join(parsed.text[one.start_char : one.end_char] for one in said)
    except Rejected as why:
        if why.reason != "no_text":
            raise
        text = ""
    return text, _spent() - began


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--printed", type=Path, required=True, help="folder of PDFs")
    arguments.add_argument("--pages", type=int, default=12)
    arguments.add_argument("--engine", action="append", choices=["rapidocr", "tesseract"])
    arguments.add_argument("--per-inch", action="append", type=int, help="only these resolutions")
    chosen = arguments.parse_args()
    engines = chosen.engine or ["rapidocr", "tesseract"]
    found = [*pages(chosen.printed, chosen.pages)]
    for engine in engines:
        read(scan(found[0][0], LOOKS[0]), engine)  # loads its models
    print(f"{len(found)} pages; word F1 (mean, least) and CPU seconds a page\n")
    print("| scan | " + " | ".join(f"{engine}: F1 | least | s" for engine in engines) + " |")
    print("|---|" + "---:|---:|---:|" * len(engines))
    for look in (one for one in LOOKS if one.per_inch in (chosen.per_inch or [one.per_inch])):
        row = []
        for engine in engines:
            results = [
                (word_f1(words(told), words(text)), spent)
                for page, told in found
                for text, spent in [read(scan(page, look), engine)]
            ]
            shares, seconds = zip(*results, strict=True)
            row.append(f"{mean(shares):.3f} | {min(shares):.3f} | {mean(seconds):.1f}")
        print(f"| {look} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
