"""How much of what documents say comes back from PDFs that were printed from them, by any program.

    python -m tests.bench.parsing.printed --written FOLDER --printed FOLDER

FOLDERs are trees of Markdown and of PDFs whose names begin with those of the Markdown files they were printed from.
An element comes back if the PDF has one of its kind with the same letters and digits; a row of a table, if all its
cells have. What a program left out of its PDF counts as not come back.
"""

import argparse
import re
from collections import Counter
from pathlib import Path

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.format import FileType, ParseOptions
from tests.bench.table import Figure, show

KINDS = ("title", "paragraph", "list_item", "code", "row")
_MARKUP = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s)?|!?\[(?=[^\]]*\]\()|(?<=\])\([^)]*\)|<[^>]+>|&\w+;", re.M)
_FENCE = re.compile(r"^[`~]{3}.*$", re.M)

Said = tuple[str, ...]


def read(path: Path, form: str) -> Counter[Said]:
    """Return what a document says: the kind and the letters of each element, of a table each row."""
    parsed = parse(path.read_bytes(), FileType(form), ParseOptions())
    return Counter(said for element in parsed.elements for said in _said(parsed, element, form) if any(said[1:]))


def _said(parsed: Parsed, element: Element, form: str) -> list[Said]:
    if element.kind == "table":
        return [("row", *map(_letters, row)) for row in element.attributes["cells"]]
    text = str(element.attributes.get("text", parsed.text[element.start_char : element.end_char]))
    if element.kind == "code":
        return [(element.kind, _letters(_FENCE.sub("", text)))]
    text = _MARKUP.sub("", text) if form == "markdown" or element.kind == "list_item" else text
    return [(element.kind, _letters(text))] if element.kind in KINDS else []


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--written", type=Path, required=True, help="folder of Markdown files")
    arguments.add_argument("--printed", type=Path, required=True, help="folder of PDFs")
    chosen = arguments.parse_args()
    written, back, printed, files = Counter[str](), Counter[str](), Counter[str](), 0
    for source in sorted(chosen.written.rglob("*.md")):
        said = read(source, "markdown")
        for path in sorted(chosen.printed.rglob(f"{source.stem}*.pdf")):
            found = read(path, "pdf")
            files += 1
            for counts, one in ((written, said), (back, said & found), (printed, found)):
                counts.update({kind: sum(n for key, n in one.items() if key[0] == kind) for kind in KINDS})
    figures = [Figure("PDFs", files, "files")]
    for kind in KINDS:
        figures.append(Figure(f"{kind}: came back of {written[kind]}", 100 * back[kind] / max(written[kind], 1), "%"))
        figures.append(Figure(f"{kind}: right of {printed[kind]} read", 100 * back[kind] / max(printed[kind], 1), "%"))
    show("Elements of documents and of PDFs printed from them", figures)


if __name__ == "__main__":
    main()
