"""Browsers, viewers and libraries that print a page of HTML to PDF as they would show it."""

import io
import json
import os
import shutil
import subprocess
import tempfile
import time
from importlib import import_module
from pathlib import Path

from tests.bench.parsing.looks.programs import Printer, page_of

_SECONDS = 180  # for one document: far more than any of the project's pages takes
_WAIT = 0.3  # seconds between two looks for Firefox's file
_PRINTING = {"print.always_print_silent": True, "print_printer": "Mozilla Save to PDF"}
_TO_FILE = "print.printer_Mozilla_Save_to_PDF.print_to_file"


def firefox(css: str) -> Printer:
    """Print by Firefox, whose command line has no word for it: the page prints itself."""

    def write(body: str) -> bytes | None:
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        if program is None:
            return None
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            page, printed = Path(folder, "page.html"), Path(folder, "it.pdf")
            settings = {**_PRINTING, _TO_FILE: True, f"{_TO_FILE}name": str(printed)}
            lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items()]
            Path(folder, "user.js").write_text("".join(lines))
            page.write_text(page_of(body, css, "<script>onload = () => print()</script>"), encoding="utf-8")
            command = [program, "--headless", "--no-remote", "--profile", folder, page.as_uri()]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                return _once_whole(printed)
            finally:
                process.terminate()
                process.wait(_SECONDS)

    return write


def _once_whole(path: Path) -> bytes:
    for _ in range(int(_SECONDS / _WAIT)):
        data = path.read_bytes() if path.exists() else b""
        if data.rstrip().endswith(b"%%EOF"):
            return data
        time.sleep(_WAIT)
    raise TimeoutError("Firefox printed nothing")


def wkhtmltopdf(css: str) -> Printer:
    def write(body: str) -> bytes | None:
        if shutil.which("wkhtmltopdf") is None:
            return None
        command = ["wkhtmltopdf", "--quiet", "--disable-javascript", "-", "-"]
        page = page_of(body, css).encode()
        # Its exit code is 1 for a link that it cannot follow.
        return subprocess.run(command, input=page, capture_output=True, timeout=_SECONDS).stdout

    return write


def abiword(body: str) -> bytes | None:
    """Print by AbiWord, from the Word file that pandoc writes."""
    if shutil.which("abiword") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        word, printed = Path(folder, "it.docx"), Path(folder, "it.pdf")
        import_module("pypandoc").convert_text(body, "docx", "html", outputfile=str(word))
        subprocess.run(["abiword", "--to=pdf", f"--to-name={printed}", word], capture_output=True, timeout=_SECONDS)
        return printed.read_bytes()


def qt(css: str) -> Printer:
    """Print by Qt's rich text, as its applications do."""

    def write(body: str) -> bytes:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        gui = import_module("PySide6.QtGui")
        application = gui.QGuiApplication.instance() or gui.QGuiApplication([])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "it.pdf")
            document, writer = gui.QTextDocument(), gui.QPdfWriter(str(path))
            document.setHtml(page_of(body, css))
            document.print_(writer)
            del writer, application  # the writer ends the file when it goes
            return path.read_bytes()

    return write


def xhtml2pdf(css: str) -> Printer:
    def write(body: str) -> bytes:
        written = io.BytesIO()
        import_module("xhtml2pdf.pisa").CreatePDF(page_of(body, css), dest=written)
        return written.getvalue()

    return write
