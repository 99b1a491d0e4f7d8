"""How many headings of marked PDFs are found, and how much else is taken for one.

    python -m tests.bench.parsing.headings.measure [--half look|report|twelve] [--keep FOLDER] [--show]

The documents are written here and printed by whichever of their programs is installed. A heading is found if an element
of kind `title` says the same letters; other titles are wrong. A level is right if a heading stands to the one before it
as it is marked: below it, beside it, or above it.
"""

import argparse
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from docmill.storage.schema import Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.parsing.headings.documents import LOOK, REPORT
from tests.bench.parsing.headings.marked import Marked
from tests.bench.parsing.headings.programs import installed, printed
from tests.bench.parsing.headings.twelve import TWELVE
from tests.bench.table import Figure, show

_LEAST_FOUND, _MOST_WRONG = 90, 5  # in hundredths, and headings of a half
_MODULES = {"fpdf2": "fpdf", "mupdf": "pymupdf", "platypus": "reportlab"} | dict.fromkeys(
    ("soffice-docx", "soffice-odt", "soffice-rtf"), "soffice"
)
_SETS = {"look": LOOK, "report": REPORT, "twelve": TWELVE}


def said(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return "".join(filter(str.isalnum, text.lower()))


def headings(parsed: Parsed) -> list[tuple[int, str]]:
    """Return the level and the text of each heading of a document."""
    return [(one.level, str(one.attributes["text"])) for one in parsed.elements if one.kind == "title"]


def steps(found: Iterable[tuple[int, str]], wanted: set[str]) -> Counter[tuple[str, str, int]]:
    """Return how each heading stands to the one before it: 1 below it, 0 beside it, -1 above it."""
    known = [(level, said(text)) for level, text in found if said(text) in wanted]
    return Counter((a, b, (after > before) - (after < before)) for (before, a), (after, b) in pairwise(known))


def rate(document: Marked, parsed: Parsed, tell: bool) -> Counter[str]:
    """Return the counts of one document; print what was missed and what is wrong if told to."""
    marked, read = document.headings, headings(parsed)
    truth, got = (Counter(said(text) for _, text in each) for each in (marked, read))
    if tell:
        print(f"{document.name}: missed {[*(truth - got).elements()]} wrong {[*(got - truth).elements()]}")
        print(f"   title {parsed.title!r}, {read}")
    return Counter(
        marked=truth.total(),
        found=(truth & got).total(),
        wrong=(got - truth).total(),
        steps=steps(marked, {*truth}).total(),
        right_steps=(steps(marked, {*truth}) & steps(read, {*truth})).total(),
        titles=int(said(parsed.title) == said(document.title)),
        documents=1,
    )


def main() -> int:
    """Print the table; return 1 if a figure of the half that reports is beyond its bound."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--half", choices=_SETS, default="report")
    arguments.add_argument("--keep", type=Path, help="folder to keep the PDFs in")
    arguments.add_argument("--show", action="store_true", help="print what is missed and what is wrong")
    chosen = arguments.parse_args()
    counts: Counter[str] = Counter()
    for document in _SETS[chosen.half]:
        if not installed(_MODULES.get(document.program, document.program)):
            print(f"{document.name}: {document.program} is not installed")
            continue
        data = _kept(document, chosen.keep)
        counts += rate(document, parse(data, FileType("pdf"), ParseOptions()), chosen.show)
    figures = [
        Figure("documents", counts["documents"], "PDFs"),
        Figure("headings missed", 100 - 100 * counts["found"] / max(counts["marked"], 1), "%", 100 - _LEAST_FOUND),
        Figure(f"wrong, beside {counts['found']} of {counts['marked']} found", counts["wrong"], "", _MOST_WRONG),
        Figure("levels right", 100 * counts["right_steps"] / max(counts["steps"], 1), "%"),
        Figure("titles of documents right", counts["titles"], ""),
    ]
    show(f"Headings of PDFs, the set {chosen.half}", figures)
    return int(not all(figure.held for figure in figures))


def _kept(document: Marked, folder: Path | None) -> bytes:
    """Return a document as printed, from the folder where it was kept before."""
    path = folder / f"{document.name}.pdf" if folder else None
    if path is not None and path.exists():
        return path.read_bytes()
    data = printed(document)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return data


if __name__ == "__main__":
    raise SystemExit(main())
