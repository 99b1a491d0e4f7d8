"""Formulas: MathML and those of Office are TeX between dollars in every format that can have them."""

import io
import time
import zipfile
from collections.abc import Callable
from typing import Any

import docx
import pptx
import pytest
from lxml import etree

from docmill.storage.errors import Rejected
from docmill.tasks.parse import formula_tex
from docmill.tasks.parse.dispatch.reading import parse
from docmill.tasks.parse.formats import FileType, ParseOptions
from docmill.tasks.parse.formula_tex import fill_mathml, fill_office_formulas
from tests.kit.writers import figures as writers
from tests.kit.writers.workbook import zipped

MATHML = "http://www.w3.org/1998/Math/MathML"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/math"
HALF = f'<math xmlns="{MATHML}"><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>'
HALF_OF_OFFICE = "<m:f><m:num>{0}a+b</m:t></m:r></m:num><m:den>{0}2</m:t></m:r></m:den></m:f>"


def office(parts: str) -> Any:
    """Return a formula of Office; "{0}" in its parts begins a run."""
    return etree.fromstring(f'<m:oMath xmlns:m="{OFFICE}">{parts.format("<m:r><m:t>")}</m:oMath>')


def word() -> bytes:
    document = docx.Document()
    document.add_paragraph("The mean is ")._p.append(office(HALF_OF_OFFICE))
    document.save(buffer := io.BytesIO())
    return buffer.getvalue()


def slides() -> bytes:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    paragraph.add_run().text = "The mean is "
    paragraph._p.append(office(HALF_OF_OFFICE))
    deck.save(buffer := io.BytesIO())
    return buffer.getvalue()


def replaced(container: bytes, member: str, old: str, new: str, **more: str) -> bytes:
    """Return a container with other words in one of its members, and with more members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(container)) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, content.replace(old.encode(), new.encode()) if name == member else content)
        for name, text in more.items():
            target.writestr(name, text)
    return buffer.getvalue()


def open_text() -> bytes:
    frame = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    own = {"Object 1/content.xml": HALF}
    return replaced(writers.odt(b""), "content.xml", writers.PROSE, f"The mean is {frame}", **own)


def open_slide() -> bytes:
    space = "urn:oasis:names:tc:opendocument:xmlns:"
    content = f"""<office:document-content xmlns:office="{space}office:1.0" xmlns:draw="{space}drawing:1.0"
xmlns:text="{space}text:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"><office:body><office:presentation><draw:page>
<draw:frame><draw:text-box><text:p>The mean is</text:p></draw:text-box></draw:frame>
<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></draw:page></office:presentation></office:body>
</office:document-content>"""
    kind = "application/vnd.oasis.opendocument.presentation"
    return zipped({"mimetype": kind, "content.xml": content, "Object 1/content.xml": HALF})


def book() -> bytes:
    return replaced(writers.epub(b""), "OEBPS/text/one.xhtml", writers.PROSE, f"The mean is {HALF}")


def page() -> bytes:
    return f"<h1>Means</h1><p>The mean is {HALF}</p>".encode()


def article() -> bytes:
    prefixed = HALF.replace("xmlns=", "xmlns:mml=").replace("</", "</mml:").replace("<m", "<mml:m")
    return f"<article><body><p>The mean is {prefixed}</p></body></article>".encode()


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("docx", word), ("pptx", slides), ("odt", open_text), ("odp", open_slide), ("epub", book), ("html", page),
        ("xml", article),
    ],
)  # fmt: skip
def test_a_formula_is_tex_in_each_format(form: str, written: Callable[[], bytes]) -> None:
    parsed = parse(written(), FileType(form), ParseOptions())
    sign = "$$" if form == "odt" else "$"  # pandoc takes all formulas of OpenDocument to be set apart
    assert rf"The mean is {sign}\frac{{a + b}}{{2}}{sign}" in " ".join(parsed.text.split())


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ("<m:sSup><m:e>{0}x</m:t></m:r></m:e><m:sup>{0}2</m:t></m:r></m:sup></m:sSup>", "$x^{2}$"),
        ("<m:rad><m:deg>{0}3</m:t></m:r></m:deg><m:e>{0}a</m:t></m:r></m:e></m:rad>", r"$\sqrt[3]{a}$"),
        (
            '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{0}i=1</m:t></m:r></m:sub><m:sup>{0}n</m:t></m:r>'
            "</m:sup><m:e>{0}i</m:t></m:r></m:e></m:nary>",
            r"$\sum_{i = 1}^{n}i$",
        ),
        (
            '<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val=""/></m:dPr><m:e>{0}a</m:t></m:r></m:e></m:d>',
            r"$\left\lbrack a \right.$",  # a space before the dollar would be one that hides it
        ),
        ("", ""),
    ],
)
def test_formulas_of_office_are_tex(parts: str, line: str) -> None:
    formula = office(parts)
    fill_office_formulas([formula])
    assert ("".join(formula.itertext()), len(formula)) == (line, 0)


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><mo>=</mo><msqrt><mi>y</mi></msqrt>",
            r"$x_{i}^{2} = \sqrt{y}$"),
        ("<mmultiscripts><mi>C</mi><mprescripts/><mn>6</mn><mn>14</mn></mmultiscripts>", "${}_{6}^{14}C$"),
        ("<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr></mtable>",
            r"$\begin{matrix} 1 & 0 \end{matrix}$"),
        ("<semantics><mi>a</mi><annotation>said twice</annotation></semantics>", "$a$"),
        ("<mi>$</mi><mo>&lt;</mo><mn>5</mn>", r"$\$ < 5$"),
        ("<msup><mi/><mn>2</mn></msup>", "^2^"),
        ("<mfrac><mi>a</mi></mfrac>", "a"),  # it is broken
        ("<mfrac><mi>a</mi></mfrac><!-- b --><annotation>c</annotation>", "a"),
        ("<mi>x</mi></math><math><mi>y</mi>", "$x$"),
        ("<mtext>for <b>all</b></mtext><mi>x</mi>", r"$\text{for all}x$"),
        ("<mrow>" * 200 + "<mi>a</mi><mo>+</mo><mi>b</mi>" + "</mrow>" * 200, "a+b"),  # too deep
        ("<mi>a</mi>" * 2_001, "a" * 2_001),  # too large
    ],
)  # fmt: skip
def test_formulas_of_a_page_are_tex(parts: str, line: str) -> None:
    parsed = parse(f"<p><math>{parts}</math></p>".encode(), FileType("html"), ParseOptions())
    assert parsed.text.removesuffix("$y$") == line


def test_formulas_on_lines_of_their_own_and_within_others() -> None:
    inner = "<math display='block'><mi>a</mi><math><mi>b</mi></math><mi>c</mi></math>"
    parsed = parse(f"<p>1 {inner} 2</p>".encode(), FileType("html"), ParseOptions())
    assert parsed.text == "1 abc 2", "it is broken"
    alone = parse(b"<p>1 <math display='block'><mi>a</mi></math></p>", FileType("html"), ParseOptions())
    assert alone.text == "1 $$a$$"


def test_many_formulas_are_read_at_once_and_keep_their_places() -> None:
    shown = "".join(f"<p>{n} <math><msup><mi>x</mi><mn>{n}</mn></msup></math></p>" for n in range(300))
    start = time.process_time()
    lines = parse(shown.encode(), FileType("html"), ParseOptions()).text.split("\n\n")
    assert lines == [f"{n} $x^{{{n}}}$" for n in range(300)]
    assert time.process_time() - start < 5, "one reading by pandoc, and not 300"


def test_what_pandoc_cannot_read_leaves_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise Rejected("timeout", "pandoc took more than 20 seconds")

    monkeypatch.setattr(formula_tex, "read_tree", late)
    formula = etree.fromstring("<math><mi>a</mi><mo>+</mo><mi>b</mi></math>")
    fill_mathml([formula])
    assert formula.text == "a+b"


def test_entities_within_a_formula_are_their_letters() -> None:
    entities = '<!DOCTYPE a SYSTEM "a.dtd" [<!ENTITY figure SYSTEM "figure.tif" NDATA TIF>]>'
    body = f'<math xmlns="{MATHML}"><mi>&alpha;</mi><mo>&plus;</mo><mn>2</mn></math>'
    text = parse(f"{entities}<a><p>The sum is {body}.</p></a>".encode(), FileType("xml"), ParseOptions()).text
    assert text == "The sum is $\\alpha + 2$."
