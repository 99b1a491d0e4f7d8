"""Writes one document in many formats, by programs that are not docmill's own: pandoc, LibreOffice and browsers."""

import csv
import io
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from email.message import EmailMessage
from importlib import import_module
from pathlib import Path

from markdown_it import MarkdownIt

from tests.bench.parsing.furniture import by_chromium, by_weasyprint
from tests.bench.parsing.peers.told import Told

_SECONDS = 300  # for all conversions of LibreOffice to one format
_RULED = "table { border-collapse: collapse } td, th { border: 1px solid; padding: 2pt 4pt }"
_CSS = f"pre {{ white-space: pre-wrap }} body {{ font: 11pt serif }} {_RULED}"


def page_of(markdown: str) -> str:
    """Return Markdown as an HTML page; what is told of a document is read of the same Markdown by the same library.

    It has no title besides its first heading: programs would print it as one more.
    """
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    head = f"<meta charset='utf-8'><style>{_CSS}</style>"
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


def _by_pandoc(form: str) -> Callable[[str], bytes]:
    def write(page: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "it")
            import_module("pypandoc").convert_text(
                page, form, "html", outputfile=str(path), extra_args=["--standalone"]
            )
            return path.read_bytes()

    return write


def _mail(page: str) -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "Attached below", "ann@example.org", "bert@example.org"
    message.set_content("This mail is written in HTML.")
    message.add_alternative(page, subtype="html")
    return message.as_bytes()


def _typst(page: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "it.typ")
        source.write_bytes(_by_pandoc("typst")(page))
        compiled: bytes = import_module("typst").compile(str(source))
        return compiled


WRITERS: dict[str, tuple[str, Callable[[str], bytes | None]]] = {
    "html": ("html", str.encode),
    "docx, pandoc": ("docx", _by_pandoc("docx")),
    "odt, pandoc": ("odt", _by_pandoc("odt")),
    "rtf, pandoc": ("rtf", _by_pandoc("rtf")),
    "epub": ("epub", _by_pandoc("epub3")),
    "pptx": ("pptx", _by_pandoc("pptx")),
    "rst": ("rst", _by_pandoc("rst")),
    "org": ("org", _by_pandoc("org")),
    "latex": ("tex", _by_pandoc("latex")),
    "ipynb": ("ipynb", _by_pandoc("ipynb")),
    "asciidoc": ("adoc", _by_pandoc("asciidoc")),
    "mediawiki": ("mediawiki", _by_pandoc("mediawiki")),
    "textile": ("textile", _by_pandoc("textile")),
    "typst": ("typ", _by_pandoc("typst")),
    "fb2": ("fb2", _by_pandoc("fb2")),
    "eml": ("eml", _mail),
    "pdf, Chromium": ("pdf", by_chromium),
    "pdf, WeasyPrint": ("pdf", by_weasyprint),
    "pdf, typst": ("pdf", _typst),
}
"""Formats, each with the suffix of its files and what writes one from an HTML page; it gives None where it cannot."""

_OFFICE = {
    "docx, LibreOffice": "docx:Office Open XML Text",
    "doc": "doc:MS Word 97",
    "odt, LibreOffice": "odt:writer8",
    "rtf, LibreOffice": "rtf:Rich Text Format",
    "pdf, LibreOffice": "pdf:writer_pdf_Export",
}

FORMATS = (*WRITERS, *_OFFICE, "xlsx", "csv")


def write_all(pages: dict[str, str], tables: dict[str, Told], folder: Path, wanted: Iterable[str]) -> None:
    """Write each page in each wanted format into folders named after the formats; what is there already stays."""
    for name in wanted:
        target = folder / name
        if target.exists():
            continue
        target.mkdir(parents=True)
        if name in _OFFICE:
            _by_libreoffice(pages, target, _OFFICE[name])
        elif name in WRITERS:
            _write_each(pages, target, *WRITERS[name])
        else:
            _write_tables(tables, target, name)


def _write_each(pages: dict[str, str], target: Path, suffix: str, write: Callable[[str], bytes | None]) -> None:
    for stem, page in pages.items():
        try:
            data = write(page)
        except ImportError as error:
            print(f"{target.name}: {error}; not written")
            return
        if data is not None:
            (target / f"{stem}.{suffix}").write_bytes(data)


def _by_libreoffice(pages: dict[str, str], target: Path, form: str) -> None:
    program = shutil.which("soffice")
    if program is None:
        print(f"{target.name}: LibreOffice is not installed; not written")
        return
    with tempfile.TemporaryDirectory() as folder:
        for stem, page in pages.items():
            Path(folder, f"{stem}.html").write_text(page, encoding="utf-8")
        command = [program, f"-env:UserInstallation=file://{folder}/profile", "--headless"]
        command += ["--infilter=HTML (StarWriter)", "--convert-to", form, "--outdir", str(target)]
        sources = sorted(map(str, Path(folder).glob("*.html")))
        subprocess.run([*command, *sources], check=True, capture_output=True, timeout=_SECONDS)


def _write_tables(tables: dict[str, Told], target: Path, suffix: str) -> None:
    """Write the rows of each document that has some as one sheet."""
    for stem, told in tables.items():
        if told.cells:
            data = _sheet(told.cells) if suffix == "xlsx" else _commas(told.cells)
            (target / f"{stem}.{suffix}").write_bytes(data)


def _sheet(rows: list[list[str]]) -> bytes:
    book = import_module("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _commas(rows: list[list[str]]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode()
