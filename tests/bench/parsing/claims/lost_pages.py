"""Pages without readable text: whether a warning names each of them, and no other."""

import random
from collections.abc import Iterator

from docmill.storage.schema import Parsed
from docmill.storage.sql.document_warnings import warnings_in
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.parsing.claims.claim import Claim
from tests.kit.pdf_pages import LEFT, page
from tests.kit.writers.pdf import HEIGHT, WIDTH, Pdf

_DOCUMENTS = 40
_KINDS = ("text", "text", "no letters", "no letters with a caption", "picture")
_PICTURE = f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q"
_CAPTION = "Table {}. What the river carries"


def measure() -> Iterator[Claim]:
    """Yield claims on pages that are lost, and on captions of such pages."""
    told, captions = Claim("pages without readable text named in a warning"), Claim("captions kept of such pages")
    for seed in range(_DOCUMENTS):
        _judge(told, captions, seed)
    yield from (told, captions)


def _judge(told: Claim, captions: Claim, seed: int) -> None:
    chance = random.Random(seed)
    kinds = ["text", *(chance.choice(_KINDS) for _ in range(chance.randint(2, 12)))]
    parsed = _read(kinds)
    named = {number for list_ in ("garbled_pages", "scanned_pages") for number in parsed.metadata.get(list_, ())}
    said = " ".join(one.message for one in warnings_in(parsed.metadata))
    for number, kind in enumerate(kinds, 1):
        if kind != "text":
            told.judge(number in named and f"of {len(kinds)} pages" in said, f"{seed}: page {number}, {kind}: {said!r}")
        elif number in named:
            told.refute(f"{seed}: page {number} is text")
        if kind.endswith("caption"):
            captions.judge(_CAPTION.format(number) in parsed.text, f"{seed}: {_CAPTION.format(number)}")


def _read(kinds: list[str]) -> Parsed:
    pdf = page()
    for number, kind in enumerate(kinds, 1):
        if number > 1:
            pdf.add_page()
        _fill(pdf, kind, number)
    # Lines of "no map" stand for text whose font does not say which letters it draws.
    data = pdf.to_bytes().replace(b"no map", b"\\001\\002\\003\\004\\005")
    return parse(data, FileType("pdf"), ParseOptions())


def _fill(pdf: Pdf, kind: str, number: int) -> None:
    if kind == "picture":
        pdf.pages[-1].append(_PICTURE)
    elif kind == "text":
        pdf.lines(60, 740, [f"{line} {number}" for line in LEFT])
    else:
        pdf.lines(60, 740, ["no map" * 3] * 9)
        pdf.lines(60, 400, [_CAPTION.format(number)] if kind.endswith("caption") else [])
