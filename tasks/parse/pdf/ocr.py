"""OCR: the lines in a picture of a page, each with its box, as rapidocr or tesseract read them.

The models of rapidocr come with its wheel and run in this process by onnxruntime, with one thread. They are loaded by
path, so nothing is ever downloaded. Tesseract runs as a process with one thread and a time limit for each page, under
the limits of the worker; its reading order is kept.
"""

import logging
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import accumulate, groupby
from math import atan2, degrees
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from docmill.storage.errors import Rejected
from docmill.tasks.parse.canvas import Box
from docmill.tasks.parse.pdf.page_content import PageContent
from docmill.tasks.parse.pdf.text.line import PLAIN, TextLine
from docmill.tasks.parse.pdf.text.pdfium_calls import Place, grouped

POINTS = 72.0  # an inch
ADVICE = "docmill[ocr], unless [parse] ocr = false"
"""How to have scanned pages read without a program of the system."""
INSTEAD = "or pip install 'docmill[ocr]', or set ocr = false in [parse]"  # alternatives to tesseract


@dataclass(frozen=True, slots=True)
class Picture:
    """A page in grey: one byte a pixel, row by row from the top left."""

    pixels: bytes
    width: int
    height: int
    per_inch: float

    @property
    def scale(self) -> float:
        """Return how many points a pixel measures."""
        return POINTS / self.per_inch


Floats = npt.NDArray[np.float64]

_MODELS = {"Det": "PP-OCRv6_det_small.onnx", "Rec": "PP-OCRv6_rec_small.onnx"}
_SIDE = 1600
"""Pixels of the longer side of the picture in which lines are detected; they are read at full resolution."""
_MIN_CONFIDENCE = 0.5  # of 1; lines below it are strokes of a drawing; rapidocr's own limit
_TALL = 1.5  # height by width of a line on a page that is on its side; rapidocr's own limit
_ASKED = 3  # lines to test whether a page is upside down
_SURE = 0.9  # of 1; lines that are upside down are read with 0.5 to 0.8, others with 0.95 or more
_LEVEL = 0.15  # degrees: across a page this is a third of a line, which layout tolerates

_X_HEIGHT, _RISE, _FALL = 0.52, 0.2, 0.2
"""Heights of an x, of what rises above it, and of what falls below the line, as shares of the font size; those of
Helvetica and Times are within 0.05 of these."""
_AROUND = 0.195
"""Margin that rapidocr leaves around a line's ink, as a share of its size; measured on pages printed by Chromium."""
_ABOVE, _BELOW = 0.93, 0.23  # shares of the size by which pdfium's boxes reach above and below the line
_HIGH, _LOW = re.compile(r"[^acemnorsuvwxzgpqy.,:;_\-\s]"), re.compile(r"[gjpqyQ,;()\[\]{}|_/@$]")
_SMALLEST, _LARGEST = 0.75, 1.35  # of the usual size: the height of letters is known only roughly
_STEPS = 4  # other sizes are rounded to quarters of the usual one, so that the lines of one heading have the same
_SAME_ROW = 0.35  # of the usual size, between baselines of one row; those of two lines are a whole size apart


class _FoundLines(NamedTuple):
    """The corners of each line, from the top left on, as float64 (n, 4, 2) in pixels, and pictures of the lines."""

    corners: Floats
    crops: list[Any]


def read_by_rapidocr(picture: Picture, page: int) -> PageContent:
    """Return the page with the lines of a picture, unordered; raise Rejected `not_installed` if a model is missing."""
    if not find_spec("rapidocr"):
        raise Rejected("not_installed", "OCR needs rapidocr: pip install 'docmill[ocr]', or set ocr = false in [parse]")
    engine = _engine()
    grey = np.frombuffer(picture.pixels, np.uint8).reshape(picture.height, picture.width)
    turns, (corners, crops) = _upright(engine, np.repeat(grey[:, :, None], 3, axis=2))
    read = _recognised(engine, crops) if crops else []
    kept = [at for at, (text, sure) in enumerate(read) if text and sure >= _MIN_CONFIDENCE]
    to_level = _levelling(corners[kept], picture, turns)
    width, height = (picture.width, picture.height) if turns % 2 == 0 else (picture.height, picture.width)
    lines = [_line(read[at][0], corners[at], to_level, page) for at in kept]
    _even(lines)
    letters = sum(len(read[at][0]) for at in kept)
    sure = sum(len(read[at][0]) * read[at][1] for at in kept) / letters if letters else None
    back = _back(to_level, picture, turns)
    return PageContent(page, width * picture.scale, height * picture.scale, [*lines], back=back, sure=sure)


@cache
def _engine() -> Any:
    """Return rapidocr with its models loaded: 30 MB, in half a second, once a process."""
    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)  # it logs each file that it loads, and pages without text
    import cv2
    import rapidocr

    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    cv2.setNumThreads(1)  # there is a worker for each core already
    folder = Path(rapidocr.__file__).parent / "models"
    missing = [name for name in _MODELS.values() if not (folder / name).is_file()]
    if missing:
        raise Rejected("not_installed", f"rapidocr came without its models {', '.join(missing)}; install another one")
    runtime = "EngineConfig.onnxruntime"
    return rapidocr.RapidOCR(
        params={f"{model}.model_path": str(folder / name) for model, name in _MODELS.items()}
        | {f"{runtime}.intra_op_num_threads": 1, f"{runtime}.inter_op_num_threads": 1}
        | {"Global.log_level": "critical", "Global.use_vertical_padding": False, "Global.use_cls": False}
        | {"Det.limit_type": "max", "Det.limit_side_len": _SIDE}
        | {"Rec.rec_batch_num": 1}  # a batch is padded to its longest line, which costs more than it saves
    )


def _upright(engine: Any, image: Any) -> tuple[int, _FoundLines]:
    """Return the lines of a picture turned upright, and how many quarters it was turned to the left."""
    turns = 0
    found = _detected(engine, image)
    across, along = _sides(found.corners)
    area = across * along
    if area[along > _TALL * across].sum() * 2 > area.sum():
        turns, image = 1, np.ascontiguousarray(np.rot90(image))
        found = _detected(engine, image)
    if _is_upside_down(engine, found):
        return turns + 2, _detected(engine, np.ascontiguousarray(np.rot90(image, 2)))
    return turns, found


def _detected(engine: Any, image: Any) -> _FoundLines:
    from rapidocr.main import RapidOCRError

    try:
        crops, found = engine.detect_and_crop(image, {})
    except RapidOCRError:  # there is no line
        return _FoundLines(np.zeros((0, 4, 2)), [])
    return _FoundLines(np.asarray(found.boxes, np.float64), crops)


def _sides(corners: Floats) -> tuple[Floats, Floats]:
    """Return the lengths of lines along their text and across it, in pixels."""
    along = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    return along, np.linalg.norm(corners[:, 3] - corners[:, 0], axis=1)


def _is_upside_down(engine: Any, found: _FoundLines) -> bool:
    """Return whether the widest lines are read better upside down; rapidocr's own classifier is wrong more often."""
    asked = sorted(found.crops, key=lambda crop: -crop.shape[1])[:_ASKED]
    sure = [sure for _, sure in _recognised(engine, asked)] if asked else []
    if not sure or median(sure) >= _SURE:
        return False
    turned = _recognised(engine, [np.ascontiguousarray(np.rot90(crop, 2)) for crop in asked])
    return median(again for _, again in turned) > median(sure)


def _recognised(engine: Any, crops: list[Any]) -> list[tuple[str, float]]:
    found = engine.recognize_txt(crops)
    return [(" ".join(text.split()), float(sure)) for text, sure in zip(found.txts, found.scores, strict=True)]


def _levelling(corners: Floats, picture: Picture, turns: int) -> Floats:
    """Return the (3, 3) map from pixels of the upright picture to points of the page with level lines."""
    width, height = (picture.width, picture.height) if turns % 2 == 0 else (picture.height, picture.width)
    tilt = _tilt(corners)
    cosine, sine = np.cos(tilt), np.sin(tilt)
    middle = np.array([[1, 0, width / 2], [0, 1, height / 2], [0, 0, 1]])
    level = np.array([[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]])
    around: Floats = middle @ level @ np.linalg.inv(middle)
    return np.diag([picture.scale, picture.scale, 1]) @ around


def _tilt(corners: Floats) -> float:
    """Return the median angle of the longer half of the lines in radians, or 0 if they are almost level."""
    if not len(corners):
        return 0.0
    along, _ = _sides(corners)
    long = corners[along >= np.median(along)]
    across = (long[:, 1] - long[:, 0] + long[:, 2] - long[:, 3]) / 2
    tilt = median(atan2(y, x) for x, y in across)
    return tilt if abs(degrees(tilt)) > _LEVEL else 0.0


def _back(to_level: Floats, picture: Picture, turns: int) -> Place | None:
    """Return the map from the level page to the page as displayed, both in points; None if they are the same."""
    wide, high = picture.width, picture.height
    turned = {
        0: [[1, 0, 0], [0, 1, 0]],
        1: [[0, 1, 0], [-1, 0, wide]],
        2: [[-1, 0, wide], [0, -1, high]],
        3: [[0, -1, high], [1, 0, 0]],
    }[turns]
    forth = to_level @ np.array([*turned, [0, 0, 1]], np.float64)
    back = np.diag([picture.scale, picture.scale, 1]) @ np.linalg.inv(forth)
    if np.allclose(back, np.eye(3)):
        return None
    (a, c, e), (b, d, f) = back[:2].tolist()
    return a, b, c, d, e, f


def _line(text: str, corners: Floats, to_level: Floats, page: int) -> TextLine:
    """Return a line with its font size, estimated from which letters it has; its box is only its baseline so far."""
    placed = (np.c_[corners, np.ones(len(corners))] @ to_level.T)[:, :2]
    left, right = float(placed[:, 0].min()), float(placed[:, 0].max())
    top, bottom = float(placed[:2, 1].mean()), float(placed[2:, 1].mean())
    rise, fall = _RISE * bool(_HIGH.search(text)), _FALL * bool(_LOW.search(text))
    size = (bottom - top) / (_X_HEIGHT + rise + fall + 2 * _AROUND)
    baseline = bottom - (_AROUND + fall) * size
    return TextLine(text, size, PLAIN, (left, baseline, right, baseline), page, 0, 0)


def _even(lines: list[TextLine]) -> None:
    """Set the sizes of lines to the usual one or to quarters of it, level the lines of each row, and fit the boxes."""
    usual = _usual_size(lines)
    for line in lines:
        share = line.size / usual
        line.size = usual if _SMALLEST < share < _LARGEST else max(round(share * _STEPS), 1) / _STEPS * usual
    downward = sorted(lines, key=lambda line: line.box[1])
    for row in grouped(downward, lambda row, line: line.box[1] - row[0].box[1] <= _SAME_ROW * usual):
        _level(row)


def _usual_size(lines: list[TextLine]) -> float:
    """Return the median size of letters, rounded to half points so that all pages have the same."""
    sizes = sorted((line.size, len(line.text)) for line in lines)
    half = sum(letters for _, letters in sizes) / 2
    so_far = accumulate(letters for _, letters in sizes)
    middle = next((size for (size, _), letters in zip(sizes, so_far, strict=True) if letters >= half), 1.0)
    return max(round(middle * 2) / 2, 1.0)


def _level(row: list[TextLine]) -> None:
    """Put the lines of a row on one baseline."""
    baseline = median(line.box[1] for line in row)
    for line in row:
        left, _, right, _ = line.box
        line.box = (left, baseline - _ABOVE * line.size, right, baseline + _BELOW * line.size)


_TIMEOUT_S = 100.0  # for a page; a dense one takes seconds, so after this long tesseract or the machine is stuck
_CERTAIN = 100.0  # tesseract's highest confidence
_LEAST_CONFIDENCE = 30.0  # text below it is strokes of a drawing
_FIELDS = 12  # level, page, block, paragraph, line, word, left, top, width, height, confidence, text
_WORD = "5"  # the level of a word
_PARAGRAPH, _LINE = slice(1, 4), 4
_BOX, _CONFIDENCE = slice(6, 10), 10
_LARGE = 1.5  # times the usual size: a heading; with and without ascenders, the height of lines varies by less
_HALVES = 2  # large sizes are rounded to halves of the usual one, so that the lines of one heading have the same
_MAX_MESSAGE = 200  # characters of tesseract's message: its first sentence or two


@dataclass(frozen=True, slots=True)
class _Word:
    paragraph: tuple[str, ...]
    line: str
    box: tuple[int, int, int, int]
    confidence: float
    text: str


def read_by_tesseract(picture: Picture, page: int, languages: str) -> PageContent:
    """Return the page with the paragraphs of a picture.

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
    width, height = picture.width * picture.scale, picture.height * picture.scale
    return PageContent(page, width, height, [*lines], paragraphs=paragraphs, sure=sure if lines else None)


def _reason(status: int, said: str, languages: str) -> Rejected:
    if "loading language" in said or "opening data file" in said:
        return Rejected(
            "not_installed",
            f"tesseract has no data for one of {languages!r} (parse.ocr_languages); install tesseract-ocr-<language>",
        )
    return Rejected("crashed", f"tesseract ended with status {status}: {' '.join(said.split())[:_MAX_MESSAGE]}")


def _words(table: str) -> Iterator[_Word]:
    """Yield the words in tesseract's table, whose first row is a header."""
    for row in table.splitlines()[1:]:
        fields = row.split("\t", _FIELDS - 1)
        if len(fields) == _FIELDS and fields[0] == _WORD and fields[-1].strip():
            left, top, width, height = map(int, fields[_BOX])
            box = (left, top, left + width, top + height)
            yield _Word(tuple(fields[_PARAGRAPH]), fields[_LINE], box, float(fields[_CONFIDENCE]), fields[-1].strip())


def _paragraphs(words: list[_Word], page: int, scale: float) -> list[list[TextLine]]:
    found: list[list[TextLine]] = []
    for _, paragraph in groupby(words, lambda word: word.paragraph):
        lines = [list(line) for _, line in groupby(paragraph, lambda word: word.line)]
        sure = [line for line in lines if sum(word.confidence for word in line) >= _LEAST_CONFIDENCE * len(line)]
        kept = [_line_of_words(line, page, scale) for line in sure]
        if kept:
            found.append(kept)
    _even_paragraphs(found)
    return found


def _line_of_words(words: list[_Word], page: int, scale: float) -> TextLine:
    lefts, tops, rights, bottoms = zip(*(word.box for word in words), strict=True)
    box: Box = (min(lefts) * scale, min(tops) * scale, max(rights) * scale, max(bottoms) * scale)
    size = median(bottom - top for top, bottom in zip(tops, bottoms, strict=True)) * scale
    return TextLine(" ".join(word.text for word in words), size, PLAIN, box, page, 0, 0)


def _even_paragraphs(paragraphs: list[list[TextLine]]) -> None:
    """Set all lines to one size, except much larger ones, because the height of letters is known only roughly."""
    lines = [line for paragraph in paragraphs for line in paragraph]
    usual = round(median(line.size for line in lines), 1) if lines else 0.0
    for line in lines:
        line.size = round(line.size / usual * _HALVES) / _HALVES * usual if line.size > _LARGE * usual else usual


_ENGINES: Mapping[str, Callable[[Picture, int, str], PageContent]] = {
    "rapidocr": lambda picture, page, _languages: read_by_rapidocr(picture, page),
    "tesseract": read_by_tesseract,
}


def read_picture(picture: Picture, page: int, engine: str, languages: str) -> PageContent:
    """Return the page that an engine reads in a picture of it.

    Raise Rejected: `not_installed` if the engine or the data of a language is missing, `timeout`, `crashed`.
    """
    return _ENGINES[engine.partition(" ")[0]](picture, page, languages)
