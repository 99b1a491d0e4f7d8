"""How much of what documents say comes back from PDFs that were printed from them, by any program.

    python -m tests.bench.parsing.printed --written FOLDER --printed FOLDER [--half look|report] [--failures N]

FOLDERs are trees of Markdown and of PDFs whose names begin with those of the Markdown files they were printed from;
`tests.bench.parsing.printing` writes both.
An element comes back if the PDF has one of its kind with the same letters and digits; a row of a table, if all its
cells have. What a program left out of its PDF counts as not come back. Listings with nothing between them are one:
many programs print no more than a blank line there, as within a listing.
"""

import argparse
import re
from collections import Counter
from itertools import groupby
from pathlib import Path

from docmill.storage.schema import Element, Parsed
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from tests.bench.table import Figure, show

KINDS = ("title", "paragraph", "list_item", "code", "row")
_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ x]\]\s)?", re.M)  # of an item, or the number of a heading
_LETTERED = re.compile(r"^\s*\(?(?:[a-z]|[ivx]+)[.)]\s+", re.I)  # what some looks print for the number of an item
_MARKUP = re.compile(r"!?\[(?=[^\]]*\]\()|(?<=\])\([^)]*\)|</?(?!https?:)[a-z!][^>]*>|&\w+;", re.I)
_FENCE = re.compile(r"^[`~]{3}.*$", re.M)

Said = tuple[str, ...]


def read(path: Path, form: str) -> Counter[Said]:
    """Return what a document says: the kind and the letters of each element, of a table each row."""
    parsed = parse(path.read_bytes(), FileType(form), ParseOptions())
    said = [one for element in parsed.elements for one in _said(parsed, element, form) if any(one[1:])]
    found: list[Said] = []
    for one in said:
        if one[0] == "code" and found and found[-1][0] == "code":
            one = ("code", found.pop()[1] + one[1])
        found.append(one)
    return Counter(found)


def _said(parsed: Parsed, element: Element, form: str) -> list[Said]:
    if element.kind == "table":
        plain = _plain if form == "markdown" else str
        return [("row", *(_letters(plain(cell)) for cell in row)) for row in element.attributes["cells"]]
    text = str(element.attributes.get("text", parsed.text[element.start_char : element.end_char]))
    if element.kind == "code":
        return [(element.kind, _letters(_FENCE.sub("", text)))]
    text = _plain(text) if form == "markdown" or element.kind in ("list_item", "title") else text
    text = _LETTERED.sub("", text) if form == "pdf" and element.kind == "list_item" else text
    return [(element.kind, _letters(text))] if element.kind in KINDS else []


def _plain(text: str) -> str:
    return _MARKUP.sub("", _MARK.sub("", text))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _halved(paths: list[Path], half: str) -> list[Path]:
    """Return every second PDF of each folder, those to look at or those to report, or all."""
    by_folder = groupby(sorted(paths), key=lambda path: path.parent)
    start = ("look", "report").index(half) if half else 0
    return [path for _, some in by_folder for path in [*some][start :: 2 if half else 1]]


def _add(counts: Counter[tuple[str, str]], name: str, one: Counter[Said]) -> None:
    for key, number in one.items():
        counts[name, key[0]] += number


def _tell(path: Path, said: Counter[Said], found: Counter[Said], most: int) -> None:
    """Print what did not come back of a PDF, and what was read in its place."""
    for kind in KINDS if most else ():
        for name, one in (("lost", said - found), ("read", found - said)):
            shown = [" | ".join(key[1:])[:100] for key in one if key[0] == kind][:most]
            if shown:
                print(f"{path.parent.name}/{path.stem}: {kind} {name}: {shown}")


def main() -> None:
    """Print the table of all PDFs, and that of each folder."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--written", type=Path, required=True, help="folder of Markdown files")
    arguments.add_argument("--printed", type=Path, required=True, help="folder of PDFs")
    arguments.add_argument("--half", choices=("look", "report"), default="", help="of the PDFs of each folder")
    arguments.add_argument("--failures", type=int, default=0, help="how many of each kind to print of each PDF")
    chosen = arguments.parse_args()
    wanted = set(_halved([*chosen.printed.rglob("*.pdf")], chosen.half))
    written, back, printed = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    files = 0
    for source in sorted(chosen.written.rglob("*.md")):
        said = read(source, "markdown")
        for path in sorted(wanted.intersection(chosen.printed.rglob(f"{source.stem}*.pdf"))):
            found = read(path, "pdf")
            files += 1
            for counts, one in ((written, said), (back, said & found), (printed, found)):
                _add(counts, path.parent.name, one)
            _tell(path, said, found, chosen.failures)
    figures = [Figure("PDFs", files, "files")]
    for kind in KINDS:
        wrote, came, got = (_sum(counts, kind) for counts in (written, back, printed))
        figures.append(Figure(f"{kind}: came back of {wrote}", 100 * came / max(wrote, 1), "%"))
        figures.append(Figure(f"{kind}: right of {got} read", 100 * came / max(got, 1), "%"))
    show("Elements of documents and of PDFs printed from them", figures)
    print(f"\nCame back, in %\n\n| folder | {' | '.join(KINDS)} |\n|---|{'---:|' * len(KINDS)}")
    for name in sorted({name for name, _ in written}):
        cells = [_share(back[name, kind], written[name, kind]) for kind in KINDS]
        print(f"| {name} | {' | '.join(cells)} |")


def _sum(counts: Counter[tuple[str, str]], kind: str) -> int:
    return sum(number for (_, one), number in counts.items() if one == kind)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} of {whole}" if whole else ""


if __name__ == "__main__":
    main()
