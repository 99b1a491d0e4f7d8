"""Looks by name: the programs and styles that documents are printed in."""

from tests.bench.parsing.looks.programs import (
    Printer,
    chromium,
    fpdf,
    office,
    reportlab,
    reportlab_zebra,
    story,
    typst,
    weasyprint,
)
from tests.bench.parsing.looks.typesetters import formatting_objects, groff, latex, paper
from tests.bench.parsing.looks.viewers import abiword, firefox, qt, wkhtmltopdf, xhtml2pdf

_RULED = "table { border-collapse: collapse } td, th { border: 1px solid #444; padding: 2pt 5pt; text-align: left }"
_OPEN = "table { border-collapse: collapse; width: 100% } td, th { padding: 3pt 8pt 3pt 0; text-align: left }"

KNOWN: dict[str, Printer] = {
    "chromium": chromium(_RULED + "body { font: 11pt sans-serif } pre { background: #eee; padding: 6pt }"),
    "weasyprint": weasyprint(_RULED + "@page { margin: 20mm } body { font: 10.5pt serif }"),
    "soffice": office("html", _RULED),
    "typst": typst("#set table(stroke: 0.5pt)\n"),
}
"""Looks that rules were made on."""

NEW: dict[str, Printer] = {
    "chromium-docs": chromium(
        _OPEN + "body { font: 16px/1.6 'DejaVu Sans' } tr { border-bottom: 1px solid #ddd } th { background: #f4f4f4 }"
        "code { background: #f0f0f0; padding: 1px 4px } pre { background: #23241f; color: #f8f8f2; padding: 12px }"
        "h1 { font-weight: 300; color: #888 } h2 { border-bottom: 1px solid #eee }"
    ),
    "chromium-book": chromium(
        _OPEN + "@page { margin: 30mm 25mm } body { font: 10pt/1.3 'Liberation Serif'; text-align: justify }"
        "p { text-indent: 1.2em; margin: 0 } h1, h2, h3 { font-weight: normal } h2 { font-variant: small-caps }"
        "h3 { font-style: italic; font-size: 10pt } thead { border-bottom: 1pt solid }"
    ),
    "chromium-columns": chromium(
        _OPEN + "body { font: 9pt/1.35 'Liberation Sans'; columns: 2; column-gap: 8mm } h1 { column-span: all }"
        "pre { white-space: pre-wrap; font-size: 7pt } tr { border-bottom: .5pt solid #aaa }"
    ),
    "chromium-zebra": chromium(
        _OPEN + "body { font: 10pt 'Liberation Sans' } tr:nth-child(even) { background: #e8eef8 } "
        "th { background: #234; color: #fff } h2 { color: #06c; text-transform: uppercase; font-size: 10pt }"
    ),
    "weasyprint-report": weasyprint(
        _OPEN + "@page { size: letter; margin: 25mm; @bottom-right { content: counter(page) } }"
        "body { font: 11pt/1.45 'DejaVu Serif' } table { border-top: 1pt solid; border-bottom: 1pt solid }"
        "th { border-bottom: .5pt solid } ul { list-style: square } pre { border-left: 3pt solid; padding-left: 8pt }"
    ),
    "weasyprint-small": weasyprint(
        _RULED + "@page { size: A5; margin: 12mm } body { font: 8pt/1.2 'Liberation Sans Narrow', sans-serif }"
        "h1 { font-size: 11pt } h2 { font-size: 9pt } h3 { font-size: 8pt } td, th { border-color: #ccc }"
    ),
    "weasyprint-spaced": weasyprint(
        _RULED + "body { font: 12pt/2 'Liberation Serif'; text-align: justify; hyphens: auto }"
        "h1 { text-align: center } h2 { letter-spacing: .1em } td, th { vertical-align: middle; text-align: center }"
    ),
    "soffice-docx": office("docx"),
    "soffice-odt": office("odt"),
    "soffice-rtf": office("rtf"),
    "typst-sans": typst(
        '#set text(font: "DejaVu Sans", 9pt)\n#set par(justify: true)\n#set table(stroke: none)\n'
        '#show heading: set text(weight: "regular", fill: rgb("#336"))\n'
    ),
    "typst-columns": typst("#set page(columns: 2, margin: 15mm)\n#set text(8pt)\n#set table(stroke: (y: .5pt))\n"),
    "fpdf2": fpdf,
    "platypus": reportlab,
    "mupdf": story,
}
"""Looks that no rule was made on."""


OTHER: dict[str, Printer] = {
    "chromium-booktabs": chromium(
        _OPEN
        + "body { font: 10.5pt/1.4 'Liberation Serif' } th { font-weight: normal } td:last-child { text-align: right }"
        "table { border-top: 1.5pt solid; border-bottom: 1.5pt solid } thead { border-bottom: .7pt solid }"
        "h1 { text-align: center; font-variant: small-caps } h2 { text-align: center; font-size: 12pt } "
        "h3 { font-size: 10.5pt; font-style: italic; font-weight: normal } ul { list-style: '\u2013  ' }"
    ),
    "chromium-plain": chromium(
        "table { border-spacing: 0 } td, th { padding: 1pt 12pt 1pt 0; text-align: left; vertical-align: top }"
        "th { font-weight: normal }"
        "body { font: 10pt/1.25 'Liberation Sans' } h1 { font-size: 15pt } h2 { font-size: 10pt } "
        "h3 { font-size: 10pt; font-weight: normal; text-decoration: underline } ul { list-style: circle }"
    ),
    "chromium-band": chromium(
        _OPEN
        + "body { font: 9.5pt/1.5 'DejaVu Sans' } td, th { border-bottom: 1px dotted #999; vertical-align: middle }"
        "h1, h2 { background: #135; color: #fff; padding: 4pt 8pt } h2 { font-size: 11pt; background: #68a }"
        "h3 { text-transform: uppercase; font-size: 8pt; letter-spacing: .08em } ol { list-style: lower-alpha }"
    ),
    "weasyprint-zebra": weasyprint(
        _OPEN + "@page { margin: 22mm; @top-center { content: 'Manual'; font-size: 8pt } }"
        "body { font: 10pt/1.35 'Liberation Sans' } tbody tr:nth-child(odd) { background: #eee }"
        "th { color: #a30; font-weight: normal }"
        "h1 { font-size: 22pt; font-weight: normal } h2 { font-size: 14pt; font-weight: normal } h3 { font-size: 10pt }"
    ),
    "weasyprint-plain": weasyprint(
        _OPEN + "@page { size: letter; margin: 30mm } body { font: 11pt/1.5 'Liberation Serif' }"
        "th { font-style: italic; font-weight: normal } h2 { font-variant: small-caps; font-weight: normal; "
        "font-size: 13pt } h3 { font-size: 11pt; text-decoration: underline }"
        "ul { list-style: '\u25b8  ' } ul ul { list-style: '\u2013  ' }"
    ),
    "soffice-booktabs": office(
        "html",
        "table { border-top: 1px solid #000; border-bottom: 1px solid #000 } body { font-family: 'Liberation Serif' }"
        "td, th { padding: 2pt 6pt; text-align: left }"
        "h2 { font-size: 12pt; font-weight: normal; text-decoration: underline }",
    ),
    "soffice-plain": office("html", "body { font-family: 'Liberation Sans'; font-size: 10pt } h3 { font-size: 10pt }"),
    "typst-zebra": typst(
        "#set text(10pt)\n#set table(stroke: none, inset: 5pt, fill: (_, y) => if calc.even(y) { luma(230) })\n"
        "#set list(marker: [--])\n#show heading: set text(10pt)\n#show heading.where(level: 1): set text(16pt)\n"
    ),
    "typst-booktabs": typst(
        '#set page(margin: 25mm, numbering: "1")\n#set text(font: "Liberation Serif", 11pt)\n'
        "#set table(inset: (x: 6pt, y: 3pt), stroke: (_, y) => if y <= 1 { (top: .7pt) })\n"
        "#show heading: it => align(center, smallcaps(it.body))\n"
    ),
    "platypus-zebra": reportlab_zebra,
}
"""Looks that no rule was made on after the others: rules above, below and under a header alone, none at all, fills."""


THIRD: dict[str, Printer] = {
    "chromium-wiki": chromium(
        _RULED + "body { font: 14px/1.6 'Liberation Sans' } td, th { border-color: #a2a9b1; padding: 3px 7px }"
        "th { background: #eaecf0; text-align: center } h1, h2 { font-family: 'Liberation Serif'; font-weight: normal;"
        "border-bottom: 1px solid #a2a9b1 } li { margin-bottom: 2px } "
        "code { background: #f8f9fa; border: 1px solid #eee }"
    ),
    "chromium-middle": chromium(
        _OPEN + "body { font: 13px/1.45 'DejaVu Sans' } td { vertical-align: middle; border-bottom: 1px solid #e5e5e5 }"
        "table { table-layout: fixed } th { text-transform: uppercase; font-size: 10px; color: #666 }"
        "li { margin: 6px 0 } ul { list-style: disc inside }"
    ),
    "chromium-pocket": chromium(
        _OPEN + "@page { size: A5; margin: 15mm } body { font: 9pt/1.25 'Liberation Serif'; text-align: justify;"
        "hyphens: auto } td, th { text-align: left; padding: 1pt 4pt } table { font-size: 8pt } thead { border-top: "
        "1pt solid; border-bottom: .5pt solid } tbody { border-bottom: 1pt solid } h2, h3 { font-size: 10pt }"
    ),
    "chromium-centred": chromium(
        "table { margin: auto } td, th { text-align: center; padding: 4pt 10pt } th { text-decoration: underline }"
        "body { font: 11pt/1.35 'Liberation Sans' } h1, h2 { text-align: center } h3 { font-style: italic }"
        "ol { list-style: upper-roman } pre { font-size: 8pt }"
    ),
    "chromium-uprights": chromium(
        _OPEN + "body { font: 10pt/1.3 'DejaVu Serif' } td + td, th + th { border-left: 1px solid; padding-left: 6pt }"
        "thead { border-bottom: 1px solid } h2 { letter-spacing: .15em; font-weight: normal } h3 { color: #555 }"
    ),
    "soffice-bands": office(
        "html",
        "body { font-family: 'DejaVu Sans'; font-size: 9pt } table { width: 100% } th { background: #dddddd }"
        "td, th { border-bottom: 1px solid #999999; padding: 2pt 4pt; text-align: left }",
    ),
    "soffice-wide": office(
        "html",
        "@page { size: 29.7cm 21cm; margin: 2cm } p, li { line-height: 150% } td, th { padding: 1pt 3pt }"
        "body { font-family: 'Liberation Serif'; font-size: 13pt } h1, h2, h3 { font-weight: normal }",
    ),
    "soffice-boxes": office("html", _RULED + "body { font-family: 'Liberation Sans Narrow'; font-size: 11pt }"),
}
"""More looks that no rule was made on before: wikis, pockets, pages across, cells in the middle of their rows."""

FOURTH: dict[str, Printer] = {
    "chromium-cards": chromium(
        "table { border-spacing: 0 6px; border-collapse: separate; width: 100% } td, th { padding: 6px 10px;"
        "background: #f3f5f7; text-align: left; vertical-align: top } body { font: 15px/1.5 'Liberation Sans' }"
        "h2 { border-left: 4px solid #c30; padding-left: 8px } pre { border: 1px dashed #999; padding: 8px }"
    ),
    "chromium-dense": chromium(
        _RULED + "body { font: 7.5pt/1.1 'Liberation Sans Narrow' } td, th { border-width: .3pt; padding: 1pt 3pt }"
        "h1 { font-size: 12pt } h2 { font-size: 9pt } h3 { font-size: 7.5pt } p, ul, ol { margin: 2pt 0 }"
    ),
    "chromium-across": chromium(
        _OPEN + "@page { size: A4 landscape } body { font: 12pt/1.8 'Liberation Serif' } tr { border-top: 1px solid }"
        "h2, h3 { font-weight: normal; font-variant: small-caps } ul { list-style: '\u2192  ' }"
    ),
    "chromium-legal": chromium(
        _OPEN + "body { font: 12pt/1.15 'Liberation Serif'; text-align: justify } td { text-align: justify }"
        "h1, h2 { text-align: center; text-transform: uppercase; font-size: 12pt } h3 { font-size: 12pt; "
        "text-decoration: underline; font-weight: normal } ol { list-style: lower-roman } table { border-top: 2px "
        "solid; border-bottom: 2px solid } thead { border-bottom: 1px solid }"
    ),
    "weasyprint-thesis": weasyprint(
        _OPEN + "@page { size: A4; margin: 35mm 30mm; @bottom-center { content: counter(page) } } "
        "td, th { padding: 2pt 6pt } body { font: 11pt/1.5 'DejaVu Serif'; text-align: justify }"
        "thead { border-top: 1pt solid; border-bottom: .6pt solid } tbody { border-bottom: 1pt solid }"
        "h1 { font-size: 20pt; text-align: right } h2 { font-style: italic }"
    ),
    "weasyprint-middle": weasyprint(
        _OPEN
        + "body { font: 9pt/1.4 'Liberation Sans' } td, th { border-bottom: .4pt solid #888; vertical-align: middle }"
        "th { text-align: center; background: #def } li { margin: 3pt 0 } ul { list-style: square outside }"
    ),
    "typst-report": typst(
        '#set page(paper: "a5", margin: 15mm)\n#set text(font: "Liberation Sans", 9pt)\n#set par(justify: true)\n'
        '#set table(stroke: (x: none, y: .4pt), inset: 4pt)\n#set list(indent: 8pt)\n#set enum(numbering: "a)")\n'
        "#show figure: set block(breakable: true)\n"
    ),
    "soffice-docx": office("docx"),
    "soffice-letter": office(
        "html",
        "@page { size: 21.59cm 27.94cm; margin: 3cm } p { text-align: justify } td, th { padding: 4pt 2pt }"
        "body { font-family: 'DejaVu Serif'; font-size: 10pt } h2 { font-size: 10pt } h3 { font-style: italic }",
    ),
}
"""Looks that no rule was made on after these: cards, small print, pages across, contracts, theses, reports."""

FIFTH: dict[str, Printer] = {
    "latex-article": latex("pdflatex", "article"),
    "latex-koma": latex("lualatex", "scrartcl", r"\KOMAoptions{parskip=half,fontsize=10pt}"),
    "groff-ms": groff("ms"),
    "fop": formatting_objects("ulink.show=0", "paper.type=A4", "body.start.indent=0pt"),
    "firefox-article": firefox(_OPEN + "body { font: 11pt/1.4 serif } tr { border-bottom: 1px solid #ccc }"),
    "firefox-grid": firefox(_RULED + "body { font: 10pt sans-serif } th { background: #eee }"),
    "wkhtmltopdf-open": wkhtmltopdf(_OPEN + "body { font: 14px/1.5 sans-serif } thead { border-bottom: 2px solid }"),
    "wkhtmltopdf-grid": wkhtmltopdf(_RULED + "body { font: 15px serif } h2 { color: #246 }"),
    "abiword": abiword,
    "qt": qt("td, th { padding: 4px; text-align: left }"),
    "xhtml2pdf": xhtml2pdf("td, th { padding: 3pt; border: .5pt solid black; text-align: left }"),
}
"""Programs that no look above is printed by: TeX, groff, FOP, Firefox, the WebKit of Qt and its rich text, AbiWord."""

PAPERS: dict[str, Printer] = {
    "article": paper("article"),
    "article-columns": paper("article", "twocolumn", contents=True),
    "article-contents": paper("article", "11pt", "a4paper", contents=True),
    "koma-columns": paper("scrartcl", "twocolumn"),
    "koma-report": paper("scrreprt", "10pt"),
    "report": paper("report", "a4paper", contents=True),
}
"""Papers by TeX, with a title, authors, a date and a list of contents, in one column or two; tables are left out."""
