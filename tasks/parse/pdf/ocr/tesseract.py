"""OCR by tesseract: the paragraphs in a picture of a page, each line with its box.

Tesseract runs as a process with one thread and a time limit for each page, under the limits of the worker. Its reading
order is kept.
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
from docmill.tasks.parse.pdf.ocr.picture import INSTEAD, PageReading, Picture
from docmill.tasks.parse.pdf.text.line import PLAIN, TextLine

_TIMEOUT_S = 100.0  # for a page; a dense one takes seconds, so one that takes this long is stuck, or the machine is
_CERTAIN = 100.0  # the confidence of a word that tesseract is sure of
_MIN_CONFIDENCE = 30.0  # words below it are lines of a drawing
_FIELDS = 12  # level, page, block, paragraph, line, word, left, top, width, height, confidence, text
_WORD = "5"  # the level of a word
_PARAGRAPH, _LINE = slice(1, 4), 4
_BOX, _CONFIDENCE = slice(6, 10), 10
_LARGE = 1.5  # times the usual size: a heading; the height of a line's letters varies by less, with its ascenders
_STEPS = 2  # a large line has its size in halves of the usual one, so that two lines of one heading have the same
_MAX_MESSAGE = 200  # characters of what tesseract says: its first sentence or two


@dataclass(frozen=True, slots=True)
class _Word:
    paragraph: tuple[str, ...]
    line: str
    box: tuple[int, int, int, int]
    confidence: float
    text: str


def read_by_tesseract(picture: Picture, page: int, languages: str) -> PageReading:
    """Return the paragraphs of a picture as lines with boxes in points.

    Raise Rejected: `not_installed` if tesseract or the data of a language is missing, `timeout`, `crashed`.
    """
    program = shutil.which("tesseract")
    if program is None:
        raise Rejected("not_installed", f"OCR needs tesseract: install tesseract-ocr, {INSTEAD}")
    command = [program, "stdin", "stdout", "-l", languages, "--dpi", f"{picture.per_inch:.0f}"]
    command += ["-c", "tessedit_create_tsv=1"]
    head = b"P5\n%d %d\n255\n" % (picture.width, picture.height)  # a PGM file needs no library
    environment = os.environ | {"OMP_THREAD_LIMIT": "1"}  # there is a worker for each core already
    try:
        done = subprocess.run(
            command, input=head + picture.pixels, capture_output=True, timeout=_TIMEOUT_S, env=environment, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Rejected("timeout", f"tesseract took more than {_TIMEOUT_S:g} seconds for page {page}") from error
    if done.returncode:
        raise _reason(done.returncode, done.stderr.decode("utf-8", "replace"), languages)
    words = list(_words(done.stdout.decode("utf-8", "replace")))
    paragraphs = _paragraphs(words, page, picture.scale)
    lines = [line for paragraph in paragraphs for line in paragraph]
    letters = sum(len(word.text) for word in words)
    sure = sum(len(word.text) * word.confidence for word in words) / letters / _CERTAIN if letters else 0.0
    return PageReading(lines, picture.width * picture.scale, picture.height * picture.scale, sure, paragraphs)


def _reason(status: int, said: str, languages: str) -> Rejected:
    if "loading language" in said or "opening data file" in said:
        return Rejected(
            "not_installed",
            f"tesseract has no data for one of {languages!r} (parse.ocr_languages); install tesseract-ocr-<language>",
        )
    return Rejected("crashed", f"tesseract ended with status {status}: {' '.join(said.split())[:_MAX_MESSAGE]}")


def _words(table: str) -> Iterator[_Word]:
    """Yield the words of tesseract's table, whose first row names the fields."""
    for row in table.splitlines()[1:]:
        fields = row.split("\t", _FIELDS - 1)
        if _is_word(fields):
            yield _word(fields)


def _is_word(fields: list[str]) -> bool:
    return len(fields) == _FIELDS and fields[0] == _WORD and bool(fields[-1].strip())


def _word(fields: list[str]) -> _Word:
    left, top, width, height = map(int, fields[_BOX])
    box = (left, top, left + width, top + height)
    return _Word(tuple(fields[_PARAGRAPH]), fields[_LINE], box, float(fields[_CONFIDENCE]), fields[-1].strip())


def _paragraphs(words: list[_Word], page: int, scale: float) -> list[list[TextLine]]:
    found: list[list[TextLine]] = []
    for _, paragraph in groupby(words, lambda word: word.paragraph):
        lines = [list(line) for _, line in groupby(paragraph, lambda word: word.line)]
        kept = [_line(line, page, scale) for line in lines if _is_sure(line)]
        if kept:
            found.append(kept)
    _even(found)
    return found


def _is_sure(words: list[_Word]) -> bool:
    return sum(word.confidence for word in words) >= _MIN_CONFIDENCE * len(words)


def _line(words: list[_Word], page: int, scale: float) -> TextLine:
    lefts, tops, rights, bottoms = zip(*(word.box for word in words), strict=True)
    box: Box = (min(lefts) * scale, min(tops) * scale, max(rights) * scale, max(bottoms) * scale)
    size = median(bottom - top for top, bottom in zip(tops, bottoms, strict=True)) * scale
    return TextLine(" ".join(word.text for word in words), size, PLAIN, box, page, 0, 0)


def _even(paragraphs: list[list[TextLine]]) -> None:
    """Give all lines one size, except much larger ones: the height of letters is only known roughly."""
    lines = [line for paragraph in paragraphs for line in paragraph]
    usual = round(median(line.size for line in lines), 1) if lines else 0.0
    for line in lines:
        line.size = round(line.size / usual * _STEPS) / _STEPS * usual if line.size > _LARGE * usual else usual
