"""Programs that print marked documents: those that are not installed print nothing."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from tests.bench.parsing.headings.marked import Marked, Piece
from tests.bench.parsing.headings.pages import HEIGHT, Setting
from tests.bench.parsing.looks.styles import NEW
from tests.kit.writers.pdf import Pdf, text_width

_SECONDS = 180  # for one document: an office program starts in ten


def installed(program: str) -> bool:
    """Return whether a program can print."""
    return shutil.which(program) is not None or program == "latex-like" or find_spec(program) is not None


def printed(document: Marked) -> bytes:
    """Return a document as PDF."""
    return _PROGRAMS.get(document.program, _by_look)(document)


def _html(document: Marked) -> str:
    css = f"@page {{ size: A4; margin: 22mm }} {document.look} .quote {{ font-size: 14pt; margin: 8mm }}"
    cover = f"<p style='font-size: 44pt; margin-top: 6cm; page-break-after: always'>{document.brand}</p>"
    body = "\n".join(map(_element, document.pieces()))
    head = f"<meta charset='utf-8'><style>{css}</style>"
    return f"<html><head>{head}</head><body>{cover * bool(document.brand)}<h1>{document.title}</h1>{body}</body></html>"


def _element(piece: Piece) -> str:
    rows = [[f"<td>{escape(cell)}</td>" for cell in line.split("|")] for line in piece.lines]
    items = "".join(f"<li><b>{escape(line)}</b></li>" for line in piece.lines)
    labels = "".join(
        f"<text x='{20 + at % 2 * 220}' y='{30 + at // 2 * 50}' font-size='17' font-weight='bold'>{line}</text>"
        for at, line in enumerate(piece.lines)
    )
    level = piece.level + 1
    return {
        "heading": f"<h{level}>{escape(piece.text)}</h{level}>",
        "steps": f"<ol>{items}</ol>",
        "lettered": f"<ol type='a'>{items}</ol>",
        "list": f"<ul>{items}</ul>",
        "drawing": f"<svg width='480' height='120'>{labels}</svg>",
        "table": f"<table><tbody>{''.join(f'<tr>{chr(10).join(row)}</tr>' for row in rows)}</tbody></table>",
        "quote": f"<p class='quote'>{escape(piece.text)}</p>",
        "names": "".join(f"<p><b>{escape(line)}</b></p>" for line in piece.lines),
        "contents": "".join(f"<p>{escape(line)}</p>" for line in piece.lines),
        "caption": f"<p><b>{escape(piece.text)}</b></p>",
        "warning": f"<p><b>{escape(piece.text)}</b></p>",
    }.get(piece.kind, f"<p>{escape(piece.text)}</p>")


def _by_look(document: Marked) -> bytes:
    """Print by a program that has one look only."""
    page = _html(document)
    data = NEW[document.program](page[page.index("<body>") + len("<body>") : page.index("</body>")])
    assert data is not None, f"{document.program} is not installed"
    return data


def _run(command: list[str], folder: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS, cwd=folder)


def _by_chromium(document: Marked) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "it.html").write_text(_html(document), encoding="utf-8")
        _run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
             f"--user-data-dir={folder}/profile", "--print-to-pdf=it.pdf", f"file://{folder}/it.html"],
            folder,
        )  # fmt: skip
        return Path(folder, "it.pdf").read_bytes()


def _by_soffice(document: Marked) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "it.html").write_text(_html(document), encoding="utf-8")
        profile = f"-env:UserInstallation=file://{folder}/profile"
        writer = ["soffice", profile, "--headless", "--infilter=HTML (StarWriter)", "--convert-to"]
        _run([*writer, "pdf:writer_pdf_Export", "it.html"], folder)
        return Path(folder, "it.pdf").read_bytes()


def _by_weasyprint(document: Marked) -> bytes:
    written: bytes = import_module("weasyprint").HTML(string=_html(document)).write_pdf()
    return written


def _by_typst(document: Marked) -> bytes:
    title = f"#align(center, text(20pt)[{document.title}])\n"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "it.typ")
        source.write_text(document.look + title + "\n\n".join(map(_typst, document.pieces())), encoding="utf-8")
        compiled: bytes = import_module("typst").compile(str(source))
        return compiled


def _typst(piece: Piece) -> str:
    bold = [f"*{line}*" for line in piece.lines]
    cells = ", ".join(f"[{cell}]" for line in piece.lines for cell in line.split("|"))
    return {
        "heading": f"{'=' * piece.level} {piece.text}".replace("= A.", "= A\\.").replace("= B.", "= B\\."),
        "steps": "\n".join(f"+ {line}" for line in bold),
        "list": "\n".join(f"- {line}" for line in bold),
        "quote": f"#pad(x: 1cm, text(14pt)[{piece.text}])",
        "caption": f"*{piece.text}*",
        "table": f"#table(columns: 3, stroke: none, {cells})",
    }.get(piece.kind, piece.text)


class _OwnPaper:
    """Pages of our own writer, whose fonts are named as those of LaTeX are and say nothing else."""

    def __init__(self, names: list[str]) -> None:
        self.pdf = Pdf({}, fonts={"bold": "SFBX1000", "regular": "SFRM1000"} | {name: name for name in names})

    def page(self) -> None:
        self.pdf.add_page()

    def width(self, text: str, size: float, _font: str) -> float:
        return text_width(text, size)

    def text(self, x: float, y: float, text: str, size: float, font: str) -> None:
        self.pdf.text(x, HEIGHT - y, text, size, font)

    def box(self, x: float, y: float, width: float, height: float) -> None:
        self.pdf.box(x, HEIGHT - y - height, width, height)


def _latex_like(document: Marked) -> bytes:
    paper = _OwnPaper([one.split()[2] for one in document.look.split(";")])
    Setting(document, paper)
    return paper.pdf.to_bytes()


class _ReportLab:
    """Pages of reportlab."""

    NAMES: ClassVar = {"regular": "Helvetica", "bold": "Helvetica-Bold", "italic": "Helvetica-Oblique"}

    def __init__(self, canvas: Any) -> None:
        self.canvas, self._pages = canvas, 0

    def page(self) -> None:
        if self._pages:
            self.canvas.showPage()
        self._pages += 1

    def width(self, text: str, size: float, font: str) -> float:
        return float(self.canvas.stringWidth(text, self.NAMES[font], size))

    def text(self, x: float, y: float, text: str, size: float, font: str) -> None:
        self.canvas.setFont(self.NAMES[font], size)
        self.canvas.drawString(x, HEIGHT - y, text)

    def box(self, x: float, y: float, width: float, height: float) -> None:
        self.canvas.rect(x, HEIGHT - y - height, width, height)


def _by_reportlab(document: Marked) -> bytes:
    canvas = import_module("reportlab.pdfgen.canvas").Canvas("it.pdf", pagesize=(595, 842), invariant=1)
    Setting(document, _ReportLab(canvas))
    written: bytes = canvas.getpdfdata()
    return written


class _Fpdf:
    """Pages of fpdf2."""

    STYLES: ClassVar = {"regular": "", "bold": "B", "italic": "I", "bold-italic": "BI"}

    def __init__(self, pdf: Any) -> None:
        self.pdf = pdf

    def page(self) -> None:
        self.pdf.add_page()

    def width(self, text: str, size: float, font: str) -> float:
        self.pdf.set_font("Times", self.STYLES[font], size)
        return float(self.pdf.get_string_width(text))

    def text(self, x: float, y: float, text: str, size: float, font: str) -> None:
        self.pdf.set_font("Times", self.STYLES[font], size)
        self.pdf.text(x, y, text.replace("\u2022", "-"))

    def box(self, x: float, y: float, width: float, height: float) -> None:
        self.pdf.rect(x, y, width, height)


def _by_fpdf(document: Marked) -> bytes:
    pdf = import_module("fpdf").FPDF(unit="pt", format=(595, 842))
    Setting(document, _Fpdf(pdf))
    return bytes(pdf.output())


_PROGRAMS: dict[str, Callable[[Marked], bytes]] = {
    "chromium": _by_chromium,
    "soffice": _by_soffice,
    "weasyprint": _by_weasyprint,
    "typst": _by_typst,
    "latex-like": _latex_like,
    "reportlab": _by_reportlab,
    "fpdf2": _by_fpdf,
}
