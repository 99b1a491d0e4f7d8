"""Prints Markdown to PDF by many programs and in many styles: what `tests.bench.parsing.printed` reads back.

    python -m tests.bench.parsing.printing --printed FOLDER [--written FOLDER ...] [--looks known|new|other]

A program that is not installed prints nothing, and is named. Without --written, the project's own pages are printed:
43 of them, each in two of the known looks (86 PDFs), 30 in the 15 new looks, or 40 in the 10 others. Beside the PDFs,
FOLDER gets the Markdown that was printed, in `written`.
"""

import argparse
import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from html import escape
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

from lxml import html
from markdown_it import MarkdownIt

from tests.bench.parsing.furniture import by_chromium, by_weasyprint

_ROOT = Path(__file__).parents[3]
_KNOWN, _NEW, _OTHER = 43, 30, 40  # documents
_SECONDS = 180  # for one document: an office program starts in ten
_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
_RULED = "table { border-collapse: collapse } td, th { border: 1px solid #444; padding: 2pt 5pt; text-align: left }"
_WRAP = "pre { white-space: pre-wrap }"  # else the ends of long lines are beyond the page
_UNDERLINED = [("LINEBELOW", (0, 0), (-1, 0), 1, "black")]
_OPEN = "table { border-collapse: collapse; width: 100% } td, th { padding: 3pt 8pt 3pt 0; text-align: left }"

Printer = Callable[[str], bytes | None]


def _page(body: str, css: str) -> str:
    head = f"<meta charset='utf-8'><style>{css} {_WRAP}</style>"
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


def _chromium(css: str) -> Printer:
    return lambda body: by_chromium(_page(body, css))


def _weasyprint(css: str) -> Printer:
    return lambda body: by_weasyprint(_page(body, css))


def _run(command: list[str], folder: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS, cwd=folder)


def _office(form: str, css: str = "") -> Printer:
    """Print by LibreOffice, from HTML or from what pandoc writes of it."""

    def write(body: str) -> bytes | None:
        if shutil.which("soffice") is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            _source(_page(body, css), form, Path(folder, f"it.{form}"))
            profile = f"-env:UserInstallation=file://{folder}/profile"
            reader = ["--infilter=HTML (StarWriter)"] if form == "html" else []
            _run(
                ["soffice", profile, "--headless", *reader, "--convert-to", "pdf:writer_pdf_Export", f"it.{form}"],
                folder,
            )
            return Path(folder, "it.pdf").read_bytes()

    return write


def _source(page: str, form: str, path: Path) -> None:
    if form == "html":
        path.write_text(page, encoding="utf-8")
    else:
        import_module("pypandoc").convert_text(page, form, "html", outputfile=str(path), extra_args=["--standalone"])


def _typst(look: str) -> Printer:
    def write(body: str) -> bytes:
        source = look + str(import_module("pypandoc").convert_text(body, "typst", "html"))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "it.typ")
            source = source.replace("#horizontalrule", "#line(length: 100%)")
            path.write_text(re.sub(r"#link\(<[^>]*>\)", "#text", source), encoding="utf-8")  # places in other documents
            compiled: bytes = import_module("typst").compile(str(path))
            return compiled

    return write


def _fpdf(body: str) -> bytes:
    pdf = import_module("fpdf").FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.write_html(body.encode("latin-1", "replace").decode("latin-1"))
    return bytes(pdf.output())


def _reportlab(body: str, table_style: Sequence[tuple[Any, ...]] = _UNDERLINED) -> bytes:
    platypus, styles = import_module("reportlab.platypus"), import_module("reportlab.lib.styles").getSampleStyleSheet()

    def text(node: Any, style: str = "BodyText") -> Any:
        return platypus.Paragraph(escape("".join(node.itertext())), styles[style])

    def table(node: Any) -> Any:
        rows = [[text(cell) for cell in row if cell.tag in ("td", "th")] for row in node.iter("tr")]
        return platypus.Table(rows, style=[*table_style, ("VALIGN", (0, 0), (-1, -1), "TOP")])

    def items(node: Any) -> Any:
        kind = {"ul": "bullet", "ol": "1"}[node.tag]
        inner = [platypus.ListItem([flow(one) or text(one) for one in node_of]) for node_of in map(_inside, node)]
        return platypus.ListFlowable(inner, bulletType=kind)

    def flow(node: Any) -> Any:
        if node.tag == "pre":
            return platypus.XPreformatted(escape("".join(node.itertext()), quote=False), styles["Code"])
        if node.tag in ("table", "ul", "ol"):
            return (table if node.tag == "table" else items)(node)
        return text(node, f"Heading{node.tag[1]}") if re.fullmatch("h[1-6]", str(node.tag)) else None

    written = io.BytesIO()
    nodes = [
        node for node in html.fragments_fromstring(body) if not isinstance(node, str) and isinstance(node.tag, str)
    ]
    platypus.SimpleDocTemplate(written).build([flow(node) or text(node) for node in nodes])
    return written.getvalue()


def _reportlab_zebra(body: str) -> bytes:
    return _reportlab(body, [("ROWBACKGROUNDS", (0, 0), (-1, -1), ["#ffffff", "#e8e8e8"])])


def _inside(item: Any) -> list[Any]:
    """Return the blocks of a list item; one without any holds its own text, before a list within it."""
    blocks = [one for one in item if one.tag in ("p", "ul", "ol", "pre", "table")]
    if any(one.tag == "p" for one in blocks):
        return blocks
    first = html.Element("p")
    first.text = (item.text or "") + "".join(
        "".join(one.itertext()) + (one.tail or "") for one in item if one not in blocks
    )
    return [first, *blocks]


def _story(body: str) -> bytes:
    """Print by the layout of MuPDF."""
    pymupdf = import_module("pymupdf")
    story, inner = pymupdf.Story(html=_page(body, "body { font-family: sans-serif }")), pymupdf.Rect(60, 60, 535, 780)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "it.pdf")
        writer, more = pymupdf.DocumentWriter(str(path)), 1
        while more:
            device = writer.begin_page(pymupdf.Rect(0, 0, 595, 842))
            more, _ = story.place(inner)
            story.draw(device)
            writer.end_page()
        writer.close()
        return path.read_bytes()


KNOWN: dict[str, Printer] = {
    "chromium": _chromium(_RULED + "body { font: 11pt sans-serif } pre { background: #eee; padding: 6pt }"),
    "weasyprint": _weasyprint(_RULED + "@page { margin: 20mm } body { font: 10.5pt serif }"),
    "soffice": _office("html", _RULED),
    "typst": _typst("#set table(stroke: 0.5pt)\n"),
}
"""Looks that rules were made on."""

NEW: dict[str, Printer] = {
    "chromium-docs": _chromium(
        _OPEN + "body { font: 16px/1.6 'DejaVu Sans' } tr { border-bottom: 1px solid #ddd } th { background: #f4f4f4 }"
        "code { background: #f0f0f0; padding: 1px 4px } pre { background: #23241f; color: #f8f8f2; padding: 12px }"
        "h1 { font-weight: 300; color: #888 } h2 { border-bottom: 1px solid #eee }"
    ),
    "chromium-book": _chromium(
        _OPEN + "@page { margin: 30mm 25mm } body { font: 10pt/1.3 'Liberation Serif'; text-align: justify }"
        "p { text-indent: 1.2em; margin: 0 } h1, h2, h3 { font-weight: normal } h2 { font-variant: small-caps }"
        "h3 { font-style: italic; font-size: 10pt } thead { border-bottom: 1pt solid }"
    ),
    "chromium-columns": _chromium(
        _OPEN + "body { font: 9pt/1.35 'Liberation Sans'; columns: 2; column-gap: 8mm } h1 { column-span: all }"
        "pre { white-space: pre-wrap; font-size: 7pt } tr { border-bottom: .5pt solid #aaa }"
    ),
    "chromium-zebra": _chromium(
        _OPEN + "body { font: 10pt 'Liberation Sans' } tr:nth-child(even) { background: #e8eef8 } "
        "th { background: #234; color: #fff } h2 { color: #06c; text-transform: uppercase; font-size: 10pt }"
    ),
    "weasyprint-report": _weasyprint(
        _OPEN + "@page { size: letter; margin: 25mm; @bottom-right { content: counter(page) } }"
        "body { font: 11pt/1.45 'DejaVu Serif' } table { border-top: 1pt solid; border-bottom: 1pt solid }"
        "th { border-bottom: .5pt solid } ul { list-style: square } pre { border-left: 3pt solid; padding-left: 8pt }"
    ),
    "weasyprint-small": _weasyprint(
        _RULED + "@page { size: A5; margin: 12mm } body { font: 8pt/1.2 'Liberation Sans Narrow', sans-serif }"
        "h1 { font-size: 11pt } h2 { font-size: 9pt } h3 { font-size: 8pt } td, th { border-color: #ccc }"
    ),
    "weasyprint-spaced": _weasyprint(
        _RULED + "body { font: 12pt/2 'Liberation Serif'; text-align: justify; hyphens: auto }"
        "h1 { text-align: center } h2 { letter-spacing: .1em } td, th { vertical-align: middle; text-align: center }"
    ),
    "soffice-docx": _office("docx"),
    "soffice-odt": _office("odt"),
    "soffice-rtf": _office("rtf"),
    "typst-sans": _typst(
        '#set text(font: "DejaVu Sans", 9pt)\n#set par(justify: true)\n#set table(stroke: none)\n'
        '#show heading: set text(weight: "regular", fill: rgb("#336"))\n'
    ),
    "typst-columns": _typst("#set page(columns: 2, margin: 15mm)\n#set text(8pt)\n#set table(stroke: (y: .5pt))\n"),
    "fpdf2": _fpdf,
    "platypus": _reportlab,
    "mupdf": _story,
}
"""Looks that no rule was made on."""


OTHER: dict[str, Printer] = {
    "chromium-booktabs": _chromium(
        _OPEN
        + "body { font: 10.5pt/1.4 'Liberation Serif' } th { font-weight: normal } td:last-child { text-align: right }"
        "table { border-top: 1.5pt solid; border-bottom: 1.5pt solid } thead { border-bottom: .7pt solid }"
        "h1 { text-align: center; font-variant: small-caps } h2 { text-align: center; font-size: 12pt } "
        "h3 { font-size: 10.5pt; font-style: italic; font-weight: normal } ul { list-style: '\u2013  ' }"
    ),
    "chromium-plain": _chromium(
        "table { border-spacing: 0 } td, th { padding: 1pt 12pt 1pt 0; text-align: left; vertical-align: top }"
        "th { font-weight: normal }"
        "body { font: 10pt/1.25 'Liberation Sans' } h1 { font-size: 15pt } h2 { font-size: 10pt } "
        "h3 { font-size: 10pt; font-weight: normal; text-decoration: underline } ul { list-style: circle }"
    ),
    "chromium-band": _chromium(
        _OPEN
        + "body { font: 9.5pt/1.5 'DejaVu Sans' } td, th { border-bottom: 1px dotted #999; vertical-align: middle }"
        "h1, h2 { background: #135; color: #fff; padding: 4pt 8pt } h2 { font-size: 11pt; background: #68a }"
        "h3 { text-transform: uppercase; font-size: 8pt; letter-spacing: .08em } ol { list-style: lower-alpha }"
    ),
    "weasyprint-zebra": _weasyprint(
        _OPEN + "@page { margin: 22mm; @top-center { content: 'Manual'; font-size: 8pt } }"
        "body { font: 10pt/1.35 'Liberation Sans' } tbody tr:nth-child(odd) { background: #eee }"
        "th { color: #a30; font-weight: normal }"
        "h1 { font-size: 22pt; font-weight: normal } h2 { font-size: 14pt; font-weight: normal } h3 { font-size: 10pt }"
    ),
    "weasyprint-plain": _weasyprint(
        _OPEN + "@page { size: letter; margin: 30mm } body { font: 11pt/1.5 'Liberation Serif' }"
        "th { font-style: italic; font-weight: normal } h2 { font-variant: small-caps; font-weight: normal; "
        "font-size: 13pt } h3 { font-size: 11pt; text-decoration: underline }"
        "ul { list-style: '\u25b8  ' } ul ul { list-style: '\u2013  ' }"
    ),
    "soffice-booktabs": _office(
        "html",
        "table { border-top: 1px solid #000; border-bottom: 1px solid #000 } body { font-family: 'Liberation Serif' }"
        "td, th { padding: 2pt 6pt; text-align: left }"
        "h2 { font-size: 12pt; font-weight: normal; text-decoration: underline }",
    ),
    "soffice-plain": _office("html", "body { font-family: 'Liberation Sans'; font-size: 10pt } h3 { font-size: 10pt }"),
    "typst-zebra": _typst(
        "#set text(10pt)\n#set table(stroke: none, inset: 5pt, fill: (_, y) => if calc.even(y) { luma(230) })\n"
        "#set list(marker: [--])\n#show heading: set text(10pt)\n#show heading.where(level: 1): set text(16pt)\n"
    ),
    "typst-booktabs": _typst(
        '#set page(margin: 25mm, numbering: "1")\n#set text(font: "Liberation Serif", 11pt)\n'
        "#set table(inset: (x: 6pt, y: 3pt), stroke: (_, y) => if y <= 1 { (top: .7pt) })\n"
        "#show heading: it => align(center, smallcaps(it.body))\n"
    ),
    "platypus-zebra": _reportlab_zebra,
}
"""Looks that no rule was made on after the others: rules above, below and under a header alone, none at all, fills."""


def main() -> None:
    """Print the documents."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--printed", type=Path, required=True, help="folder for the PDFs")
    arguments.add_argument("--written", type=Path, action="append", help="folder of Markdown")
    arguments.add_argument("--looks", choices=("known", "new", "other"), default="new")
    chosen = arguments.parse_args()
    folders = chosen.written or [_ROOT / "docs", _ROOT / "tests" / "corpus"]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.md"))]
    looks, wanted, times = {"known": (KNOWN, _KNOWN, 2), "new": (NEW, _NEW, 1), "other": (OTHER, _OTHER, 1)}[
        chosen.looks
    ]
    turns = cycle(looks)
    for path in [one for one in _evenly(paths, wanted) for _ in range(times)]:
        _print(path, next(turns), looks, chosen.printed)


def _evenly(paths: list[Path], wanted: int) -> list[Path]:
    return [paths[at * len(paths) // wanted] for at in range(min(wanted, len(paths)))]


def _print(path: Path, look: str, looks: dict[str, Printer], folder: Path) -> None:
    stem = f"{path.parent.name}-{path.stem}"
    printed = folder / look / f"{stem}.pdf"
    if printed.exists():
        return
    text = _body(path.read_text(encoding="utf-8"))
    try:
        data = looks[look](_MARKDOWN.render(text))
    except ImportError as error:
        print(f"{look}: {error}")
        return
    if data is None:
        print(f"{look}: its program is not installed")
        return
    for place in (folder / "written", printed.parent):
        place.mkdir(parents=True, exist_ok=True)
    (folder / "written" / f"{stem}.md").write_text(text, encoding="utf-8")
    printed.write_bytes(data)


def _body(text: str) -> str:
    head, mark, body = text.partition("\n---\n")
    return body if mark and head.startswith("---") else text


if __name__ == "__main__":
    main()
