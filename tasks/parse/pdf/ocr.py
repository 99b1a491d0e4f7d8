"""OCR by tesseract: the paragraphs that it reads in a picture of a page, each line with its box.

Tesseract runs as a process of its own, one thread each, with a time limit for a page; it inherits the
limits of the worker that starts it. Its order of reading is kept.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from docmill.storage.errors import Rejected
from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.text.fonts import PLAIN
from docmill.tasks.parse.pdf.text.line import Line

_TIMEOUT_S = 100.0
_MIN_CONFIDENCE = 30.0  # below, what it reads are the lines of a drawing
_FIELDS = 12
_WORD = "5"
_LARGE = 1.5
_MAX_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Picture:
    """A page's grey values: one byte a pixel, row by row from the top left."""

    pixels: bytes
    width: int
    height: int
    per_inch: float


@dataclass(frozen=True, slots=True)
class _Word:
    paragraph: tuple[str, ...]
    line: str
    box: tuple[int, int, int, int]
    confidence: float
    text: str


def read_picture(picture: Picture, page: int, languages: str) -> list[list[Line]]:
    """Return the paragraphs of a picture as lines with boxes in points.

    Raise Rejected: `not_installed` where tesseract or the data of a language is missing, `timeout`, `crashed`.
    """
    program = shutil.which("tesseract")
    if program is None:
        raise Rejected("not_installed", "OCR needs tesseract: install tesseract-ocr, or set ocr = false in [parse]")
    command = [program, "stdin", "stdout", "-l", languages, "--dpi", f"{picture.per_inch:.0f}"]
    command += ["-c", "tessedit_create_tsv=1"]
    head = b"P5\n%d %d\n255\n" % (picture.width, picture.height)
    environment = os.environ | {"OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(
            command, input=head + picture.pixels, capture_output=True, timeout=_TIMEOUT_S, env=environment, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Rejected("timeout", f"tesseract took more than {_TIMEOUT_S:g} seconds for page {page}") from error
    if done.returncode:
        raise _reason(done.returncode, done.stderr.decode("utf-8", "replace"), languages)
    words = list(_words(done.stdout.decode("utf-8", "replace")))
    return _paragraphs(words, page, 72 / picture.per_inch)


def _reason(status: int, said: str, languages: str) -> Rejected:
    if "loading language" in said or "opening data file" in said:
        return Rejected(
            "not_installed",
            f"tesseract has no data for one of {languages!r} (parse.ocr_languages); install tesseract-ocr-<language>",
        )
    return Rejected("crashed", f"tesseract ended with status {status}: {' '.join(said.split())[:_MAX_MESSAGE]}")


def _words(table: str) -> Iterator[_Word]:
    """Yield the words of tesseract's table: level, page, block, paragraph, line, word, box, confidence, text."""
    for row in table.splitlines()[1:]:
        fields = row.split("\t", _FIELDS - 1)
        if len(fields) == _FIELDS and fields[0] == _WORD and fields[-1].strip():
            left, top, width, height = map(int, fields[6:10])
            box = (left, top, left + width, top + height)
            yield _Word(tuple(fields[1:4]), fields[4], box, float(fields[10]), fields[-1].strip())


def _paragraphs(words: list[_Word], page: int, scale: float) -> list[list[Line]]:
    found: list[list[Line]] = []
    for _, paragraph in groupby(words, lambda word: word.paragraph):
        lines = [list(line) for _, line in groupby(paragraph, lambda word: word.line)]
        kept = [_line(line, page, scale) for line in lines if _is_sure(line)]
        if kept:
            found.append(kept)
    _even(found)
    return found


def _is_sure(words: list[_Word]) -> bool:
    return sum(word.confidence for word in words) >= _MIN_CONFIDENCE * len(words)


def _line(words: list[_Word], page: int, scale: float) -> Line:
    sides = list(zip(*(word.box for word in words), strict=True))
    left, top, right, bottom = min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3])
    box: Box = (left * scale, top * scale, right * scale, bottom * scale)
    size = median(word.box[3] - word.box[1] for word in words) * scale
    return Line(" ".join(word.text for word in words), size, PLAIN, box, page, 0, 0)


def _even(paragraphs: list[list[Line]]) -> None:
    """Give all lines one size but those that are much larger: the height of letters is known roughly."""
    lines = [line for paragraph in paragraphs for line in paragraph]
    usual = round(median(line.size for line in lines), 1) if lines else 0.0
    for line in lines:
        line.size = round(line.size / usual * 2) / 2 * usual if line.size > _LARGE * usual else usual
