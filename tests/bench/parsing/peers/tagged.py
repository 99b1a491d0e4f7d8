"""Compare the headings and items that tools read in PDFs with those that the PDFs themselves tag.

    python -m tests.bench.parsing.peers.tagged --data FOLDER --peers PYTHON [--tools NAME ...] [--list]

Some programs write what each part of a page is: the tags `H1` to `H6` are the marked headings, `LI` the items. PYTHON
is that of an environment with `requirements.txt` beside this file. A heading is found if one of as many letters and
digits was read as a heading; so is an item, by its first paragraph or by all of its text.
"""

import argparse
import ctypes
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from tests.bench.parsing.peers.measure import run
from tests.bench.parsing.peers.reading import TOOLS
from tests.bench.parsing.peers.told import Told, of_elements, of_markdown

_HEADINGS = ("H", "H1", "H2", "H3", "H4", "H5", "H6")
_LONGEST = 400  # bytes of the name of a tag
_DEEPEST = 60  # tags within tags: a made-up file may have them without end


def main() -> None:
    """Print a row a tool: how many of the marked ones were found, and how many were read."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True, help="folder of PDFs")
    arguments.add_argument("--peers", type=Path, required=True, help="Python of the environment of the other tools")
    arguments.add_argument("--tools", nargs="+", choices=TOOLS, default=["docmill", "pymupdf4llm", "kreuzberg"])
    arguments.add_argument("--list", action="store_true", help="print what docmill misses")
    chosen = arguments.parse_args()
    marked = {path: found for path in sorted(chosen.data.rglob("*.pdf")) if (found := tagged(path))}
    names = {f"{at:03} {path.name}": path for at, path in enumerate(marked)}
    total = Counter({kind: sum(found[kind].total() for found in marked.values()) for kind in ("heading", "item")})
    print(f"{len(marked)} PDFs tag {total['heading']} headings and {total['item']} items\n")
    print("| tool | headings found | headings read | items found | items read |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "documents"
        folder.mkdir()
        for name, path in names.items():
            shutil.copyfile(path, folder / name)
        for tool in chosen.tools:
            python = Path(sys.executable) if tool == "docmill" else chosen.peers
            read = run(tool, python, folder, Path(place) / f"{tool}.json")
            told = {names[name]: _told(one) for name, one in read.items()}
            print(f"| {tool} | {' | '.join(map(str, _figures(marked, told)))} |", flush=True)
            if chosen.list and tool == "docmill":
                _tell(marked, told)


def _told(one: dict[str, Any]) -> Told:
    if "error" in one:
        return Told()
    return of_elements(one["elements"]) if "elements" in one else of_markdown(one["markdown"])


def _figures(marked: dict[Path, dict[str, Counter[str]]], told: dict[Path, Told]) -> Iterator[int]:
    for kind in ("heading", "item"):
        read = {path: one.headings if kind == "heading" else one.items for path, one in told.items()}
        yield sum((found[kind] & read.get(path, Counter())).total() for path, found in marked.items())
        yield sum(one.total() for one in read.values())


def _tell(marked: dict[Path, dict[str, Counter[str]]], told: dict[Path, Told]) -> None:
    for path, found in marked.items():
        read = told.get(path, Told())
        for kind, own in (("heading", read.headings), ("item", read.items)):
            for text in found[kind] - own:
                print(f"   {path.name}: {kind} missed: {text[:70]}")


def tagged(path: Path) -> dict[str, Counter[str]]:
    """Return the letters of the headings and the items that a PDF tags; nothing of one without, or that is damaged."""
    told = Told()
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return {}
    for page in document if pdfium.FPDFCatalog_IsTagged(document) else ():
        for kind, text in _of_page(page):
            (told.heading if kind == "heading" else told.item)(text)
        page.close()
    document.close()
    return {"heading": told.headings, "item": told.items} if told.headings or told.items else {}


def _of_page(page: Any) -> Iterator[tuple[str, str]]:
    tree, said = pdfium.FPDF_StructTree_GetForPage(page), _texts(page)
    if not tree:
        return
    for at in range(pdfium.FPDF_StructTree_CountChildren(tree)):
        yield from _below(pdfium.FPDF_StructTree_GetChildAtIndex(tree, at), said, 0)
    pdfium.FPDF_StructTree_Close(tree)


def _below(element: Any, said: dict[int, str], depth: int) -> Iterator[tuple[str, str]]:
    if not element or depth > _DEEPEST:
        return
    tag = _tag(element)
    if tag in _HEADINGS or tag == "LI":
        yield ("heading" if tag in _HEADINGS else "item"), _text(element, said, depth)
    for child in _children(element):
        yield from _below(child, said, depth + 1)


def _children(element: Any) -> Iterator[Any]:
    for at in range(pdfium.FPDF_StructElement_CountChildren(element)):
        yield pdfium.FPDF_StructElement_GetChildAtIndex(element, at)


def _tag(element: Any) -> str:
    buffer = ctypes.create_string_buffer(_LONGEST)
    written = pdfium.FPDF_StructElement_GetType(element, buffer, _LONGEST)
    return buffer.raw[: max(written - 2, 0)].decode("utf-16-le", "replace")


def _text(element: Any, said: dict[int, str], depth: int) -> str:
    """Return the text of a tag without its label, a number or a bullet, and without a list within it."""
    if not element or depth > _DEEPEST or _tag(element) in ("Lbl", "L"):
        return ""
    count = max(pdfium.FPDF_StructElement_GetMarkedContentIdCount(element), 0)
    own = (pdfium.FPDF_StructElement_GetMarkedContentIdAtIndex(element, at) for at in range(count))
    below = (_text(child, said, depth + 1) for child in _children(element))
    return " ".join([*(said.get(number, "") for number in own), *below])


def _texts(page: Any) -> dict[int, str]:
    """Return the text of a page by the number of its marked content."""
    found: defaultdict[int, str] = defaultdict(str)
    layer = page.get_textpage()
    for one in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_TEXT]):
        number = pdfium.FPDFPageObj_GetMarkedContentID(one)
        if number >= 0:
            length = pdfium.FPDFTextObj_GetText(one, layer, None, 0)
            buffer = (ctypes.c_ushort * max(length, 1))()
            pdfium.FPDFTextObj_GetText(one, layer, buffer, length)
            found[number] += bytes(buffer)[:length].decode("utf-16-le", "replace").rstrip("\0")
    layer.close()
    return found


if __name__ == "__main__":
    main()
