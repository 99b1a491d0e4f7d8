"""Typesetters that print HTML to PDF by a language of their own, in which pandoc writes it."""

import re
import shutil
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path

from lxml import html

from tests.bench.parsing.looks.programs import Printer

_SECONDS = 180  # for one document: LuaLaTeX lists the fonts of a machine at its first start
_DOCBOOK_TO_OBJECTS = "/usr/share/xml/docbook/stylesheet/docbook-xsl-ns/fo/docbook.xsl"  # where Debian puts it
_LANGUAGE = re.compile(r' class="language-[^"]*"')
_WRAPPED = r"\lstset{breaklines=true,columns=fullflexible,basicstyle=\ttfamily\footnotesize}"
_AUTHORS = ("author=Ada Keller", "author=Bruno Frei")
_BREAKABLE = {"\u2192": "->", "\u2190": "<-", "\u2265": ">=", "\u2264": "<="}
"""Characters that the standard fonts of TeX and groff lack, and what people write for them there."""


def _converted(body: str, form: str, *options: str) -> str:
    page = _with_widths(body)
    text = str(import_module("pypandoc").convert_text(page, form, "html", extra_args=["--standalone", *options]))
    return re.sub("|".join(_BREAKABLE), lambda found: _BREAKABLE[found.group()], text)


def _with_widths(body: str) -> str:
    """Give all columns of a table one width, as authors do: else TeX sets long cells beyond the page."""
    page = html.fragment_fromstring(body, create_parent="div")
    for table in page.iter("table"):
        columns = len(table.find(".//tr"))
        group = html.Element("colgroup")
        group.extend(html.Element("col", style=f"width: {100 / columns:.1f}%") for _ in range(columns))
        table.insert(0, group)
    return str(html.tostring(page, encoding="unicode"))


def latex(engine: str, document_class: str, preamble: str = "", options: tuple[str, ...] = ()) -> Printer:
    """Print by an engine of TeX; `options` are pandoc's."""

    def write(body: str) -> bytes | None:
        if shutil.which(engine) is None:
            return None
        source = _converted(body, "latex", f"--variable=documentclass={document_class}", *options)
        source = source.replace(r"\begin{document}", preamble + r"\begin{document}", 1)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "it.tex").write_text(source, encoding="utf-8")
            for _ in range(2):  # the widths of a long table are known in the second run
                # A character that a font lacks ends the run with an error, and leaves the PDF without it.
                subprocess.run(
                    [engine, "-interaction=nonstopmode", "it.tex"], capture_output=True, timeout=_SECONDS, cwd=folder
                )
            return Path(folder, "it.pdf").read_bytes()

    return write


def paper(document_class: str, *class_options: str, contents: bool = False) -> Printer:
    """Print a paper by TeX: with a title, two authors and a date, and without tables, which two columns cannot hold."""

    def write(body: str) -> bytes | None:
        page = html.fragment_fromstring(body, create_parent="div")
        heading = page.find("h1")
        told = ["title=" + ("" if heading is None else heading.text_content()), *_AUTHORS, "date=May 2024"]
        for node in [*page.iter("table"), *([] if heading is None else [heading])]:
            node.drop_tree()
        options = [f"--metadata={one}" for one in told] + [f"--variable=classoption={one}" for one in class_options]
        options += ["--syntax-highlighting=idiomatic", *["--toc"] * contents]
        printer = latex("lualatex", document_class, _WRAPPED, tuple(options))
        return printer(str(html.tostring(page, encoding="unicode")))

    return write


def groff(macros: str, *settings: str) -> Printer:
    """Print by groff, with its macros for papers or for manual pages."""

    def write(body: str) -> bytes | None:
        if shutil.which("groff") is None:
            return None
        # Code in a language is written by strings of its own, which groff does not know and leaves out.
        source = _converted(_LANGUAGE.sub("", body), macros)
        command = ["groff", "-k", "-t", f"-{macros}", "-Tpdf", *settings]
        return subprocess.run(command, input=source.encode(), capture_output=True, timeout=_SECONDS).stdout

    return write


def formatting_objects(*parameters: str) -> Printer:
    """Print by FOP, from the formatting objects that the style sheets of DocBook make."""

    def write(body: str) -> bytes | None:
        if shutil.which("fop") is None or not Path(_DOCBOOK_TO_OBJECTS).exists():
            return None
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "it.xml").write_text(_converted(body, "docbook5"), encoding="utf-8")
            chosen = [word for one in parameters for word in ("--stringparam", *one.split("=", 1))]
            objects = ["xsltproc", "--nonet", "-o", "it.fo", *chosen, _DOCBOOK_TO_OBJECTS, "it.xml"]
            for command in (objects, ["fop", "-q", "it.fo", "it.pdf"]):
                subprocess.run(command, capture_output=True, timeout=_SECONDS, cwd=folder)
            return Path(folder, "it.pdf").read_bytes()

    return write
