"""Raised and lowered text: whether each format says what is raised, in documents that other programs have written."""

from collections.abc import Iterator
from contextlib import suppress

from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.parsing.claims.claim import Claim
from tests.bench.parsing.claims.office import converted
from tests.bench.parsing.looks.styles import NEW
from tests.bench.parsing.peers.writing import WRITERS

_MATH = "<math xmlns='http://www.w3.org/1998/Math/MathML'>{}</math>"
_SAID = {
    "about 10<sup>6</sup> of them": "10^6^",
    "an area of 25 m<sup>2</sup> only": "m^2^",
    "the water H<sub>2</sub>O runs": "H~2~O",
    "x<sub>i</sub><sup>2</sup> is added": "x~i~^2^",
    "the 3<sup>rd</sup> mill": "3rd mill",
    "Na<sup>+</sup> and Cl<sup>-</sup> ions": "Na^+^",
    "CO<sub>2</sub> in 10<sup>-3</sup> parts": "10^-3^",
    "half is ½ of it": "½",
}
_FORMULAS = {
    f"so {_MATH.format('<msup><mn>7</mn><mn>9</mn></msup>')} follows": ("7^9^", "7^{9}", "7^9"),
    f"so {_MATH.format('<mfrac><mi>a</mi><mn>2</mn></mfrac>')} follows": ("a/2", "\\frac{a}{2}"),
    f"so {_MATH.format('<msub><mi>v</mi><mn>0</mn></msub>')} follows": ("v~0~", "v_{0}", "v_0"),
}
_BY_LIBREOFFICE = {"docx": "docx:Office Open XML Text", "odt": "odt:writer8", "rtf": "rtf:Rich Text Format",
                   "pdf": "pdf:writer_pdf_Export"}  # fmt: skip
_BY_PANDOC = ("html", "docx, pandoc", "odt, pandoc", "epub", "pptx", "rtf, pandoc")
_PRINTED = ("pdf, Chromium", "pdf, WeasyPrint")
_UNSEEN = {"typst": "typst-sans", "fpdf2": "fpdf2", "MuPDF": "mupdf"}  # programs that no rule was made on, and looks
_FORMULAS_IN = ("html", "docx, pandoc", "odt, pandoc", "epub", "pptx")


def measure() -> Iterator[Claim]:
    """Yield a claim for each way in which the phrases were written."""
    page = f"<!doctype html><meta charset=utf-8><h1>Signs</h1><p>{'<p>'.join(_SAID)}"
    for name in (*_BY_PANDOC, *_PRINTED):
        form, write = WRITERS[name]
        data = write(page + ("<p>" + "<p>".join(_FORMULAS) if name in _FORMULAS_IN else ""))
        if data is not None:
            yield _judged(name, form, data, name in _FORMULAS_IN)
    for name, look in _UNSEEN.items():
        with suppress(ImportError):
            yield _judged(f"pdf, {name}", "pdf", NEW[look](page) or b"", False)
    for form, filter_ in _BY_LIBREOFFICE.items():
        for data in converted({"it.html": page.encode()}, filter_, "HTML (StarWriter)").values():
            yield _judged(f"{form}, LibreOffice", form, data, False)


def _judged(name: str, form: str, data: bytes, formulas: bool) -> Claim:
    claim = Claim(f"raised and lowered text, {name}")
    text = parse(data, FileType(form), ParseOptions()).text
    for wanted in _SAID.values():
        claim.judge(wanted in text, wanted)
    for options in _FORMULAS.values() if formulas else ():
        claim.judge(any(one in text for one in options), options[0])
    return claim
