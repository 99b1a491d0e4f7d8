"""OCR engines: rapidocr, which comes with its models as the extra `ocr`, and tesseract, a program of the system."""

import re
import shutil
from collections.abc import Callable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from docmill.storage.errors import Rejected
from docmill.storage.keys import key_of

if TYPE_CHECKING:
    from docmill.tasks.parse.pdf.ocr import Picture
    from docmill.tasks.parse.pdf.page_content import PageContent

RAPIDOCR, TESSERACT = "rapidocr", "tesseract"
ADVICE = "docmill[ocr], unless [parse] ocr = false"
"""How to have scanned pages read without a program of the system."""
_UNKNOWN = """
amh ara asm aze_cyrl bel ben bod bul chr div dzo ell fas grc guj heb hin hye iku kan kat kaz khm kir kor lao mal mar mkd
mon mya nep ori pan pus rus san sin snd srp syr tam tel tgk tha tir uig ukr urd uzb_cyrl yid
"""
"""Languages of tesseract whose scripts rapidocr's model lacks: it knows Latin letters, Chinese and Japanese."""


def engine_for(wanted: str, languages: str) -> str:
    """Return the engine that a value of `[parse] ocr` selects on this machine, with what its results depend on.

    It is "" if OCR is off. `auto` uses rapidocr if it is installed; `on` uses tesseract otherwise, and for scripts that
    rapidocr does not know.
    """
    installed = bool(find_spec(RAPIDOCR))
    if wanted == RAPIDOCR or (installed and _prefers_rapidocr(wanted, languages)):
        return f"{RAPIDOCR} {version(RAPIDOCR)}" if installed else RAPIDOCR
    return TESSERACT if wanted in ("on", TESSERACT) else ""


def reading_key(engine: str, languages: str) -> str:
    """Return the key of everything that decides which words an engine reads in a picture."""
    return key_of("reading", engine, languages)


def _prefers_rapidocr(wanted: str, languages: str) -> bool:
    knows = not {*_UNKNOWN.split()} & {*re.split("[+/]", languages)}
    return {"auto": knows, "on": knows or not shutil.which(TESSERACT)}.get(wanted, False)


def read_picture(picture: "Picture", page: int, engine: str, languages: str) -> "PageContent":
    """Return the page that an engine reads in a picture of it.

    Raise Rejected: `not_installed` if the engine or the data of a language is missing, `timeout`, `crashed`.
    """
    return _ENGINES[engine.partition(" ")[0]](picture, page, languages)


def _by_rapidocr(picture: "Picture", page: int, _languages: str) -> "PageContent":
    from docmill.tasks.parse.pdf.ocr import read_by_rapidocr

    if not find_spec(RAPIDOCR):
        raise Rejected("not_installed", "OCR needs rapidocr: pip install 'docmill[ocr]', or set ocr = false in [parse]")
    return read_by_rapidocr(picture, page)


def _by_tesseract(picture: "Picture", page: int, languages: str) -> "PageContent":
    from docmill.tasks.parse.pdf.ocr import read_by_tesseract

    return read_by_tesseract(picture, page, languages)


_ENGINES: Mapping[str, Callable[["Picture", int, str], "PageContent"]] = {
    RAPIDOCR: _by_rapidocr,
    TESSERACT: _by_tesseract,
}
