"""Programs that print HTML to PDF; the name of each says which, and what makes its look is its argument."""

import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from lxml import html

from tests.bench.parsing.furniture import by_chromium, by_weasyprint

_SECONDS = 180  # for one document: an office program starts in ten
_WRAP = "pre { white-space: pre-wrap }"  # else the ends of long lines are beyond the page
_UNDERLINED = [("LINEBELOW", (0, 0), (-1, 0), 1, "black")]

Printer = Callable[[str], bytes | None]


def page_of(body: str, css: str, more: str = "") -> str:
    """Return a page of HTML that programs print as it is meant, with `more` at its end."""
    head = f"<meta charset='utf-8'><style>{css} {_WRAP}</style>"
    body = body.replace("<details>", "<details open>")  # what is closed is not printed
    return f"<!doctype html><html><head>{head}</head><body>{body}{more}</body></html>"


def chromium(css: str) -> Printer:
    return lambda body: by_chromium(page_of(body, css))


def weasyprint(css: str) -> Printer:
    return lambda body: by_weasyprint(page_of(body, css))


def _run(command: list[str], folder: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS, cwd=folder)


def office(form: str, css: str = "") -> Printer:
    """Print by LibreOffice, from HTML or from what pandoc writes of it."""

    def write(body: str) -> bytes | None:
        if shutil.which("soffice") is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            _source(page_of(body, css), form, Path(folder, f"it.{form}"))
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


def typst(look: str) -> Printer:
    def write(body: str) -> bytes:
        shown = re.sub(r"<img [^>]*>", "", body)  # typst ends at a picture that it cannot find
        source = look + str(import_module("pypandoc").convert_text(shown, "typst", "html"))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "it.typ")
            source = source.replace("#horizontalrule", "#line(length: 100%)")
            path.write_text(re.sub(r"#link\(<[^>]*>\)", "#text", source), encoding="utf-8")  # places in other documents
            compiled: bytes = import_module("typst").compile(str(path))
            return compiled

    return write


def fpdf(body: str) -> bytes:
    pdf = import_module("fpdf").FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    linked = re.sub(r'<a href="#[^"]*">(.*?)</a>', r"\1", body)  # places in the page, which fpdf2 does not know
    pdf.write_html(linked.encode("latin-1", "replace").decode("latin-1"))
    return bytes(pdf.output())


def reportlab(body: str, table_style: Sequence[tuple[Any, ...]] = _UNDERLINED) -> bytes:
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


def reportlab_zebra(body: str) -> bytes:
    return reportlab(body, [("ROWBACKGROUNDS", (0, 0), (-1, -1), ["#ffffff", "#e8e8e8"])])


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


def story(body: str) -> bytes:
    """Print by the layout of MuPDF."""
    pymupdf = import_module("pymupdf")
    story, inner = pymupdf.Story(html=page_of(body, "body { font-family: sans-serif }")), pymupdf.Rect(60, 60, 535, 780)
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
